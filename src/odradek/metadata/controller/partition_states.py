"""The state machine of a partition in the controller. Invariant: only the moves of the table happen.

    from \\ to        new   online   offline   non-existent
    non-existent     yes
    new                     yes      yes
    online                  yes      yes
    offline                 yes      yes       yes

Online to online is an election while all is well; a partition is deleted by way of offline. The state is
not kept anywhere: it follows from the image, and a move is checked where the image is about to change.
"""

from collections.abc import Container
from enum import Enum

from odradek.base.ids import NO_BROKER, BrokerId
from odradek.metadata.image import PartitionImage


class PartitionState(Enum):
    """Where a partition is in its life."""

    # The cluster does not know it.
    NON_EXISTENT = "non-existent"
    # Assigned, but no leader and ISR were ever written.
    NEW = "new"
    # Led by a broker that serves it.
    ONLINE = "online"
    # It had a leader once and has none that serves now.
    OFFLINE = "offline"


MOVES: frozenset[tuple[PartitionState, PartitionState]] = frozenset(
    {
        (PartitionState.NON_EXISTENT, PartitionState.NEW),
        (PartitionState.NEW, PartitionState.ONLINE),
        (PartitionState.NEW, PartitionState.OFFLINE),
        (PartitionState.ONLINE, PartitionState.ONLINE),
        (PartitionState.ONLINE, PartitionState.OFFLINE),
        (PartitionState.OFFLINE, PartitionState.ONLINE),
        (PartitionState.OFFLINE, PartitionState.OFFLINE),
        (PartitionState.OFFLINE, PartitionState.NON_EXISTENT),
    }
)


def state_of(partition: PartitionImage | None, online: Container[BrokerId]) -> PartitionState:
    """The state of a partition, given the brokers that serve it."""
    if partition is None:
        return PartitionState.NON_EXISTENT
    if partition.state_version < 0:
        return PartitionState.NEW
    if partition.leader != NO_BROKER and partition.leader in online:
        return PartitionState.ONLINE
    return PartitionState.OFFLINE


def assert_move(before: PartitionState, after: PartitionState) -> None:
    """Raise AssertionError for a move that the table does not have."""
    assert (before, after) in MOVES, f"a partition does not go from {before.value} to {after.value}"
