"""Runs the compaction of a broker: starts the cleaning of due logs, and swaps the cleaned segments in.

Nothing is computed here. A `CleanerRunner` cleans, in production in a process of its own. Each cleaned
segment is renamed into the log, one per turn of the loop; produces and fetches wait for nothing else.

    look -> job -> runner ......... segment ready -> next turn: swap in
                            ....... segment ready -> next turn: swap in
                            ....... report        -> checkpoint, on disk behind the names -> look again

A damaged log is not cleaned again until the broker restarts, and is described as damaged. If a log was
truncated or its start was raised meanwhile, its cleaning is dropped; the next look begins anew. A log that
moves to another log directory is not cleaned until it is there, as in Kafka.
"""

import errno
import logging
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from odradek.base.clock import Clock
from odradek.base.errors import LogError, OdradekError, StorageFailure
from odradek.base.execution import Background, Defer
from odradek.base.ids import Offset, TopicPartition
from odradek.base.settings import BrokerSettings
from odradek.storage import FileSystem, Log, LogManager
from odradek.storage.cleaned_segment import CleanedSegment
from odradek.storage.compaction.cleaning import clean
from odradek.storage.compaction.cleaning_waits import waits_for
from odradek.storage.compaction.job import CleaningJob, CleaningReport
from odradek.storage.compaction.selection import Cleanable, choose, cleanable_part, is_compacted, job_for

_log = logging.getLogger(__name__)

# The disk is full: a log that is only read from survives that.
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)


@dataclass(frozen=True, slots=True)
class CleaningEvents:
    """The callbacks of one job: for segments, then once `done` or `failed`."""

    on_segment: Callable[[CleanedSegment], None]
    """Called with each cleaned segment."""
    done: Callable[[CleaningReport], None]
    failed: Callable[[Exception], None]
    """Called with a LogError, an OSError of the disk, or any other error that ended the job."""


class CleanerRunner(Protocol):
    """Runs cleaning jobs; calls back on the thread that owns the broker."""

    def run(self, job: CleaningJob, bytes_per_second: float, events: CleaningEvents) -> Callable[[], None]:
        """Begin a job; its events come after this method has returned.

        Returns a function that drops the job: after its call nothing more is reported.
        """


class InlineCleaner:
    """A `CleanerRunner` that does a job in one turn of the owner's thread: for tests and virtual clocks."""

    def __init__(self, file_system: FileSystem, defer: Defer) -> None:
        self._file_system = file_system
        self._defer = defer

    def run(self, job: CleaningJob, bytes_per_second: float, events: CleaningEvents) -> Callable[[], None]:
        """See `CleanerRunner.run`; ignores the rate."""
        is_dropped = False

        def drop() -> None:
            nonlocal is_dropped
            is_dropped = True

        def turn() -> None:
            if is_dropped:
                return
            try:
                report = clean(job, self._file_system, events.on_segment)
            except (OSError, OdradekError) as error:
                events.failed(error)
            else:
                events.done(report)

        self._defer(turn)
        return drop


def _nothing() -> None:
    """The job has ended, so there is nothing to drop."""


@dataclass(slots=True, eq=False)
class _Cleaning:
    """One log that is being cleaned."""

    log: Log
    truncations: int
    """How often the log had been truncated when the job was made."""
    started_ms: int
    drop: Callable[[], None] = _nothing
    """Ends the runner's work on it."""
    ready: deque[CleanedSegment] = field(default_factory=deque)
    """The segments to swap in, one per turn; a turn is scheduled exactly while there are any."""
    report: CleaningReport | None = None
    """Set when the runner is done."""


