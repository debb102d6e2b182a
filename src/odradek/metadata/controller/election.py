"""Elects leaders, given the brokers alive and in sync. Pure functions from a partition to its successor.

Replicas 1 2 3, min ISR 2, leader 1, ISR {1, 2}, ELR {}, leader epoch 4:

    broker 1 dies                        offline               -> leader 2, ISR {2}, ELR {1}, epoch 5
    broker 1 stops cleanly               controlled shutdown   -> leader 2, ISR {2}, ELR {1}, epoch 5
    then 2 stops, 1 is back              controlled shutdown   -> leader 1, ISR {1}, ELR {2}, epoch 6
    brokers 1 and 2 die                  offline               -> no leader, ISR {1, 2}, ELR {}, epoch 5
    the same, unclean elections allowed  unclean               -> leader 3, ISR {3}, epoch 6: records are lost
    1 is back in the ISR {2, 1}          preferred             -> leader 1, ISR {2, 1}, epoch 6

Who leads when the leader cannot (R15e), in this order; only the last two may lose acknowledged records:

    a live member of the ISR             all records below HW, by R7
    a live member of the ELR             the same
    the last known leader                ISR and ELR are empty, and this is the replica that emptied them
    the live replica with the most       the greatest (last epoch, LEO), where unclean elections are allowed

Every change of leader or ISR that is decided here raises the leader epoch, so that brokers take it in.
`online` holds the brokers whose replica of this partition can serve.
"""

from collections.abc import Container, Mapping
from dataclasses import replace
from typing import TypeAlias

from odradek.base.ids import NO_BROKER, BrokerId
from odradek.metadata.eligible import eligible_after
from odradek.metadata.image import PartitionImage
from odradek.metadata.orders import LogEnd

LogEnds: TypeAlias = Mapping[BrokerId, LogEnd]
"""Where the replicas' logs end, as they reported it under the partition's leader epoch."""


def elect_offline(
    partition: PartitionImage, online: Container[BrokerId], min_isr: int, ends: LogEnds | None
) -> PartitionImage | None:
    """A leader for a partition whose leader is gone; None when no replica may lead.

    `ends` is None where unclean elections are not allowed. Where they are, they wait until every replica that
    is online has reported its end.
    """
    for replica in partition.replicas:
        if replica in online and replica in partition.isr:
            return _succeeded(partition, replica, _still_in(partition, online), min_isr)
    for replica in partition.replicas:
        if replica in online and replica in partition.elr:
            return _succeeded(partition, replica, (replica,), min_isr)
    if partition.last_known_leader in online and not partition.isr and not partition.elr:
        return _uncleanly(partition, partition.last_known_leader)
    if ends is None:
        return None
    candidates = [replica for replica in partition.replicas if replica in online]
    if not candidates or not all(replica in ends for replica in candidates):
        return None
    return _uncleanly(
        partition, max(candidates, key=lambda replica: (ends[replica].last_epoch, ends[replica].end_offset))
    )


def elect_preferred(
    partition: PartitionImage, online: Container[BrokerId], min_isr: int
) -> PartitionImage | None:
    """The first assigned replica as leader, if it is online and in sync; else None."""
    preferred = partition.preferred_leader
    if preferred in online and preferred in partition.isr:
        return _succeeded(partition, preferred, partition.isr, min_isr)
    return None


def elect_for_reassignment(
    partition: PartitionImage, targets: tuple[BrokerId, ...], online: Container[BrokerId], min_isr: int
) -> PartitionImage | None:
    """The first of the replicas that are to stay, if one is online and in sync; else None."""
    for replica in targets:
        if replica in online and replica in partition.isr:
            return _succeeded(partition, replica, partition.isr, min_isr)
    return None


def keep_leader(partition: PartitionImage, min_isr: int) -> PartitionImage:
    """The partition with the leader and ISR that it has, or still without a leader: its replicas changed."""
    if partition.leader == NO_BROKER:
        return _next(partition)
    return _succeeded(partition, partition.leader, partition.isr, min_isr)


def elect_for_shutdown(
    partition: PartitionImage, online: Container[BrokerId], stopping: Container[BrokerId], min_isr: int
) -> PartitionImage | None:
    """A leader other than the brokers that are stopping, which leave the ISR; None when there is none.

    As in an offline election, a member of the ELR leads where no member of the ISR can (R15e).
    """
    able = [replica for replica in partition.replicas if replica in online and replica not in stopping]
    for replica in able:
        if replica in partition.isr:
            staying = tuple(member for member in partition.isr if member not in stopping)
            return _succeeded(partition, replica, staying, min_isr)
    for replica in able:
        if replica in partition.elr:
            return _succeeded(partition, replica, (replica,), min_isr)
    return None


