import logging

import pytest

from odradek.base.clock import ManualClock
from odradek.server.node.schedule import Schedule
from odradek.timer import Timer


def advance(timer: Timer, by_ms: int) -> None:
    clock = timer.clock
    assert isinstance(clock, ManualClock)
    for _ in range(by_ms):
        clock.advance(1)
        timer.advance()


@pytest.fixture
def timer() -> Timer:
    return Timer(ManualClock())


def test_tasks_run_at_their_intervals_on_the_brokers_clock(timer: Timer) -> None:
    ran: list[int] = []
    Schedule(timer).every(100, "count", lambda: ran.append(timer.clock.monotonic_ms()))
    advance(timer, 350)
    assert ran == [100, 200, 300]


def test_a_first_delay_and_an_interval_that_changes(timer: Timer) -> None:
    ran: list[int] = []
    intervals = iter([100, 20, 50, 500])
    schedule = Schedule(timer)
    schedule.every(lambda: next(intervals), "c", lambda: ran.append(timer.clock.monotonic_ms()), delay_ms=5)
    advance(timer, 200)
    assert ran == [5, 105, 125, 175]


def test_a_task_that_raises_is_logged_and_runs_again(timer: Timer, caplog: pytest.LogCaptureFixture) -> None:
    ran: list[int] = []

    def fail() -> None:
        ran.append(1)
        raise OSError("the disk is full")

    Schedule(timer).every(10, "retention", fail)
    with caplog.at_level(logging.ERROR):
        advance(timer, 25)
    assert len(ran) == 2
    assert "the task retention failed" in caplog.text


def test_a_closed_schedule_runs_nothing(timer: Timer) -> None:
    schedule = Schedule(timer)
    schedule.every(10, "never", lambda: pytest.fail("it ran"))
    schedule.close()
    advance(timer, 30)
    assert timer.size == 0


def test_an_interval_of_0_is_no_task_that_runs_for_ever(timer: Timer) -> None:
    ran: list[int] = []
    Schedule(timer).every(0, "spin", lambda: ran.append(timer.clock.monotonic_ms()))
    advance(timer, 5)
    timer.advance()
    timer.advance()
    assert len(ran) <= 6, "at most once at each moment"
