"""The state of a cluster: its brokers, and its partitions with what is wrong with them (KIP-700, KIP-966)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import NO_BROKER, BrokerId, TopicPartition
from odradek.client.cluster_state import ClusterBroker, ClusterPartition, ClusterState
from odradek.client.core.admin.cluster import describe_cluster_at
from odradek.client.core.admin.configs import TOPIC_RESOURCE
from odradek.client.core.admin.reassignments import listing_request, moves_of
from odradek.client.core.admin.topics import KNOWN_LOOKS, METADATA_VERSION_MAX, metadata_request
from odradek.client.core.operation import Operation, Pause, ask, within
from odradek.client.core.requests import Destination, Send, ToAny, ToNode
from odradek.client.refusal import raise_for
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
from odradek.wire.messages.list_partition_reassignments import ListPartitionReassignmentsResponse
from odradek.wire.messages.metadata import MetadataResponse

MIN_ISR: Final = "min.insync.replicas"
_ANY: Final = ToAny()
_RESOURCES_MAX: Final = 500
"""Topics in one request for settings."""
_MOVES_WAIT_MS: Final = 2_000
"""How long the controller may take to list the moves under way."""


def cluster_state(at: Destination = _ANY) -> Operation[ClusterState]:
    """The state of the cluster, as one broker knows it: any, or this one."""
    about = yield from describe_cluster_at(at)
    brokers = [ClusterBroker(one.broker_id, one.host, one.port, one.rack) for one in about.brokers]
    partitions, topics = yield from partition_states(at=at)
    return ClusterState(about.cluster_id, about.controller, brokers, partitions, topics)


def adding_replicas(state: ClusterState) -> Operation[dict[TopicPartition, Sequence[BrokerId]]]:
    """The replicas that moves under way add; nothing is asked where no replica is missing.

    Empty also if the controller does not tell, or not in time: it is asked once.
    """
    is_asked = state.controller_id != NO_BROKER and any(one.missing for one in state.partitions)
    if not is_asked:
        return {}
    send = Send(ToNode(state.controller_id), listing_request())
    (outcome,) = yield [within(send, _MOVES_WAIT_MS)]
    try:
        moves = moves_of(outcome.answer(ListPartitionReassignmentsResponse))
    except ApiError:
        return {}
    return {partition: move.adding for partition, move in moves.items()}


def partition_states(
    topics: Sequence[str] = (), *, at: Destination = _ANY
) -> Operation[tuple[list[ClusterPartition], int]]:
    """Returns the partitions of these topics, or of all, in order, and the number of topics.

    Raises ApiError for a topic that does not exist.
    """
    found = yield from _topics(topics, at)
    for topic in found:
        if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise_for(topic.error_code, f"there is no topic {topic.name}")
        raise_for(topic.error_code, about=f"topic {topic.name}")
    least = yield from _min_isr([topic.name or "" for topic in found], at)
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


def await_other_leaders(
    partitions: Sequence[TopicPartition],
    before: Mapping[TopicPartition, BrokerId],
    *,
    looks: int = KNOWN_LOOKS,
) -> Operation[dict[TopicPartition, BrokerId]]:
    """The leaders of these partitions, when all have others than before, or as they are in the last look.

    New leaders may not be known to all brokers at once.
    """
    leaders: dict[TopicPartition, BrokerId] = {}
    if not partitions:
        return leaders
    topics = sorted({one.topic for one in partitions})
    for number in range(looks):
        states, _ = yield from partition_states(topics)
        known = {one.topic_partition: one.leader for one in states}
        leaders = {one: known.get(one, NO_BROKER) for one in partitions}
        old = [one for one in partitions if leaders[one] in (NO_BROKER, before.get(one, NO_BROKER))]
        if not old:
            break
        if number + 1 < looks:
            error = ApiError(ErrorCode.LEADER_NOT_AVAILABLE, f"{old[0]} has no other leader yet")
            yield Pause(number, error)
    return leaders


def _topics(names: Sequence[str], at: Destination) -> Operation[list[DescribeTopicPartitionsResponseTopic]]:
    """The topics by name; one whose partitions do not fit into a page comes several times."""
    request = DescribeTopicPartitionsRequest(topics=[TopicRequest(name) for name in sorted(set(names))])
    found: list[DescribeTopicPartitionsResponseTopic] = []
    while True:
        try:
            answer = yield from ask(
                Send(at, request),
                DescribeTopicPartitionsResponse,
                lambda answer: [one.error_code for one in answer.topics],
            )
        except ApiError as refused:
            if refused.code is not ErrorCode.UNSUPPORTED_VERSION:
                raise
            return (yield from _topics_by_metadata(names, at))
        found += answer.topics
        if answer.next_cursor is None:
            return found
        request = replace(request, cursor=answer.next_cursor)


def _topics_by_metadata(
    names: Sequence[str], at: Destination
) -> Operation[list[DescribeTopicPartitionsResponseTopic]]:
    """The same without ELRs, from brokers before Kafka 3.8."""
    request = metadata_request(sorted(set(names)) if names else None)
    answer = yield from ask(
        Send(at, request, highest=METADATA_VERSION_MAX),
        MetadataResponse,
        lambda answer: [one.error_code for one in answer.topics],
    )
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


def _min_isr(topics: Sequence[str], at: Destination) -> Operation[dict[str, int]]:
    """`min.insync.replicas` of each topic; a topic that is deleted meanwhile is left out."""
    names, found = sorted(set(topics)), {}
    for begin in range(0, len(names), _RESOURCES_MAX):
        resources = [
            DescribeConfigsResource(
                resource_type=TOPIC_RESOURCE, resource_name=name, configuration_keys=[MIN_ISR]
            )
            for name in names[begin : begin + _RESOURCES_MAX]
        ]
        request = DescribeConfigsRequest(resources=resources)
        answer = yield from ask(Send(at, request), DescribeConfigsResponse, lambda _: [])
        for result in answer.results:
            for one in result.configs:
                if one.name == MIN_ISR and one.value is not None:
                    found[result.resource_name] = int(one.value)
    return found
