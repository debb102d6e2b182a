"""Requests that the controller is to decide, event by event."""

from collections.abc import Callable

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import NO_BROKER
from odradek.server.node.forwarding.forwarding_states import (
    LANES,
    REQUESTS_MAX,
    RETRY_MS,
    DecideHere,
    Effect,
    ForwardingStates,
    GiveUp,
    Send,
)

US, CONTROLLER, NEXT = 1, 2, 3
DEADLINE_MS = 5_000
TIMED_OUT = ErrorCode.REQUEST_TIMED_OUT


def known(controller_id: int = CONTROLLER) -> ForwardingStates:
    states = ForwardingStates(US)
    assert states.on_controller(controller_id, 0) == []
    return states


def sent(*, is_repeatable: bool = False) -> ForwardingStates:
    """Request 7 is with the controller."""
    states = known()
    assert states.begin(7, DEADLINE_MS, 0, is_repeatable=is_repeatable) == [Send(7, CONTROLLER, 0)]
    return states


def test_a_request_is_sent_at_once_and_ends_with_its_answer() -> None:
    states = sent()
    assert (len(states), states.waiting, states.wake_ms) == (1, 0, None)
    assert states.on_answered(7, 40) == []
    assert len(states) == 0


def test_a_request_waits_until_a_controller_is_known() -> None:
    states = ForwardingStates(US)
    assert states.begin(7, DEADLINE_MS, 0) == []
    assert (states.waiting, states.wake_ms) == (1, DEADLINE_MS)
    assert states.on_controller(NO_BROKER, 10) == []
    assert states.on_controller(CONTROLLER, 20) == [Send(7, CONTROLLER, 0)]


def test_this_broker_decides_when_it_is_the_controller() -> None:
    states = known(US)
    assert states.begin(7, DEADLINE_MS, 0) == [DecideHere(7)]
    assert states.on_not_decided(7, 10) == []
    assert states.on_controller(CONTROLLER, 20) == [Send(7, CONTROLLER, 0)]


def test_what_waits_too_long_is_given_up() -> None:
    states = ForwardingStates(US)
    states.begin(7, DEADLINE_MS, 0)
    states.begin(8, DEADLINE_MS + 1, 0)
    assert states.tick(DEADLINE_MS - 1) == []
    assert states.tick(DEADLINE_MS) == [GiveUp(7, TIMED_OUT)]
    assert (len(states), states.wake_ms) == (1, DEADLINE_MS + 1)


def test_what_was_not_decided_is_sent_again_after_a_pause() -> None:
    states = sent()
    assert states.on_not_decided(7, 40) == []
    assert states.wake_ms == 40 + RETRY_MS
    assert states.tick(40 + RETRY_MS - 1) == []
    assert states.tick(40 + RETRY_MS) == [Send(7, CONTROLLER, 0)]


def test_the_next_controller_ends_the_pause() -> None:
    states = sent()
    states.on_not_decided(7, 40)
    assert states.on_controller(NEXT, 41) == [Send(7, NEXT, 0)]


def test_there_is_no_pause_when_the_next_controller_is_known_already() -> None:
    states = sent()
    assert states.on_controller(NEXT, 30) == [], "its outcome is open"
    assert states.on_not_decided(7, 40) == [Send(7, NEXT, 0)]


def test_what_was_not_decided_in_time_is_given_up() -> None:
    states = sent()
    assert states.on_not_decided(7, DEADLINE_MS) == [GiveUp(7, TIMED_OUT)]
    assert len(states) == 0


def test_what_may_have_been_decided_is_not_sent_again() -> None:
    states = sent()
    assert states.on_unknown(7, 40) == [GiveUp(7, TIMED_OUT)]
    assert states.on_controller(NEXT, 50) == []
    assert len(states) == 0


def test_a_repeatable_request_is_sent_again() -> None:
    states = sent(is_repeatable=True)
    assert states.on_unknown(7, 40) == []
    assert states.on_controller(NEXT, 50) == [Send(7, NEXT, 0)]


def test_the_deadline_is_for_the_controller_and_not_for_the_answer() -> None:
    """Who has sent a request sets the time for its answer."""
    states = sent()
    assert states.tick(DEADLINE_MS) == []
    assert len(states) == 1


def test_a_client_that_goes_ends_its_wait() -> None:
    states = ForwardingStates(US)
    states.begin(7, DEADLINE_MS, 0)
    states.on_client_gone(7)
    assert (len(states), states.wake_ms) == (0, None)
    states.on_client_gone(7)
    assert states.on_controller(CONTROLLER, 10) == []


@pytest.mark.parametrize(
    "outcome",
    [ForwardingStates.on_answered, ForwardingStates.on_not_decided, ForwardingStates.on_unknown],
)
def test_the_request_of_a_client_that_has_gone_ends_with_any_outcome(
    outcome: Callable[[ForwardingStates, int, int], list[Effect]],
) -> None:
    states = sent()
    states.on_client_gone(7)
    assert states.is_abandoned(7)
    assert outcome(states, 7, 40) == []
    assert len(states) == 0
    assert states.begin(8, DEADLINE_MS, 50) == [Send(8, CONTROLLER, 0)], "its lane is free"


def test_each_request_with_the_controller_has_a_lane_of_its_own() -> None:
    states = known()
    effects = [effect for number in range(LANES + 2) for effect in states.begin(number, DEADLINE_MS, 0)]
    assert effects == [Send(number, CONTROLLER, number) for number in range(LANES)]
    assert (states.waiting, states.wake_ms) == (2, DEADLINE_MS)
    assert states.on_answered(3, 10) == [Send(LANES, CONTROLLER, 3)]
    assert states.on_unknown(5, 10) == [GiveUp(5, TIMED_OUT), Send(LANES + 1, CONTROLLER, 5)]


def test_what_waits_for_a_lane_was_not_sent_and_goes_to_the_next_controller() -> None:
    states = known()
    for number in range(LANES + 1):
        states.begin(number, DEADLINE_MS, 0)
    assert states.on_controller(US, 10) == [DecideHere(LANES)], "to decide here takes no lane"


def test_too_many_requests_are_refused() -> None:
    states = ForwardingStates(US)
    for number in range(REQUESTS_MAX):
        assert states.begin(number, DEADLINE_MS, 0) == []
    assert states.begin(REQUESTS_MAX, DEADLINE_MS, 0) == [GiveUp(REQUESTS_MAX, TIMED_OUT)]
    assert len(states) == REQUESTS_MAX


def test_a_stop_gives_up_what_waits_and_nothing_else() -> None:
    states = sent()
    states.on_controller(NO_BROKER, 10)
    states.begin(8, DEADLINE_MS, 10)
    assert states.close() == [GiveUp(8, TIMED_OUT)]
    assert states.on_answered(7, 20) == []


def test_an_outcome_of_what_was_not_sent_is_a_mistake() -> None:
    states = ForwardingStates(US)
    states.begin(7, DEADLINE_MS, 0)
    with pytest.raises(AssertionError, match="request 7 was not sent"):
        states.on_answered(7, 10)
