"""confluent-kafka's AdminClient."""

import contextlib
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from typing import ClassVar, TypeVar

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
)
from peers.waiting import WAIT_S_MAX

from compat.admins.model import Admin, Cluster, ConfigSource, Partition, Setting
from compat.clients.model import Refused

K = TypeVar("K")
T = TypeVar("T")


class ConfluentAdmin(Admin):
    """librdkafka's admin requests."""

    name: ClassVar[str] = "confluent-kafka"

    def __init__(self, bootstrap: str, replication_factor: int = 1) -> None:
        super().__init__(bootstrap, replication_factor)
        self._client = AdminClient({"bootstrap.servers": bootstrap})

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
        factor = replication_factor or self._replication_factor
        new = NewTopic(topic, partitions, factor, config=dict(settings or {}))
        _only(self._client.create_topics([new], validate_only=validate_only))

    def create_topic_on(
        self, topic: str, replicas: list[list[int]], *, settings: Mapping[str, str] | None = None
    ) -> None:
        """CreateTopics of one topic, with the brokers of each partition."""
        new = NewTopic(topic, len(replicas), replica_assignment=replicas, config=dict(settings or {}))
        _only(self._client.create_topics([new]))

    def delete_topic(self, topic: str) -> None:
        """DeleteTopics."""
        _only(self._client.delete_topics([topic]))

    def topics(self) -> set[str]:
        """Metadata of all topics."""
        return set(self._client.list_topics(timeout=WAIT_S_MAX).topics)

    def partitions(self, topic: str) -> dict[int, Partition]:
        """Metadata of one topic."""
        found = self._client.list_topics(topic, timeout=WAIT_S_MAX).topics[topic]
        if found.error is not None:
            raise Refused(found.error.code())
        return {
            number: Partition(told.leader, tuple(told.replicas), tuple(told.isrs))
            for number, told in found.partitions.items()
        }

    def add_partitions(self, topic: str, total: int) -> None:
        """CreatePartitions."""
        _only(self._client.create_partitions([NewPartitions(topic, total)]))

    def topic_settings(self, topic: str) -> dict[str, Setting]:
        """DescribeConfigs."""
        return self._settings(ConfigResource(ConfigResource.Type.TOPIC, topic))

    def broker_settings(self, broker: int) -> dict[str, Setting]:
        """DescribeConfigs."""
        return self._settings(ConfigResource(ConfigResource.Type.BROKER, str(broker)))

    def change_settings(self, topic: str, changes: Mapping[str, str | None]) -> None:
        """IncrementalAlterConfigs."""
        entries = [
            ConfigEntry(
                name,
                value,
                incremental_operation=AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET,
            )
            for name, value in changes.items()
        ]
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=entries)
        _only(self._client.incremental_alter_configs([resource]))

    def replace_settings(self, topic: str, settings: Mapping[str, str]) -> None:
        """AlterConfigs."""
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic, set_config=dict(settings))
        _only(self._client.alter_configs([resource]))

    def delete_records(self, topic: str, partition: int, before: int) -> int:
        """DeleteRecords."""
        low_watermark: int = _only(
            self._client.delete_records([TopicPartition(topic, partition, before)])
        ).low_watermark
        return low_watermark

    def cluster(self) -> Cluster:
        """DescribeCluster."""
        with _refusals():
            told = self._client.describe_cluster().result(WAIT_S_MAX)
        brokers = {node.id: (node.host, node.port) for node in told.nodes}
        return Cluster(told.cluster_id, told.controller.id, brokers)

    def _settings(self, resource: ConfigResource) -> dict[str, Setting]:
        told = _only(self._client.describe_configs([resource]))
        return {
            name: Setting(entry.value, ConfigSource(entry.source), bool(entry.is_read_only))
            for name, entry in told.items()
        }


def _only(futures: "Mapping[K, Future[T]]") -> T:
    (future,) = futures.values()
    with _refusals():
        return future.result(WAIT_S_MAX)


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except KafkaException as exception:
        code = exception.args[0].code()
        if code > 0:
            raise Refused(code) from exception
        raise
