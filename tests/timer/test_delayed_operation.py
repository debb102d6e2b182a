"""One delayed operation, outside any purgatory."""

from collections.abc import Callable
from typing import ClassVar

import pytest

from odradek.base.clock import ManualClock
from odradek.timer.delayed_operation import DelayedOperation
from odradek.timer.timer import Timer


class Scripted(DelayedOperation):
    """Completes once `holds` is set; counts what happens to it."""

    kind: ClassVar[str] = "scripted"

    def __init__(self, deadline_ms: int = 100) -> None:
        super().__init__(deadline_ms)
        self.holds = False
        self.tries = 0
        self.events: list[str] = []
        self.while_trying: Callable[[], object] = lambda: None
        self.while_completing: Callable[[], object] = lambda: None

    def try_complete(self) -> bool:
        self.tries += 1
        holds = self.holds
        self.while_trying()
        return self.force_complete() if holds else False

    def on_complete(self) -> None:
        assert not self.is_pending, "an operation leaves the timer before it answers"
        self.events.append("completed")
        self.while_completing()

    def on_expiration(self) -> None:
        self.events.append("expired")

    def waits_for(self) -> str:
        return f"holds: {self.holds}"


def test_the_first_caller_wins_and_every_later_one_gets_false() -> None:
    """D1 completed exactly once."""
    operation = Scripted()
    assert operation.force_complete()
    assert not operation.force_complete()
    assert operation.events == ["completed"]


def test_completing_takes_the_operation_out_of_the_timer() -> None:
    """D1 force_complete cancels the timer entry."""
    clock = ManualClock()
    timer = Timer(clock)
    operation = Scripted(deadline_ms=100)
    timer.add(operation)
    operation.force_complete()
    assert timer.size == 0
    clock.advance(1_000)
    assert timer.advance() == 0
    assert operation.events == ["completed"]


def test_the_deadline_completes_and_then_expires() -> None:
    """D1 on_expiration only when it was the timer that completed it, and after on_complete."""
    clock = ManualClock()
    timer = Timer(clock)
    operation = Scripted(deadline_ms=100)
    timer.add(operation)
    clock.advance(100)
    timer.advance()
    assert operation.events == ["completed", "expired"]
    assert not operation.force_complete()


def test_expiring_what_is_complete_does_nothing() -> None:
    """D1 the timer calls on_expiration only if its force_complete returned True."""
    operation = Scripted()
    operation.force_complete()
    operation.run()
    assert operation.events == ["completed"]


def test_an_event_completes_it_when_the_condition_holds() -> None:
    """D2 try_complete returns what force_complete returned."""
    operation = Scripted()
    assert not operation.safe_try_complete()
    operation.holds = True
    assert operation.safe_try_complete()
    assert not operation.safe_try_complete()
    assert operation.tries == 2, "a complete operation is not tried"


def test_a_nested_attempt_is_retried_by_the_holder() -> None:
    """D2 never lost: the condition came true after the holder had read it."""
    operation = Scripted()
    nested: list[bool] = []

    def event() -> None:
        operation.while_trying = lambda: None
        operation.holds = True
        nested.append(operation.safe_try_complete())

    operation.while_trying = event
    assert operation.safe_try_complete()
    assert nested == [False]
    assert operation.tries == 2
    assert operation.events == ["completed"]


def test_nested_attempts_do_not_recurse() -> None:
    """D2 never recursive: a hundred of them cost one more try each, at the same depth."""
    operation = Scripted()
    depths: list[int] = []
    depth = 0

    def event() -> None:
        nonlocal depth
        depth += 1
        depths.append(depth)
        if len(depths) < 100:
            operation.safe_try_complete()
        depth -= 1

    operation.while_trying = event
    assert not operation.safe_try_complete()
    assert operation.tries == 100
    assert set(depths) == {1}


def test_completed_by_someone_else_while_it_is_tried() -> None:
    """D1 D2 the completion is credited to the caller who forced it, once."""
    operation = Scripted()
    forced: list[bool] = []
    operation.holds = True
    operation.while_trying = lambda: forced.append(operation.force_complete())
    assert not operation.safe_try_complete()
    assert forced == [True]
    assert operation.events == ["completed"]


def test_an_event_caused_by_its_own_completion_finds_it_complete() -> None:
    """D1 D2 it is complete before on_complete runs."""
    operation = Scripted()
    operation.holds = True
    seen: list[bool] = []
    operation.while_completing = lambda: seen.append(operation.safe_try_complete())
    assert operation.safe_try_complete()
    assert seen == [False]


def test_an_attempt_that_raises_leaves_the_operation_open_for_the_next() -> None:
    """D2 the holder lets go whatever happens."""
    operation = Scripted()

    def fail() -> None:
        raise RuntimeError("broken condition")

    operation.while_trying = fail
    with pytest.raises(RuntimeError):
        operation.safe_try_complete()
    operation.while_trying = lambda: None
    operation.holds = True
    assert operation.safe_try_complete()


def test_a_completion_that_raises_is_a_completion() -> None:
    """D1 exactly once also when on_complete fails."""
    operation = Scripted()

    def fail() -> None:
        raise RuntimeError("broken answer")

    operation.while_completing = fail
    with pytest.raises(RuntimeError):
        operation.force_complete()
    assert operation.is_completed
    assert not operation.force_complete()
    assert operation.events == ["completed"]


def test_an_operation_that_wakes_itself_for_ever_is_our_mistake() -> None:
    """D2 the retries are bounded."""
    operation = Scripted()
    operation.while_trying = operation.safe_try_complete
    with pytest.raises(AssertionError, match="scripted"):
        operation.safe_try_complete()


def test_an_abandoned_operation_is_never_answered() -> None:
    """D1: neither an event nor the deadline completes it afterwards."""
    clock = ManualClock()
    timer = Timer(clock)
    operation = Scripted(deadline_ms=100)
    timer.add(operation)
    operation.abandon()
    assert timer.size == 0
    operation.holds = True
    assert not operation.safe_try_complete()
    assert not operation.force_complete()
    clock.advance(1_000)
    timer.advance()
    assert operation.events == []


def test_a_completed_operation_is_not_abandoned() -> None:
    operation = Scripted()
    operation.force_complete()
    operation.abandon()
    assert operation.events == ["completed"]
