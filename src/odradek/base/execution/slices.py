"""Runs steps in slices, between which the loop serves others; see `steps` and `turn_time`.

    run(A), 3 ms of steps      turn 1: the first slice of A
    run(B), 20 µs              turn 2: all of B, then the second slice of A
                               turn 3: the last slice of A

The first slice runs at once, so that a small request has no delay. Each later turn of the loop runs one
slice, of the work that has waited longest.

Work has a cause, the request that led to it. While a slice runs, `cause` holds its cause, so that work begun
by it has the same cause, and a report of a long slice can name it.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeVar

from odradek.base.execution.ports import Defer, Later
from odradek.base.execution.steps import Steps
from odradek.base.execution.turn_time import TurnTime

T = TypeVar("T")

Failed: TypeAlias = Callable[[Exception], None]
"""Called with what a step raised; the work is over then."""


class StallWatch(Protocol):
    """Receives reports of work that held the loop for long."""

    notable_ns: int
    """The shortest time that is reported."""

    def note(self, elapsed_ns: int, cause: str) -> None:
        """Called with a piece of work that took longer than `notable_ns`, in words for a person."""


@dataclass(frozen=True, slots=True)
class _Work:
    """One generator of steps that is not done."""

    steps: Steps[None]
    failed: Failed
    cause: object
    """What led to it, named by its `str`; None where that is not known."""


class Slices:
    """Runs the stepped work of one node."""

    __slots__ = ("_defer", "_stalls", "_time", "_waiting", "cause")

    def __init__(self, defer: Defer, time: TurnTime, stalls: StallWatch | None = None) -> None:
        """`time` is shared with all else that the same loop runs in turns."""
        self._defer = defer
        self._time = time
        self._stalls = stalls
        self._waiting: deque[_Work] = deque()
        """Unfinished work, the longest-waiting first; a turn is requested while there is any."""
        self.cause: object = None
        """What leads to work that is begun now: the request that is being handled, or None."""

    def run(self, steps: Steps[None], failed: Failed) -> None:
        """Run the first slice now, as long as this turn has time for, and the rest in later turns."""
        work = _Work(steps, failed, self.cause)
        deadline_ns = self._time.begin()
        try:
            is_done = self._run_slice(work, deadline_ns)
        finally:
            self._time.end()
        if not is_done:
            self._wait(work)

    def result_of(self, steps: Steps[T | None], later: Later[T], failed: Failed) -> T | None:
        """Run steps for their result: returned when they end in this turn, else given to `later`.

        Steps that return None have let somebody else call `later`. What a step raises goes to `failed`, in an
        event of its own as well: never before this has returned, and never after `later`.
        """
        results: list[T] = []
        has_returned = is_given = False

        def run() -> Steps[None]:
            nonlocal is_given
            result = yield from steps
            if result is None:
                return
            if has_returned:
                is_given = True
                later(result)
            else:
                results.append(result)

        def on_failed(error: Exception) -> None:
            if is_given:
                raise error  # by `later`: the work itself is done
            if has_returned:
                failed(error)
            else:
                self._defer(lambda: failed(error))

        self.run(run(), on_failed)
        has_returned = True
        return results[0] if results else None

    @property
    def waiting(self) -> int:
        """How many pieces of work are not finished."""
        return len(self._waiting)

    def _wait(self, work: _Work) -> None:
        self._waiting.append(work)
        if len(self._waiting) == 1:
            self._time.askers += 1
            self._defer(self._take_turn)

    def _take_turn(self) -> None:
        deadline_ns = self._time.begin_turn()
        work = self._waiting[0]
        self.cause = work.cause
        is_done = True
        try:
            is_done = self._run_slice(work, deadline_ns)
        finally:
            self.cause = None
            self._time.end()
            self._note(work)
            self._waiting.popleft()
            if not is_done:
                self._waiting.append(work)
            if self._waiting:
                self._defer(self._take_turn)
            else:
                self._time.askers -= 1

    def _run_slice(self, work: _Work, deadline_ns: int) -> bool:
        """Run steps until they are done or the time is used up; returns whether they are done."""
        now_ns = self._time.now_ns
        try:
            for _ in work.steps:
                if now_ns() >= deadline_ns:
                    return False
        except Exception as error:
            work.failed(error)
        return True

    def _note(self, work: _Work) -> None:
        """Report a long slice to the stall watch."""
        elapsed_ns, stalls = self._time.ended_ns - self._time.began_ns, self._stalls
        if stalls is not None and elapsed_ns > stalls.notable_ns:
            cause = getattr(work.steps, "__qualname__", "work") if work.cause is None else work.cause
            stalls.note(elapsed_ns, f"a slice of {cause}")
