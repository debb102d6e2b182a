"""The clean stop of the logs: forces everything to disk and closes the files (L4).

A directory that fails during it is left as after an unclean stop.
"""

from collections.abc import Sequence
from functools import partial
from typing import Final

from odradek.base.errors import StorageFailure
from odradek.storage.checkpoint import CheckpointWrite
from odradek.storage.flushing import InParallel, PendingFlush
from odradek.storage.log import Log
from odradek.storage.log_directory import LogDirectory

LOGS_CLOSED_AT_ONCE: Final = 64
"""How many logs are flushed together; each holds duplicates of its descriptors during the flush."""


def close_logs(logs: Sequence[Log], in_parallel: InParallel) -> None:
    """Flush and close the logs, with snapshots and indexes."""
    for begin in range(0, len(logs), LOGS_CLOSED_AT_ONCE):
        _close_some(logs[begin : begin + LOGS_CLOSED_AT_ONCE], in_parallel)


def write_checkpoints(
    writes: Sequence[CheckpointWrite], directories: Sequence[LogDirectory], in_parallel: InParallel
) -> None:
    """Write all checkpoints."""
    errors = in_parallel([write.run for write in writes])
    places = {directory.path: directory for directory in directories}
    for write, error in zip(writes, errors, strict=True):
        if error is not None:
            places[write.directory].fail(error)


def leave_marks(
    directories: Sequence[LogDirectory],
    broker_epoch: int | None,
    in_parallel: InParallel,
    unused: Sequence[LogDirectory] = (),
) -> None:
    """Write the clean-stop mark in every online directory, and release the locks of all directories.

    Those that were not used are left without an owner instead.
    """
    online = [directory for directory in directories if directory.failure is None]
    errors = in_parallel(
        [
            one.forget_owner if one in unused else partial(one.leave_clean_shutdown_mark, broker_epoch)
            for one in online
        ]
    )
    for directory, error in zip(online, errors, strict=True):
        if error is not None:
            directory.fail(error)
    for directory in directories:
        directory.release_lock()


def _close_some(logs: Sequence[Log], in_parallel: InParallel) -> None:
    flushes: list[tuple[Log, PendingFlush]] = []
    for log in logs:
        try:
            flush = log.seal()
        except StorageFailure:
            continue  # `directory.failure` reports it; the other logs are still closed
        if flush is not None:
            flushes.append((log, flush))
    errors = in_parallel([flush.run for _, flush in flushes])
    for (log, flush), error in zip(flushes, errors, strict=True):
        if error is None:
            log.mark_flushed(flush)
        else:
            log.place.fail(error)
    for log in logs:
        if log.place.failure is None:
            log.close()
