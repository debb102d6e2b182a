import pytest

from odradek.base.clock import ManualClock
from odradek.testing.virtual_clock import VirtualClock
from odradek.timer import Timer, TimerTask


class Noting(TimerTask):
    """Notes the time at which it runs, and may put itself back."""

    def __init__(
        self, deadline_ms: int, clock: VirtualClock, ran: list[int], again_after_ms: int | None = None
    ):
        super().__init__(deadline_ms)
        self.clock, self.ran, self.again_after_ms = clock, ran, again_after_ms
        self.timer: Timer | None = None

    def run(self) -> None:
        self.ran.append(self.clock.monotonic_ms())
        if self.timer is not None and self.again_after_ms is not None:
            self.deadline_ms = self.clock.monotonic_ms() + self.again_after_ms
            self.timer.add(self)


def driven() -> tuple[VirtualClock, Timer]:
    clock = VirtualClock(ManualClock())
    timer = Timer(clock)
    clock.drive(timer, lambda call: call())
    return clock, timer


def test_both_readings_move_with_real_time_and_with_advance() -> None:
    real = ManualClock(wall_ms=1000, monotonic_ms=10)
    clock = VirtualClock(real)
    clock.advance(seconds=1.5)
    real.advance(7)
    assert (clock.wall_ms(), clock.monotonic_ms()) == (2507, 1517)
    with pytest.raises(ValueError, match="the clock cannot be moved back"):
        clock.advance(seconds=-1)


def test_advance_runs_what_falls_due_at_its_own_time_and_returns_after_it() -> None:
    clock, timer = driven()
    ran: list[int] = []
    for deadline_ms in (300, 5, 999, 1001):
        timer.add(Noting(deadline_ms, clock, ran))
    clock.advance(seconds=1)
    assert ran == [5, 300, 999]
    assert clock.monotonic_ms() == 1000


def test_what_a_task_schedules_runs_in_its_turn() -> None:
    clock, timer = driven()
    ran: list[int] = []
    task = Noting(100, clock, ran, again_after_ms=100)
    task.timer = timer
    timer.add(task)
    clock.advance(milliseconds=550)
    assert ran == [100, 200, 300, 400, 500]


def test_a_long_jump_takes_a_bounded_number_of_steps() -> None:
    clock, timer = driven()
    ran: list[int] = []
    task = Noting(1, clock, ran, again_after_ms=1)
    task.timer = timer
    timer.add(task)
    clock.advance(seconds=7 * 24 * 3600)
    assert clock.monotonic_ms() == 7 * 24 * 3600 * 1000
    assert 900 < len(ran) < 5000, f"{len(ran)} runs in one jump of a week"


def test_a_task_that_is_always_due_does_not_hang_the_jump() -> None:
    clock, timer = driven()
    ran: list[int] = []
    task = Noting(0, clock, ran, again_after_ms=0)
    task.timer = timer
    timer.add(task)
    clock.advance(seconds=1)
    assert clock.monotonic_ms() == 1000


def test_released_it_only_moves() -> None:
    clock, timer = driven()
    ran: list[int] = []
    timer.add(Noting(5, clock, ran))
    clock.release()
    clock.advance(seconds=1)
    assert ran == []
