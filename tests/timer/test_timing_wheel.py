"""Where a deadline goes: T1's arithmetic."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.timer.delay_queue import DelayQueue
from odradek.timer.timer_task import PendingCount, TimerTask
from odradek.timer.timer_task_list import NO_EXPIRATION, TimerTaskList
from odradek.timer.timing_wheel import TimingWheel


class Idle(TimerTask):
    """A task that is only placed."""

    def run(self) -> None:
        raise AssertionError("nobody runs tasks here")


def wheel_at(clock_ms: int, tick_ms: int = 1, size: int = 20) -> TimingWheel:
    return TimingWheel(tick_ms, size, clock_ms, PendingCount(), DelayQueue(lambda: None))


def expiration_of(task: TimerTask) -> int:
    entry = task.after
    while not isinstance(entry, TimerTaskList):
        assert entry is not None, "the task is in no bucket"
        entry = entry.after
    return entry.expiration_ms


def placed_at(wheel: TimingWheel, deadline_ms: int) -> int:
    """Place a task and say when its bucket is due."""
    task = Idle(deadline_ms)
    assert wheel.place(task), f"{deadline_ms} is due"
    return expiration_of(task)


def test_the_clock_is_a_multiple_of_the_tick() -> None:
    """T1 a wheel's clock is always a multiple of its tick."""
    assert wheel_at(1_234, tick_ms=20).clock_ms == 1_220


def test_a_deadline_within_the_current_tick_is_due() -> None:
    """T1 due when d < c + t, and then placed nowhere."""
    wheel = wheel_at(40, tick_ms=20)
    for deadline_ms in (-5, 0, 21, 40):
        task = Idle(deadline_ms)
        assert not wheel.place(task)
        assert not task.is_pending
    assert wheel.place(Idle(60))


def test_a_deadline_within_the_span_goes_to_its_own_tick() -> None:
    """T1 bucket (d // t) mod n, whose expiration is (d // t)·t, once d is rounded up to whole ticks."""
    wheel = wheel_at(100, tick_ms=5, size=4)
    assert [placed_at(wheel, deadline_ms) for deadline_ms in (105, 106, 110, 115)] == [105, 110, 110, 115]
    assert [bucket.expiration_ms for bucket in wheel.buckets] == [NO_EXPIRATION, 105, 110, 115]


def test_a_deadline_beyond_the_span_goes_to_the_overflow_wheel() -> None:
    """T1 tick t·n, same n, made on first need, as often as it takes."""
    wheel = wheel_at(0, tick_ms=1, size=3)
    assert placed_at(wheel, 2) == 2
    assert placed_at(wheel, 3) == 3
    assert placed_at(wheel, 5) == 3
    assert placed_at(wheel, 10) == 9
    assert placed_at(wheel, 26) == 18
    assert placed_at(wheel, 27) == 27
    assert placed_at(wheel, 3**20 + 1) == 3**20


def test_a_bucket_is_used_again_after_a_revolution() -> None:
    """T1 T3 advancing frees the ticks passed, whose buckets then stand for later ticks."""
    wheel = wheel_at(0, size=3)
    wheel.advance_clock(3)
    assert placed_at(wheel, 5) == 5
    wheel.advance_clock(4)
    assert placed_at(wheel, 6) == 6


def test_advancing_moves_every_wheel_to_a_multiple_of_its_tick() -> None:
    """T4 c = x - x mod t when x is a tick or more ahead, then the overflow wheel likewise."""
    wheel = wheel_at(0, size=3)
    placed_at(wheel, 26)
    wheel.advance_clock(11)
    assert wheel.clock_ms == 11
    assert placed_at(wheel, 14) == 12
    assert placed_at(wheel, 18) == 18
    wheel.advance_clock(4)
    assert wheel.clock_ms == 11, "a clock never moves back"


def test_one_queue_entry_serves_a_bucket_for_a_revolution() -> None:
    """T3 a bucket enters the queue when its expiration changes, not for every task."""
    announced: list[int] = []
    queue = DelayQueue(lambda: announced.append(1))
    wheel = TimingWheel(1, 20, 0, PendingCount(), queue)
    for _ in range(1_000):
        wheel.place(Idle(7))
    assert announced == [1]
    assert queue.poll(7) is not None
    assert queue.poll(7) is None


@pytest.mark.parametrize(("tick_ms", "size"), [(0, 20), (1, 1)])
def test_a_wheel_that_could_not_turn_is_refused(tick_ms: int, size: int) -> None:
    with pytest.raises(AssertionError):
        wheel_at(0, tick_ms=tick_ms, size=size)


@given(
    st.integers(1, 50),
    st.integers(2, 30),
    st.integers(0, 10**6),
    st.lists(st.integers(0, 2**63), max_size=30),
)
def test_no_bucket_is_due_after_any_of_its_deadlines(
    tick_ms: int, size: int, clock_ms: int, deadlines_ms: list[int]
) -> None:
    """T1 T5 a bucket covers [expiration, expiration + its tick): none is due late, and none in the past."""
    wheel = wheel_at(clock_ms, tick_ms=tick_ms, size=size)
    for deadline_ms in deadlines_ms:
        task = Idle(deadline_ms)
        if not wheel.place(task):
            assert deadline_ms <= wheel.clock_ms
            continue
        expiration_ms = expiration_of(task)
        assert wheel.clock_ms < expiration_ms < deadline_ms + tick_ms
