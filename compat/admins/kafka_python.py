"""kafka-python's KafkaAdminClient."""

import contextlib
import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from kafka import TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient
from kafka.errors import BrokerResponseError
from peers.waiting import WAIT_S_MAX

from compat.admins.model import Admin, Cluster, ConfigSource, Partition, Setting
from compat.clients.model import Refused


class KafkaPythonAdmin(Admin):
    """The admin requests of kafka-python 3."""

    name: ClassVar[str] = "kafka-python"
    replaces_settings: ClassVar[bool] = False

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
        wanted = {
            "num_partitions": partitions,
            "replication_factor": replication_factor or self._replication_factor,
            "configs": dict(settings or {}),
        }
        with self._client() as client:
            client.create_topics({topic: wanted}, validate_only=validate_only)

    def delete_topic(self, topic: str) -> None:
        """DeleteTopics."""
        with self._client() as client:
            client.delete_topics([topic])

    def topics(self) -> set[str]:
        """Metadata of all topics."""
        with self._client() as client:
            return set(client.list_topics())

    def partitions(self, topic: str) -> dict[int, Partition]:
        """Metadata of one topic."""
        with self._client() as client:
            (told,) = client.describe_topics([topic])
        if told["error_code"] != 0:
            raise Refused(told["error_code"])
        return {
            partition["partition_index"]: Partition(
                partition["leader_id"], tuple(partition["replica_nodes"]), tuple(partition["isr_nodes"])
            )
            for partition in told["partitions"]
        }

    def add_partitions(self, topic: str, total: int) -> None:
        """CreatePartitions."""
        with self._client() as client:
            client.create_partitions({topic: total})

    def topic_settings(self, topic: str) -> dict[str, Setting]:
        """DescribeConfigs."""
        return self._settings(ConfigResourceType.TOPIC, topic)

    def broker_settings(self, broker: int) -> dict[str, Setting]:
        """DescribeConfigs."""
        return self._settings(ConfigResourceType.BROKER, str(broker))

    def change_settings(self, topic: str, changes: Mapping[str, str | None]) -> None:
        """IncrementalAlterConfigs."""
        operations = {name: ("DELETE" if value is None else "SET", value) for name, value in changes.items()}
        self._alter(topic, operations, incremental=True)

    def replace_settings(self, topic: str, settings: Mapping[str, str]) -> None:
        """AlterConfigs."""
        self._alter(topic, dict(settings), incremental=False)

    def delete_records(self, topic: str, partition: int, before: int) -> int:
        """DeleteRecords."""
        asked = TopicPartition(topic, partition)
        with self._client() as client:
            told = client.delete_records({asked: before}, timeout_ms=int(WAIT_S_MAX * 1000))[asked]
        if told["error_code"] != 0:
            raise Refused(told["error_code"])
        low_watermark: int = told["low_watermark"]
        return low_watermark

    def cluster(self) -> Cluster:
        """DescribeCluster."""
        with self._client() as client:
            told = client.describe_cluster()
        brokers = {broker["broker_id"]: (broker["host"], broker["port"]) for broker in told["brokers"]}
        return Cluster(told["cluster_id"], told["controller_id"], brokers)

    def _settings(self, kind: ConfigResourceType, name: str) -> dict[str, Setting]:
        with self._client() as client:
            told = client.describe_configs([ConfigResource(kind, name)], config_filter="all")
        (resources,) = told.values()
        return {
            key: Setting(entry["value"], _source(entry), entry["read_only"])
            for key, entry in resources[name].items()
        }

    def _alter(self, topic: str, changes: Mapping[str, object], *, incremental: bool) -> None:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, changes)
        with self._client() as client:
            # The broker, not the client, must refuse unknown names.
            told = client.alter_configs([resource], raise_on_unknown=False, incremental=incremental)
        (resources,) = told.values()
        # The client reports the outcome only in words: OK, or "[Error 40] ...".
        refused = re.match(r"\[Error (\d+)\]", resources[topic])
        if refused:
            raise Refused(int(refused.group(1)))

    @contextlib.contextmanager
    def _client(self) -> Iterator[KafkaAdminClient]:
        with contextlib.closing(KafkaAdminClient(bootstrap_servers=self.bootstrap)) as client:
            try:
                yield client
            except BrokerResponseError as error:
                raise Refused(error.errno) from error


def _source(entry: Mapping[str, Any]) -> ConfigSource:
    return ConfigSource[entry["config_source"].removesuffix("_CONFIG")]
