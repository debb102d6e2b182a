"""The cluster: its brokers, elections of leaders, and what the brokers have on disk."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import BrokerId, TopicPartition
from odradek.base.values import value
from odradek.client.core.admin.operation import Operation, ask, ask_all
from odradek.client.core.requests import REQUEST_TIMEOUT_MS, Send, ToAny, ToController, ToNode
from odradek.client.refusal import known_code, raise_for
from odradek.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from odradek.wire.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from odradek.wire.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse, TopicPartitions

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


@dataclass(frozen=True, slots=True)
class LogDirectory:
    """One directory in which a broker keeps logs."""

    broker_id: BrokerId
    path: str
    error: ErrorCode
    """KAFKA_STORAGE_ERROR for one that is offline, else NONE."""
    total_bytes: int | None
    """Of its file system; None where the broker does not tell."""
    usable_bytes: int | None
    sizes: dict[TopicPartition, int]
    """The bytes of each partition there."""


# --- requests and answers


def election_request(election: Election, partitions: Sequence[TopicPartition] | None) -> ElectLeadersRequest:
    """Elects in these partitions, or in all that need it."""
    wanted = None
    if partitions is not None:
        by_topic: dict[str, list[int]] = defaultdict(list)
        for topic, number in partitions:
            by_topic[topic].append(number)
        wanted = [TopicPartitions(topic=topic, partitions=numbers) for topic, numbers in by_topic.items()]
    return ElectLeadersRequest(election_type=election, topic_partitions=wanted, timeout_ms=REQUEST_TIMEOUT_MS)


def elected(answer: ElectLeadersResponse) -> list[Elected]:
    """The results of an answer, in order of name. Raises ApiError if all was refused."""
    raise_for(answer.error_code, about="no leaders were elected")
    results = []
    for result in answer.replica_election_results:
        for one in result.partition_result:
            code = known_code(one.error_code)
            message = one.error_message or code.name.lower().replace("_", " ")
            results.append(Elected(TopicPartition(result.topic, one.partition_id), code, message))
    return sorted(results, key=lambda one: one.topic_partition)


# --- operations


def describe_cluster() -> Operation[ClusterDescription]:
    """The brokers that live, the controller, and the cluster's id."""
    answer = yield from ask(
        Send(ToAny(), DescribeClusterRequest(), highest=_DESCRIBE_CLUSTER_VERSION_MAX),
        DescribeClusterResponse,
        lambda answer: [answer.error_code],
    )
    raise_for(answer.error_code, answer.error_message, about="the cluster")
    brokers = [BrokerDescription(one.broker_id, one.host, one.port, one.rack) for one in answer.brokers]
    return ClusterDescription(
        answer.cluster_id, answer.controller_id, sorted(brokers, key=lambda one: one.broker_id)
    )


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
    return elected(answer)


def describe_log_dirs(brokers: Sequence[BrokerId] | None = None) -> Operation[list[LogDirectory]]:
    """The directories of these brokers, or of all, with the sizes of the partitions there."""
    asked = list(brokers) if brokers is not None else (yield from broker_ids())
    answers = yield from ask_all(
        [Send(ToNode(one), DescribeLogDirsRequest(topics=None)) for one in asked],
        DescribeLogDirsResponse,
        lambda answer: [answer.error_code],
    )
    found = []
    for broker_id, answer in zip(asked, answers, strict=True):
        raise_for(answer.error_code, about=f"the log directories of broker {broker_id}")
        for one in answer.results:
            sizes = {
                TopicPartition(topic.name, part.partition_index): part.partition_size
                for topic in one.topics
                for part in topic.partitions
                if not part.is_future_key
            }
            total, usable = (None if size < 0 else size for size in (one.total_bytes, one.usable_bytes))
            found.append(
                LogDirectory(broker_id, one.log_dir, known_code(one.error_code), total, usable, sizes)
            )
    return found
