"""A heartbeat in several steps: which others wait for it, and what happens if the group changes meanwhile."""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Steps
from odradek.coordinator.classic import Caller
from odradek.coordinator.groups.consumer_heartbeats import ATTEMPTS_MAX, ConsumerHeartbeats, Heartbeat
from odradek.coordinator.runtime.trampoline import Trampoline
from odradek.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

CALLER: Final = Caller("client", "/127.0.0.1")


class Bench:
    """Heartbeats whose steps the test says; each turn runs one step of what is under way."""

    def __init__(self) -> None:
        self.turns: deque[Callable[[], None]] = deque()
        self.events: list[str] = []
        self.steps: dict[str, list[Steps[bool]]] = {}
        """By member, the attempts at its heartbeat that are still to come."""
        self.heartbeats = ConsumerHeartbeats(Trampoline(), self._handle, self.turns.append, self._run_steps)

    def send(self, member_id: str, *attempts: int | bool | Exception, group_id: str = "g") -> None:
        """Send a heartbeat. Each attempt: a number of steps before the answer, False, or an error."""

        def steps(outcome: int | bool | Exception) -> Iterator[None]:
            for number in range(outcome if outcome is not False and isinstance(outcome, int) else 1):
                self.events.append(f"{member_id}{number}")
                yield
            if isinstance(outcome, Exception):
                raise outcome
            if outcome is not False:
                self.events.append(f"{member_id} answered")
            return outcome is not False  # type: ignore[return-value]

        def answer(response: ConsumerGroupHeartbeatResponse) -> None:
            self.events.append(f"{member_id} {ErrorCode(response.error_code).name}")

        self.steps[member_id] = [steps(outcome) for outcome in attempts]  # type: ignore[misc]
        request = ConsumerGroupHeartbeatRequest(group_id, member_id)
        self.heartbeats.handle(Heartbeat(request, 1, CALLER, answer))

    def _handle(self, heartbeat: Heartbeat) -> Steps[bool]:
        return self.steps[heartbeat.request.member_id].pop(0)

    def _run_steps(self, steps: Steps[None]) -> None:
        def turn() -> None:
            for _ in steps:
                self.turns.append(turn)
                return

        turn()

    def turn(self) -> None:
        self.turns.popleft()()

    def settle(self) -> list[str]:
        while self.turns:
            self.turn()
        return self.events


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_a_heartbeat_of_one_step_is_answered_at_once(bench: Bench) -> None:
    bench.send("a", 0)
    assert bench.events == ["a answered"]
    assert not bench.turns


def test_heartbeats_of_the_same_group_wait_those_of_others_do_not(bench: Bench) -> None:
    bench.send("a", 2)
    bench.send("b", 1)
    bench.send("c", 0)
    bench.send("x", 0, group_id="other")
    assert bench.events == ["a0", "x answered"]
    assert bench.settle() == ["a0", "x answered", "a1", "a answered", "b0", "b answered", "c answered"]
    bench.send("d", 0)
    assert bench.events[-1] == "d answered"


def test_a_heartbeat_whose_group_has_changed_is_handled_anew_and_the_last_time_without_pauses(
    bench: Bench,
) -> None:
    bench.send("a", *[False] * (ATTEMPTS_MAX - 1), 3)
    bench.send("b", 0)
    events = bench.settle()
    assert events == [*["a0"] * (ATTEMPTS_MAX - 1), "a0", "a1", "a2", "a answered", "b answered"]


def test_the_last_attempt_takes_one_turn(bench: Bench) -> None:
    bench.send("a", *[False] * (ATTEMPTS_MAX - 1), 3)
    turns = 0
    while bench.events[-1] != "a answered":
        before = len(bench.events)
        bench.turn()
        turns += 1
    assert bench.events[before:] == ["a0", "a1", "a2", "a answered"]


def test_a_bug_of_ours_is_answered_and_nobody_waits_for_ever(bench: Bench) -> None:
    bench.send("a", RuntimeError("a bug"))
    bench.send("b", 0)
    with pytest.raises(RuntimeError, match="a bug"):
        bench.settle()
    assert bench.settle() == ["a0", "a UNKNOWN_SERVER_ERROR", "b answered"]


def test_a_node_that_ends_closes_the_steps(bench: Bench) -> None:
    """The steps of what is under way are closed; nothing is answered then."""
    ended: list[Steps[None]] = []
    bench.heartbeats = ConsumerHeartbeats(
        Trampoline(), bench._handle, lambda call: call(), lambda steps: ended.append(steps)
    )
    bench.send("a", 2)
    next(ended[0])
    ended[0].close()
    assert bench.events == ["a0", "a1"]
