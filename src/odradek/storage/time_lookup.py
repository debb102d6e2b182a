"""From a time to a record (L6): segment by its largest timestamp, batch by the time index, then inside it.

Timestamps need not rise with offsets, so the answer is the record with the smallest offset among those at
or after the time, not the one nearest to it.
"""

from collections.abc import Iterable

from odradek.base.ids import Offset
from odradek.records.timestamps import find_by_timestamp
from odradek.storage.positions import TimestampOffset
from odradek.storage.segment import Segment


def offset_for_timestamp(
    segments: Iterable[Segment], timestamp_ms: int, log_start_offset: Offset
) -> TimestampOffset | None:
    """The first record from `log_start_offset` on whose timestamp is at least `timestamp_ms`."""
    for segment in segments:
        if segment.newest.timestamp_ms >= timestamp_ms:
            found = _first_in(segment, timestamp_ms, log_start_offset)
            if found is not None:
                return found
    return None


def max_timestamp_offset(segments: Iterable[Segment], log_start_offset: Offset) -> TimestampOffset | None:
    """The first record that has the largest timestamp of all."""
    newest_ms = max((segment.newest.timestamp_ms for segment in segments), default=-1)
    return None if newest_ms < 0 else offset_for_timestamp(segments, newest_ms, log_start_offset)


def _first_in(segment: Segment, timestamp_ms: int, log_start_offset: Offset) -> TimestampOffset | None:
    # Of the last entry below the time, so that a batch which brought exactly this time is not passed by.
    position = segment.find(max(segment.find_time(timestamp_ms - 1), log_start_offset))
    if position is None:
        return None
    for at, header in segment.headers(position):
        if header.max_timestamp < timestamp_ms or header.last_offset < log_start_offset:
            continue
        found = find_by_timestamp(segment.read(at, header.size_bytes), timestamp_ms, log_start_offset)
        if found is not None:
            return TimestampOffset(found.timestamp_ms, found.offset, header.leader_epoch)
    return None
