"""Upper bounds on what a broker keeps, where Kafka is bounded only by memory.

Each bound logs at most one line a minute, however many refusals there are.
"""

import logging
from collections.abc import Callable
from typing import Final

from odradek.base.clock import Clock

LOGGED_EVERY_MS: Final = 60_000

_log = logging.getLogger(__name__)


class Bound:
    """The bound that one setting sets."""

    __slots__ = ("_clock", "_kind", "_limit", "_logged_ms", "_setting")

    def __init__(self, setting: str, kind: str, limit: Callable[[], int], clock: Clock) -> None:
        """`setting` by its name, `kind` in words for a person; `limit` gives what is in force."""
        self._setting = setting
        self._kind = kind
        self._limit = limit
        self._clock = clock
        # When the last refusal was logged, on the monotonic clock; None before the first.
        self._logged_ms: int | None = None

    def refusal(self, count: int) -> str | None:
        """Why `count` may not grow, as a sentence; None if it may."""
        limit = self._limit()
        if count < limit:
            return None
        words = f"this broker keeps {limit} {self._kind}, as many as {self._setting} allows"
        now_ms = self._clock.monotonic_ms()
        if self._logged_ms is None or now_ms - self._logged_ms >= LOGGED_EVERY_MS:
            self._logged_ms = now_ms
            _log.warning("another one is refused: %s", words)
        return words
