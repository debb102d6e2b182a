"""Finds a record by time (L6): segment by its largest timestamp, batch by the time index, then the record.

Timestamps need not rise with offsets, so the answer is the record with the smallest offset among those at
or after the time, not the one nearest to it.

A lookup runs in steps, between which the log may change. It keeps only an offset from one step to the next,
never a segment or a position, and continues from that offset in the changed log.
"""

from typing import Final, NamedTuple

from odradek.base.ids import Offset
from odradek.records.header import BatchHeader
from odradek.records.timestamps import find_in_steps
from odradek.records.work import RecordSteps
from odradek.storage.positions import TimestampOffset
from odradek.storage.segments import Segments

HEADERS_PER_STEP: Final = 100
"""How many headers of batches are read in one step, a few microseconds each."""
SEGMENTS_PER_STEP: Final = 20
"""How many segments are passed by in one step; a cold one is looked up in its index file."""


class _Candidate(NamedTuple):
    """A batch that may hold the record."""

    header: BatchHeader
    batch: bytes


def offset_for_timestamp(
    segments: Segments, timestamp_ms: int, log_start_offset: Offset
) -> RecordSteps[TimestampOffset | None]:
    """Find the first record from `log_start_offset` on whose timestamp is at least `timestamp_ms`."""
    next_offset: Offset | None = log_start_offset
    while next_offset is not None:
        candidate, next_offset = _next_candidate(segments, timestamp_ms, next_offset)
        if candidate is not None:
            header, batch = candidate
            found = yield from find_in_steps(batch, timestamp_ms, log_start_offset)
            if found is not None:
                return TimestampOffset(found.timestamp_ms, found.offset, header.leader_epoch)
        yield None
    return None


def max_timestamp_offset(segments: Segments, log_start_offset: Offset) -> RecordSteps[TimestampOffset | None]:
    """Find the first record that has the largest timestamp of all."""
    newest_ms = max((segment.newest.timestamp_ms for segment in segments), default=-1)
    if newest_ms < 0:
        return None
    return (yield from offset_for_timestamp(segments, newest_ms, log_start_offset))


def _next_candidate(
    segments: Segments, timestamp_ms: int, start: Offset
) -> tuple[_Candidate | None, Offset | None]:
    """The first batch from `start` on that is late enough, where this step finds it; and where to go on.

    That is None when nothing is left.
    """
    for number, segment in enumerate(segments.from_offset(start)):
        if number == SEGMENTS_PER_STEP:
            return None, segment.base_offset
        if segment.newest.timestamp_ms < timestamp_ms:
            continue
        # By the last entry below the time, so that a batch which brought exactly this time is not passed by.
        position = segment.find(max(segment.find_time(timestamp_ms - 1), start))
        if position is None:
            continue
        for passed, (at, header) in enumerate(segment.headers(position), 1):
            if header.max_timestamp >= timestamp_ms and header.last_offset >= start:
                return _Candidate(header, segment.read(at, header.size_bytes)), header.next_offset
            if passed == HEADERS_PER_STEP:
                return None, header.next_offset
    return None, None
