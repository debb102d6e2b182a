"""Work that grows with what a request names, in slices of a millisecond between which others are served.

Work is an iterator of steps. A step ends at a `yield`, takes well below a millisecond, and leaves the state
whole: a request that is served between two steps may look at everything.

    run(A), 3 ms of steps      turn 1: the first slice of A
    run(B), 20 µs              turn 2: all of B, then the second slice of A
                               turn 3: the last slice of A

The first slice runs at once, so that a request that names little pays nothing. Each later turn of the loop
has one slice: of the work that has waited longest.
"""

from collections import deque
from collections.abc import Callable
from typing import Final, TypeAlias

from odradek.base.clock import ShortClock
from odradek.base.execution import Defer
from odradek.server.edge.context import Steps

SLICE_NS: Final = 1_000_000
Failed: TypeAlias = Callable[[Exception], None]
"""Called with what a step raised; the work is over then."""


class Slices:
    """Runs the sliced work of one node."""

    __slots__ = ("_defer", "_has_asked_for_turn", "_short_clock", "_waiting")

    def __init__(self, defer: Defer, short_clock: ShortClock) -> None:
        self._defer = defer
        self._short_clock = short_clock
        # Work that has begun and is not done, what waited longest first.
        self._waiting: deque[tuple[Steps, Failed]] = deque()
        self._has_asked_for_turn = False

    def run(self, steps: Steps, failed: Failed) -> None:
        """Run the first slice now, shorter beside other work, and the rest in later turns."""
        if not self._run_slice(steps, failed, SLICE_NS // (1 + len(self._waiting))):
            self._waiting.append((steps, failed))
            self._ask_for_turn()

    @property
    def waiting(self) -> int:
        """How much work has begun and is not done."""
        return len(self._waiting)

    def _ask_for_turn(self) -> None:
        if self._waiting and not self._has_asked_for_turn:
            self._has_asked_for_turn = True
            self._defer(self._take_turn)

    def _take_turn(self) -> None:
        self._has_asked_for_turn = False
        steps, failed = self._waiting.popleft()
        try:
            if not self._run_slice(steps, failed, SLICE_NS):
                self._waiting.append((steps, failed))
        finally:
            self._ask_for_turn()

    def _run_slice(self, steps: Steps, failed: Failed, slice_ns: int) -> bool:
        """Run steps until they are done or the time is used up; returns whether they are done."""
        deadline_ns = 0
        try:
            for _ in steps:
                now_ns = self._short_clock()
                if not deadline_ns:
                    deadline_ns = now_ns + slice_ns
                elif now_ns >= deadline_ns:
                    return False
        except Exception as error:
            failed(error)
        return True
