"""The partition's state machine, move by move."""

import itertools

import pytest

from odradek.base.ids import NO_BROKER
from odradek.metadata.controller.partition_states import PartitionState, assert_move, state_of
from odradek.metadata.image import PartitionImage

NON_EXISTENT, NEW = PartitionState.NON_EXISTENT, PartitionState.NEW
ONLINE, OFFLINE = PartitionState.ONLINE, PartitionState.OFFLINE

# By target, the states that it may be reached from.
REACHED_FROM = {
    NEW: {NON_EXISTENT},
    ONLINE: {NEW, ONLINE, OFFLINE},
    OFFLINE: {NEW, ONLINE, OFFLINE},
    NON_EXISTENT: {OFFLINE},
}


@pytest.mark.parametrize(("before", "after"), list(itertools.product(PartitionState, repeat=2)))
def test_a_partition_moves_only_as_the_table_says(before: PartitionState, after: PartitionState) -> None:
    if before in REACHED_FROM[after]:
        assert_move(before, after)
    else:
        with pytest.raises(AssertionError, match="does not go from"):
            assert_move(before, after)


@pytest.mark.parametrize(
    ("partition", "expected"),
    [
        (None, NON_EXISTENT),
        (PartitionImage((1,), (), NO_BROKER, state_version=-1), NEW),
        (PartitionImage((1,), (1,), 1), ONLINE),
        (PartitionImage((1, 2), (2,), 2), OFFLINE),
        (PartitionImage((1,), (1,), NO_BROKER), OFFLINE),
    ],
)
def test_the_state_follows_from_the_image(partition: PartitionImage | None, expected: PartitionState) -> None:
    assert state_of(partition, online=(1,)) is expected
