"""Where a reader without a group begins in each partition, and where the log ends at that time."""

from collections.abc import Sequence
from dataclasses import dataclass

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import Offset, TopicPartition
from odradek.client.cluster import EARLIEST, LATEST, fetch_leaders, list_offsets
from odradek.client.configuration import ClientConfig


@dataclass(frozen=True, slots=True)
class Start:
    """EARLIEST, LATEST or a time in milliseconds; or an offset, which counts from the end if negative."""

    timestamp: int = LATEST
    offset: Offset | None = None


def starts_of(
    config: ClientConfig, partitions: Sequence[TopicPartition], start: Start
) -> tuple[dict[TopicPartition, Offset], dict[TopicPartition, Offset]]:
    """The first offset to read of each partition, and the end of what may be read.

    Raises ApiError for an offset that none of the partitions has.
    """
    isolation = config.isolation_level
    with config.connect() as connection:
        leaders = fetch_leaders(connection, sorted({one.topic for one in partitions}))
    ends = list_offsets(leaders, LATEST, partitions, isolation, config.connect)
    if start.offset is not None:
        firsts = list_offsets(leaders, EARLIEST, partitions, isolation, config.connect)
        if start.offset < 0:
            return {one: max(firsts[one], end + start.offset) for one, end in ends.items()}, ends
        if all(start.offset > end for end in ends.values()):
            one = max(ends, key=lambda one: ends[one])
            raise ApiError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"there is no offset {start.offset:,}: {one} ends at {ends[one]:,}",
            )
        return {one: max(firsts[one], min(start.offset, end)) for one, end in ends.items()}, ends
    if start.timestamp == LATEST:
        return dict(ends), ends
    found = list_offsets(leaders, start.timestamp, partitions, isolation, config.connect)
    return {one: at if at >= 0 else ends[one] for one, at in found.items()}, ends
