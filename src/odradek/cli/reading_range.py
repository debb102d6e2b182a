"""Where `odradek consume` begins in each partition without a group, and where the log ends at that time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import Offset, TopicPartition
from odradek.base.offset_timestamps import EARLIEST, LATEST

if TYPE_CHECKING:
    from odradek.client.blocking.consumer import Consumer


@dataclass(frozen=True, slots=True)
class Start:
    """EARLIEST, LATEST or a time in milliseconds; or an offset, which counts from the end if negative."""

    timestamp: int = LATEST
    offset: Offset | None = None


def partitions_of(consumer: "Consumer", topic: str, number: int | None = None) -> list[TopicPartition]:
    """The partitions of a topic, or the one with that number.

    Raises ApiError for a topic or a partition that does not exist, ConnectionFailed if no broker answers.
    """
    count = consumer.partition_count(topic)
    if count is None:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {topic}")
    if number is not None and number >= count:
        raise ApiError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            f"there is no partition {number} of topic {topic}: it has {count}",
        )
    return [TopicPartition(topic, one) for one in (range(count) if number is None else [number])]


def starts_of(
    consumer: "Consumer", partitions: Sequence[TopicPartition], start: Start
) -> tuple[dict[TopicPartition, Offset], dict[TopicPartition, Offset]]:
    """The first offset to read of each partition, and the end of what may be read.

    Raises ApiError for an offset that none of the partitions has.
    """
    ends = consumer.end_offsets(partitions)
    if start.offset is not None:
        firsts = consumer.beginning_offsets(partitions)
        return _nearest(start.offset, firsts, ends), ends
    if start.timestamp == LATEST:
        return dict(ends), ends
    if start.timestamp == EARLIEST:
        return consumer.beginning_offsets(partitions), ends
    found = consumer.offsets_for_times(dict.fromkeys(partitions, start.timestamp))
    return {one: ends[one] if at is None else at.offset for one, at in found.items()}, ends


def _nearest(
    offset: Offset, firsts: Mapping[TopicPartition, Offset], ends: Mapping[TopicPartition, Offset]
) -> dict[TopicPartition, Offset]:
    if offset < 0:
        return {one: max(firsts[one], end + offset) for one, end in ends.items()}
    if all(offset > end for end in ends.values()):
        one = max(ends, key=lambda one: ends[one])
        raise ApiError(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            f"there is no offset {offset:,}: {one} ends at {ends[one]:,}",
        )
    return {one: max(firsts[one], min(offset, end)) for one, end in ends.items()}
