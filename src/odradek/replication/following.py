"""The logs of the partitions that this broker follows, as a fetcher writes them (X2, X4, X6, R11, R14).

Invariant: only a follower's log is written here; `log` returns None for any other replica, and while the
directory is offline. Operations that wait on a partition are woken when its log was truncated or appended to.
"""

from collections.abc import Callable
from typing import Protocol

from odradek.base.buffers import Buffer
from odradek.base.errors import StorageFailure
from odradek.base.execution import Defer
from odradek.base.ids import Offset, TopicPartition
from odradek.replication.fetcher.fetcher_ports import FollowedLog
from odradek.replication.replica_manager import ReplicaManager
from odradek.storage import Log


class LogsByName(Protocol):
    """The part of `storage.LogManager` that is used here."""

    def get(self, topic_partition: TopicPartition) -> Log | None:
        """The log, or None if it is not here or its directory is offline."""


class Following:
    """The `FollowerLogs` of one broker."""

    def __init__(
        self,
        replicas: ReplicaManager,
        logs: LogsByName,
        flush: Callable[[TopicPartition], None],
        defer: Defer,
    ) -> None:
        """`flush` brings a log to disk soon, in the background."""
        self._replicas = replicas
        self._logs = logs
        self._flush = flush
        self._defer = defer

    def log(self, topic_partition: TopicPartition) -> FollowedLog | None:
        """See `FollowerLogs.log`."""
        partition = self._replicas.partition(topic_partition)
        return None if partition is None or partition.leadership is not None else partition.log

    def apply(
        self,
        topic_partition: TopicPartition,
        batches: Buffer,
        high_watermark: Offset,
        log_start_offset: Offset,
    ) -> None:
        """See `FollowerLogs.apply`."""
        self._replicas.on_leader_answered(topic_partition, batches, high_watermark, log_start_offset)

    def truncate(self, topic_partition: TopicPartition, offset: Offset) -> None:
        """See `FollowerLogs.truncate`."""
        self._change(topic_partition, lambda log: log.truncate_to(offset))

    def start_anew(self, topic_partition: TopicPartition, offset: Offset) -> None:
        """See `FollowerLogs.start_anew`."""
        self._change(topic_partition, lambda log: log.truncate_fully_and_start_at(offset))

    def _change(self, topic_partition: TopicPartition, change: Callable[[Log], object]) -> None:
        """Truncate a log, and start its flush: the log's next append waits until the cut is on disk."""
        log = self._logs.get(topic_partition)
        assert log is not None, f"{topic_partition} has no log"
        assert self.log(topic_partition) is log, f"{topic_partition} does not follow here"
        truncations = log.truncations
        try:
            change(log)
        except StorageFailure:
            self._defer(self._replicas.notice_failed_directories)
            raise
        if log.truncations != truncations:
            self._flush(topic_partition)
            self._replicas.purgatories.wake_soon(topic_partition)
