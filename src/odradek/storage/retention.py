"""Retention: decides which segments a log no longer has to keep, and deletes them (L5).

Oldest first, and never above HW: records that are not on every in-sync replica are kept.

    segments 0-99, 100-199, 200-299, 300- (active), HW 350
      log start 210                      -> 0 and 100 lie before it entirely
      retention.bytes 500, size 900      -> as many as still leave 500 bytes
      retention.ms                       -> those whose youngest record is older

The active segment may be deleted too, after all others; the log then begins a new segment first.
"""

from collections.abc import Sequence
from typing import NamedTuple

from odradek.base.ids import Offset, TopicPartition
from odradek.base.settings import TopicConfig
from odradek.storage.log_parts import LogParts
from odradek.storage.rolling import roll
from odradek.storage.segment import Segment

UNLIMITED = -1
BELOW_START, BY_SIZE, BY_AGE = "log start offset", "retention.bytes", "retention.ms"


class Retired(NamedTuple):
    """The segments that retention removed from one log."""

    partition: TopicPartition
    segments: int
    first_offset: Offset
    end_offset: Offset
    """The offset after the last removed one."""
    size_bytes: int
    """The bytes of their records."""
    reasons: tuple[str, ...]
    """Each of BELOW_START, BY_SIZE, BY_AGE that took a segment, once, in the order of the segments."""


def retire(partition: TopicPartition, parts: LogParts, now_ms: int) -> Retired | None:
    """Drop the segments that retention no longer keeps; None where it keeps all. Raises OSError."""
    segments, offsets = list(parts.segments), parts.offsets
    reasons = expendable(
        segments,
        parts.config,
        log_start_offset=offsets.log_start,
        high_watermark=offsets.high_watermark.offset,
        log_end_offset=offsets.end,
        now_ms=now_ms,
    )
    if not reasons:
        return None
    dropped = segments[: len(reasons)]
    first_offset, size_bytes = segments[0].base_offset, sum(one.size_bytes for one in dropped)
    if len(dropped) == len(segments):
        roll(parts)
    for segment in dropped:
        parts.segments.discard(segment)
    end_offset = parts.segments.first.base_offset
    parts.relocate(end_offset)
    parts.raise_log_start(end_offset)
    return Retired(
        partition, len(dropped), first_offset, end_offset, size_bytes, tuple(dict.fromkeys(reasons))
    )


def expendable(
    segments: Sequence[Segment],
    config: TopicConfig,
    *,
    log_start_offset: Offset,
    high_watermark: Offset,
    log_end_offset: Offset,
    now_ms: int,
) -> list[str]:
    """For each of the oldest segments that may go the reason: BELOW_START, BY_SIZE or BY_AGE."""
    ends = [segment.base_offset for segment in segments[1:]] + [log_end_offset]
    deletes = "delete" in config.cleanup_policy
    surplus_bytes = -1
    if deletes and config.retention_bytes >= 0:
        surplus_bytes = sum(segment.size_bytes for segment in segments) - config.retention_bytes
    expires = deletes and config.retention_ms != UNLIMITED
    reasons: list[str] = []
    for segment, end in zip(segments, ends, strict=True):
        is_active = len(reasons) == len(segments) - 1
        if end > high_watermark or (is_active and segment.size_bytes == 0):
            break
        before_start = end <= log_start_offset and not is_active
        too_large = surplus_bytes >= segment.size_bytes
        too_old = expires and now_ms - _youngest_ms(segment) > config.retention_ms
        if not (before_start or too_large or too_old):
            break
        surplus_bytes -= segment.size_bytes
        reasons.append(BELOW_START if before_start else BY_SIZE if too_large else BY_AGE)
    return reasons


def _youngest_ms(segment: Segment) -> int:
    """The largest timestamp of a segment; when its records have none, the time of its last write."""
    timestamp_ms = segment.newest.timestamp_ms
    return timestamp_ms if timestamp_ms >= 0 else segment.modified_ms()
