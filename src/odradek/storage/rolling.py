"""Rolling: decides when a segment is full and the next batch begins a new one, and begins it (L2)."""

from odradek.base.ids import Offset
from odradek.base.settings import TopicConfig
from odradek.records.header import HEADER_BYTES
from odradek.storage import offset_index, time_index
from odradek.storage.log_parts import LogParts
from odradek.storage.positions import LogPosition
from odradek.storage.producer_replay import write_snapshot
from odradek.storage.segment import Segment

_ENTRY_BYTES_MAX = max(offset_index.ENTRY_BYTES, time_index.ENTRY_BYTES)


def must_roll(
    segment: Segment,
    config: TopicConfig,
    jitter_ms: int,
    size_bytes: int,
    last_offset: Offset,
    max_timestamp: int,
    now_ms: int,
) -> bool:
    """Whether batches of that size, last offset and largest timestamp belong in a new segment.

    A segment's age is the time between its first batch and these ones, so that a log which is written
    again in bulk rolls as it did the first time; without timestamps it is the time since it was made.
    """
    if last_offset - segment.base_offset > offset_index.RELATIVE_OFFSET_MAX:
        return True
    if segment.size_bytes == 0:
        return False
    if segment.size_bytes + size_bytes > config.segment_bytes:
        return True
    first_timestamp = segment.first_timestamp
    if first_timestamp >= 0 and max_timestamp >= 0:
        age_ms = max_timestamp - first_timestamp
    else:
        age_ms = now_ms - segment.created_ms
    if age_ms > config.segment_ms - jitter_ms:
        return True
    if age_ms > config.max_compaction_lag_ms - jitter_ms and "compact" in config.cleanup_policy:
        # Records have to leave the active segment before they are overdue for compaction.
        return True
    index_bytes_max = config.segment_index_bytes
    if segment.size_bytes // HEADER_BYTES < index_bytes_max // _ENTRY_BYTES_MAX - 4:
        return False  # an index has hardly more entries than there are batches
    return (
        len(segment.offset_index.entries) >= index_bytes_max // offset_index.ENTRY_BYTES
        or len(segment.time_index.entries) >= index_bytes_max // time_index.ENTRY_BYTES - 1
    )


def begin_segment(parts: LogParts, base_offset: Offset) -> None:
    """Close the active segment and begin the next one. Raises OSError."""
    segments, place = parts.segments, parts.place
    segments.active.seal()
    parts.save_transaction_sums()
    write_snapshot(parts.producers, place.file_system, segments.directory, base_offset, durable=False)
    segments.add_new(base_offset, place.clock.wall_ms())
    parts.flushes.names_made += 1
    draw_jitter(parts)


def roll(parts: LogParts) -> Offset:
    """Begin a new segment at LEO, unless the active one is empty; returns the base of the active one."""
    if parts.segments.active.size_bytes:
        end = parts.offsets.end
        begin_segment(parts, end)
        parts.offsets.append_up_to(LogPosition(end, parts.segments.active.base_offset, 0))
    return parts.segments.active.base_offset


def draw_jitter(parts: LogParts) -> None:
    """Draw what is taken off `segment.ms` for the active segment, so that logs do not all roll together."""
    config = parts.config
    most_ms = min(config.segment_jitter_ms, config.segment_ms)
    parts.roll_jitter_ms = parts.place.chance.below(most_ms) if most_ms > 0 else 0
