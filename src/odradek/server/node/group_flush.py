"""Group commit: one round of flushes for all acks that wait for the disk (`odradek.log.flush.before.ack`).

Invariant: at most one group is being flushed; acks that arrive meanwhile wait for the next group. A failed
flush is never retried (L7): its directory goes offline, and the other logs of the group are flushed. If a log
was deleted meanwhile, even if another one was created under its name, the outcome is ignored; that the
directory of the deleted log is missing is no failure.

    turn 1    append to A, append to B     both wanted
    turn 2    A and B are flushed in the background; an append to A is wanted again
    turn 3    the disk is done: acks of turn 1 go out; A is flushed again
"""

from collections.abc import Callable

from odradek.base.errors import StorageFailure
from odradek.base.execution import Background, Defer
from odradek.base.ids import TopicPartition
from odradek.server.node.rounds import Rounds
from odradek.storage import Log, LogManager, PendingFlush

_Taken = list[tuple[Log | None, PendingFlush]]
"""The flushes of a group, each with its log."""
_Run = list[tuple[Log | None, PendingFlush, OSError | None]]


class GroupFlush:
    """Flushes logs on demand, together."""

    def __init__(
        self,
        logs: LogManager,
        background: Background,
        defer: Defer,
        on_flushed: Callable[[TopicPartition], None],
        on_failed: Callable[[str, OSError], None],
    ) -> None:
        self._logs = logs
        self._background = background
        self._on_flushed = on_flushed
        # Called with a log directory and the system's error.
        self._on_failed = on_failed
        # Each round is a group.
        self._groups = Rounds(defer, self._flush_group)

    def want(self, topic_partition: TopicPartition) -> None:
        """Flush this partition's log soon."""
        self._groups.want(topic_partition)

    def flush_now(self, flushes: list[PendingFlush], done: Callable[[], None] = lambda: None) -> None:
        """Flush these in the background, separately from any group: used for `flush.ms`, and for truncations.

        `done` is called afterwards, also if a flush failed, but not if there was none to run.
        """

        def end(run: _Run) -> None:
            self._end_run(run)
            done()

        if flushes:
            taken: _Taken = [(self._logs.get(flush.topic_partition), flush) for flush in flushes]
            self._background.submit(lambda: _run_all(taken), end, _raise)

    def _flush_group(self, wanted: list[TopicPartition]) -> None:
        taken: _Taken = []
        failures: list[tuple[str, OSError]] = []
        for topic_partition in wanted:
            log = self._logs.get(topic_partition)
            try:
                flush = None if log is None else log.pending_flush()
            except StorageFailure as error:
                if log is not None and isinstance(error.__cause__, OSError):
                    failures.append((log.directory, error.__cause__))
                continue
            if flush is None:
                self._on_flushed(topic_partition)
            else:
                taken.append((log, flush))
        if taken:
            self._background.submit(lambda: _run_all(taken), self._group_done, _raise)
        else:
            self._groups.end()
        for directory, failure in failures:
            self._on_failed(directory, failure)

    def _group_done(self, run: _Run) -> None:
        self._end_run(run)
        self._groups.end()

    def _end_run(self, run: _Run) -> None:
        for log, flush, error in run:
            is_hosted = log is not None and self._logs.get(flush.topic_partition) is log
            if error is not None:
                if is_hosted or not isinstance(error, FileNotFoundError):
                    self._on_failed(flush.directory, error)
            elif is_hosted and log is not None:
                log.mark_flushed(flush)
                self._on_flushed(flush.topic_partition)


def _run_all(taken: _Taken) -> _Run:
    """On another thread: run each flush."""
    run: _Run = []
    for log, flush in taken:
        try:
            flush.run()
        except OSError as error:
            run.append((log, flush, error))
        else:
            run.append((log, flush, None))
    return run


def _raise(error: Exception) -> None:
    raise error
