"""Retention: which segments a log no longer has to keep, and their deletion (L5).

Oldest first, and never behind HW: what is not yet on every replica in sync stays.

    segments 0-99, 100-199, 200-299, 300- (active), HW 350
      log start 210                      -> 0 and 100 lie before it entirely
      retention.bytes 500, size 900      -> as many as still leave 500 bytes
      retention.ms                       -> those whose youngest record is older

The active segment may go too, once all before it have; the log then begins a new one first.
"""

from collections.abc import Sequence

from odradek.base.ids import Offset
from odradek.base.settings import TopicConfig
from odradek.storage.log_parts import LogParts
from odradek.storage.rolling import roll
from odradek.storage.segment import Segment

UNLIMITED = -1


def delete_old_segments(parts: LogParts, now_ms: int) -> int:
    """Drop the segments that retention no longer keeps; returns how many. Raises OSError."""
    segments, offsets = list(parts.segments), parts.offsets
    count = count_expendable(
        segments,
        parts.config,
        log_start_offset=offsets.log_start,
        high_watermark=offsets.high_watermark.offset,
        log_end_offset=offsets.end,
        now_ms=now_ms,
    )
    if count == len(segments):
        roll(parts)
    for segment in segments[:count]:
        parts.segments.discard(segment)
    if count:
        first = parts.segments.first.base_offset
        parts.relocate(first)
        parts.raise_log_start(first)
    return count


def count_expendable(
    segments: Sequence[Segment],
    config: TopicConfig,
    *,
    log_start_offset: Offset,
    high_watermark: Offset,
    log_end_offset: Offset,
    now_ms: int,
) -> int:
    """How many of the oldest segments may go."""
    ends = [segment.base_offset for segment in segments[1:]] + [log_end_offset]
    deletes = "delete" in config.cleanup_policy
    surplus_bytes = -1
    if deletes and config.retention_bytes >= 0:
        surplus_bytes = sum(segment.size_bytes for segment in segments) - config.retention_bytes
    expires = deletes and config.retention_ms != UNLIMITED
    expendable = 0
    for segment, end in zip(segments, ends, strict=True):
        is_active = expendable == len(segments) - 1
        if end > high_watermark or (is_active and segment.size_bytes == 0):
            break
        before_start = end <= log_start_offset and not is_active
        too_large = surplus_bytes >= segment.size_bytes
        too_old = expires and now_ms - _youngest_ms(segment) > config.retention_ms
        if not (before_start or too_large or too_old):
            break
        surplus_bytes -= segment.size_bytes
        expendable += 1
    return expendable


def _youngest_ms(segment: Segment) -> int:
    """The largest timestamp of a segment; when its records have none, the time of its last write."""
    timestamp_ms = segment.newest.timestamp_ms
    return timestamp_ms if timestamp_ms >= 0 else segment.modified_ms()
