"""What happens later: in a later turn of the owner's thread, on others, or when somebody has answered."""

from collections import deque
from collections.abc import Callable
from typing import Final, Protocol, TypeAlias, TypeVar

T = TypeVar("T")

CALLS_WAITING_MAX: Final = 100_000

Defer: TypeAlias = Callable[[Callable[[], None]], None]
"""Runs a callback in a later turn of the loop, in the order of the calls."""

Later: TypeAlias = Callable[[T], None]
"""Where the result of a call goes that may take time.

The call returns its result when that is known at once. Else it returns None, or what the caller may abandon,
and calls this once, in an event of its own: never before it has returned.
"""


def deliver(known: T | None, later: Later[T]) -> None:
    """Give a result that a call has returned to where it would have gone later."""
    if known is not None:
        later(known)


class Background(Protocol):
    """Runs blocking calls on other threads, and calls back on the thread that owns the state."""

    def submit(
        self, call: Callable[[], T], done: Callable[[T], None], failed: Callable[[Exception], None]
    ) -> None:
        """Run `call`; then `done` with what it returned, or `failed` with what it raised."""


class Lane:
    """A `Background` whose calls run one at a time, in the order in which they were submitted."""

    def __init__(self, background: Background) -> None:
        self._background = background
        self._waiting: deque[Callable[[], None]] = deque()
        self._busy = False

    def submit(
        self, call: Callable[[], T], done: Callable[[T], None], failed: Callable[[Exception], None]
    ) -> None:
        """See `Background.submit`; `done` runs before the next call begins."""

        def begin() -> None:
            self._background.submit(call, finish_with(done), finish_with(failed))

        def finish_with(report: Callable[[T], None] | Callable[[Exception], None]) -> Callable[..., None]:
            def finish(outcome: T) -> None:
                try:
                    report(outcome)  # type: ignore[arg-type]
                finally:
                    self._next()

            return finish

        if self._busy:
            assert len(self._waiting) < CALLS_WAITING_MAX, "a caller submits work without waiting for any"
            self._waiting.append(begin)
        else:
            self._busy = True
            begin()

    def _next(self) -> None:
        if self._waiting:
            self._waiting.popleft()()
        else:
            self._busy = False