def release(
    partition: PartitionImage, online: Container[BrokerId], min_isr: int, *, is_first: bool
) -> PartitionImage | None:
    """What a partition must become whose follower's broker, not in `online`, stops; None for no change.

    The follower leaves the ISR. When its broker asks for the first time (`is_first`), a new epoch begins even
    where the follower was not in the ISR: a fetch under the present epoch, and an ISR write that follows from
    one, come too late (KIP-841).
    """
    after = settle(partition, online, min_isr, None)
    if after is None and is_first and partition.leader != NO_BROKER:
        return _next(partition)
    return after


def settle(
    partition: PartitionImage, online: Container[BrokerId], min_isr: int, ends: LogEnds | None
) -> PartitionImage | None:
    """What the partition must become now that `online` are the ones that serve; None for no change.

    A leader that serves stays and drops dead members from the ISR. A dead one is replaced, or the
    partition is left without a leader and with the ISR and ELR that a leader may come from one day.
    """
    if partition.leader != NO_BROKER and partition.leader in online:
        remaining = _still_in(partition, online)
        if remaining == partition.isr:
            return None
        return _succeeded(partition, partition.leader, remaining, min_isr)
    elected = elect_offline(partition, online, min_isr, ends)
    if elected is not None or partition.leader == NO_BROKER:
        return elected
    return _without_leader(partition)


def distrust(partition: PartitionImage, replica: BrokerId) -> PartitionImage | None:
    """R15: a replica may have lost records; None for no change.

    It leaves ISR and ELR. When it was the last member of both, it is the last known leader.
    """
    if replica not in partition.isr and replica not in partition.elr:
        return None
    after = replace(
        partition,
        isr=tuple(member for member in partition.isr if member != replica),
        elr=tuple(member for member in partition.elr if member != replica),
        leader=NO_BROKER if partition.leader == replica else partition.leader,
    )
    if not after.isr and not after.elr:
        after = replace(after, last_known_leader=replica)
    return _next(after)


def readmit(
    partition: PartitionImage,
    returned: Mapping[BrokerId, bool],
    online: Container[BrokerId],
    min_isr: int,
) -> PartitionImage | None:
    """What a partition must become when brokers registered afresh; None for no change.

    `returned` says of each whether its replicas are trusted to be whole. First they count as dead, even when
    no event reported that: what they led gets another leader, or a new epoch, since their logs may be shorter
    than they were. Then R15: those that are not trusted leave ISR and ELR, and a new epoch begins even where
    they were in neither: a fetch of their earlier life, or an ISR write that follows from one, comes too late
    (R16). Then all of them are there.
    `online` holds them; the result is one step, written once. No replica is elected here for where its log
    ends: those that returned have not reported that yet.
    """
    others = [member for member in partition.replicas if member in online and member not in returned]
    after = settle(partition, others, min_isr, None) or partition
    for replica, is_trusted in returned.items():
        if not is_trusted:
            after = distrust(after, replica) or _next(after)
    after = settle(after, online, min_isr, None) or after
    return None if after is partition else replace(after, state_version=partition.state_version + 1)


def _still_in(partition: PartitionImage, online: Container[BrokerId]) -> tuple[BrokerId, ...]:
    return tuple(member for member in partition.isr if member in online)


def _succeeded(
    partition: PartitionImage, leader: BrokerId, isr: tuple[BrokerId, ...], min_isr: int
) -> PartitionImage:
    assert leader in isr, f"leader {leader} must be in the ISR {isr}"
    elr = eligible_after(partition.isr, partition.elr, isr, min_isr)
    return replace(
        partition,
        leader=leader,
        isr=isr,
        elr=elr,
        last_known_leader=NO_BROKER,
        leader_epoch=partition.leader_epoch + 1,
        state_version=partition.state_version + 1,
    )


def _without_leader(partition: PartitionImage) -> PartitionImage:
    return _next(replace(partition, leader=NO_BROKER))


def _uncleanly(partition: PartitionImage, leader: BrokerId) -> PartitionImage:
    """Elected although it may lack acknowledged records: no other replica is known to have them."""
    elected = replace(partition, leader=leader, isr=(leader,), elr=(), last_known_leader=NO_BROKER)
    return _next(replace(elected, unclean_epoch=partition.leader_epoch + 1))


def _next(partition: PartitionImage) -> PartitionImage:
    return replace(
        partition, leader_epoch=partition.leader_epoch + 1, state_version=partition.state_version + 1
    )
