"""Cuts the end off a log: whole batches, and all state that comes from them (X4, X6).

    batches 0-4 5-9 10-14 | truncate to 7 -> 0-4, LEO 5: the batch that holds 7 goes as a whole

Segments, indexes, producers, leader epochs, transaction sums and offsets are truncated together. The next
append waits until the truncation and the recovery point are on disk: otherwise a power cut could bring the
truncated batches back next to the appended ones. A caller that must not block brings both to disk in the
background, and appends once `Log.is_settled`.
"""

from odradek.base.ids import Offset
from odradek.storage.log_parts import LogParts
from odradek.storage.positions import LogPosition
from odradek.storage.producer_replay import rebuild_producers
from odradek.storage.rolling import draw_jitter


def truncate_to(parts: LogParts, offset: Offset) -> bool:
    """Drop all batches that hold `offset` or later ones. Returns False when there were none."""
    segments = parts.segments
    if offset >= parts.offsets.end:
        # An epoch that began here without records is not the leader's: its end offset would be wrong.
        if parts.epochs.truncate_from_end(parts.offsets.end):
            parts.flushes.truncated_to(parts.offsets.end)
            parts.save_epochs()
        return False
    if offset <= segments.first.base_offset:
        truncate_fully(parts, max(offset, 0))
        return True
    cut, *later = segments.from_offset(offset)
    for segment in reversed(later):
        segments.discard(segment)
    end = cut.truncate_to(offset)
    now_ms = parts.place.clock.wall_ms()
    rebuild_producers(parts.producers, segments, parts.place.file_system, end, now_ms)
    parts.flushes.truncated_to(end)
    parts.offsets.cut_at(LogPosition(end, cut.base_offset, cut.size_bytes))
    parts.save_transaction_sums()
    if parts.epochs.truncate_from_end(end):
        parts.save_epochs()
    parts.stand_at(parts.offsets.high_watermark)
    draw_jitter(parts)
    return True


def truncate_fully(parts: LogParts, offset: Offset) -> None:
    """Drop everything; the log is empty and starts at `offset`."""
    empty(parts, offset, offset)


def empty(parts: LogParts, base_offset: Offset, offset: Offset) -> None:
    """Drop everything; the log starts and ends at `offset`, in a segment that begins at `base_offset`."""
    for segment in reversed(list(parts.segments)):
        parts.segments.discard(segment)
    parts.segments.add_new(base_offset, parts.place.clock.wall_ms())
    parts.flushes.names_made += 1
    draw_jitter(parts)
    parts.producers.clear()
    parts.epochs.clear()
    parts.save_epochs()
    parts.flushes.truncated_to(base_offset)
    parts.offsets.begin_anew_at(LogPosition(offset, base_offset, 0))
    parts.save_transaction_sums()
