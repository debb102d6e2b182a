"""Decides which replicas belong in the ISR (R2, R3), and what follows from a lost race for writing it.

Invariant: the functions change no state. ISRs are tuples in the order of the assignment, not sets, so that
equal histories give equal writes.
"""

from collections.abc import Iterable
from enum import Enum

from odradek.base.ids import NO_EPOCH, BrokerId, LeaderEpoch, Offset, TopicPartition
from odradek.base.values import value
from odradek.replication.remote_replica import RemoteReplica


@value
class IsrChange:
    """An ISR to be written, provided that the stored state still has this version."""

    topic_partition: TopicPartition
    leader_id: BrokerId
    leader_epoch: LeaderEpoch
    """The leader epoch in which it was decided; a later epoch makes it void."""
    old_isr: tuple[BrokerId, ...]
    new_isr: tuple[BrokerId, ...]
    state_version: int
    """The version of the stored state that it replaces."""
    new_elr: tuple[BrokerId, ...] = ()
    """The ELR that goes with `new_isr` (R15e)."""
    unclean_epoch: LeaderEpoch = NO_EPOCH
    """See `PartitionImage.unclean_epoch`, which this write keeps."""

    @property
    def is_expansion(self) -> bool:
        """Whether a replica joins. A change adds one replica, or drops some, or only empties the ELR."""
        return len(self.new_isr) > len(self.old_isr)

    @property
    def is_shrink(self) -> bool:
        """Whether replicas leave."""
        return len(self.new_isr) < len(self.old_isr)


@value
class StoredState:
    """A partition's state as a lost race found it in the store."""

    leader_id: BrokerId
    leader_epoch: LeaderEpoch
    controller_epoch: int
    isr: tuple[BrokerId, ...]
    version: int
    elr: tuple[BrokerId, ...] = ()


class LostRace(Enum):
    """The causes of a failed conditional write (R2)."""

    ALREADY_WRITTEN = "the store holds this change: the answer to its first write was lost"
    TRY_NEXT_ROUND = "another write came first in this epoch: take what it wrote, decide again next round"
    SUPERSEDED = "a newer leader or controller decides: no ISR change until LeaderAndIsr"


def classify_lost_race(change: IsrChange, stored: StoredState, controller_epoch: int) -> LostRace:
    """R2: compare the change with the stored state; `controller_epoch` is the last one obeyed."""
    if stored.leader_epoch > change.leader_epoch or stored.controller_epoch > controller_epoch:
        return LostRace.SUPERSEDED
    is_same = stored.isr == change.new_isr and stored.elr == change.new_elr
    if stored.leader_id == change.leader_id and is_same:
        return LostRace.ALREADY_WRITTEN
    return LostRace.TRY_NEXT_ROUND


def replicas_out_of_sync(
    remotes: Iterable[RemoteReplica],
    isr: tuple[BrokerId, ...],
    leader_end: Offset,
    now_ms: int,
    lag_time_max_ms: int,
) -> tuple[BrokerId, ...]:
    """R2: the ISR members to drop, stuck or slow; never a member whose LEO equals the leader's."""
    return tuple(
        remote.broker_id
        for remote in remotes
        if remote.broker_id in isr
        and remote.log_end.offset != leader_end
        and now_ms - remote.last_caught_up_ms > lag_time_max_ms
    )


def may_join(
    replica: RemoteReplica, isr: tuple[BrokerId, ...], high_watermark: Offset, epoch_start_offset: Offset
) -> bool:
    """R3: whether the follower has all committed records and all records of earlier leader epochs."""
    return (
        replica.broker_id not in isr
        and replica.log_end.offset >= high_watermark
        and replica.log_end.offset >= epoch_start_offset
    )
