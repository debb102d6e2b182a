"""Decides which log is due for cleaning, and how much of it may be cleaned (L5). It changes nothing.

    segment 0 | segment 100 | segment 200 | segment 300 | segment 400 (active)      LSO 390, flushed 400
      clean up to 100         dirty: 200 KB               not yet: an open transaction may lie in it
      100 KB
    dirty ratio 200 / 300 = 0.67 > min.cleanable.dirty.ratio 0.5     -> due, and before a log with 0.6

`max.compaction.lag.ms` makes a log due as well. Never cleaned are the active segment, records above the LSO,
records not yet flushed (a record may be removed only once the later one of its key is on disk), and records
younger than `min.compaction.lag.ms`. Only whole segments are cleaned.
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from odradek.base.ids import Offset
from odradek.base.settings import TopicConfig
from odradek.base.settings.definition import LONG_MAX
from odradek.storage.cleaned_segment import SegmentExtent
from odradek.storage.compaction.job import CleaningJob, LastBatch
from odradek.storage.log import Log
from odradek.storage.segment import Segment


class Cleanable(NamedTuple):
    """The part of a log that may be cleaned now."""

    segments: tuple[Segment, ...]
    """In order, from the log's first segment on."""
    end_offset: Offset
    """The base offset of the next segment after them."""
    first_dirty_offset: Offset
    """Earlier cleanings have cleaned everything below it."""
    clean_bytes: int
    dirty_bytes: int
    is_overdue: bool
    """Whether a dirty record is older than `max.compaction.lag.ms`."""

    @property
    def dirty_ratio(self) -> float:
        """The share of dirty bytes."""
        return self.dirty_bytes / max(1, self.clean_bytes + self.dirty_bytes)

    def is_due(self, config: TopicConfig) -> bool:
        """Whether cleaning it is worth the work."""
        is_dirty = self.dirty_ratio > config.min_cleanable_dirty_ratio
        return self.dirty_bytes > 0 and (is_dirty or self.is_overdue)


def choose(logs: Iterable[Log], now_ms: int) -> tuple[Log, Cleanable] | None:
    """Returns the due log with the largest dirty ratio; overdue logs come first."""
    chosen: tuple[Log, Cleanable] | None = None
    for log in logs:
        if not is_compacted(log):
            continue
        part = cleanable_part(log, now_ms)
        if part.is_due(log.config) and (chosen is None or _urgency(part) > _urgency(chosen[1])):
            chosen = log, part
    return chosen


def is_compacted(log: Log) -> bool:
    """Whether `cleanup.policy` asks for it."""
    return "compact" in log.config.cleanup_policy


def cleanable_part(log: Log, now_ms: int) -> Cleanable:
    """What of a log may be cleaned at `now_ms` of the wall clock."""
    segments = list(log.segments)
    bound = min(log.last_stable.offset, log.flushed_offset)
    youngest_ms = now_ms - log.config.min_compaction_lag_ms
    count = 0
    for segment, following in pairwise(segments):
        if following.base_offset > bound or (
            log.config.min_compaction_lag_ms and segment.newest.timestamp_ms > youngest_ms
        ):
            break
        count += 1
    part, end_offset = segments[:count], segments[count].base_offset
    first_dirty = log.cleaned_offset
    if not log.log_start_offset <= first_dirty <= log.end_offset:
        first_dirty = log.log_start_offset
    ends = [segment.base_offset for segment in segments[1 : count + 1]]
    dirty = [segment for segment, end in zip(part, ends, strict=True) if end > first_dirty]
    dirty_bytes = sum(segment.size_bytes for segment in dirty)
    clean_bytes = sum(segment.size_bytes for segment in part) - dirty_bytes
    oldest_ms = min((s.first_timestamp for s in dirty if s.first_timestamp > 0), default=LONG_MAX)
    is_overdue = oldest_ms < now_ms - log.config.max_compaction_lag_ms
    return Cleanable(tuple(part), end_offset, first_dirty, clean_bytes, dirty_bytes, is_overdue)


def job_for(log: Log, part: Cleanable, *, now_ms: int, map_bytes_max: int) -> CleaningJob:
    """The job for a log's cleanable part, with all that the cleaner needs to know of the log."""
    config = log.config
    behind = list(log.segments)[len(part.segments) :]
    return CleaningJob(
        directory=log.path,
        segments=tuple(SegmentExtent(segment.base_offset, segment.size_bytes) for segment in part.segments),
        end_offset=part.end_offset,
        first_dirty_offset=part.first_dirty_offset,
        now_ms=now_ms,
        delete_retention_ms=config.delete_retention_ms,
        segment_bytes=config.segment_bytes,
        segment_index_bytes=config.segment_index_bytes,
        index_interval_bytes=config.index_interval_bytes,
        map_bytes_max=map_bytes_max,
        last_batches=tuple(
            LastBatch(entry.producer_id, entry.epoch, entry.last_offset)
            for entry in log.producers.entries()
            if entry.last_offset < part.end_offset
        ),
        aborted_behind=tuple(
            aborted
            for segment in behind
            for aborted in segment.transaction_index.entries()
            if aborted.first_offset < part.end_offset
        ),
    )


def _urgency(part: Cleanable) -> tuple[bool, float]:
    return part.is_overdue, part.dirty_ratio
