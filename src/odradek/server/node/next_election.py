"""Takes part in an election again after one that failed: what the store holds may be mended meanwhile.

take-over fails       a node cannot be read: nobody decides, and no watch will tell of its mending
a moment later        /controller is looked at again; a claim of this session still holds
"""

from collections.abc import Callable
from typing import Final

from odradek.timer import TimedCall, Timer

PAUSE_MS: Final = 2_000
"""Between two attempts."""


class NextElection:
    """The next attempt of one broker."""

    def __init__(self, timer: Timer, begin: Callable[[], None]) -> None:
        """`begin` begins the election; it is called from the timer."""
        self._timer = timer
        self._begin = begin
        # None while no attempt is to come.
        self._due: TimedCall | None = None

    def try_soon(self) -> None:
        """Called when an election has failed."""
        if self._due is None:
            self._due = TimedCall(self._timer.clock.monotonic_ms() + PAUSE_MS, self._try)
            self._timer.add(self._due)

    def cancel(self) -> None:
        """Called when this broker does not join: it takes part in no election."""
        if self._due is not None:
            self._due.cancel()
            self._due = None

    def _try(self) -> None:
        self._due = None
        self._begin()
