"""Finds the stalls of the loop that are not measured, from the lateness of its own callback.

    looks at 0, 50, 100, 150 ms; the one due at 150 comes at 390      240 ms late

The probe reports to `LoopStalls` how late it came and how long the thread computed since its last look;
`LoopStalls` subtracts the stalls that were named meanwhile. A stall without a name is many short pieces of
work in one turn, or work that is not the broker's own (the admin listener). If the thread computed nothing,
the process did not run.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Final

from odradek.server.edge.loop_stalls import LoopStalls

LOOK_EVERY_NS: Final = 50_000_000


class LoopProbe:
    """One callback that schedules itself again on the loop."""

    __slots__ = ("_computed_ns", "_due_ns", "_handle", "_loop", "_stalls", "_thread_time_ns")

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
        # The handle of the next look; None before `start` and after `close`.
        self._handle: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begin to look every `LOOK_EVERY_NS`."""
        self._computed_ns = self._thread_time_ns()
        self._arm()

    def close(self) -> None:
        """Stop looking."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _arm(self) -> None:
        self._due_ns = self._stalls.now_ns() + LOOK_EVERY_NS
        self._handle = self._loop.call_later(LOOK_EVERY_NS / 1_000_000_000, self._look)

    def _look(self) -> None:
        computed_ns = self._thread_time_ns()
        late_ns = self._stalls.now_ns() - self._due_ns
        self._stalls.note_lateness(late_ns, computed_ns - self._computed_ns)
        self._computed_ns = computed_ns
        self._arm()
