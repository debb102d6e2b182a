"""The state and decisions of the leader of one partition, within one leader epoch (R5b, R7, R10).

Invariant: it exists only while this broker leads, and is created anew for every leader epoch. It knows the
followers and the ISR; callers pass in the log's offsets. At most one ISR write is in flight (R2):

    settled    propose_shrink, propose_expansion  →  in flight    a joining member counts for HW at once,
                                                                  a leaving one until the write succeeded
    in flight  written                            →  settled      the new ISR, the new version
    in flight  lost the race, same epoch          →  settled      the ISR, the ELR and the version found
    in flight  superseded                         →  frozen       until LeaderAndIsr brings the next epoch
    in flight  no answer                          →  settled      the old ISR; a joining member still counts
                                                                  for HW until the store's state is known

In one epoch only this leader writes the state: what a lost race finds is an earlier write of its own.
"""

from collections.abc import Sequence

from odradek.base.ids import NO_BROKER_EPOCH, BrokerId, LeaderEpoch, Offset, TopicPartition
from odradek.metadata.eligible import eligible_after
from odradek.metadata.image import PartitionImage
from odradek.replication.high_watermark import high_watermark_candidate
from odradek.replication.isr import IsrChange, StoredState, may_join, replicas_out_of_sync
from odradek.replication.remote_replica import RemoteReplica
from odradek.replication.replication_ports import ClusterView
from odradek.storage import LogPosition


class Leadership:
    """One epoch of leading one partition."""

    __slots__ = (
        "_cluster",
        "_lag_time_max_ms",
        "_unclean_epoch",
        "_unconfirmed",
        "broker_id",
        "elr",
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
        self.elr: tuple[BrokerId, ...] = state.elr
        """The ELR that goes with it; HW does not move unless it is empty (R15e)."""
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
        self._unconfirmed: tuple[BrokerId, ...] | None = None
        """None: `isr` is the stored one. Else a write had no answer, and the stored ISR may be another: these
        are the members that it may have besides those of `isr`; none, where members were to leave."""
        self._unclean_epoch = state.unclean_epoch
        self._cluster = cluster
        self._lag_time_max_ms = lag_time_max_ms

    def has_follower(self, broker_id: BrokerId, broker_epoch: int) -> bool:
        """Whether a fetch with this broker epoch, -1 for none, is of an assigned follower's present life.

        An epoch above the registered one is of a registration that is not known here yet.
        """
        if broker_id not in self.remotes:
            return False
        return broker_epoch == NO_BROKER_EPOCH or broker_epoch >= self._cluster.broker_epoch(broker_id)

    # --- high watermark

    @property
    def counted_isr(self) -> tuple[BrokerId, ...]:
        """The ISR for R7: includes a member whose joining or leaving is being written or may be written."""
        pending = self.pending
        isr = pending.new_isr if pending is not None and pending.is_expansion else self.isr
        return isr if self._unconfirmed is None else isr + self._unconfirmed

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

    def propose_shrink(self, leader_end: Offset, now_ms: int, min_isr: int) -> IsrChange | None:
        """R2: returns the change that drops replicas out of sync, now in flight; None if there is none.

        Also when nobody leaves: to empty an ELR at min ISR, after `min.insync.replicas` was lowered, and to
        learn what the store holds, after a write had no answer.
        """
        if self.pending is not None or self.is_frozen:
            return None
        leaving = replicas_out_of_sync(
            self.remotes.values(), self.isr, leader_end, now_ms, self._lag_time_max_ms
        )
        is_elr_over = bool(self.elr) and len(self.isr) >= min_isr
        if not leaving and not is_elr_over and self._unconfirmed is None:
            return None
        return self._propose(tuple(member for member in self.isr if member not in leaving), min_isr)

    def propose_expansion(
        self,
        broker_id: BrokerId,
        high_watermark: Offset,
        min_isr: int,
        broker_epoch: int = NO_BROKER_EPOCH,
    ) -> IsrChange | None:
        """R3, R16: returns the change that adds this follower, now in flight; None if it may not join now.

        `broker_epoch` is the one in its fetch, -1 for none: it joins only if it is the one registered now.
        """
        remote = self.remotes.get(broker_id)
        if remote is None or self.pending is not None or self.is_frozen:
            return None
        if not may_join(remote, self.isr, high_watermark, self.epoch_start_offset):
            return None
        if not self._cluster.is_live(broker_id):
            return None
        registered_epoch = self._cluster.broker_epoch(broker_id)
        if NO_BROKER_EPOCH not in (broker_epoch, registered_epoch) and broker_epoch != registered_epoch:
            return None
        return self._propose((*self.isr, broker_id), min_isr)

    def _propose(self, new_isr: tuple[BrokerId, ...], min_isr: int) -> IsrChange:
        assert self.broker_id in new_isr, f"{self.topic_partition}: the leader never leaves its own ISR"
        self.pending = IsrChange(
            self.topic_partition,
            self.broker_id,
            self.epoch,
            self.isr,
            new_isr,
            self.state_version,
            eligible_after(self.isr, self.elr, new_isr, min_isr),
            self._unclean_epoch,
        )
        return self.pending

    def isr_written(self, state_version: int) -> IsrChange:
        """Called when the store holds the write in flight, with this version."""
        change = self.pending
        assert change is not None, f"{self.topic_partition}: no ISR write was in flight"
        self.isr, self.elr = change.new_isr, change.new_elr
        self.state_version = state_version
        self.pending = None
        self._unconfirmed = None
        return change

    def isr_found(self, stored: StoredState) -> None:
        """Called when the write in flight did not happen, and this state of the same epoch was found."""
        assert self.pending is not None, f"{self.topic_partition}: no ISR write was in flight"
        self.isr, self.elr = stored.isr, stored.elr
        self.state_version = stored.version
        self.pending = None
        self._unconfirmed = None

    def isr_superseded(self) -> None:
        """Called when a newer leader or controller exists: its order will bring the state."""
        self.isr_unanswered()
        self.is_frozen = True

    def isr_unanswered(self) -> None:
        """Called when it is unknown whether the write in flight happened."""
        change = self.pending
        assert change is not None, f"{self.topic_partition}: no ISR write was in flight"
        self.pending = None
        known = self._unconfirmed or ()
        joining = (one for one in change.new_isr if one not in change.old_isr)
        self._unconfirmed = (*known, *(one for one in joining if one not in known))
