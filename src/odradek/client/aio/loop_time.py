"""The time of a loop, as cores and timers read it."""

import asyncio
import time
from typing import Final

from odradek.timer import Timer

# Loops compute with floats and fixed sleeps; a longer wait ends after this time, and is begun again.
_LOOK_AGAIN_MS: Final = 60_000


class LoopClock:
    """See `Clock`; the monotonic reading is the loop's own."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def wall_ms(self) -> int:
        """See `Clock.wall_ms`."""
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        """See `Clock.monotonic_ms`."""
        return int(self._loop.time() * 1000)


class LoopTimer:
    """Drives a `Timer` with one handle of the loop, for the next bucket due."""

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: LoopClock) -> None:
        self._loop = loop
        self._clock = clock
        # The handle of the next call, and its expiration; both None while the timer is idle.
        self._handle: asyncio.TimerHandle | None = None
        self._armed_ms: int | None = None
        self.timer = Timer(clock, on_earlier=self._arm)

    def close(self) -> None:
        """Run nothing more."""
        self.timer.close()
        if self._handle is not None:
            self._handle.cancel()
        self._handle = self._armed_ms = None

    def _arm(self) -> None:
        due_ms = self.timer.next_expiration_ms()
        if due_ms is None or due_ms == self._armed_ms:
            return
        if self._handle is not None:
            self._handle.cancel()
        delay_ms = min(_LOOK_AGAIN_MS, max(0, due_ms - self._clock.monotonic_ms()))
        self._armed_ms = due_ms
        self._handle = self._loop.call_later(delay_ms / 1000, self._fire)

    def _fire(self) -> None:
        self._handle = self._armed_ms = None
        self.timer.advance()
        self._arm()
