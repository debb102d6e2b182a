"""One call after another on other threads."""

from collections import deque
from collections.abc import Callable
from typing import Final, TypeVar

from odradek.base.execution.ports import Background

T = TypeVar("T")

CALLS_WAITING_MAX: Final = 100_000


class Lane:
    """A `Background` whose calls run one at a time, in the order in which they were submitted."""

    def __init__(self, background: Background) -> None:
        self._background = background
        self._waiting: deque[Callable[[], None]] = deque()
        self._busy = False

    @property
    def is_busy(self) -> bool:
        """Whether a call is under way or waits."""
        return self._busy

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
