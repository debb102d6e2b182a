"""What may follow what in the life of an assigned partition, and what changes with it."""

from collections.abc import Callable

import pytest

from odradek.base.ids import NO_EPOCH
from odradek.client.core.consumer.partition_state import NEXT, PartitionState, Phase


def state(phase: Phase) -> PartitionState:
    return PartitionState(phase, offset=10, epoch=2, leader_epoch=3, retry_ms=500, failures=4)


STEPS: dict[Phase, list[Callable[[PartitionState], None]]] = {
    Phase.FETCHING: [lambda one: one.found(7), lambda one: one.validated(5), lambda one: one.cut_off(8, 5)],
    Phase.NEEDS_RESET: [lambda one: one.lost()],
    Phase.NEEDS_VALIDATION: [lambda one: one.follow(5)],
}


@pytest.mark.parametrize("before", Phase)
@pytest.mark.parametrize("after", STEPS)
def test_a_step_leads_only_where_the_table_says(before: Phase, after: Phase) -> None:
    for step in STEPS[after]:
        one = state(before)
        if after in NEXT[before]:
            step(one)
            assert one.phase is after
        else:
            with pytest.raises(AssertionError, match="does not follow"):
                step(one)


def test_a_position_that_was_found_is_compared_with_its_leader_anew() -> None:
    one = state(Phase.NEEDS_RESET)
    one.reset_timestamp = 1_000
    one.found(7, 1)
    assert (one.offset, one.epoch, one.leader_epoch) == (7, 1, NO_EPOCH)
    assert (one.retry_ms, one.failures) == (0, 0)
    one.lost()
    assert one.reset_timestamp is None, "the setting decides, not what was looked up before"


def test_a_later_leader_is_asked_at_once_and_compared_if_an_epoch_is_known() -> None:
    one = state(Phase.FETCHING)
    one.epoch = NO_EPOCH
    one.follow(5)
    assert (one.phase, one.leader_epoch, one.retry_ms) == (Phase.FETCHING, 5, 0)


def test_a_position_moves_forward_as_records_are_taken_and_back_to_what_the_application_lacks() -> None:
    one = state(Phase.FETCHING)
    one.taken(15, NO_EPOCH)
    assert (one.offset, one.epoch) == (15, 2)
    one.taken(20, 3)
    one.give_back(12)
    assert (one.offset, one.epoch) == (12, 3)
    with pytest.raises(AssertionError):
        one.taken(11, 3)
