"""Offsets of partitions, which their leaders know: first, last, by time; and the deletion of records."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import Offset, TopicPartition
from odradek.client.choices import ISOLATION_LEVELS
from odradek.client.core.admin.elements import Answered, Results
from odradek.client.core.admin.leaders import ask_leaders
from odradek.client.core.operation import Operation
from odradek.client.core.requests import REQUEST_TIMEOUT_MS
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

TO_THE_END: Offset = -1
"""Of `delete_records`: the high watermark, everything."""
_LIST_OFFSETS_VERSION_MAX: Final = 7


def deletion_request(before: Mapping[TopicPartition, Offset]) -> DeleteRecordsRequest:
    """Asks a leader to delete the records below each offset."""
    topics: dict[str, list[DeleteRecordsPartition]] = defaultdict(list)
    for (topic, number), offset in sorted(before.items()):
        topics[topic].append(DeleteRecordsPartition(number, offset))
    return DeleteRecordsRequest(
        [DeleteRecordsTopic(name, parts) for name, parts in topics.items()], REQUEST_TIMEOUT_MS
    )


def list_offsets(
    times: Mapping[TopicPartition, int], *, isolation_level: str = "read_uncommitted"
) -> Operation[dict[TopicPartition, Offset]]:
    """The offset of EARLIEST, LATEST, MAX_TIMESTAMP or a time in ms in each partition.

    -1 where no record is of that time or later. With `read_committed` the end is that of the records that are
    not part of an open transaction. Raises ApiError for the first partition that does not exist, and
    ElementsRefused where leaders refuse.
    """
    results = yield from _find_offsets(times, isolation_level=isolation_level)
    return results.all_or_raise("found")


def _find_offsets(
    times: Mapping[TopicPartition, int],
    *,
    isolation_level: str = "read_uncommitted",
    awaits_leaders: bool = True,
) -> Operation[Results[TopicPartition, Offset]]:
    """`list_offsets` with a result for each partition; see `ask_leaders` for those without a leader."""
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

    def answered(answer: ListOffsetsResponse) -> Answered[TopicPartition, Offset]:
        for topic in answer.topics:
            for one in topic.partitions:
                yield TopicPartition(topic.name, one.partition_index), one.error_code, None, one.offset

    return (
        yield from ask_leaders(
            times,
            request,
            ListOffsetsResponse,
            answered,
            highest=_LIST_OFFSETS_VERSION_MAX,
            awaits_leaders=awaits_leaders,
        )
    )


def offsets_where_led(
    partitions: Iterable[TopicPartition], time: int
) -> Operation[dict[TopicPartition, Offset]]:
    """`list_offsets` of one time, without the partitions that have no leader: they are not waited for."""
    results = yield from _find_offsets(dict.fromkeys(partitions, time), awaits_leaders=False)
    refused = {
        one: error
        for one, error in results.refused.items()
        if error.code is not ErrorCode.LEADER_NOT_AVAILABLE
    }
    return Results(results.found, refused).all_or_raise("found")


def delete_records(before: Mapping[TopicPartition, Offset]) -> Operation[dict[TopicPartition, Offset]]:
    """Delete the records below each offset; returns the first offset that each log then has.

    Raises ApiError for the first partition that does not exist, before anything is deleted, and
    ElementsRefused, with OFFSET_OUT_OF_RANGE for a partition that ends before its offset.
    """

    def request(led: Sequence[TopicPartition]) -> Message:
        return deletion_request({one: before[one] for one in led})

    def answered(answer: DeleteRecordsResponse) -> Answered[TopicPartition, Offset]:
        for topic in answer.topics:
            for one in topic.partitions:
                partition = TopicPartition(topic.name, one.partition_index)
                yield partition, one.error_code, None, one.low_watermark

    results = yield from ask_leaders(before, request, DeleteRecordsResponse, answered)
    return results.all_or_raise("deleted in")
