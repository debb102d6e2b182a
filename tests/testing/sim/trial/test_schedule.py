"""What is to happen later in a trial."""

from odradek.base.clock import ManualClock
from odradek.testing.sim.trial.schedule import Schedule


def test_what_is_due_happens_in_the_order_in_which_it_came() -> None:
    clock, happened = ManualClock(), list[str]()
    schedule = Schedule(clock)
    schedule.after(20, lambda: happened.append("late"))
    schedule.after(10, lambda: happened.append("first"))
    schedule.after(5, lambda: happened.append("second"))
    assert schedule.next_ms() == clock.monotonic_ms() + 5
    clock.advance(10)
    schedule.run_due()
    assert happened == ["first", "second"]
    clock.advance(10)
    schedule.run_due()
    assert happened[2:] == ["late"]
    assert schedule.next_ms() is None


def test_all_that_is_scheduled_happens_the_earliest_first_and_what_it_brings() -> None:
    clock, happened = ManualClock(), list[str]()
    schedule = Schedule(clock)
    schedule.after(20, lambda: happened.append("second"))
    schedule.after(10, lambda: schedule.after(50, lambda: happened.append("brought")))
    schedule.after(5, lambda: happened.append("first"))
    schedule.run_all()
    assert happened == ["first", "second", "brought"]
    assert schedule.next_ms() is None
