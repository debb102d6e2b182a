"""Finds records of one batch by timestamp: the last step of a lookup by time (L6).

The time index leads to a batch; this module finds the record in it. Under LogAppendTime all records have the
batch's timestamp, else each has its own and they need not ascend:

    offsets 10 11 12 13, timestamps 500 700 600 700:   >= 600 is offset 11
"""

from typing import NamedTuple

from odradek.base.buffers import Buffer
from odradek.base.errors import InvalidRecord
from odradek.base.ids import Offset
from odradek.records.framing import body_in_steps, discard_in_steps, iter_outlines
from odradek.records.header import BatchHeader, read_header
from odradek.records.record_check import RECORDS_PER_STEP
from odradek.records.work import RecordSteps


class TimedOffset(NamedTuple):
    """A record's timestamp, in ms, and its offset."""

    offset: Offset
    timestamp_ms: int


def find_in_steps(
    batch: Buffer, timestamp_ms: int, start_offset: Offset = 0, *, position: int = 0
) -> RecordSteps[TimedOffset | None]:
    """L6: find the first record at or above `start_offset` whose timestamp is at least `timestamp_ms`.

    Raises InvalidRecord if the records of the batch at `position` do not add up, as far as they were read.
    """
    header = read_header(batch, position)
    if header.max_timestamp < timestamp_ms or header.last_offset < start_offset:
        return None
    body = yield from body_in_steps(batch, header, position)
    try:
        found = yield from _find(body, header, timestamp_ms, start_offset)
    except InvalidRecord:
        yield from discard_in_steps(body, header)
        raise
    yield from discard_in_steps(body, header)
    return found


def _find(
    body: Buffer, header: BatchHeader, timestamp_ms: int, start_offset: Offset
) -> RecordSteps[TimedOffset | None]:
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    append_time_ms = header.max_timestamp if header.is_log_append_time else None
    for number, record in enumerate(iter_outlines(body, header), 1):
        at_ms = base_timestamp + record.timestamp_delta_ms if append_time_ms is None else append_time_ms
        offset = base_offset + record.offset_delta
        if at_ms >= timestamp_ms and offset >= start_offset:
            return TimedOffset(offset, at_ms)
        if number % RECORDS_PER_STEP == 0:
            yield None
    return None
