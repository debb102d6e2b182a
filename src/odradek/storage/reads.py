"""Reads a log: whole batches from the one that holds an offset, up to a bound (L3).

segment 100:  [100-104][105-109][110-114][115-119]       bound: HW at offset 115

start 107, room for two batches      -> [105-109][110-114], the client skips 105 and 106
start 107, room for 1.5 batches      -> [105-109] and half of [110-114], as Kafka does
start 107, room for half a batch     -> [105-109] whole, where at least one batch was asked for
start 115                            -> nothing: it is not below the bound

At most `held_bytes_max` bytes are read into memory. A larger result stays in the file, as a `FileSlice`.
"""

from dataclasses import dataclass
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import Offset
from odradek.base.stored_bytes import StoredBytes
from odradek.storage.disk_access import reads_disk
from odradek.storage.log_parts import LogParts
from odradek.storage.positions import LogPosition
from odradek.storage.segment import Segment
from odradek.storage.segments import Segments
from odradek.storage.transaction_index import AbortedTransaction

COLD_BYTES_MIN: Final = 64 * 1024
"""For fewer bytes, a read does not check whether it would wait for the disk."""
HOLDS_ALL: Final = (1 << 63) - 1
"""No limit on what a read holds in memory."""


@dataclass(slots=True)
class LogRead:
    """The answer of `Log.read`."""

    position: LogPosition
    """Of the offset asked for; its byte is where `records` begin."""
    records: bytes | memoryview | StoredBytes
    """Batches as they lie on disk; the last may be cut short when `max_bytes` ran out."""
    first_batch_incomplete: bool = False
    """Not even the first batch fitted in `max_bytes`, and the read was not to exceed it."""
    aborted_transactions: list[AbortedTransaction] | None = None
    """Those that touch the records, for a `committed_only` read; None for any other."""

    @property
    def held_records(self) -> bytes | memoryview:
        """`records`, for a caller that set no limit on what is held: nothing of them stayed in the file."""
        assert not isinstance(self.records, StoredBytes), "without a limit everything is read"
        return self.records


@reads_disk
def read_log(
    parts: LogParts,
    start: Offset,
    max_bytes: int,
    bound: LogPosition,
    at_least_one: bool,
    committed_only: bool,
    held_bytes_max: int,
) -> LogRead:
    """See `Log.read`."""
    if max_bytes < 0:
        raise ApiError(ErrorCode.INVALID_FETCH_SIZE, f"a read of {max_bytes} bytes")
    offsets = parts.offsets
    if not offsets.log_start <= start <= offsets.end:
        raise parts.out_of_range(start)
    found = None
    if max_bytes > 0 and start < bound.offset:
        found = read_batches(
            parts.segments,
            start,
            max_bytes,
            bound,
            at_least_one=at_least_one,
            held_bytes_max=held_bytes_max,
        )
    if found is None:
        nothing = bound if start == bound.offset else parts.locate(start)
        return LogRead(nothing, b"", aborted_transactions=[] if committed_only else None)
    if committed_only:
        found.aborted_transactions = aborted_among(parts.segments, found, offsets.end)
    return found


def read_batches(
    segments: Segments,
    start: Offset,
    max_bytes: int,
    bound: LogPosition,
    *,
    at_least_one: bool,
    held_bytes_max: int,
) -> LogRead | None:
    """The batches from `start` on, below `bound`; None when there are none.

    CorruptRecord when what lies there is damaged.
    """
    segment: Segment | None = segments.floor(start)
    while segment is not None and segment.base_offset <= bound.segment_base_offset:
        position = segment.find(start)
        if position is not None:
            is_last = segment.base_offset == bound.segment_base_offset
            end = bound.byte_position if is_last else segment.size_bytes
            if position >= end:
                return None
            at = LogPosition(start, segment.base_offset, position)
            return _read_from(segment, at, end, max_bytes, held_bytes_max, at_least_one=at_least_one)
        segment = segments.after(segment)
    return None


def aborted_among(segments: Segments, found: LogRead, log_end_offset: Offset) -> list[AbortedTransaction]:
    """The aborted transactions that touch what was read; perhaps a few that begin just behind it."""
    start = found.position.offset
    segment = segments.floor(found.position.segment_base_offset)
    assert segment is not None, f"what was read at {found.position} lies in no segment"
    indexed = segment.offset_at_or_after(found.position.byte_position + len(found.records))
    end = segments.end_of(segment, log_end_offset) if indexed is None else indexed
    aborted: list[AbortedTransaction] = []
    for behind in segments.from_offset(segment.base_offset):
        if behind.transaction_index.collect(start, end, aborted):
            break
    return aborted


def _read_from(
    segment: Segment,
    at: LogPosition,
    end: int,
    max_bytes: int,
    held_bytes_max: int,
    *,
    at_least_one: bool,
) -> LogRead:
    found_bytes = end - at.byte_position
    if found_bytes <= max_bytes:
        return LogRead(at, _take(segment, at, found_bytes, held_bytes_max, at_least_one=at_least_one))
    first_bytes = segment.batch_size_at(at.byte_position)
    if first_bytes <= max_bytes:
        return LogRead(at, _take(segment, at, max_bytes, held_bytes_max, at_least_one=at_least_one))
    if at_least_one:
        return LogRead(at, _take(segment, at, first_bytes, held_bytes_max, at_least_one=True))
    return LogRead(at, segment.read(at.byte_position, max_bytes), first_batch_incomplete=True)


def _take(
    segment: Segment, at: LogPosition, size_bytes: int, held_bytes_max: int, *, at_least_one: bool
) -> bytes | StoredBytes:
    """The bytes, or a slice of the file; fewer bytes if no slice can be made, but the first batch whole.

    Bytes that are not in memory also become a slice, unless they are few or the caller holds all.
    """
    position = at.byte_position
    if size_bytes <= held_bytes_max and (
        size_bytes < COLD_BYTES_MIN
        or held_bytes_max == HOLDS_ALL
        or segment.is_in_memory(position, size_bytes)
    ):
        return segment.read(position, size_bytes)
    found = segment.slice(position, size_bytes)
    if found is not None:
        return found
    if not at_least_one:
        return b""
    return segment.read(position, min(size_bytes, max(held_bytes_max, segment.batch_size_at(position))))
