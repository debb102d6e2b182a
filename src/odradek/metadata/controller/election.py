"""Elects leaders, given the brokers alive and in sync. Pure functions from a partition to its successor.

Replicas 1 2 3, leader 1, ISR {1, 2}, leader epoch 4:

    broker 1 dies                        offline               -> leader 2, ISR {2}, epoch 5
    broker 1 stops cleanly               controlled shutdown   -> leader 2, ISR {2}, epoch 5
    brokers 1 and 2 die                  offline               -> no leader, ISR {1, 2}, epoch 5
    the same, unclean elections allowed  unclean               -> leader 3, ISR {3}, epoch 5: records are lost
    1 is back in the ISR {2, 1}          preferred             -> leader 1, ISR {2, 1}, epoch 6

Every change of leader or ISR that is decided here raises the leader epoch, so that brokers take it in.
`online` holds the brokers whose replica of this partition can serve.
"""

from collections.abc import Container
from dataclasses import replace

from odradek.base.ids import NO_BROKER, BrokerId
from odradek.metadata.image import PartitionImage


def elect_offline(
    partition: PartitionImage, online: Container[BrokerId], *, unclean: bool
) -> PartitionImage | None:
    """A leader for a partition whose leader is gone; None when no replica may lead.

    Clean: the first assigned replica that is online and in sync. Unclean: the first that is online; what
    only the others had is lost.
    """
    for replica in partition.replicas:
        if replica in online and replica in partition.isr:
            return _succeeded(partition, replica, _still_in(partition, online))
    if unclean:
        for replica in partition.replicas:
            if replica in online:
                return _succeeded(partition, replica, (replica,))
    return None


def elect_preferred(partition: PartitionImage, online: Container[BrokerId]) -> PartitionImage | None:
    """The first assigned replica as leader, if it is online and in sync; else None."""
    preferred = partition.preferred_leader
    if preferred in online and preferred in partition.isr:
        return _succeeded(partition, preferred, partition.isr)
    return None


def elect_for_reassignment(
    partition: PartitionImage, targets: tuple[BrokerId, ...], online: Container[BrokerId]
) -> PartitionImage | None:
    """The first of the replicas that are to stay, if one is online and in sync; else None."""
    for replica in targets:
        if replica in online and replica in partition.isr:
            return _succeeded(partition, replica, partition.isr)
    return None


def elect_for_shutdown(
    partition: PartitionImage, online: Container[BrokerId], stopping: Container[BrokerId]
) -> PartitionImage | None:
    """A leader other than the brokers that are stopping, which leave the ISR; None when there is none."""
    for replica in partition.replicas:
        if replica in online and replica in partition.isr and replica not in stopping:
            staying = tuple(member for member in partition.isr if member not in stopping)
            return _succeeded(partition, replica, staying)
    return None


def settle(partition: PartitionImage, online: Container[BrokerId], *, unclean: bool) -> PartitionImage | None:
    """What the partition must become now that `online` are the ones that serve; None for no change.

    A leader that serves stays and drops dead members from the ISR. A dead one is replaced, or the
    partition is left without a leader and with the ISR that a leader may come from one day.
    """
    if partition.leader != NO_BROKER and partition.leader in online:
        remaining = _still_in(partition, online)
        return None if remaining == partition.isr else _succeeded(partition, partition.leader, remaining)
    elected = elect_offline(partition, online, unclean=unclean)
    if elected is not None or partition.leader == NO_BROKER:
        return elected
    return _succeeded(partition, NO_BROKER, partition.isr)


def distrust(partition: PartitionImage, replica: BrokerId) -> PartitionImage | None:
    """R15: a replica came back from an unclean stop on a restarted machine; None for no change.

    It leaves an ISR that has another member. As the last member it may lead again.
    """
    if replica not in partition.isr:
        return None
    remaining = tuple(member for member in partition.isr if member != replica)
    if not remaining:
        return None
    leader = NO_BROKER if partition.leader == replica else partition.leader
    return _succeeded(partition, leader, remaining)


def readmit(
    partition: PartitionImage,
    replica: BrokerId,
    online: Container[BrokerId],
    *,
    trusted: bool,
    unclean: bool,
) -> PartitionImage | None:
    """What a partition must become when a replica's broker registered afresh; None for no change.

    First it counts as dead, even when no event reported that: what it led gets another leader, or a new
    epoch, since its log may be shorter than it was. Then R15, unless its stop was clean (`trusted`). Then it
    is there. `online` holds it; the result is one step, written once.
    """
    others = [member for member in partition.replicas if member in online and member != replica]
    after = settle(partition, others, unclean=False) or partition
    if not trusted:
        after = distrust(after, replica) or after
    after = settle(after, online, unclean=unclean) or after
    return None if after is partition else replace(after, state_version=partition.state_version + 1)


def _still_in(partition: PartitionImage, online: Container[BrokerId]) -> tuple[BrokerId, ...]:
    return tuple(member for member in partition.isr if member in online)


def _succeeded(partition: PartitionImage, leader: BrokerId, isr: tuple[BrokerId, ...]) -> PartitionImage:
    assert leader == NO_BROKER or leader in isr, f"leader {leader} must be in the ISR {isr}"
    return replace(
        partition,
        leader=leader,
        isr=isr,
        leader_epoch=partition.leader_epoch + 1,
        state_version=partition.state_version + 1,
    )
