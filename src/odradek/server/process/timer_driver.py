"""Drives the broker's timer with one `call_at`, for the next bucket due (T6).

Law: the loop's own clock only decides when to look; what is due, the timer decides by the broker's clock. So
a virtual clock needs no loop of its own: whoever moves it advances the timer, and this driver follows.
"""

import asyncio
from typing import Final

from odradek.base.clock import Clock
from odradek.timer import Timer

# Loops compute with floats and fixed sleeps; whoever waits longer than this looks again.
LOOK_AGAIN_MS: Final = 60_000


class TimerDriver:
    """Owns the timer, and the one handle that is armed while anything is pending."""

    __slots__ = ("_armed_ms", "_clock", "_handle", "_loop", "timer")

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: Clock) -> None:
        self._loop = loop
        self._clock = clock
        # What the loop will call next, and for which expiration; both None while the timer is idle.
        self._handle: asyncio.TimerHandle | None = None
        self._armed_ms: int | None = None
        self.timer = Timer(clock, on_earlier=self._arm)

    def close(self) -> None:
        """Let the timer stand still."""
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
        try:
            self.timer.advance()
        finally:
            self._arm()
