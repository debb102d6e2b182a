"""One partition on this broker: its log, its role, and the role's operations (R5b, R5c, R7, R10, R11).

Its methods change state and return what changed; the caller wakes the operations that wait for the change
(R14). The log keeps the invariant log start ≤ LSO ≤ HW ≤ LEO; this file decides when HW moves.
"""

from collections.abc import Sequence

from odradek.base.buffers import Buffer
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import LogError, StorageFailure
from odradek.base.ids import NO_BROKER, NO_EPOCH, BrokerId, LeaderEpoch, Offset, TopicId, TopicPartition
from odradek.metadata.image import PartitionImage
from odradek.records.validation import ValidatedRecords
from odradek.replication.cut_records import CutRecords
from odradek.replication.fetch_request import Isolation
from odradek.replication.leadership import Leadership
from odradek.replication.replication_ports import ClusterView, ReplicatedLog
from odradek.storage import AppendInfo, LogPosition, Origin
from odradek.storage.positions import UNKNOWN_POSITION


class Partition:
    """A replica, leading or following."""

    __slots__ = (
        "_lag_time_max_ms",
        "_was_moved",
        "adding_replicas",
        "broker_id",
        "cut_off",
        "leader_epoch",
        "leader_id",
        "leadership",
        "log",
        "replicas",
        "topic_id",
        "topic_partition",
        "unclean_epoch",
    )

    def __init__(
        self,
        topic_partition: TopicPartition,
        topic_id: TopicId,
        broker_id: BrokerId,
        log: ReplicatedLog,
        lag_time_max_ms: int,
    ) -> None:
        self.topic_partition = topic_partition
        self.topic_id = topic_id
        """Zero while the topic has no id; does not change once it is set."""
        self.broker_id = broker_id
        """This broker."""
        self.log = log
        self.leader_id: BrokerId = NO_BROKER
        """The leader that the controller named last; -1 while there is none."""
        self.leader_epoch: LeaderEpoch = NO_EPOCH
        """The epoch of that leader; never falls."""
        self.replicas: tuple[BrokerId, ...] = ()
        """The assignment, the preferred leader first."""
        self.adding_replicas: tuple[BrokerId, ...] = ()
        """Those of them that a reassignment brings, until all of these are in sync."""
        self.unclean_epoch: LeaderEpoch = NO_EPOCH
        """See `PartitionImage.unclean_epoch`."""
        self.cut_off: CutRecords | None = None
        """What this replica lost by the last unclean election, since the start; None for nothing."""
        self.leadership: Leadership | None = None
        """The leader's state; None exactly while this broker does not lead."""
        self._lag_time_max_ms = lag_time_max_ms
        self._was_moved = False
        """Whether its log has moved to another directory: positions in the earlier one may still come."""

    # --- roles

    def make_leader(self, state: PartitionImage, cluster: ClusterView, now_ms: int) -> None:
        """R5b: lead, under a new epoch that begins at LEO."""
        assert state.leader_epoch > self.leader_epoch, f"{self.topic_partition}: an epoch begins once"
        epoch_start_offset = self.log.begin_epoch(state.leader_epoch)
        self._apply_state(state)
        self.leadership = Leadership(
            self.topic_partition,
            self.broker_id,
            state,
            epoch_start_offset,
            cluster,
            now_ms,
            self._lag_time_max_ms,
        )
        self.raise_high_watermark(now_ms)

    def make_follower(self, state: PartitionImage) -> None:
        """R5c: follow, or wait for a leader; the fetcher starts the truncation."""
        assert state.leader_epoch > self.leader_epoch, f"{self.topic_partition}: an epoch begins once"
        self._apply_state(state)
        self.leadership = None

    def _apply_state(self, state: PartitionImage) -> None:
        self.leader_id = state.leader
        self.leader_epoch = state.leader_epoch
        self.replicas = state.replicas
        self.adding_replicas = state.adding_replicas
        self.unclean_epoch = state.unclean_epoch

    # --- as the leader

    @property
    def min_isr(self) -> int:
        """How many must be in sync for acks=all, and for HW to move: at most all replicas (P3, R7)."""
        return min(self.log.config.min_insync_replicas, len(self.replicas))

    @property
    def is_under_min_isr(self) -> bool:
        """Whether acks=all is refused and HW does not move; always False where this broker does not lead.

        Uses the ISR in the store: a joining member counts only after the ISR with it was written.
        """
        leadership = self.leadership
        if leadership is None or len(leadership.isr) == len(self.replicas):
            return False
        return len(leadership.isr) < self.min_isr

    @property
    def is_at_min_isr(self) -> bool:
        """Whether this broker leads, and acks=all is refused if one more replica leaves the ISR."""
        return self.leadership is not None and len(self.leadership.isr) == self.min_isr

    @property
    def is_under_replicated(self) -> bool:
        """Whether this broker leads, and a replica is missing from the ISR.

        As in Kafka, one that a reassignment brings is not missed before it has come: nothing is lost yet.
        """
        return self.leadership is not None and self.misses_replicas(self.leadership.isr)

    def misses_replicas(self, isr: Sequence[BrokerId]) -> bool:
        """Whether an ISR lacks a replica other than those that a reassignment brings."""
        if len(isr) == len(self.replicas):
            return False
        return any(one not in isr and one not in self.adding_replicas for one in self.replicas)

    def append(self, batches: Buffer | ValidatedRecords, origin: Origin, wall_ms: int) -> AppendInfo:
        """Append as the leader; a LogError means that nothing was written."""
        assert self.leadership is not None, f"{self.topic_partition} is led by {self.leader_id}"
        return self.log.append_as_leader(batches, self.leader_epoch, origin=origin, now_ms=wall_ms)

    def raise_high_watermark(self, now_ms: int) -> bool:
        """R7, R11: raise HW as far as it may rise; returns whether it moved.

        HW does not move while the ISR is below `min.insync.replicas` (KIP-966): consumers could see records
        that are lost when those few replicas fail. Nor does it move before the store's ELR is empty: its
        members may be elected, and must have all records below HW (R15e). Nor does it move on a failed disk;
        the next read or write reports that failure (R6).
        """
        leadership = self.leadership
        if leadership is None or self.is_under_min_isr or leadership.elr:
            return False
        log = self.log
        candidate = leadership.high_watermark_candidate(log.end_position, now_ms)
        try:
            return log.advance_high_watermark(candidate)
        except StorageFailure:
            return False

    def has_follower(self, replica_id: BrokerId, broker_epoch: int) -> bool:
        """Whether this broker leads and the replica is assigned; no other replica changes state (R10, R16).

        `broker_epoch` is the one in its fetch, -1 for none; one of an earlier registration is no follower's.
        """
        return self.leadership is not None and self.leadership.has_follower(replica_id, broker_epoch)

    def note_fetch(
        self, replica_id: BrokerId, fetched: LogPosition, log_start_offset: Offset, now_ms: int
    ) -> bool:
        """R10: called when a follower read from `fetched`; returns whether the low watermark rose.

        The follower may then join the ISR, and after that HW may rise: a joining member holds HW back.
        """
        leadership = self.leadership
        assert leadership is not None, f"{self.topic_partition} is led by {self.leader_id}"
        remote, log = leadership.remotes[replica_id], self.log
        if self._was_moved:
            fetched = self._located(fetched.offset)
        low_watermark = leadership.low_watermark(log.log_start_offset)
        remote.note_fetch(fetched, log_start_offset, log.end_offset, now_ms)
        return leadership.low_watermark(log.log_start_offset) > low_watermark

    def acknowledgement(
        self, required_offset: Offset, *, by_replicas: bool, on_disk: bool
    ) -> ErrorCode | None:
        """P3 case B: the error code that acknowledges records below `required_offset`; None: not yet."""
        if by_replicas and self.log.high_watermark.offset < required_offset:
            return None
        if on_disk and self.log.flushed_offset < required_offset:
            return None
        if by_replicas and self.is_under_min_isr:
            return ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        return ErrorCode.NONE

    def low_watermark(self) -> Offset:
        """See `Leadership.low_watermark`; a follower knows only its own log start."""
        log_start_offset = self.log.log_start_offset
        return (
            log_start_offset if self.leadership is None else self.leadership.low_watermark(log_start_offset)
        )

    # --- as a follower

    def append_from_leader(self, batches: Buffer) -> AppendInfo:
        """Append the leader's batches with their own offsets; raises the log's errors (X5)."""
        assert self.leadership is None, f"{self.topic_partition} is led here"
        return self.log.append_as_follower(batches)

    def follow_leader(self, high_watermark: Offset, log_start_offset: Offset) -> bool:
        """R11: take over the HW and log start of the leader's answer; returns whether either moved."""
        assert self.leadership is None, f"{self.topic_partition} is led here"
        log = self.log
        reachable = min(high_watermark, log.end_offset)
        moved = reachable > log.high_watermark.offset and log.advance_high_watermark(
            log.position_of(reachable)
        )
        return log.advance_log_start(log_start_offset) or moved

    def note_cut_off(self, cut_off: CutRecords) -> None:
        """R15e: called when a truncation has taken records for an unclean election."""
        assert self.leadership is None, f"{self.topic_partition} is led here"
        self.cut_off = cut_off

    # --- in either role

    def move_to(self, log: ReplicatedLog) -> None:
        """Called when the log has moved to another directory: `log` is the same, with other positions."""
        assert log.end_offset == self.log.end_offset, f"{self.topic_partition}: not the same log"
        self.log = log
        self._was_moved = True
        if self.leadership is not None:
            for remote in self.leadership.remotes.values():
                remote.log_end = self._located(remote.log_end.offset)

    def _located(self, offset: Offset) -> LogPosition:
        """The position of a follower's LEO; unknown, which holds HW back, if it is not in the log."""
        log = self.log
        if offset == log.end_offset:
            return log.end_position
        try:
            return log.position_of(offset)
        except LogError:
            return UNKNOWN_POSITION

    def bound(self, isolation: Isolation) -> LogPosition:
        """Returns the position up to which a reader may read (F3)."""
        if isolation is Isolation.HIGH_WATERMARK:
            return self.log.high_watermark
        if isolation is Isolation.LAST_STABLE:
            return self.log.last_stable
        return self.log.end_position

    def is_in_sync(self, broker_id: BrokerId) -> bool:
        """Whether this broker leads and knows that broker to be in the ISR."""
        return self.leadership is not None and broker_id in self.leadership.isr
