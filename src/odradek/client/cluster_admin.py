"""The admin client for a whole cluster: its state, and elections of leaders (KIP-460, KIP-700, KIP-966)."""

import time
from collections.abc import Mapping, Sequence
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import NO_BROKER, BrokerId, TopicPartition
from odradek.client.admin_connection import (
    FIND_COORDINATOR_VERSION_MAX,
    AdminConnection,
    CoordinatorKey,
)
from odradek.client.cluster import METADATA_VERSION_MAX
from odradek.client.cluster_state import ClusterBroker, ClusterPartition, ClusterState
from odradek.client.core.admin.cluster import Elected, Election, elected, election_request
from odradek.client.refusal import raise_for
from odradek.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from odradek.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from odradek.wire.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
    TopicRequest,
)
from odradek.wire.messages.elect_leaders import ElectLeadersResponse
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from odradek.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

MIN_ISR: Final = "min.insync.replicas"
TIMEOUT_MS: Final = 30_000
LEADERS_KNOWN_MAX_S: Final = 5.0
"""How long new leaders may take to be known to the broker that is asked."""
_RETRY_S: Final = 0.05
_TOPIC: Final = 2
_RESOURCES_MAX: Final = 500
"""Topics in one request for settings."""


class ClusterAdmin(AdminConnection):
    """One connection to any broker. Raises ApiError for refusals, ConnectionFailed when none answers."""

    def describe(self) -> ClusterState:
        """The state of the cluster, as the broker that is asked knows it."""
        about = self._connection.ask(DescribeClusterRequest(), DescribeClusterResponse)
        raise_for(about.error_code, about.error_message, about="the cluster")
        brokers = [ClusterBroker(one.broker_id, one.host, one.port, one.rack) for one in about.brokers]
        partitions, topics = self.partitions()
        return ClusterState(
            about.cluster_id,
            about.controller_id,
            sorted(brokers, key=lambda one: one.broker_id),
            partitions,
            topics,
        )

    def partitions(self, topics: Sequence[str] = ()) -> tuple[list[ClusterPartition], int]:
        """Returns the partitions of these topics, or of all, in order, and the number of topics.

        Raises ApiError for a topic that does not exist.
        """
        found = self._topics(topics)
        for topic in found:
            if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise_for(topic.error_code, f"there is no topic {topic.name}")
            raise_for(topic.error_code, about=f"topic {topic.name}")
        least = self._min_isr([topic.name or "" for topic in found])
        partitions = [
            ClusterPartition(
                TopicPartition(topic.name or "", one.partition_index),
                one.leader_id,
                one.leader_epoch,
                one.replica_nodes,
                one.isr_nodes,
                one.offline_replicas,
                one.eligible_leader_replicas or [],
                next(iter(one.last_known_elr or []), NO_BROKER),
                least.get(topic.name or ""),
            )
            for topic in found
            for one in topic.partitions
        ]
        return sorted(partitions, key=lambda one: one.topic_partition), len({one.name for one in found})

    def elect(self, election: Election, partitions: Sequence[TopicPartition] | None) -> list[Elected]:
        """Let the controller elect leaders of these partitions, or where it is needed, in order of name.

        The new leaders may not be known to all brokers yet: see `wait_until_led`.
        """
        answer = self._connection.ask(election_request(election, partitions), ElectLeadersResponse)
        return elected(answer)

    def coordinator_of(self, kind: CoordinatorKey, key: str) -> BrokerId:
        """The coordinator of a group or transactional id.

        Raises ApiError, with COORDINATOR_NOT_AVAILABLE while there is none.
        """
        request = FindCoordinatorRequest(key=key, key_type=kind)
        answer = self._connection.ask(request, FindCoordinatorResponse, FIND_COORDINATOR_VERSION_MAX)
        raise_for(
            answer.error_code, answer.error_message, about=f"no coordinator of {kind.name.lower()} {key!r}"
        )
        return answer.node_id

    def wait_until_led(
        self, partitions: Sequence[TopicPartition], before: Mapping[TopicPartition, BrokerId]
    ) -> dict[TopicPartition, BrokerId]:
        """Returns the leaders of these partitions when all have others than before, or at a timeout."""
        deadline = time.monotonic() + LEADERS_KNOWN_MAX_S
        topics = sorted({one.topic for one in partitions})
        while True:
            known = {one.topic_partition: one.leader for one in self.partitions(topics)[0]} if topics else {}
            leaders = {one: known.get(one, NO_BROKER) for one in partitions}
            is_known = all(
                leader not in (NO_BROKER, before.get(one, NO_BROKER)) for one, leader in leaders.items()
            )
            if is_known or time.monotonic() > deadline:
                return leaders
            time.sleep(_RETRY_S)

    def _topics(self, names: Sequence[str]) -> list[DescribeTopicPartitionsResponseTopic]:
        """The topics by name; one whose partitions do not fit into a page comes several times."""
        if not self._connection.serves(DescribeTopicPartitionsRequest):
            return self._topics_by_metadata(names)
        request = DescribeTopicPartitionsRequest(topics=[TopicRequest(name) for name in sorted(set(names))])
        found: list[DescribeTopicPartitionsResponseTopic] = []
        while True:
            answer = self._connection.ask(request, DescribeTopicPartitionsResponse)
            found += answer.topics
            if answer.next_cursor is None:
                return found
            request.cursor = answer.next_cursor

    def _topics_by_metadata(self, names: Sequence[str]) -> list[DescribeTopicPartitionsResponseTopic]:
        """The same without ELRs, from brokers before Kafka 3.8."""
        wanted = [MetadataRequestTopic(name=name) for name in sorted(set(names))] if names else None
        request = MetadataRequest(topics=wanted, allow_auto_topic_creation=False)
        answer = self._connection.ask(request, MetadataResponse, METADATA_VERSION_MAX)
        found = []
        for topic in answer.topics:
            made = DescribeTopicPartitionsResponseTopic(topic.error_code, topic.name)
            for one in topic.partitions:
                made.partitions.append(
                    DescribeTopicPartitionsResponsePartition(
                        one.error_code,
                        one.partition_index,
                        one.leader_id,
                        one.leader_epoch,
                        one.replica_nodes,
                        one.isr_nodes,
                        offline_replicas=one.offline_replicas,
                    )
                )
            found.append(made)
        return found

    def _min_isr(self, topics: Sequence[str]) -> dict[str, int]:
        """`min.insync.replicas` of each topic; a topic that is deleted meanwhile is left out."""
        names, found = sorted(set(topics)), {}
        for begin in range(0, len(names), _RESOURCES_MAX):
            resources = [
                DescribeConfigsResource(
                    resource_type=_TOPIC, resource_name=name, configuration_keys=[MIN_ISR]
                )
                for name in names[begin : begin + _RESOURCES_MAX]
            ]
            answer = self._connection.ask(
                DescribeConfigsRequest(resources=resources), DescribeConfigsResponse
            )
            for result in answer.results:
                for one in result.configs:
                    if one.name == MIN_ISR and one.value is not None:
                        found[result.resource_name] = int(one.value)
        return found
