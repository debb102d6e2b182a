"""Offsets of partitions, which their leaders know: first, last, by time; and the deletion of records."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeVar

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import NO_BROKER, BrokerId, Offset, TopicPartition
from odradek.client.core.admin.operation import Operation, Pause, passes
from odradek.client.core.admin.topics import describe_topics
from odradek.client.core.requests import REQUEST_TIMEOUT_MS, Send, ToNode
from odradek.client.refusal import known_code
from odradek.wire.message import Message
from odradek.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

EARLIEST: Final = -2
LATEST: Final = -1
MAX_TIMESTAMP: Final = -3
"""The record with the largest timestamp (KIP-734)."""
TO_THE_END: Offset = -1
"""Of `delete_records`: the high watermark, everything."""
ISOLATION_LEVELS: Final = {"read_uncommitted": 0, "read_committed": 1}
_LIST_OFFSETS_VERSION_MAX: Final = 7

R = TypeVar("R", bound=Message)

# What the leader of a partition said: an error code and an offset.
_Answered = Iterable[tuple[TopicPartition, int, Offset]]


def list_offsets(
    times: Mapping[TopicPartition, int], *, isolation_level: str = "read_uncommitted"
) -> Operation[dict[TopicPartition, Offset]]:
    """The offset of EARLIEST, LATEST, MAX_TIMESTAMP or a time in ms in each partition.

    -1 where no record is of that time or later. With `read_committed` the end is that of the records that are
    not part of an open transaction. Raises ApiError for the first partition that has none.
    """
    if isolation_level not in ISOLATION_LEVELS:
        known = ", ".join(ISOLATION_LEVELS)
        raise ValueError(f"isolation_level is one of {known}, not {isolation_level!r}")

    def request(led: Sequence[TopicPartition]) -> Message:
        by_topic: dict[str, list[ListOffsetsPartition]] = defaultdict(list)
        for one in led:
            asked = ListOffsetsPartition(partition_index=one.partition, timestamp=times[one])
            by_topic[one.topic].append(asked)
        topics = [ListOffsetsTopic(name=name, partitions=parts) for name, parts in by_topic.items()]
        return ListOffsetsRequest(
            replica_id=-1, isolation_level=ISOLATION_LEVELS[isolation_level], topics=topics
        )

    def answered(answer: ListOffsetsResponse) -> _Answered:
        for topic in answer.topics:
            for one in topic.partitions:
                yield TopicPartition(topic.name, one.partition_index), one.error_code, one.offset

    return (
        yield from _of_leaders(
            list(times), request, ListOffsetsResponse, answered, highest=_LIST_OFFSETS_VERSION_MAX
        )
    )


def delete_records(before: Mapping[TopicPartition, Offset]) -> Operation[dict[TopicPartition, Offset]]:
    """Delete the records below each offset; returns the first offset that each log then has.

    Raises ApiError for the first partition that refuses; in others records may be deleted then.
    """

    def request(led: Sequence[TopicPartition]) -> Message:
        by_topic: dict[str, list[DeleteRecordsPartition]] = defaultdict(list)
        for one in led:
            asked = DeleteRecordsPartition(partition_index=one.partition, offset=before[one])
            by_topic[one.topic].append(asked)
        topics = [DeleteRecordsTopic(name=name, partitions=parts) for name, parts in by_topic.items()]
        return DeleteRecordsRequest(topics=topics, timeout_ms=REQUEST_TIMEOUT_MS)

    def answered(answer: DeleteRecordsResponse) -> _Answered:
        for topic in answer.topics:
            for one in topic.partitions:
                yield TopicPartition(topic.name, one.partition_index), one.error_code, one.low_watermark

    return (yield from _of_leaders(list(before), request, DeleteRecordsResponse, answered))


def _of_leaders(
    partitions: Sequence[TopicPartition],
    request: Callable[[Sequence[TopicPartition]], Message],
    kind: type[R],
    answered: Callable[[R], _Answered],
    *,
    highest: int = 0x7FFF,
) -> Operation[dict[TopicPartition, Offset]]:
    """Ask the leaders of partitions, and where a leader has moved, its successor.

    Raises ApiError for the first partition that is unknown or refuses.
    """
    found: dict[TopicPartition, Offset] = {}
    pauses = 0
    while left := [one for one in partitions if one not in found]:
        by_node = yield from _leaders(left)
        led = {node: parts for node, parts in by_node.items() if node != NO_BROKER}
        error = None
        if NO_BROKER in by_node:
            error = ApiError(ErrorCode.LEADER_NOT_AVAILABLE, f"{by_node[NO_BROKER][0]} has no leader")
        sends = [Send(ToNode(node), request(parts), highest=highest) for node, parts in led.items()]
        outcomes = (yield sends) if sends else ()
        for outcome in outcomes:
            if outcome.error is not None:
                if not passes(outcome.error.code):
                    raise outcome.error
                error = outcome.error
                continue
            for named, error_code, offset in answered(outcome.answer(kind)):
                code = known_code(error_code)
                if code is ErrorCode.NONE:
                    found[named] = offset
                    continue
                error = ApiError(code, f"{named}: {code.name.lower().replace('_', ' ')}")
                if not passes(code):
                    raise error
        if error is None and any(one not in found for one in left):
            said = "the answer of a leader leaves out partitions that it was asked about"
            raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, said)
        if error is not None:
            yield Pause(pauses, error)
            pauses += 1
    return found


def _leaders(partitions: Iterable[TopicPartition]) -> Operation[dict[BrokerId, list[TopicPartition]]]:
    """The partitions by leader. Raises ApiError for one that does not exist."""
    wanted = sorted(set(partitions))
    described = yield from describe_topics(sorted({one.topic for one in wanted}))
    leaders = {
        TopicPartition(topic.name, one.partition): one.leader
        for topic in described
        for one in topic.partitions
    }
    by_node: dict[BrokerId, list[TopicPartition]] = defaultdict(list)
    for one in wanted:
        if one not in leaders:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {one}")
        by_node[leaders[one]].append(one)
    return by_node
