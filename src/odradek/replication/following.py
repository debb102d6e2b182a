"""The logs of the partitions that this broker follows, as a fetcher writes them (X2, X4, X6, R11, R14).

Invariant: only a follower's log is written here; `log` returns None for any other replica, and while the
directory is offline. A truncation is brought to disk in the background. Operations that wait on a partition
are woken when its log was truncated or appended to.
"""

from collections.abc import Callable
from typing import Protocol

from odradek.base.buffers import Buffer
from odradek.base.errors import StorageFailure
from odradek.base.execution import Defer
from odradek.base.ids import Offset, TopicPartition
from odradek.replication.cut_records import CutRecords
from odradek.replication.fetcher.fetcher_ports import FollowedLog
from odradek.replication.partition import Partition
from odradek.replication.replica_manager import ReplicaManager
from odradek.storage import Log


class LogsByName(Protocol):
    """The part of `storage.LogManager` that is used here."""

    def get(self, topic_partition: TopicPartition) -> Log | None:
        """The log, or None if it is not here or its directory is offline."""


class _LogBeforeCut:
    """What a truncation may take away, kept until it is known how much it took."""

    def __init__(self, partition: Partition, offset: Offset) -> None:
        """`offset` is where the log is about to be cut."""
        log = partition.log
        self._partition = partition
        self._is_due = log.latest_epoch < partition.unclean_epoch
        self._end_offset = log.end_offset
        self._high_watermark = log.high_watermark.offset
        self._first_epoch = log.epoch_of(min(offset, log.end_offset - 1))
        self._last_epoch = log.epoch_of(log.end_offset - 1)

    def taken(self) -> CutRecords | None:
        """Called after the cut: what it took for an unclean election, or None.

        One election may take several cuts (X4); the last result names what all of them took.
        """
        partition = self._partition
        first_offset = partition.log.end_offset
        if not self._is_due or first_offset >= self._end_offset:
            return None
        earlier = partition.cut_off
        end_offset, last_epoch, high_watermark = self._end_offset, self._last_epoch, self._high_watermark
        if earlier is not None and earlier.leader_epoch == partition.leader_epoch:
            end_offset, last_epoch = earlier.end_offset, earlier.last_epoch
            high_watermark = earlier.high_watermark
        return CutRecords(
            partition.topic_partition,
            partition.leader_id,
            partition.leader_epoch,
            partition.unclean_epoch,
            first_offset,
            end_offset,
            self._first_epoch,
            last_epoch,
            high_watermark,
        )


class Following:
    """The `FollowerLogs` of one broker."""

    def __init__(
        self,
        replicas: ReplicaManager,
        logs: LogsByName,
        settle: Callable[[TopicPartition], None],
        defer: Defer,
        on_cut_off: Callable[[CutRecords], None],
    ) -> None:
        """`settle` brings the truncation of a log to disk soon, in the background.

        `on_cut_off` reports what an unclean election has cut off (R15e).
        """
        self._replicas = replicas
        self._logs = logs
        self._settle = settle
        self._defer = defer
        self._on_cut_off = on_cut_off

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
        log = self._logs.get(topic_partition)
        if log is not None and log.log_start_offset == log.end_offset and self._make_room(log, batches):
            return
        self._replicas.on_leader_answered(topic_partition, batches, high_watermark, log_start_offset)

    def _make_room(self, log: Log, batches: Buffer) -> bool:
        """Returns whether the log must begin at the first of these batches, which is not on disk yet (X6)."""
        if self.log(log.topic_partition) is not log:
            return False
        truncations = log.truncations
        self._change(log.topic_partition, lambda found: found.make_room_for(batches))
        return log.truncations != truncations

    def truncate(self, topic_partition: TopicPartition, offset: Offset) -> None:
        """See `FollowerLogs.truncate`."""
        partition = self._replicas.partition(topic_partition)
        assert partition is not None, f"{topic_partition} is not hosted here"
        before = _LogBeforeCut(partition, offset)
        self._change(topic_partition, lambda log: log.truncate_to(offset))
        cut_off = before.taken()
        if cut_off is not None:
            partition.note_cut_off(cut_off)
            self._on_cut_off(cut_off)

    def start_anew(self, topic_partition: TopicPartition, offset: Offset) -> None:
        """See `FollowerLogs.start_anew`."""
        self._change(topic_partition, lambda log: log.truncate_fully_and_start_at(offset))

    def _change(self, topic_partition: TopicPartition, change: Callable[[Log], object]) -> None:
        """Truncate a log, and have that brought to disk; the fetcher waits for it before the next append."""
        log = self._logs.get(topic_partition)
        if log is None:  # the partition leaves in a step of its own, after its directory
            raise StorageFailure(f"{topic_partition} cannot be truncated: its log directory is offline")
        assert self.log(topic_partition) is log, f"{topic_partition} does not follow here"
        truncations = log.truncations
        try:
            change(log)
        except StorageFailure:
            self._defer(self._replicas.notice_failed_directories)
            raise
        if log.truncations != truncations:
            self._settle(topic_partition)
            self._replicas.purgatories.wake_soon(topic_partition)
