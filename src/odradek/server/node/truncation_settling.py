"""Brings truncations of followers' logs to disk, in the background, before anything is appended again (X6).

Until a log is settled its partition is not fetched; other partitions and requests do not wait. When a broker
dies, thousands of logs are truncated. One round settles all those that wait:

    orders-0, orders-7 truncated      want(orders-0), want(orders-7)
    a turn later                      both are flushed, on another thread
    flushed                           the recovery points of their directories are written, on another thread
    written                           the logs are settled, and their fetchers told
    orders-0 truncated meanwhile      not settled by this round, but by the next one

Invariant: a round settles a log only if it was not truncated after the round had taken its flush.
"""

from collections import deque
from collections.abc import Callable
from typing import Final

from odradek.base.errors import StorageFailure
from odradek.base.execution import Defer, RunSteps, Steps
from odradek.base.ids import TopicPartition
from odradek.server.node.checkpoints import Checkpoints
from odradek.server.node.group_flush import GroupFlush
from odradek.server.node.rounds import Rounds
from odradek.storage import Log, LogManager, PendingFlush

FLUSHED_AT_ONCE: Final = 64
"""How many logs are flushed by one call on another thread: each holds a few open files until it has run."""

_Taken = list[tuple[Log, int]]
"""The logs of a round, each with its number of truncations."""


class TruncationSettling:
    """Settles the logs of one broker, all that wait in one round."""

    def __init__(
        self,
        logs: LogManager,
        group_flush: GroupFlush,
        checkpoints: Checkpoints,
        run_steps: RunSteps,
        defer: Defer,
        on_settled: Callable[[TopicPartition], None],
    ) -> None:
        self._logs = logs
        self._group_flush = group_flush
        self._checkpoints = checkpoints
        self._run_steps = run_steps
        self._on_settled = on_settled
        self._rounds = Rounds(defer, lambda wanted: run_steps(self._flush(deque(wanted), [])))

    def want(self, topic_partition: TopicPartition) -> None:
        """Settle the log of this partition, which was truncated."""
        self._rounds.want(topic_partition)

    def _flush(self, wanted: deque[TopicPartition], taken: _Taken) -> Steps[None]:
        """Flush the first of the logs, and when that is done the others; add them to `taken`."""
        flushes: list[PendingFlush] = []
        while wanted and len(flushes) < FLUSHED_AT_ONCE:
            log = self._logs.get(wanted.popleft())
            if log is None or log.is_settled:
                continue
            try:
                flush = log.pending_flush()
            except StorageFailure:  # the directory is offline now, and the log not served any more
                continue
            taken.append((log, log.truncations))
            if flush is not None:
                flushes.append(flush)
            yield
        if flushes:
            self._group_flush.flush_now(flushes, lambda: self._run_steps(self._flush(wanted, taken)))
        else:
            self._checkpoints.settle_recovery_points(lambda: self._run_steps(self._settle(taken)))

    def _settle(self, taken: _Taken) -> Steps[None]:
        for log, truncations in taken:
            # A log whose flush or checkpoint failed is in a directory that is offline now.
            if self._logs.get(log.topic_partition) is log and log.settle(truncations):
                self._on_settled(log.topic_partition)
            yield
        self._rounds.end()
