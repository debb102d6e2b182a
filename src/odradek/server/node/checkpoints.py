"""Writes the checkpoint files of the log directories without blocking the broker (R12).

The content of a file is read from the logs, in steps, before the write; the fsync runs in the background.
A file has one writer at a time: while a write is under way, the next round skips that file, and the round
after that writes the values of that moment.

    5 s     replication-offset-checkpoint: orders-0 at 41     in the background
    10 s    orders-0 is at 60, the disk still busy            left out
    15 s    the disk is done, orders-0 at 75                  written with 75
"""

from collections.abc import Callable, Iterable

from odradek.base.execution import Background, Steps
from odradek.storage import CheckpointWrite, LogCheckpoints


class Checkpoints:
    """The checkpoints of all log directories; owned by the broker's thread."""

    def __init__(
        self, logs: LogCheckpoints, background: Background, on_failed: Callable[[str, OSError], None]
    ) -> None:
        self._logs = logs
        self._background = background
        # Called with a log directory and the system's error.
        self._on_failed = on_failed
        # Paths of the files that are being written.
        self._under_way: set[str] = set()

    def write_high_watermarks(self) -> Steps[None]:
        """Every `replica.high.watermark.checkpoint.interval.ms`."""
        self._write((yield from self._logs.high_watermarks()))

    def write_recovery_points(self) -> Steps[None]:
        """Every `log.flush.offset.checkpoint.interval.ms`."""
        self._write((yield from self._logs.recovery_points()))

    def write_log_start_offsets(self) -> Steps[None]:
        """Every `log.flush.start.offset.checkpoint.interval.ms`."""
        self._write((yield from self._logs.log_start_offsets()))

    def _write(self, writes: Iterable[CheckpointWrite]) -> None:
        for write in writes:
            if write.path not in self._under_way:
                self._under_way.add(write.path)
                self._submit(write)

    def _submit(self, write: CheckpointWrite) -> None:
        def written(_: None) -> None:
            self._under_way.discard(write.path)
            self._logs.written(write)

        def failed(error: Exception) -> None:
            self._under_way.discard(write.path)
            if not isinstance(error, OSError):
                raise error
            self._on_failed(write.directory, error)

        self._background.submit(write.run, written, failed)
