"""A clock that a test moves while everything else goes on as in production.

It is real time plus an offset, so clients on real time never hang. `advance` moves the offset and returns
when every task that became due has run on the broker's thread, in the order of the deadlines:

    broker.clock.advance(seconds=45)         a session of 45 s without a heartbeat is over now

Time moves in steps, from one deadline to the next, so a task that another task schedules also runs in order.
A long jump takes at most STEPS_MAX steps; each step then runs every task that is due within it.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Protocol, TypeVar

from odradek.base.clock import Clock
from odradek.testing.machine_clock import MachineClock

STEPS_MAX = 1000

T = TypeVar("T")


class Timed(Protocol):
    """The part of `odradek.timer.Timer` that the clock calls."""

    def next_expiration_ms(self) -> int | None:
        """The next deadline, or None."""

    def advance(self) -> int:
        """Run every task that is due at the clock's time."""


class VirtualClock:
    """Real time plus an offset that only grows; see the module."""

    def __init__(self, real: Clock | None = None) -> None:
        self._real: Clock = real or MachineClock()
        # How far this clock is ahead of real time, never less than before.
        self._offset_ms = 0
        # The timer to run, and a function that runs a call on its owner's thread; None without a timer.
        self._timer: Timed | None = None
        self._on_its_thread: Callable[[Callable[[], None]], None] = _at_once

    def wall_ms(self) -> int:
        """See `Clock.wall_ms`."""
        return self._real.wall_ms() + self._offset_ms

    def monotonic_ms(self) -> int:
        """See `Clock.monotonic_ms`."""
        return self._real.monotonic_ms() + self._offset_ms

    def drive(self, timer: Timed, on_its_thread: Callable[[Callable[[], None]], None]) -> None:
        """From now on `advance` runs `timer`; `on_its_thread` runs a call on its thread and waits for it."""
        self._timer = timer
        self._on_its_thread = on_its_thread

    def release(self) -> None:
        """Stop running the timer."""
        self._timer = None
        self._on_its_thread = _at_once

    def advance(
        self,
        by: timedelta = timedelta(),
        *,
        days: float = 0,
        hours: float = 0,
        minutes: float = 0,
        seconds: float = 0,
        milliseconds: float = 0,
    ) -> None:
        """Move time forward by the sum; returns when every task that became due has run.

        Raises ValueError for a negative sum.
        """
        __tracebackhide__ = True
        by += timedelta(days, seconds, hours=hours, minutes=minutes, milliseconds=milliseconds)
        by_ms = round(by / timedelta(milliseconds=1))
        if by_ms < 0:
            raise ValueError(f"the clock cannot be moved back: {by_ms} ms")
        self._on_its_thread(lambda: self._advance_in_steps(by_ms))

    def _advance_in_steps(self, by_ms: int) -> None:
        target_ms = self.monotonic_ms() + by_ms
        step_ms_min = by_ms // STEPS_MAX
        timer = self._timer
        if timer is None:
            self._move_to(target_ms)
            return
        # A task may reschedule itself for the same moment for ever, so the rounds are bounded, too.
        for _ in range(4 * STEPS_MAX):
            due_ms = timer.next_expiration_ms()
            if due_ms is None or due_ms > target_ms:
                break
            self._move_to(min(target_ms, max(due_ms, self.monotonic_ms() + step_ms_min)))
            timer.advance()
        self._move_to(target_ms)
        timer.advance()

    def _move_to(self, monotonic_ms: int) -> None:
        self._offset_ms += max(0, monotonic_ms - self.monotonic_ms())


def _at_once(call: Callable[[], None]) -> None:
    call()
