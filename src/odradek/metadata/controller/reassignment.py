"""Moves the replicas of a partition to other brokers. Pure functions from a partition to its successor.

While a partition is reassigned, `replicas` holds the replicas that it is to have, then those that it had
(KIP-455). From 1 2 3 to 4 2 5:

    begun       replicas 4 2 5 1 3   adding 4 5   removing 1 3   4 and 5 copy the records
    completed   replicas 4 2 5       -            -              once 4, 2 and 5 are all in the ISR
    cancelled   replicas 2 1 3       -            -              4 and 5 are deleted

A successor is written as one: the topic's node with the partition's state. So it has a leader and an ISR of
the replicas that it has. A replica that leaves was in the ISR at most together with one that stays, which
then has all records below HW; where no replica that stays can lead, there is no successor.
"""

from collections.abc import Callable, Container
from dataclasses import replace

from odradek.base.ids import NO_BROKER, BrokerId
from odradek.metadata.controller import election
from odradek.metadata.image import PartitionImage

Replicas = tuple[BrokerId, ...]


def is_under_way(partition: PartitionImage) -> bool:
    """Whether replicas of the partition are on their way in or out."""
    return bool(partition.adding_replicas or partition.removing_replicas)


def target_of(partition: PartitionImage) -> Replicas:
    """The replicas that the partition is to have; those that it has, if none are on their way."""
    return tuple(one for one in partition.replicas if one not in partition.removing_replicas)


def origin_of(partition: PartitionImage) -> Replicas:
    """The replicas without those on their way in: what a cancellation leaves."""
    return tuple(one for one in partition.replicas if one not in partition.adding_replicas)


def shape_for(partition: PartitionImage, target: Replicas | None) -> PartitionImage:
    """The partition with the replicas for `target`, or for a cancellation (None); nothing else is changed."""
    origin = origin_of(partition)
    if target is None:
        return replace(partition, replicas=origin, adding_replicas=(), removing_replicas=())
    removing = tuple(one for one in origin if one not in target)
    return replace(
        partition,
        replicas=(*target, *removing),
        adding_replicas=tuple(one for one in target if one not in origin),
        removing_replicas=removing,
    )


def reassigned(
    partition: PartitionImage,
    target: Replicas | None,
    online: Container[BrokerId],
    min_isr: Callable[[PartitionImage], int],
) -> PartitionImage | None:
    """The successor of a partition that is to have these replicas, or (None) those that it had before.

    A running reassignment is replaced: what was added for it alone is given up. Returns the partition itself
    if nothing changes, and None if no replica could lead that it would still have.
    """
    shaped = shape_for(partition, target)
    return partition if shaped == partition else _with_replicas(partition, shaped, online, min_isr(shaped))


def completed(
    partition: PartitionImage, online: Container[BrokerId], min_isr: Callable[[PartitionImage], int]
) -> PartitionImage | None:
    """The successor of a partition whose reassignment is to end; None as long as it cannot.

    It ends when it has a leader and all replicas that it is to have are in the ISR.
    """
    target = target_of(partition)
    if not is_under_way(partition) or partition.leader == NO_BROKER:
        return None
    if not all(replica in partition.isr for replica in target):
        return None
    shaped = replace(partition, replicas=target, adding_replicas=(), removing_replicas=())
    return _with_replicas(partition, shaped, online, min_isr(shaped))


def _with_replicas(
    before: PartitionImage, shaped: PartitionImage, online: Container[BrokerId], min_isr: int
) -> PartitionImage | None:
    """`shaped`, under the next epoch, led by one of its own replicas; None if none of them could lead."""
    replicas = shaped.replicas
    known = before.last_known_leader
    after = replace(
        shaped,
        isr=tuple(one for one in before.isr if one in replicas),
        elr=tuple(one for one in before.elr if one in replicas),
        last_known_leader=known if known in replicas else NO_BROKER,
    )
    if before.leader in replicas:
        return election.keep_leader(after, min_isr)
    if before.leader == NO_BROKER:
        has_candidates = after.isr or after.elr or after.last_known_leader != NO_BROKER
        return election.keep_leader(after, min_isr) if has_candidates else None
    elected = election.elect_for_reassignment(after, replicas, online, min_isr)
    return elected or election.elect_offline(after, online, min_isr, None)
