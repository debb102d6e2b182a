"""Writes the checkpoint files of the log directories without blocking the broker (R12).

The content of a file is read from the logs, in steps, before the write; the fsync runs in the background.
Files of one kind have one writer at a time: while one of them is written, the next round is left out, and the
round after that writes the values of that moment.

    5 s     replication-offset-checkpoint: orders-0 at 41     in the background
    10 s    orders-0 is at 60, the disk still busy            left out
    15 s    the disk is done, orders-0 at 75                  written with 75

Recovery points are also written after truncations (X6), cleaned offsets after each cleaning, and all of them
before a copy becomes the log (KIP-113), and then none is left out: a write under way may hold the offset
from before, so the next one begins when it has ended. All that wait at that time share it.
"""

import errno
import logging
from collections.abc import Callable, Iterable
from typing import Final

from odradek.base.execution import Background, RunSteps, Steps
from odradek.storage import CheckpointWrite, LogCheckpoints

_log = logging.getLogger(__name__)

_NO_SPACE: Final = (errno.ENOSPC, errno.EDQUOT)

OnWriteFailed = Callable[[str, OSError], None]
"""Called with a log directory and the system's error."""


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
        # Called with a log directory and the system's error.
        self._on_failed = on_failed
        self._recovery_points = _SettledFile(logs.recovery_points, self._submit, run_steps, on_failed)
        self._cleaned_offsets = _SettledFile(logs.cleaned_offsets, self._submit, run_steps, self._not_cleaned)
        self._log_starts = _SettledFile(logs.log_start_offsets, self._submit, run_steps, on_failed)
        self._high_watermarks = _SettledFile(logs.high_watermarks, self._submit, run_steps, on_failed)

    def write_high_watermarks(self) -> Steps[None]:
        """Every `replica.high.watermark.checkpoint.interval.ms`."""
        yield from self._high_watermarks.write()

    def write_recovery_points(self) -> Steps[None]:
        """Every `log.flush.offset.checkpoint.interval.ms`."""
        yield from self._recovery_points.write()

    def settle_recovery_points(self, done: Callable[[], None]) -> None:
        """X6: call `done` when the recovery points of this moment, or later ones, are on disk.

        It is called, too, when a directory has failed: that directory's logs are not served any more.
        """
        self._recovery_points.settle(done)

    def settle_cleaned_offsets(self, done: Callable[[], None]) -> None:
        """Call `done` when the cleaned offsets of this moment, or later ones, are on disk, or cannot be."""
        self._cleaned_offsets.settle(done)

    def write_log_start_offsets(self) -> Steps[None]:
        """Every `log.flush.start.offset.checkpoint.interval.ms`."""
        yield from self._log_starts.write()

    def settle_all(self, done: Callable[[], None]) -> None:
        """Call `done` when all files of this moment, or later ones, are on disk, or cannot be."""
        files = (self._recovery_points, self._cleaned_offsets, self._log_starts, self._high_watermarks)
        left = len(files)

        def one_is_done() -> None:
            nonlocal left
            left -= 1
            if not left:
                done()

        for file in files:
            file.settle(one_is_done)

    def _not_cleaned(self, directory: str, error: OSError) -> None:
        """A full disk costs the log that is cleaned its line: a part of it is cleaned once more."""
        if error.errno in _NO_SPACE:
            _log.warning("the cleaned offsets of %s were not written: %s", directory, error)
        else:
            self._on_failed(directory, error)

    def _submit(self, write: CheckpointWrite, ended: Callable[[str], None], on_failed: OnWriteFailed) -> None:
        def written(_: None) -> None:
            self._logs.written(write)
            ended(write.path)

        def failed(error: Exception) -> None:
            self._logs.failed(write)
            if isinstance(error, OSError):
                on_failed(write.directory, error)
            ended(write.path)
            if not isinstance(error, OSError):
                raise error

        self._logs.begin(write)
        self._background.submit(write.run, written, failed)


class _SettledFile:
    """A checkpoint file for whose writes others wait; one of its writes is under way at a time."""

    def __init__(
        self,
        gather: Callable[[], Steps[list[CheckpointWrite]]],
        submit: Callable[[CheckpointWrite, Callable[[str], None], OnWriteFailed], None],
        run_steps: RunSteps,
        on_failed: OnWriteFailed,
    ) -> None:
        self._gather = gather
        self._submit = submit
        self._run_steps = run_steps
        self._on_failed = on_failed
        # Whether its offsets are being gathered or written.
        self._is_under_way = False
        # Called when offsets that are gathered from now on are on disk.
        self._awaiting: list[Callable[[], None]] = []

    def write(self) -> Steps[None]:
        """Write the file unless that is under way."""
        if not self._is_under_way:
            yield from self._write()

    def settle(self, done: Callable[[], None]) -> None:
        """Write the file after what is under way, and then call `done`."""
        self._awaiting.append(done)
        if not self._is_under_way:
            self._run_steps(self._write())

    def _write(self) -> Steps[None]:
        self._is_under_way = True
        awaiting, self._awaiting = self._awaiting, []
        try:
            writes = yield from self._gather()
        except Exception:  # a bug of ours: the next round may succeed
            self._is_under_way = False
            self._awaiting += awaiting
            raise
        remaining = {write.path for write in writes}

        def end(path: str) -> None:
            remaining.discard(path)
            if not remaining:
                self._on_written(awaiting)

        for write in writes:
            self._submit(write, end, self._on_failed)
        if not writes:
            self._on_written(awaiting)

    def _on_written(self, awaiting: Iterable[Callable[[], None]]) -> None:
        self._is_under_way = False
        if self._awaiting:
            self._run_steps(self._write())
        for done in awaiting:
            done()
