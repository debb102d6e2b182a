"""The in-memory `Background`: a test decides when calls of "other threads" run and when they are reported.

A call has two steps, as on a thread, and other things may happen between them:

    submit(call, done, failed)      waiting
    run_next()                      the call has run, and is not reported yet
    report_next()                   done(result), or failed(error)

Invariant: reports come in the order in which the calls have run; nothing is called within `submit`.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class _HeldCall:
    call: Callable[[], Any]
    done: Callable[[Any], None]
    failed: Callable[[Exception], None]


class HeldCalls:
    """A `Background` for tests and the simulator, on the caller's thread."""

    def __init__(self) -> None:
        # Oldest first.
        self._waiting: list[_HeldCall] = []
        # Reports of calls that have run, oldest first.
        self._finished: deque[Callable[[], None]] = deque()

    def submit(
        self, call: Callable[[], T], done: Callable[[T], None], failed: Callable[[Exception], None]
    ) -> None:
        """See `Background.submit`."""
        self._waiting.append(_HeldCall(call, done, failed))

    @property
    def waiting(self) -> int:
        """How many calls have not run."""
        return len(self._waiting)

    @property
    def finished(self) -> int:
        """How many calls have run and are not reported."""
        return len(self._finished)

    def run_next(self, number: int = 0) -> None:
        """Run a call, the oldest or one that overtakes `number` older ones; it is reported later."""
        held = self._waiting.pop(number)
        try:
            result = held.call()
        except Exception as error:
            raised = error
            self._finished.append(lambda: held.failed(raised))
        else:
            self._finished.append(lambda: held.done(result))

    def report_next(self) -> None:
        """Report what has run first."""
        self._finished.popleft()()

    def complete_next(self) -> None:
        """Run the oldest call, and report everything that has run."""
        self.run_next()
        while self._finished:
            self.report_next()

    def complete(self) -> None:
        """Run and report everything in order, also what is submitted meanwhile."""
        while self._finished or self._waiting:
            if self._finished:
                self.report_next()
            else:
                self.run_next()
