"""A task that calls what it was given."""

from odradek.base.clock import ManualClock
from odradek.timer import TimedCall, Timer


def test_it_calls_at_its_deadline_and_not_when_cancelled() -> None:
    clock = ManualClock()
    timer = Timer(clock)
    called: list[str] = []
    timer.add(TimedCall(10, lambda: called.append("kept")))
    cancelled = TimedCall(10, lambda: called.append("cancelled"))
    timer.add(cancelled)
    cancelled.cancel()
    clock.advance(9)
    timer.advance()
    assert called == []
    clock.advance(1)
    timer.advance()
    assert called == ["kept"]


def test_warnings_name_what_it_calls() -> None:
    assert TimedCall(0, give_up).label == "give_up"


def give_up() -> None:
    """What is to be done."""
