"""Group commit: one trip to the disk for all acks that wait for it (`odradek.log.flush.before.ack`).

Invariant: at most one group is on its way; acks that come meanwhile wait for the next. A failed flush is
never tried again (L7): its directory goes offline. A log that was deleted meanwhile, and perhaps made anew
under that name, has nothing to do with the outcome; that its directory is not there any more is no failure.

    turn 1    append to A, append to B     both wanted
    turn 2    A and B are flushed in the background; an append to A is wanted again
    turn 3    the disk is done: acks of turn 1 go out; A is flushed again
"""

from collections.abc import Callable

from odradek.base.execution import Background, Defer
from odradek.base.ids import TopicPartition
from odradek.storage import Log, LogManager, PendingFlush

_Taken = list[tuple[Log | None, PendingFlush]]
"""What goes to the disk, each with the log that it is of."""
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
        self._defer = defer
        self._on_flushed = on_flushed
        # Called with a log directory and the system's error.
        self._on_failed = on_failed
        # What the next group takes along, in the order in which it was asked for.
        self._wanted: dict[TopicPartition, None] = {}
        # A group is being collected or is on its way.
        self._busy = False

    def want(self, topic_partition: TopicPartition) -> None:
        """Flush this partition's log soon."""
        self._wanted[topic_partition] = None
        if not self._busy:
            self._busy = True
            self._defer(self._begin)

    def flush_now(self, flushes: list[PendingFlush]) -> None:
        """Flush these in the background as they are, beside any group: what `flush.ms` asks for."""
        if flushes:
            taken: _Taken = [(self._logs.get(flush.topic_partition), flush) for flush in flushes]
            self._background.submit(lambda: _run_all(taken), self._end_run, _raise)

    def _begin(self) -> None:
        wanted, self._wanted = self._wanted, {}
        taken: _Taken = []
        for topic_partition in wanted:
            log = self._logs.get(topic_partition)
            flush = None if log is None else log.pending_flush()
            if flush is None:
                self._on_flushed(topic_partition)
            else:
                taken.append((log, flush))
        if taken:
            self._background.submit(lambda: _run_all(taken), self._group_done, _raise)
        else:
            self._next()

    def _group_done(self, run: _Run) -> None:
        self._end_run(run)
        self._next()

    def _end_run(self, run: _Run) -> None:
        for log, flush, error in run:
            is_hosted = log is not None and self._logs.get(flush.topic_partition) is log
            if error is not None:
                if is_hosted or not isinstance(error, FileNotFoundError):
                    self._on_failed(flush.directory, error)
            elif is_hosted and log is not None:
                log.mark_flushed(flush)
                self._on_flushed(flush.topic_partition)

    def _next(self) -> None:
        if self._wanted:
            self._begin()
        else:
            self._busy = False


def _run_all(taken: _Taken) -> _Run:
    """On another thread: wait for the disk, for each."""
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
