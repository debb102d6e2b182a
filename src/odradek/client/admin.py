"""The admin client: topics, partitions and settings, over a blocking connection.

It sends each request to the first bootstrap address that answers; a broker that is not the controller
forwards it. Every refusal is an ApiError with the broker's error code and message.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from odradek.base.errors import ApiError
from odradek.base.ids import BrokerId
from odradek.client.admin_connection import AdminConnection
from odradek.client.core.admin.configs import (
    BROKER_RESOURCE,
    ConfigEntry,
    alteration_request,
    description_request,
    entries_of,
)
from odradek.client.core.admin.operation import only
from odradek.client.core.admin.topics import (
    METADATA_VERSION_MAX,
    NewTopic,
    TopicDescription,
    creation,
    described_topics,
    metadata_request,
)
from odradek.client.refusal import raise_for
from odradek.net.blocking_connection import BrokerConnection
from odradek.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from odradek.wire.messages.create_topics import (
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from odradek.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from odradek.wire.messages.describe_configs import (
    DescribeConfigsResponse,
)
from odradek.wire.messages.incremental_alter_configs import (
    IncrementalAlterConfigsResponse,
)
from odradek.wire.messages.metadata import MetadataResponse

TIMEOUT_MS = 30_000
KNOWN_MAX_S = 5.0
_RETRY_S = 0.05


class Admin(AdminConnection):
    """One connection. Raises ApiError for refusals, ConnectionFailed when no broker answers."""

    def list_topics(self, names: Sequence[str] | None = None) -> list[TopicDescription]:
        """Describe `names`, or all topics, by name. Raises ApiError for the first that is unknown."""
        answer = self._connection.ask(metadata_request(names), MetadataResponse, METADATA_VERSION_MAX)
        return described_topics(answer)

    def create_topic(
        self,
        name: str,
        *,
        partitions: int = -1,
        replication_factor: int = -1,
        configs: Mapping[str, str] | None = None,
        assignments: Mapping[int, Sequence[BrokerId]] | None = None,
    ) -> None:
        """Create a topic; -1 leaves partitions or replicas to the broker's defaults.

        `assignments` names the brokers of each partition instead; the first one is preferred as the leader.
        """
        topic = creation(NewTopic(name, partitions, replication_factor, configs or {}, assignments or {}))
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
        request = description_request(resource_type, name)
        with self._connection_for(resource_type, name) as connection:
            results = connection.ask(request, DescribeConfigsResponse).results
        return entries_of(only(results, name))

    def alter_configs(self, resource_type: int, name: str, changes: Mapping[str, str | None]) -> None:
        """Set each setting to its text, or reset it to its default where the text is None."""
        request = alteration_request(resource_type, name, changes)
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
