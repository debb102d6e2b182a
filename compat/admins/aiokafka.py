"""aiokafka's AIOKafkaAdminClient: old versions of the requests, and no incremental settings."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any, ClassVar

from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError

from compat.admins.model import Admin, Cluster, ConfigSource, Partition, Setting
from compat.clients.model import Refused


class AiokafkaAdmin(Admin):
    """The admin requests of aiokafka, each in an event loop of its own."""

    name: ClassVar[str] = "aiokafka"
    is_incremental: ClassVar[bool] = False

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
        new = NewTopic(topic, partitions, factor, topic_configs=dict(settings or {}))
        told = self._ask("create_topics", [new], validate_only=validate_only)
        _check(told.topic_errors)

    def delete_topic(self, topic: str) -> None:
        """DeleteTopics."""
        _check(self._ask("delete_topics", [topic]).topic_error_codes)

    def topics(self) -> set[str]:
        """Metadata of all topics."""
        return set(self._ask("list_topics"))

    def partitions(self, topic: str) -> dict[int, Partition]:
        """Metadata of one topic."""
        (told,) = self._ask("describe_topics", [topic])
        if told["error_code"] != 0:
            raise Refused(told["error_code"])
        return {
            partition["partition"]: Partition(
                partition["leader"], tuple(partition["replicas"]), tuple(partition["isr"])
            )
            for partition in told["partitions"]
        }

    def add_partitions(self, topic: str, total: int) -> None:
        """CreatePartitions."""
        self._ask("create_partitions", {topic: NewPartitions(total)})

    def topic_settings(self, topic: str) -> dict[str, Setting]:
        """DescribeConfigs."""
        return self._settings(ConfigResource(ConfigResourceType.TOPIC, topic))

    def broker_settings(self, broker: int) -> dict[str, Setting]:
        """DescribeConfigs."""
        return self._settings(ConfigResource(ConfigResourceType.BROKER, str(broker)))

    def replace_settings(self, topic: str, settings: Mapping[str, str]) -> None:
        """AlterConfigs."""
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, dict(settings))
        for told in self._ask("alter_configs", [resource]):
            for code, *_ in told.resources:
                if code != 0:
                    raise Refused(code)

    def delete_records(self, topic: str, partition: int, before: int) -> int:
        """DeleteRecords."""
        asked = TopicPartition(topic, partition)
        low_watermark: int = self._ask("delete_records", {asked: RecordsToDelete(before)})[asked]
        return low_watermark

    def cluster(self) -> Cluster:
        """Metadata."""
        told = self._ask("describe_cluster")
        brokers = {broker["node_id"]: (broker["host"], broker["port"]) for broker in told["brokers"]}
        return Cluster(told["cluster_id"], told["controller_id"], brokers)

    def _settings(self, resource: ConfigResource) -> dict[str, Setting]:
        (told,) = self._ask("describe_configs", [resource])
        ((code, _, _, _, entries),) = told.resources
        if code != 0:
            raise Refused(code)
        return {
            name: Setting(value, ConfigSource(source), bool(read_only))
            for name, value, read_only, source, *_ in entries
        }

    def _ask(self, method: str, *arguments: object, **options: object) -> Any:  # noqa: ANN401 - untyped answers
        async def ask() -> Any:  # noqa: ANN401
            async with self._client() as client:
                return await getattr(client, method)(*arguments, **options)

        return asyncio.run(ask())

    @contextlib.asynccontextmanager
    async def _client(self) -> AsyncIterator[AIOKafkaAdminClient]:
        client = AIOKafkaAdminClient(bootstrap_servers=self.bootstrap)
        await client.start()
        try:
            yield client
        except KafkaError as error:
            if error.errno > 0:
                raise Refused(error.errno) from error
            raise
        finally:
            await client.close()


def _check(outcomes: list[tuple[Any, ...]]) -> None:
    for _, code, *_ in outcomes:
        if code != 0:
            raise Refused(code)
