"""Drives the broker's timer with one `call_at`, for the next bucket due (T6).

Invariant: the loop's own clock only decides when to check; the timer decides by the broker's clock which
tasks are due. So a virtual clock needs no loop of its own: moving it advances the timer, and this driver
follows.
"""

import asyncio
from typing import Final

from odradek.base.clock import Clock
from odradek.server.edge.loop_stalls import LoopStalls
from odradek.timer import Timer, TimerTask

# Loops compute with floats and fixed sleeps; a longer wait ends after this time, and the driver checks again.
LOOK_AGAIN_MS: Final = 60_000


class TimerDriver:
    """Owns the timer, and the one handle that is armed while a task is pending."""

    __slots__ = (
        "_armed_ms",
        "_clock",
        "_handle",
        "_longest_ns",
        "_longest_task",
        "_loop",
        "_stalls",
        "_tasks",
        "timer",
    )

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: Clock, stalls: LoopStalls) -> None:
        self._loop = loop
        self._clock = clock
        self._stalls = stalls
        # How many tasks one `_fire` ran, and which of them took longest; None outside of `_fire`.
        self._tasks = 0
        self._longest_ns = 0
        self._longest_task: TimerTask | None = None
        # The handle of the next call, and its expiration; both None while the timer is idle.
        self._handle: asyncio.TimerHandle | None = None
        self._armed_ms: int | None = None
        self.timer = Timer(clock, on_earlier=self._arm, run=self._run)

    def close(self) -> None:
        """Disarm: no timer fires any more."""
        if self._handle is not None:
            self._handle.cancel()
        self._handle = self._armed_ms = None

    def _arm(self) -> None:
        due_ms = self.timer.next_expiration_ms()
        if due_ms is None or due_ms == self._armed_ms:
            return
        if self._handle is not None:
            self._handle.cancel()
        delay_ms = min(LOOK_AGAIN_MS, max(0, due_ms - self._clock.monotonic_ms()))
        self._armed_ms = due_ms
        self._handle = self._loop.call_later(delay_ms / 1000, self._fire)

    def _fire(self) -> None:
        self._handle = self._armed_ms = None
        self._tasks = self._longest_ns = 0
        began_ns = self._stalls.now_ns()
        try:
            self.timer.advance()
        finally:
            elapsed_ns = self._stalls.now_ns() - began_ns
            if elapsed_ns > self._stalls.notable_ns:
                self._stalls.note(elapsed_ns, self._cause())
            self._longest_task = None
            self._arm()

    def _run(self, task: TimerTask) -> None:
        """Run one task of the timer, and remember the one that took longest."""
        began_ns = self._stalls.now_ns()
        try:
            task.run()
        finally:
            self._tasks += 1
            elapsed_ns = self._stalls.now_ns() - began_ns
            if elapsed_ns > self._longest_ns:
                self._longest_ns, self._longest_task = elapsed_ns, task

    def _cause(self) -> str:
        """The name in warnings of the tasks that this `_fire` ran."""
        if self._longest_task is None:
            return "the timer's own work"
        longest = self._longest_task.label
        if self._tasks == 1:
            return longest
        return f"{self._tasks} timer tasks; the longest, of {self._longest_ns // 1_000_000} ms, was {longest}"
