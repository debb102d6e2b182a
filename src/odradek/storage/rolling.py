"""Decides when a segment is full and the next batch begins a new one (L2)."""

from odradek.base.ids import Offset
from odradek.base.settings import TopicConfig
from odradek.records.header import HEADER_BYTES
from odradek.storage import offset_index, time_index
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
