"""Upper bounds on what a broker keeps, where Kafka is bounded only by memory.

Clients choose ids of up to 32 KB (in memory four times that, with one rare character), and 100,000 of them
would be gigabytes. So a new id of several KB is accepted only while there are so many times fewer:

    bound 100,000     ids of less than 1 KB       while there are less than 100,000
                      1 to 2 KB                   less than 50,000
                      32 KB                       about 3,000; all ids together: about half a GB

Each bound logs at most one line a minute, however many refusals there are.
"""

import logging
from collections.abc import Callable
from sys import getsizeof
from typing import Final

from odradek.base.clock import Clock

LOGGED_EVERY_MS: Final = 60_000
ID_BYTES: Final = 1_024
"""An id that takes less counts once."""

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

    def refusal(self, count: int, new_id: str = "") -> str | None:
        """Why `count` may not grow by one, named `new_id`, as a sentence; None if it may."""
        limit = self._limit()
        room = 1 + getsizeof(new_id) // ID_BYTES
        if count * room < limit:
            return None
        if count < limit:
            words = (
                f"this broker keeps {count} {self._kind}, too many for another with an id of {room - 1} KB, "
                f"which counts {room} times among the {limit} that {self._setting} allows"
            )
        else:
            words = f"this broker keeps {limit} {self._kind}, as many as {self._setting} allows"
        now_ms = self._clock.monotonic_ms()
        if self._logged_ms is None or now_ms - self._logged_ms >= LOGGED_EVERY_MS:
            self._logged_ms = now_ms
            _log.warning("another one is refused: %s", words)
        return words
