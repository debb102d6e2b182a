"""The ports of replication: logs, the cluster as this broker sees it, and the effects it asks for.

Everything here is a Protocol. `storage.Log`, `storage.LogManager` and `metadata`'s `ClusterImage` implement
the first three, the server the others; tests and the simulator implement their own.
"""

from collections.abc import Mapping
from typing import Any, Protocol
from uuid import UUID

from odradek.base.buffers import Buffer
from odradek.base.ids import BrokerId, LeaderEpoch, Offset, TopicPartition
from odradek.base.settings import TopicConfig
from odradek.metadata.image import PartitionImage
from odradek.records.validation import ValidatedRecords, ValidationRules
from odradek.records.work import RecordSteps
from odradek.replication.isr import IsrChange
from odradek.storage import AppendInfo, EpochEnd, LogPosition, LogRead, Origin, TimestampOffset
from odradek.storage.reads import HOLDS_ALL


class ReplicatedLog(Protocol):
    """One partition's log, as `storage.Log` documents it."""

    @property
    def config(self) -> TopicConfig:
        """The topic's settings in force."""

    @property
    def client_rules(self) -> ValidationRules:
        """The rules for clients' batches."""

    @property
    def is_settled(self) -> bool:
        """Whether the last truncation is on disk with its recovery point (X6)."""

    @property
    def directory(self) -> str:
        """The log directory that fails when this log fails."""

    @property
    def log_start_offset(self) -> Offset:
        """The first offset that may be read."""

    @property
    def end_offset(self) -> Offset:
        """LEO."""

    @property
    def end_position(self) -> LogPosition:
        """The position of LEO."""

    @property
    def high_watermark(self) -> LogPosition:
        """HW."""

    @property
    def last_stable(self) -> LogPosition:
        """LSO."""

    @property
    def latest_epoch(self) -> LeaderEpoch:
        """The leader epoch of the last batch or assignment, or -1."""

    @property
    def flushed_offset(self) -> Offset:
        """All records below this offset are on disk."""

    @property
    def size_bytes(self) -> int:
        """Bytes of all segments."""

    def append_as_leader(
        self,
        batches: Buffer | ValidatedRecords,
        leader_epoch: LeaderEpoch,
        *,
        origin: Origin = Origin.CLIENT,
        now_ms: int,
    ) -> AppendInfo:
        """Validate, assign offsets and write. Raises a LogError; then nothing was written."""

    def append_as_follower(self, batches: Buffer) -> AppendInfo:
        """Write a leader's batches with their own offsets."""

    def read(
        self,
        start_offset: Offset,
        max_bytes: int,
        bound: LogPosition,
        *,
        at_least_one: bool,
        committed_only: bool = False,
        held_bytes_max: int = HOLDS_ALL,
    ) -> LogRead:
        """L3."""

    def position_of(self, offset: Offset) -> LogPosition:
        """The position of `offset`."""

    def restore_high_watermark(self, offset: Offset) -> None:
        """Set HW to `offset`, clamped to [log start, LEO]."""

    def advance_high_watermark(self, position: LogPosition) -> bool:
        """R11: raise HW to `position`; returns whether it moved."""

    def advance_log_start(self, offset: Offset) -> bool:
        """Raise a follower's log start to the leader's; returns whether it rose."""

    def delete_records_before(self, offset: Offset) -> Offset:
        """Raise the log start to `offset` and return it; OffsetOutOfRange above HW."""

    def offset_for_timestamp(self, timestamp_ms: int) -> RecordSteps[TimestampOffset | None]:
        """Find the first record whose timestamp is at least `timestamp_ms`."""

    def max_timestamp_offset(self) -> RecordSteps[TimestampOffset | None]:
        """Find the first record that has the largest timestamp of the log."""

    def end_offset_for_epoch(self, epoch: LeaderEpoch) -> EpochEnd:
        """The largest epoch not above `epoch`, and its end offset."""

    def epoch_of(self, offset: Offset) -> LeaderEpoch:
        """The leader epoch in force at `offset`, or -1."""

    def begin_epoch(self, epoch: LeaderEpoch) -> Offset:
        """Start the leader epoch `epoch` at LEO; returns that offset."""

    def describe(self) -> Mapping[str, Any]:
        """Returns a description of the log for a person."""


class Logs(Protocol):
    """All logs of the broker, as `storage.LogManager` documents them."""

    def create(
        self, topic_partition: TopicPartition, topic_id: UUID | None = None, *, is_new: bool = True
    ) -> ReplicatedLog:
        """The partition's log, created if missing. Raises StorageFailure if that fails or is not allowed."""

    def delete(self, topic_partition: TopicPartition) -> None:
        """Delete a log."""

    def is_offline(self, topic_partition: TopicPartition) -> bool:
        """Whether the partition's log lies in a directory that has failed."""

    def is_missing(self, topic_partition: TopicPartition) -> bool:
        """Whether the partition's log lies in a directory that was missing or offline at the start."""

    def give_up_missing(self, topic_partition: TopicPartition) -> None:
        """Let a log that was missing at the start be created anew, unless a directory is offline."""

    def fail_directory(self, directory: str, reason: str | OSError) -> None:
        """Take a log directory offline; a directory keeps its first reason."""

    def online_directories(self) -> list[str]:
        """The log directories that still work."""

    def failed_directories(self) -> Mapping[str, str]:
        """The offline log directories, each with the cause and the remedy."""

    def checkpointed_high_watermark(self, topic_partition: TopicPartition) -> Offset:
        """The checkpointed HW at startup; 0 if absent (R12)."""


class ClusterView(Protocol):
    """The part of the cluster image that replication reads."""

    def partition(self, topic_partition: TopicPartition) -> PartitionImage | None:
        """The partition, when it exists anywhere in the cluster (P3)."""

    def is_live(self, broker_id: BrokerId) -> bool:
        """Whether the broker is registered now (R3, R7)."""

    def broker_epoch(self, broker_id: BrokerId) -> int:
        """The epoch of the broker's registration (R16); -1 while it is not registered."""

    def rack_on(self, broker_id: BrokerId, listener: str) -> str | None:
        """The rack of a live broker that has this listener; None for any other, or one without a rack."""


class Effects(Protocol):
    """The effects that the replica manager requests; none of them may call back before it returns."""

    def flush(self, topic_partition: TopicPartition) -> None:
        """Flush the log soon, together with others, then call `on_flushed`; acks may wait."""

    def write_isr(self, change: IsrChange) -> None:
        """Write an ISR on condition of its version (R2, R3); calls `IsrMaintenance.on_*` later."""

    def directory_failed(self, directory: str, reason: str, *, is_last: bool) -> None:
        """Called when a log directory went offline; a broker without any directory stops (R6)."""


class ReplicationQuota(Protocol):
    """A quota for replicas that are out of sync (F8), as `quota.Quota` documents it."""

    def throttles(self, topic_partition: TopicPartition, config: TopicConfig) -> bool:
        """Whether the topic's list names the replica on this broker."""

    def record(self, topic_partition: TopicPartition, config: TopicConfig, size_bytes: int) -> None:
        """Count bytes that were sent or fetched, if the replica is listed."""

    def is_exceeded(self) -> bool:
        """Whether the rate is above the limit now."""

    def frees_at_ms(self) -> int:
        """When the rate may have fallen to the limit; now if it is not above."""
