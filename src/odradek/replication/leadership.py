"""The state and decisions of the leader of one partition, within one leader epoch (R5b, R7, R10).

Invariant: it exists only while this broker leads, and is created anew for every leader epoch. It knows the
followers and the ISR; callers pass in the log's offsets. At most one ISR write is in flight (R2):

    settled    propose_shrink, propose_expansion  →  in flight    a joining member counts for HW at once,
                                                                  a leaving one until the write succeeded
    in flight  written                            →  settled      the new ISR, the new version
    in flight  lost the race, same epoch          →  settled      the old ISR, the version found
    in flight  superseded                         →  frozen       until LeaderAndIsr brings the next epoch
    in flight  the store could not be reached     →  settled      nothing changed, decide again next round
"""

from collections.abc import Sequence

from odradek.base.ids import BrokerId, LeaderEpoch, Offset, TopicPartition
from odradek.metadata.image import PartitionImage
from odradek.replication.high_watermark import high_watermark_candidate
from odradek.replication.isr import IsrChange, may_join, replicas_out_of_sync
from odradek.replication.remote_replica import RemoteReplica
from odradek.replication.replication_ports import ClusterView
from odradek.storage import LogPosition


class Leadership:
    """One epoch of leading one partition."""

    __slots__ = (
        "_cluster",
        "_lag_time_max_ms",
        "broker_id",
        "epoch",
        "epoch_start_offset",
        "is_frozen",
        "isr",
        "pending",
        "remotes",
        "state_version",
        "topic_partition",
    )

    def __init__(
        self,
        topic_partition: TopicPartition,
        broker_id: BrokerId,
        state: PartitionImage,
        epoch_start_offset: Offset,
        cluster: ClusterView,
        now_ms: int,
        lag_time_max_ms: int,
    ) -> None:
        self.topic_partition = topic_partition
        self.broker_id = broker_id
        """This broker, the leader."""
        self.epoch: LeaderEpoch = state.leader_epoch
        self.epoch_start_offset = epoch_start_offset
        """LEO when the epoch began: a follower below it lacks records of earlier epochs (R3)."""
        self.isr: tuple[BrokerId, ...] = state.isr
        """The ISR as last known in the store; always contains the leader."""
        self.state_version = state.state_version
        """The version of the stored state that holds `isr`."""
        self.pending: IsrChange | None = None
        """The ISR write in flight."""
        self.is_frozen = False
        """Whether a newer leader or controller exists, so that this one changes no ISR any more (R2)."""
        self.remotes = {replica: RemoteReplica(replica) for replica in state.replicas if replica != broker_id}
        """The assigned followers, in the order of the assignment."""
        for remote in self.remotes.values():
            remote.start_epoch(now_ms, in_sync=remote.broker_id in state.isr)
        self._cluster = cluster
        self._lag_time_max_ms = lag_time_max_ms

    # --- high watermark

    @property
    def counted_isr(self) -> tuple[BrokerId, ...]:
        """The ISR for R7: includes a member whose joining or leaving is still being written."""
        pending = self.pending
        return pending.new_isr if pending is not None and pending.is_expansion else self.isr

    def high_watermark_candidate(self, leader_end: LogPosition, now_ms: int) -> LogPosition:
        """R7: returns how far HW may rise."""
        if not self.remotes:
            return leader_end
        return high_watermark_candidate(
            leader_end, self.remotes.values(), self.counted_isr, self._cluster, now_ms, self._lag_time_max_ms
        )

    def low_watermark(self, log_start_offset: Offset) -> Offset:
        """The least log start over leader and live followers: records below it are gone everywhere."""
        lowest = log_start_offset
        for remote in self.remotes.values():
            if remote.log_start_offset < lowest and self._cluster.is_live(remote.broker_id):
                lowest = remote.log_start_offset
        return lowest

    def behind(self, offset: Offset) -> Sequence[RemoteReplica]:
        """The members of the ISR that do not have all records below `offset` yet."""
        isr = self.counted_isr
        return [
            remote
            for remote in self.remotes.values()
            if remote.broker_id in isr and remote.log_end.offset < offset
        ]

    # --- ISR

    def propose_shrink(self, leader_end: Offset, now_ms: int) -> IsrChange | None:
        """R2: returns the change that drops replicas out of sync, now in flight; None if there is none."""
        if self.pending is not None or self.is_frozen:
            return None
        leaving = replicas_out_of_sync(
            self.remotes.values(), self.isr, leader_end, now_ms, self._lag_time_max_ms
        )
        if not leaving:
            return None
        return self._propose(tuple(member for member in self.isr if member not in leaving))

    def propose_expansion(self, broker_id: BrokerId, high_watermark: Offset) -> IsrChange | None:
        """R3: returns the change that adds this follower, now in flight; None when it may not join now."""
        remote = self.remotes.get(broker_id)
        if remote is None or self.pending is not None or self.is_frozen:
            return None
        if not may_join(remote, self.isr, high_watermark, self.epoch_start_offset):
            return None
        if not self._cluster.is_live(broker_id):
            return None
        return self._propose((*self.isr, broker_id))

    def _propose(self, new_isr: tuple[BrokerId, ...]) -> IsrChange:
        assert self.broker_id in new_isr, f"{self.topic_partition}: the leader never leaves its own ISR"
        self.pending = IsrChange(
            self.topic_partition, self.broker_id, self.epoch, self.isr, new_isr, self.state_version
        )
        return self.pending

    def isr_written(self, state_version: int) -> IsrChange:
        """Called when the store holds the write in flight, with this version."""
        change = self.pending
        assert change is not None, f"{self.topic_partition}: no ISR write was in flight"
        self.isr = change.new_isr
        self.state_version = state_version
        self.pending = None
        return change

    def isr_not_written(self, state_version: int, *, freeze: bool = False) -> None:
        """Called when the write in flight did not happen; `freeze` if a newer leader or controller exists."""
        assert self.pending is not None, f"{self.topic_partition}: no ISR write was in flight"
        self.state_version = state_version
        self.pending = None
        self.is_frozen = freeze
