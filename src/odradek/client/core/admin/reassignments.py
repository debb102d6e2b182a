"""Moves of replicas between brokers: begin, give up, list those under way (KIP-455, KIP-860)."""

from collections.abc import Iterable, Mapping, Sequence

from odradek.base.ids import BrokerId, TopicPartition, by_topic
from odradek.base.values import value
from odradek.client.core.admin.elements import Answered, Results, ask_each, at_once
from odradek.client.core.operation import Operation, ask
from odradek.client.core.requests import REQUEST_TIMEOUT_MS, Send, ToController
from odradek.client.refusal import raise_for
from odradek.wire.message import Message
from odradek.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from odradek.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ListPartitionReassignmentsTopics,
)

_FIRST_WITH_FIXED_FACTOR = 1


@value
class Move:
    """A partition whose replicas are on their way."""

    topic_partition: TopicPartition
    replicas: tuple[BrokerId, ...]
    """Those that it is to have, then those that leave."""
    adding: tuple[BrokerId, ...]
    """Out of `replicas`: they copy the records, or have done so."""
    removing: tuple[BrokerId, ...]

    @property
    def target(self) -> tuple[BrokerId, ...]:
        """The replicas that it is to have."""
        return tuple(one for one in self.replicas if one not in self.removing)

    @property
    def origin(self) -> tuple[BrokerId, ...]:
        """The replicas that it keeps if the move is given up."""
        return tuple(one for one in self.replicas if one not in self.adding)


# --- requests and answers


def reassignment_request(
    targets: Mapping[TopicPartition, Sequence[BrokerId] | None],
    *,
    allow_replication_factor_change: bool = True,
) -> AlterPartitionReassignmentsRequest:
    """Asks for these replicas, or (None) to give up what is under way."""
    topics: dict[str, ReassignableTopic] = {}
    for (topic, number), replicas in sorted(targets.items()):
        wanted = None if replicas is None else list(replicas)
        partitions = topics.setdefault(topic, ReassignableTopic(topic)).partitions
        partitions.append(ReassignablePartition(number, wanted))
    return AlterPartitionReassignmentsRequest(
        REQUEST_TIMEOUT_MS, allow_replication_factor_change, list(topics.values())
    )


def reassigned(answer: AlterPartitionReassignmentsResponse) -> Answered[TopicPartition, None]:
    """The decision about each partition."""
    for topic in answer.responses:
        for one in topic.partitions:
            yield TopicPartition(topic.name, one.partition_index), one.error_code, one.error_message, None


def listing_request(partitions: Iterable[TopicPartition] | None = None) -> ListPartitionReassignmentsRequest:
    """Asks which of these partitions, or of all, are on their way."""
    if partitions is None:
        return ListPartitionReassignmentsRequest(timeout_ms=REQUEST_TIMEOUT_MS)
    topics = [
        ListPartitionReassignmentsTopics(topic, numbers) for topic, numbers in by_topic(partitions).items()
    ]
    return ListPartitionReassignmentsRequest(REQUEST_TIMEOUT_MS, topics)


def moves_of(answer: ListPartitionReassignmentsResponse) -> dict[TopicPartition, Move]:
    """The moves of an answer, by partition. Raises ApiError if the broker refuses."""
    raise_for(answer.error_code, answer.error_message, about="moves under way are not listed")
    moves = [
        Move(
            TopicPartition(topic.name, one.partition_index),
            tuple(one.replicas),
            tuple(one.adding_replicas),
            tuple(one.removing_replicas),
        )
        for topic in answer.topics
        for one in topic.partitions
    ]
    return {one.topic_partition: one for one in sorted(moves, key=lambda one: one.topic_partition)}


# --- operations


def list_partition_reassignments(
    partitions: Iterable[TopicPartition] | None = None,
) -> Operation[dict[TopicPartition, Move]]:
    """Those of these partitions, or of all, whose replicas are on their way, by name."""
    answer = yield from ask(
        Send(ToController(), listing_request(partitions)),
        ListPartitionReassignmentsResponse,
        lambda answer: [answer.error_code],
    )
    return moves_of(answer)


def alter_partition_reassignments(
    targets: Mapping[TopicPartition, Sequence[BrokerId] | None],
    *,
    allow_replication_factor_change: bool = True,
) -> Operation[None]:
    """Let partitions have these replicas, or (None) give up what is under way.

    The first replica is preferred as the leader. It returns when all is decided; moving takes longer, and
    `list_partition_reassignments` shows what is still under way. Raises ElementsRefused, with
    INVALID_REPLICA_ASSIGNMENT for replicas that cannot be, NO_REASSIGNMENT_IN_PROGRESS where there is nothing
    to give up, INVALID_REPLICATION_FACTOR for another number of replicas where that is not allowed.
    """

    def request(some: Sequence[TopicPartition]) -> Message:
        return reassignment_request(
            {one: targets[one] for one in some},
            allow_replication_factor_change=allow_replication_factor_change,
        )

    def answered(
        answer: AlterPartitionReassignmentsResponse, asked: Sequence[TopicPartition]
    ) -> Answered[TopicPartition, None]:
        if answer.error_code:
            return [(one, answer.error_code, answer.error_message, None) for one in asked]
        return reassigned(answer)

    lowest = 0 if allow_replication_factor_change else _FIRST_WITH_FIXED_FACTOR
    results: Results[TopicPartition, None] = yield from ask_each(
        targets,
        at_once(ToController(), request, lowest=lowest),
        AlterPartitionReassignmentsResponse,
        answered,
    )
    results.all_or_raise("accepted")
