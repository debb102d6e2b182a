"""Flushes one log: on demand, when a flush is due, and at a clean stop (L4, L7).

This module computes what to sync, on the owning thread; see `flushing` for running it on another thread.
"""

from odradek.base.ids import Offset, TopicPartition
from odradek.storage.disk_access import on_disk
from odradek.storage.flushing import PendingFlush
from odradek.storage.log_directory import LogDirectory
from odradek.storage.log_parts import LogParts
from odradek.storage.producer_replay import write_snapshot


class LogFlusher:
    """The flusher of one log."""

    __slots__ = ("_closed_at", "_parts", "place", "topic_partition")

    def __init__(self, parts: LogParts, *, was_closed: bool) -> None:
        self.topic_partition: TopicPartition = parts.topic_partition
        self.place: LogDirectory = parts.place
        self._parts = parts
        self._closed_at = (parts.offsets.end, parts.flushes.names_made) if was_closed else None
        """LEO and `names_made` at the clean stop; while both are unchanged, `close` has nothing to do."""

    @on_disk
    def pending_flush(self, up_to: Offset | None = None) -> PendingFlush | None:
        """See `Log.pending_flush`."""
        end, flushes = self._parts.offsets.end, self._parts.flushes
        end_offset = end if up_to is None else min(up_to, end)
        if end_offset <= flushes.flushed_offset and not flushes.has_new_names:
            return None
        return self._pending(end_offset)

    def mark_flushed(self, flush: PendingFlush) -> None:
        """See `Log.mark_flushed`."""
        parts = self._parts
        parts.flushes.has_run(flush, self.place.clock.monotonic_ms())
        if flush.is_last:
            self._closed_at = (parts.offsets.end, parts.flushes.names_made)

    @on_disk
    def flush(self) -> None:
        """See `Log.flush`."""
        flush = self.pending_flush()
        if flush is not None:
            flush.run()
            self.mark_flushed(flush)

    def is_due(self, monotonic_ms: int) -> bool:
        """See `Log.is_flush_due`."""
        flushes, config = self._parts.flushes, self._parts.config
        unflushed = self._parts.offsets.end > flushes.flushed_offset
        return unflushed and monotonic_ms - flushes.last_flush_ms >= config.flush_ms

    @on_disk
    def seal(self) -> PendingFlush | None:
        """See `Log.seal`."""
        parts = self._parts
        end = parts.offsets.end
        if self._closed_at == (end, parts.flushes.names_made):
            return None
        segments = parts.segments
        segments.active.seal()
        write_snapshot(parts.producers, self.place.file_system, segments.directory, end, durable=False)
        parts.save_transaction_sums()
        parts.flushes.names_made += 1
        return self._pending(end, is_last=True)

    @on_disk
    def close(self) -> None:
        """See `Log.close`."""
        flush = self.seal()
        if flush is not None:
            flush.run()
            self.mark_flushed(flush)
        self._parts.segments.close()

    def _pending(self, end_offset: Offset, *, is_last: bool = False) -> PendingFlush:
        parts, file_system = self._parts, self.place.file_system
        pending = parts.flushes.pending
        return pending(self.topic_partition, parts.segments, file_system, end_offset, is_last=is_last)
