import asyncio
from collections.abc import Callable

import pytest

from odradek.base.clock import ManualClock
from odradek.server.edge.loop_stalls import LoopStalls
from odradek.server.process.timer_driver import LOOK_AGAIN_MS, TimerDriver
from odradek.timer import TimerTask
from tests.server.nodes import ShortClock


class Handle:
    def __init__(self, delay_s: float, call: Callable[[], None]) -> None:
        self.delay_s = delay_s
        self.call = call
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


class Loop:
    """Notes what it is asked to call later."""

    def __init__(self) -> None:
        self.handles: list[Handle] = []

    def call_later(self, delay_s: float, call: Callable[[], None]) -> Handle:
        self.handles.append(Handle(delay_s, call))
        return self.handles[-1]

    @property
    def armed(self) -> list[float]:
        return [handle.delay_s for handle in self.handles if not handle.is_cancelled]

    def fire(self) -> None:
        (handle,) = [handle for handle in self.handles if not handle.is_cancelled]
        self.handles.clear()
        handle.call()


class Task(TimerTask):
    def __init__(self, deadline_ms: int, ran: list[int]) -> None:
        super().__init__(deadline_ms)
        self._ran = ran

    def run(self) -> None:
        self._ran.append(self.deadline_ms)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def loop() -> Loop:
    return Loop()


@pytest.fixture
def driver(loop: Loop, clock: ManualClock, stalls: LoopStalls) -> TimerDriver:
    assert isinstance(loop, Loop)
    return TimerDriver(loop, clock, stalls)  # type: ignore[arg-type]


def test_one_call_waits_for_the_next_bucket(driver: TimerDriver, loop: Loop, clock: ManualClock) -> None:
    """T6"""
    ran: list[int] = []
    for deadline_ms in (15, 10, 12):
        driver.timer.add(Task(deadline_ms, ran))
    assert loop.armed == [0.010]
    clock.advance(10)
    loop.fire()
    assert (ran, loop.armed) == ([10], [0.002])
    clock.advance(10)
    loop.fire()
    assert (ran, loop.armed) == ([10, 12, 15], [])


def test_a_passed_deadline_is_due_at_once(driver: TimerDriver, loop: Loop, clock: ManualClock) -> None:
    clock.advance(100)
    ran: list[int] = []
    driver.timer.add(Task(50, ran))
    assert (loop.armed, ran) == ([0.0], [])
    loop.fire()
    assert ran == [50]


def test_a_deadline_far_away_is_looked_at_again_and_again(
    driver: TimerDriver, loop: Loop, clock: ManualClock
) -> None:
    ran: list[int] = []
    driver.timer.add(Task(3 * LOOK_AGAIN_MS, ran))
    for _ in range(100):
        if not loop.armed:
            break
        assert loop.armed[0] <= LOOK_AGAIN_MS / 1000
        clock.advance(round(loop.armed[0] * 1000))
        loop.fire()
    assert ran == [3 * LOOK_AGAIN_MS]


def test_a_task_that_raises_does_not_stop_it(driver: TimerDriver, loop: Loop, clock: ManualClock) -> None:
    class Failing(TimerTask):
        def run(self) -> None:
            raise RuntimeError("a mistake of ours")

    ran: list[int] = []
    driver.timer.add(Failing(1))
    driver.timer.add(Task(5, ran))
    clock.advance(1)
    with pytest.raises(ExceptionGroup):
        loop.fire()
    clock.advance(4)
    loop.fire()
    assert ran == [5]


def test_a_closed_driver_lets_the_timer_stand_still(driver: TimerDriver, loop: Loop) -> None:
    driver.timer.add(Task(5, []))
    driver.close()
    assert loop.armed == []


@pytest.mark.asyncio
async def test_it_drives_a_real_loop() -> None:
    fired: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    class Signal(TimerTask):
        def run(self) -> None:
            fired.set_result(1)

    driver = TimerDriver(asyncio.get_running_loop(), ManualClock(), LoopStalls(lambda: 0, ManualClock()))
    driver.timer.add(Signal(0))
    assert await fired == 1


class SlowTask(TimerTask):
    """Holds the loop for a while."""

    def __init__(self, short_clock: ShortClock, elapsed_ms: int) -> None:
        super().__init__(10)
        self._short_clock = short_clock
        self._elapsed_ms = elapsed_ms

    @property
    def label(self) -> str:
        return f"a task of {self._elapsed_ms} ms"

    def run(self) -> None:
        self._short_clock.now_ns += self._elapsed_ms * 1_000_000


@pytest.mark.parametrize(
    ("tasks_ms", "cause"),
    [
        ([120], "120 ms: a task of 120 ms"),
        ([30, 60, 40], "130 ms: 3 timer tasks; the longest, of 60 ms, was a task of 60 ms"),
    ],
)
def test_tasks_that_hold_the_loop_are_named(
    driver: TimerDriver,
    loop: Loop,
    clock: ManualClock,
    short_clock: ShortClock,
    caplog: pytest.LogCaptureFixture,
    tasks_ms: list[int],
    cause: str,
) -> None:
    for elapsed_ms in tasks_ms:
        driver.timer.add(SlowTask(short_clock, elapsed_ms))
    clock.advance(10)
    loop.fire()
    assert caplog.messages == [f"the event loop stood still for {cause}"]
