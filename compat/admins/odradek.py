"""`odradek.Admin`, the blocking admin client of this package."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import ClassVar

import odradek
from compat.admins.model import Admin, Cluster, ConfigSource, Partition, Setting
from compat.clients.model import Refused


class OdradekAdmin(Admin):
    """The admin requests of `odradek.Admin`."""

    name: ClassVar[str] = "odradek"

    def create_topic(
        self,
        topic: str,
        *,
        partitions: int = 1,
        replication_factor: int | None = None,
        settings: Mapping[str, str] | None = None,
        validate_only: bool = False,
    ) -> None:
        """CreateTopics."""
        wanted = odradek.NewTopic(
            topic, partitions, replication_factor or self._replication_factor, dict(settings or {})
        )
        with self._client() as client:
            client.create_topics([wanted], validate_only=validate_only)

    def delete_topic(self, topic: str) -> None:
        """DeleteTopics."""
        with self._client() as client:
            client.delete_topics([topic])

    def topics(self) -> set[str]:
        """Metadata of all topics."""
        with self._client() as client:
            return set(client.list_topics(internal=True))

    def partitions(self, topic: str) -> dict[int, Partition]:
        """Metadata of one topic."""
        with self._client() as client:
            (told,) = client.describe_topics([topic])
        return {
            one.partition: Partition(one.leader, tuple(one.replicas), tuple(one.isr))
            for one in told.partitions
        }

    def add_partitions(self, topic: str, total: int) -> None:
        """CreatePartitions."""
        with self._client() as client:
            client.create_partitions({topic: total})

    def topic_settings(self, topic: str) -> dict[str, Setting]:
        """DescribeConfigs."""
        return self._settings("topic", topic)

    def broker_settings(self, broker: int) -> dict[str, Setting]:
        """DescribeConfigs."""
        return self._settings("broker", str(broker))

    def change_settings(self, topic: str, changes: Mapping[str, str | None]) -> None:
        """IncrementalAlterConfigs."""
        with self._client() as client:
            client.alter_configs("topic", topic, changes)

    def replace_settings(self, topic: str, settings: Mapping[str, str]) -> None:
        """IncrementalAlterConfigs of these, and of all others that the topic has of its own."""
        own = {
            name: None
            for name, setting in self.topic_settings(topic).items()
            if setting.source is ConfigSource.DYNAMIC_TOPIC
        }
        self.change_settings(topic, own | dict(settings))

    def delete_records(self, topic: str, partition: int, before: int) -> int:
        """DeleteRecords."""
        asked = odradek.TopicPartition(topic, partition)
        with self._client() as client:
            return client.delete_records({asked: before})[asked]

    def cluster(self) -> Cluster:
        """DescribeCluster."""
        with self._client() as client:
            told = client.describe_cluster()
        brokers = {one.broker_id: (one.host, one.port) for one in told.brokers}
        return Cluster(told.cluster_id, told.controller, brokers)

    def _settings(self, kind: str, name: str) -> dict[str, Setting]:
        with self._client() as client:
            entries = client.describe_configs(kind, name)
        found = {}
        for entry in entries:
            assert entry.source is not None, entry.name
            found[entry.name] = Setting(entry.value, ConfigSource(entry.source), entry.read_only)
        return found

    @contextlib.contextmanager
    def _client(self) -> Iterator[odradek.Admin]:
        with odradek.Admin(self.bootstrap) as client:
            try:
                yield client
            except odradek.ApiError as error:
                raise Refused(error.code) from error
