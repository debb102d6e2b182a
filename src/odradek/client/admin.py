"""The admin client: topics, partitions and settings, over a blocking connection.

It sends each request to the first bootstrap address that answers; a broker that is not the controller
forwards it. Every refusal is an ApiError with the broker's error code and message.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.uuids import render_uuid
from odradek.client.admin_connection import AdminConnection
from odradek.client.refusal import raise_for
from odradek.net.blocking_connection import BrokerConnection
from odradek.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from odradek.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from odradek.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from odradek.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from odradek.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from odradek.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

if TYPE_CHECKING:
    from odradek.base.settings import Source

TIMEOUT_MS = 30_000
KNOWN_MAX_S = 5.0
_RETRY_S = 0.05

TOPIC_RESOURCE = 2
BROKER_RESOURCE = 4
GROUP_RESOURCE = 32

_SET, _DELETE = 0, 1


@dataclass(frozen=True, slots=True)
class PartitionDescription:
    """One partition as the cluster sees it; leader -1 when there is none."""

    partition: int
    leader: int
    leader_epoch: int
    replicas: list[int]
    isr: list[int]


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """One topic and its partitions, in order."""

    name: str
    topic_id: str
    internal: bool
    partitions: list[PartitionDescription]


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """One setting of a topic or broker; the value of a secret one is None."""

    name: str
    value: str | None
    source: Source | None
    read_only: bool
    documentation: str | None


class Admin(AdminConnection):
    """One connection. Raises ApiError for refusals, ConnectionFailed when no broker answers."""

    def list_topics(self, names: Sequence[str] | None = None) -> list[TopicDescription]:
        """Describe `names`, or all topics, by name. Raises ApiError for the first that is unknown."""
        wanted = None if names is None else [MetadataRequestTopic(name=name) for name in names]
        request = MetadataRequest(topics=wanted, allow_auto_topic_creation=False)
        answer = self._connection.ask(request, MetadataResponse, version_max=12)
        described = []
        for topic in answer.topics:
            if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {topic.name}")
            raise_for(topic.error_code, about=f"topic {topic.name}")
            partitions = [
                PartitionDescription(
                    one.partition_index, one.leader_id, one.leader_epoch, one.replica_nodes, one.isr_nodes
                )
                for one in sorted(topic.partitions, key=lambda one: one.partition_index)
            ]
            described.append(
                TopicDescription(topic.name or "", render_uuid(topic.topic_id), topic.is_internal, partitions)
            )
        return sorted(described, key=lambda topic: topic.name)

    def create_topic(
        self,
        name: str,
        *,
        partitions: int = -1,
        replication_factor: int = -1,
        configs: Mapping[str, str] | None = None,
    ) -> None:
        """Create a topic; -1 leaves partitions or replicas to the broker's defaults."""
        topic = CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=replication_factor,
            configs=[CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()],
        )
        request = CreateTopicsRequest(topics=[topic], timeout_ms=TIMEOUT_MS)
        for one in self._connection.ask(request, CreateTopicsResponse).topics:
            raise_for(one.error_code, one.error_message)

    def delete_topic(self, name: str) -> None:
        """Delete a topic with everything in it."""
        request = DeleteTopicsRequest(
            topic_names=[name], topics=[DeleteTopicState(name=name)], timeout_ms=TIMEOUT_MS
        )
        for one in self._connection.ask(request, DeleteTopicsResponse).responses:
            raise_for(one.error_code, one.error_message)

    def create_partitions(self, topic: str, total: int) -> None:
        """Raise a topic's number of partitions to `total`."""
        wanted = CreatePartitionsTopic(name=topic, count=total, assignments=None)
        request = CreatePartitionsRequest(topics=[wanted], timeout_ms=TIMEOUT_MS)
        for one in self._connection.ask(request, CreatePartitionsResponse).results:
            raise_for(one.error_code, one.error_message)

    def wait_until_known(self, topic: str, partitions: int) -> None:
        """Returns when the broker knows this many partitions of a topic, each with a leader; or at a timeout.

        A broker of Apache Kafka learns of the controller's decision a moment after the answer to the request.
        """
        deadline = time.monotonic() + KNOWN_MAX_S
        while time.monotonic() < deadline:
            try:
                (found,) = self.list_topics([topic])
            except ApiError as unknown:
                if not unknown.code.is_retriable:
                    raise
            else:
                led = [one for one in found.partitions if one.leader >= 0]
                if len(led) >= max(1, partitions):
                    return
            time.sleep(_RETRY_S)

    def describe_configs(self, resource_type: int, name: str) -> list[ConfigEntry]:
        """The settings of a topic, broker or group (one of the RESOURCE types), by its name."""
        resource = DescribeConfigsResource(
            resource_type=resource_type, resource_name=name, configuration_keys=None
        )
        request = DescribeConfigsRequest(resources=[resource], include_documentation=True)
        with self._connection_for(resource_type, name) as connection:
            (result,) = connection.ask(request, DescribeConfigsResponse).results
        raise_for(result.error_code, result.error_message)
        entries = [
            ConfigEntry(
                one.name,
                None if one.is_sensitive else one.value,
                _source(one.config_source),
                one.read_only,
                None if one.documentation is None else _without_markup(one.documentation),
            )
            for one in result.configs
        ]
        return sorted(entries, key=lambda entry: entry.name)

    def alter_configs(self, resource_type: int, name: str, changes: Mapping[str, str | None]) -> None:
        """Set each setting to its text, or reset it to its default where the text is None."""
        resource = AlterConfigsResource(
            resource_type=resource_type,
            resource_name=name,
            configs=[
                AlterableConfig(name=key, config_operation=_DELETE if value is None else _SET, value=value)
                for key, value in changes.items()
            ],
        )
        request = IncrementalAlterConfigsRequest(resources=[resource])
        with self._connection_for(resource_type, name) as connection:
            for one in connection.ask(request, IncrementalAlterConfigsResponse).responses:
                raise_for(one.error_code, one.error_message)

    @contextmanager
    def _connection_for(self, resource_type: int, name: str) -> Iterator[BrokerConnection]:
        """The connection for the settings of a resource: those of one broker are that broker's to tell.

        A broker that is not in the cluster is asked of any, which says so.
        """
        if resource_type == BROKER_RESOURCE and name:
            for broker in self._metadata_of_brokers().brokers:
                if str(broker.node_id) == name:
                    with self.config.connect((broker.host, broker.port)) as connection:
                        yield connection
                    return
        yield self._connection


def _without_markup(text: str) -> str:
    """Documentation as plain text: Apache Kafka writes HTML."""
    import html

    return " ".join(html.unescape(re.sub(r"<[^<>]*>", " ", text)).split())


def _source(number: int) -> Source | None:
    from odradek.base.settings import Source  # 25 ms that few commands need

    try:
        return Source(number)
    except ValueError:
        return None
