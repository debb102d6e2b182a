"""Finds the stalls of the loop that are not measured, by looking how late it comes itself.

    looks at 0, 50, 100, 150 ms; the one due at 150 comes at 390      240 ms late

It tells `LoopStalls`, which knows what was named meanwhile, how late it came and how long the thread computed
since its last look. A stall without a name is many short pieces of work in one turn, or work that is not the
broker's own (the admin listener). Where the thread computed nothing, the process did not run.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Final

from odradek.server.edge.loop_stalls import LoopStalls

LOOK_EVERY_NS: Final = 50_000_000


class LoopProbe:
    """One callback of the loop that comes again and again."""

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
        # When the next look is due, and what the loop's thread had computed at the last one.
        self._due_ns = 0
        self._computed_ns = 0
        # What the loop will call next; None before `start` and after `close`.
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