class CleanerHost:
    """Keeps the compacted logs of one broker clean; `look` is called every `log.cleaner.backoff.ms`."""

    def __init__(
        self,
        logs: LogManager,
        runner: CleanerRunner,
        *,
        clock: Clock,
        background: Background,
        defer: Defer,
        settings: Callable[[], BrokerSettings],
        settle_recovery_points: Callable[[Callable[[], None]], None],
        settle_checkpoint: Callable[[Callable[[], None]], None],
        on_failed: Callable[[str, str | OSError], object],
    ) -> None:
        """`settle_checkpoint` writes the cleaned offsets, and then calls what it is given.

        `settle_recovery_points` does so with the recovery points. They come before any cleaning: so a start
        knows a gap that compaction left from one that a power cut did, which lies above them.

        `on_failed` is called with a log directory that failed, and the error.
        """
        self._logs = logs
        self._runner = runner
        self._clock = clock
        self._background = background
        self._defer = defer
        self._settings = settings
        self._settle_recovery_points = settle_recovery_points
        self._settle_checkpoint = settle_checkpoint
        self._on_failed = on_failed
        # At most `log.cleaner.threads` cleanings, each from its job until its checkpoint is written.
        self._running: dict[TopicPartition, _Cleaning] = {}
        # Logs that could not be cleaned, with the reason; a log created anew under that name is another log.
        self._uncleanable: dict[TopicPartition, tuple[Log, str]] = {}
        self._closed = False

    def look(self) -> None:
        """Begin to clean due logs, as many as may be cleaned at once."""
        settings = self._settings()
        if self._closed or not settings.log_cleaner_enable:
            return
        while len(self._running) < settings.log_cleaner_threads:
            if not self._begin(settings):
                return

    def close(self) -> None:
        """Drop the running cleanings; the next cleaning removes their unfinished files."""
        self._closed = True
        for cleaning in list(self._running.values()):
            self._abandon(cleaning)

    def describe(self) -> Iterator[dict[str, Any]]:
        """Describe each compacted log and what it waits for, the most dirty first."""
        now_ms = self._clock.wall_ms()
        parts = [(log, cleanable_part(log, now_ms)) for log in self._logs.logs() if is_compacted(log)]
        parts.sort(key=lambda each: -each[1].dirty_ratio)
        for log, part in parts:
            yield {
                "partition": str(log.topic_partition),
                "dirty_ratio": round(part.dirty_ratio, 3),
                "dirty_bytes": part.dirty_bytes,
                "clean_bytes": part.clean_bytes,
                "cleaned_offset": part.first_dirty_offset,
                "waits_for": self._waits_for(log, part),
            }

    def _waits_for(self, log: Log, part: Cleanable) -> str:
        cleaning = self._running.get(log.topic_partition)
        if cleaning is not None:
            return f"its cleaning to end, for {self._clock.monotonic_ms() - cleaning.started_ms} ms so far"
        if self._logs.moves.copy_of(log.topic_partition) is not None:
            return "its move to another log directory to end"
        if not self._may_clean(log):
            return f"nothing any more, it is damaged: {self._uncleanable[log.topic_partition][1]}"
        return waits_for(log, part)

    def counts(self) -> tuple[int, int]:
        """How many logs are being cleaned, and how many cannot be cleaned because they are damaged."""
        return len(self._running), len(self._uncleanable)

    def _begin(self, settings: BrokerSettings) -> bool:
        """Begin to clean the log that needs it most. Returns False if no log needs cleaning."""
        now_ms = self._clock.wall_ms()
        chosen = choose((log for log in self._logs.logs() if self._may_clean(log)), now_ms)
        if chosen is None:
            return False
        log, part = chosen
        buffer_bytes = settings.log_cleaner_dedupe_buffer_size // settings.log_cleaner_threads
        job = job_for(log, part, now_ms=now_ms, map_bytes_max=buffer_bytes)
        cleaning = _Cleaning(log, log.truncations, self._clock.monotonic_ms())
        self._running[log.topic_partition] = cleaning
        events = CleaningEvents(
            on_segment=lambda segment: self._segment_ready(cleaning, segment),
            done=lambda report: self._work_done(cleaning, report),
            failed=lambda error: self._failed(cleaning, error),
        )
        bytes_per_second = settings.log_cleaner_io_max_bytes_per_second / settings.log_cleaner_threads

        def run() -> None:
            if self._is_current(cleaning):
                cleaning.drop = self._runner.run(job, bytes_per_second, events)
            else:
                self._abandon(cleaning)

        self._settle_recovery_points(run)
        return True

    def _may_clean(self, log: Log) -> bool:
        name = log.topic_partition
        uncleanable = self._uncleanable.get(name)
        if name in self._running or self._logs.moves.copy_of(name) is not None:
            return False
        return uncleanable is None or uncleanable[0] is not log

    def _is_current(self, cleaning: _Cleaning) -> bool:
        """Whether the cleaning goes on: not if its log was deleted or truncated, is offline, or moves."""
        log = cleaning.log
        if self._logs.moves.copy_of(log.topic_partition) is not None:
            return False
        is_running = self._running.get(log.topic_partition) is cleaning
        is_same = self._logs.get(log.topic_partition) is log and log.truncations == cleaning.truncations
        return is_running and is_same

    def _segment_ready(self, cleaning: _Cleaning, segment: CleanedSegment) -> None:
        cleaning.ready.append(segment)
        if len(cleaning.ready) == 1:
            self._defer(lambda: self._swap_next(cleaning))

    def _swap_next(self, cleaning: _Cleaning) -> None:
        if not self._is_current(cleaning):
            self._abandon(cleaning)
            return
        try:
            swapped = cleaning.log.swap_in(cleaning.ready.popleft(), cleaning.truncations)
        except StorageFailure as error:
            self._abandon(cleaning)
            self._on_failed(cleaning.log.directory, str(error))
            return
        if not swapped:
            self._abandon(cleaning)
        elif cleaning.ready:
            self._defer(lambda: self._swap_next(cleaning))
        else:
            self._finish_if_done(cleaning)

    def _work_done(self, cleaning: _Cleaning, report: CleaningReport) -> None:
        cleaning.report = report
        if not cleaning.ready:
            self._defer(lambda: self._finish_if_done(cleaning))

    def _finish_if_done(self, cleaning: _Cleaning) -> None:
        log, report = cleaning.log, cleaning.report
        if report is None:
            return
        if not self._is_current(cleaning):
            self._abandon(cleaning)
            return
        topic, partition = log.topic_partition
        _log.info(
            "compacted %s-%d: %s", topic, partition, report, extra={"topic": topic, "partition": partition}
        )
        # The names first: the checkpoint must not be ahead of the names on disk.
        self._background.submit(
            lambda: log.place.file_system.sync_directory(log.path),
            lambda done: self._names_on_disk(cleaning, report.end_offset),
            lambda error: self._failed(cleaning, error),
        )

    def _names_on_disk(self, cleaning: _Cleaning, end_offset: Offset) -> None:
        if not self._is_current(cleaning):
            self._abandon(cleaning)
            return
        cleaning.log.mark_cleaned(end_offset)
        self._settle_checkpoint(lambda: self._settled(cleaning))

    def _settled(self, cleaning: _Cleaning) -> None:
        self._abandon(cleaning)
        self.look()

    def _failed(self, cleaning: _Cleaning, error: Exception) -> None:
        if not self._is_current(cleaning):
            self._abandon(cleaning)
            return
        self._abandon(cleaning)
        log = cleaning.log
        if isinstance(error, LogError):
            self._uncleanable[log.topic_partition] = log, str(error)
            _log.error("%s is not compacted any more, it is damaged: %s", log.topic_partition, error)
        elif isinstance(error, OSError) and error.errno not in _NO_SPACE:
            self._on_failed(log.directory, error)
        else:
            _log.warning("%s could not be compacted this time: %s", log.topic_partition, error)

    def _abandon(self, cleaning: _Cleaning) -> None:
        """Drop a cleaning at any stage."""
        cleaning.drop()
        cleaning.ready.clear()
        if self._running.get(cleaning.log.topic_partition) is cleaning:
            del self._running[cleaning.log.topic_partition]
