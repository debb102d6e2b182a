"""The logs of the partitions that this broker follows, as a fetcher writes them (X2, X4, X6, R11, R14).

Invariant: only a replica that follows is written here; of any other, and of one whose directory is offline,
there is no log. What waits on a partition is woken when its log has been cut, as when it has grown.
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
        """The log, when it is here and its directory works."""


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
        """Cut a log; that it is on disk before the next append is the log's to see to, and is begun here."""
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
