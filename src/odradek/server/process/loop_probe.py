"""Finds the stalls of the loop that are not measured, from the lateness of its own callback.

    looks at 0, 50, 100, 150 ms; the one due at 150 comes at 390    240 ms late
    the thread computed for less than 1 ms in the last 50           idle: the next look is in 250 ms
    it computed for 5 ms or more in those 250                       the next look is in 50 ms again

The probe reports to `LoopStalls` how late it came and how long the thread computed since its last look;
`LoopStalls` subtracts the stalls that were named meanwhile. A stall without a name is many short pieces of
work in one turn, or work that is not the broker's own (the admin listener). If the thread computed nothing,
the process did not run.

An idle loop is looked at more rarely because a look wakes it, at a fifth of a millisecond of CPU: three idle
brokers spent more than a percent of a processor on that. What is lost is the first stall without a name after
a rest: it is found from 350 ms on for certain, and from 100 ms on with luck.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Final

from odradek.server.edge.loop_stalls import LoopStalls

LOOK_EVERY_NS: Final = 50_000_000
IDLE_LOOK_EVERY_NS: Final = 250_000_000
IDLE_SHARE: Final = 50
"""A loop is idle that computes for less than one part in IDLE_SHARE of the time."""


class LoopProbe:
    """One callback that schedules itself again on the loop."""

    __slots__ = ("_computed_ns", "_due_ns", "_handle", "_interval_ns", "_loop", "_stalls", "_thread_time_ns")

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        stalls: LoopStalls,
        thread_time_ns: Callable[[], int] = time.thread_time_ns,
    ) -> None:
        """`thread_time_ns` returns the CPU time of the loop's thread so far."""
        self._loop = loop
        self._thread_time_ns = thread_time_ns
        self._stalls = stalls
        # When the next look is due, and the CPU time of the loop's thread at the last one.
        self._due_ns = 0
        self._computed_ns = 0
        # How long after the last look that is.
        self._interval_ns = LOOK_EVERY_NS
        # The handle of the next look; None before `start` and after `close`.
        self._handle: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begin to look every `LOOK_EVERY_NS`, or `IDLE_LOOK_EVERY_NS` while the loop is idle."""
        self._computed_ns = self._thread_time_ns()
        self._arm(LOOK_EVERY_NS)

    def close(self) -> None:
        """Stop looking."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _arm(self, interval_ns: int) -> None:
        self._interval_ns = interval_ns
        self._due_ns = self._stalls.now_ns() + interval_ns
        self._handle = self._loop.call_later(interval_ns / 1_000_000_000, self._look)

    def _look(self) -> None:
        now_ns = self._thread_time_ns()
        computed_ns, self._computed_ns = now_ns - self._computed_ns, now_ns
        late_ns = self._stalls.now_ns() - self._due_ns
        self._stalls.note_lateness(late_ns, computed_ns)
        is_idle = computed_ns * IDLE_SHARE < self._interval_ns
        self._arm(IDLE_LOOK_EVERY_NS if is_idle else LOOK_EVERY_NS)
