"""Records of one batch by their timestamps: the last step of a lookup by time (L6).

The time index leads to a batch; here is which record of it is meant. Under LogAppendTime all records have the
batch's timestamp, else each has its own and they need not ascend:

    offsets 10 11 12 13, timestamps 500 700 600 700:   >= 600 is offset 11,   the largest is at offset 11
"""

from typing import NamedTuple

from odradek.base.ids import Offset
from odradek.records.framing import iter_records
from odradek.records.header import Buffer, read_header


class TimedOffset(NamedTuple):
    """A record's timestamp, in ms, and its offset."""

    offset: Offset
    timestamp_ms: int


def find_by_timestamp(
    batch: Buffer, timestamp_ms: int, start_offset: Offset = 0, *, position: int = 0
) -> TimedOffset | None:
    """L6: the first record at or above `start_offset` whose timestamp is at least `timestamp_ms`.

    InvalidRecord when the records of the batch at `position` do not add up.
    """
    header = read_header(batch, position)
    if header.max_timestamp < timestamp_ms or header.last_offset < start_offset:
        return None
    for record in iter_records(batch, header, position):
        if record.timestamp_ms >= timestamp_ms and record.offset >= start_offset:
            return TimedOffset(record.offset, record.timestamp_ms)
    return None


def max_timestamp_offset(batch: Buffer, *, position: int = 0) -> TimedOffset | None:
    """L6: the first of the records that have the largest timestamp; None for a batch without records."""
    header = read_header(batch, position)
    largest: TimedOffset | None = None
    for record in iter_records(batch, header, position):
        if largest is None or record.timestamp_ms > largest.timestamp_ms:
            largest = TimedOffset(record.offset, record.timestamp_ms)
            if header.is_log_append_time:
                break
    return largest
