"""Compaction in a world: a job is a call on another thread, which reports its end."""

from collections.abc import Callable

from odradek.base.execution import Background
from odradek.server.cleaning.cleaner_host import CleaningEvents
from odradek.storage import FileSystem
from odradek.storage.cleaned_segment import CleanedSegment
from odradek.storage.compaction.cleaning import clean
from odradek.storage.compaction.job import CleaningJob, CleaningReport


class HeldCleaner:
    """A `CleanerRunner` whose jobs run in one step, and are reported in another."""

    def __init__(self, file_system: FileSystem, background: Background) -> None:
        self._file_system = file_system
        self._background = background

    def run(self, job: CleaningJob, bytes_per_second: float, events: CleaningEvents) -> Callable[[], None]:
        """See `CleanerRunner.run`; no rate is kept to."""
        ready: list[CleanedSegment] = []
        is_dropped = False

        def drop() -> None:
            nonlocal is_dropped
            is_dropped = True

        def ended(report: CleaningReport) -> None:
            if not is_dropped:
                for segment in ready:
                    events.on_segment(segment)
                events.done(report)

        def broken(error: Exception) -> None:
            if not is_dropped:
                for segment in ready:
                    events.on_segment(segment)
                events.failed(error)

        self._background.submit(lambda: clean(job, self._file_system, ready.append), ended, broken)
        return drop
