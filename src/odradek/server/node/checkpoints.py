"""Writes the checkpoint files of the log directories without blocking the broker (R12).

The content of a file is read from the logs, in steps, before the write; the fsync runs in the background.
A file has one writer at a time: while a write is under way, the next round skips that file, and the round
after that writes the values of that moment.

    5 s     replication-offset-checkpoint: orders-0 at 41     in the background
    10 s    orders-0 is at 60, the disk still busy            left out
    15 s    the disk is done, orders-0 at 75                  written with 75

Recovery points are also written after truncations (X6), and then none is left out: a write under way may hold
the higher offset from before a truncation, so the next one begins when it has ended.
"""

from collections.abc import Callable, Iterable

from odradek.base.execution import Background, RunSteps, Steps
from odradek.storage import CheckpointWrite, LogCheckpoints


class Checkpoints:
    """The checkpoints of all log directories; owned by the broker's thread."""

    def __init__(
        self,
        logs: LogCheckpoints,
        background: Background,
        run_steps: RunSteps,
        on_failed: Callable[[str, OSError], None],
    ) -> None:
        self._logs = logs
        self._background = background
        self._run_steps = run_steps
        # Called with a log directory and the system's error.
        self._on_failed = on_failed
        # Paths of the files that are being written.
        self._under_way: set[str] = set()
        # Whether recovery points are being gathered or written.
        self._has_points_under_way = False
        # Called when recovery points that are gathered from now on are on disk.
        self._awaiting_points: list[Callable[[], None]] = []

    def write_high_watermarks(self) -> Steps[None]:
        """Every `replica.high.watermark.checkpoint.interval.ms`."""
        self._write((yield from self._logs.high_watermarks()))

    def write_recovery_points(self) -> Steps[None]:
        """Every `log.flush.offset.checkpoint.interval.ms`."""
        if not self._has_points_under_way:
            yield from self._write_points()

    def settle_recovery_points(self, done: Callable[[], None]) -> None:
        """X6: call `done` when the recovery points of this moment, or later ones, are on disk.

        It is called, too, when a directory has failed: that directory's logs are not served any more.
        """
        self._awaiting_points.append(done)
        if not self._has_points_under_way:
            self._run_steps(self._write_points())

    def write_log_start_offsets(self) -> Steps[None]:
        """Every `log.flush.start.offset.checkpoint.interval.ms`."""
        self._write((yield from self._logs.log_start_offsets()))

    def _write(self, writes: Iterable[CheckpointWrite]) -> None:
        for write in writes:
            if write.path not in self._under_way:
                self._under_way.add(write.path)
                self._submit(write, self._under_way.discard)

    def _write_points(self) -> Steps[None]:
        self._has_points_under_way = True
        awaiting, self._awaiting_points = self._awaiting_points, []
        try:
            writes = yield from self._logs.recovery_points()
        except Exception:  # a bug of ours: the next round may succeed
            self._has_points_under_way = False
            self._awaiting_points += awaiting
            raise
        remaining = {write.path for write in writes}

        def end(path: str) -> None:
            remaining.discard(path)
            if not remaining:
                self._on_points_written(awaiting)

        for write in writes:
            self._submit(write, end)
        if not writes:
            self._on_points_written(awaiting)

    def _on_points_written(self, awaiting: Iterable[Callable[[], None]]) -> None:
        self._has_points_under_way = False
        if self._awaiting_points:
            self._run_steps(self._write_points())
        for done in awaiting:
            done()

    def _submit(self, write: CheckpointWrite, ended: Callable[[str], None]) -> None:
        def written(_: None) -> None:
            self._logs.written(write)
            ended(write.path)

        def failed(error: Exception) -> None:
            if isinstance(error, OSError):
                self._on_failed(write.directory, error)
            ended(write.path)
            if not isinstance(error, OSError):
                raise error

        self._background.submit(write.run, written, failed)
