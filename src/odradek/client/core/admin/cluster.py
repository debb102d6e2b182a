"""The cluster: its brokers, and elections of leaders."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from odradek.base.error_codes import ErrorCode, known_code
from odradek.base.ids import BrokerId, TopicPartition, by_topic
from odradek.base.values import value
from odradek.client.core.operation import Operation, ask, check_all_told
from odradek.client.core.requests import (
    REQUEST_TIMEOUT_MS,
    CoordinatorKind,
    Destination,
    Send,
    ToAny,
    ToController,
)
from odradek.client.refusal import name_of, raise_for
from odradek.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from odradek.wire.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse, TopicPartitions
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse

_DESCRIBE_CLUSTER_VERSION_MAX: Final = 1
"""The later one can list brokers that are fenced, which are no destinations."""


@dataclass(frozen=True, slots=True)
class BrokerDescription:
    """One broker and where it listens."""

    broker_id: BrokerId
    host: str
    port: int
    rack: str | None


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    """The cluster, as the broker that was asked knows it."""

    cluster_id: str
    controller: BrokerId
    """-1 while there is none."""
    brokers: list[BrokerDescription]
    """By id."""


class Election(IntEnum):
    """Who may be elected."""

    PREFERRED = 0
    """The first replica, if it is in the ISR."""
    UNCLEAN = 1
    """Where no replica of the ISR lives, any that lives: it may miss records that were acknowledged."""


@value
class Elected:
    """The result of an election in one partition."""

    topic_partition: TopicPartition
    code: ErrorCode
    """NONE, or ELECTION_NOT_NEEDED if the leader stays, or why nobody could be elected."""
    message: str


# --- requests and answers


def election_request(election: Election, partitions: Sequence[TopicPartition] | None) -> ElectLeadersRequest:
    """Elects in these partitions, or in all that need it."""
    wanted = None
    if partitions is not None:
        wanted = [TopicPartitions(topic, numbers) for topic, numbers in by_topic(partitions).items()]
    return ElectLeadersRequest(election_type=election, topic_partitions=wanted, timeout_ms=REQUEST_TIMEOUT_MS)


def elected(answer: ElectLeadersResponse) -> list[Elected]:
    """The results of an answer, in order of name. Raises ApiError if all was refused."""
    raise_for(answer.error_code, about="no leaders were elected")
    results = []
    for result in answer.replica_election_results:
        for one in result.partition_result:
            code = known_code(one.error_code)
            message = one.error_message or name_of(code)
            results.append(Elected(TopicPartition(result.topic, one.partition_id), code, message))
    return sorted(results, key=lambda one: one.topic_partition)


# --- operations


def describe_cluster() -> Operation[ClusterDescription]:
    """The brokers that live, the controller, and the cluster's id."""
    return (yield from describe_cluster_at(ToAny()))


def describe_cluster_at(to: Destination) -> Operation[ClusterDescription]:
    """`describe_cluster`, as this broker knows the cluster."""
    answer = yield from ask(
        Send(to, DescribeClusterRequest(), highest=_DESCRIBE_CLUSTER_VERSION_MAX),
        DescribeClusterResponse,
        lambda answer: [answer.error_code],
    )
    raise_for(answer.error_code, answer.error_message, about="the cluster")
    brokers = [BrokerDescription(one.broker_id, one.host, one.port, one.rack) for one in answer.brokers]
    return ClusterDescription(
        answer.cluster_id, answer.controller_id, sorted(brokers, key=lambda one: one.broker_id)
    )


def coordinator_of(kind: CoordinatorKind, key: str) -> Operation[BrokerId]:
    """The coordinator of a group or transactional id.

    Raises ApiError, with COORDINATOR_NOT_AVAILABLE while there is none.
    """
    request = FindCoordinatorRequest(key=key, key_type=kind, coordinator_keys=[key])
    answer = yield from ask(Send(ToAny(), request), FindCoordinatorResponse, lambda _: [])
    # Up to version 3 the answer has one coordinator, in fields of its own.
    one = answer.coordinators[0] if answer.coordinators else answer
    raise_for(one.error_code, one.error_message, about=f"no coordinator of {kind.name.lower()} {key!r}")
    return one.node_id


def broker_ids() -> Operation[list[BrokerId]]:
    """The brokers that live."""
    described = yield from describe_cluster()
    return [one.broker_id for one in described.brokers]


def elect_leaders(
    election: Election, partitions: Sequence[TopicPartition] | None = None
) -> Operation[list[Elected]]:
    """Let the controller elect leaders of these partitions, or where it is needed, in order of name.

    The new leaders may not be known to all brokers yet.
    """
    answer = yield from ask(
        Send(ToController(), election_request(election, partitions)),
        ElectLeadersResponse,
        lambda answer: [answer.error_code],
    )
    results = elected(answer)
    if partitions is not None:
        check_all_told(sorted(partitions), {one.topic_partition for one in results})
    return results
