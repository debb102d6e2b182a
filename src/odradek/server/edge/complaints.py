"""Rate-limited logging of events that peers can cause: the first few are logged, the others are counted.

Invariant: no peer decides how much is logged.

    20 bad requests in a second        20 lines
    another 4,980                      nothing
    one more, ten seconds later        "4980 more connections were closed or refused", then its own line
"""

import logging
from collections.abc import Mapping
from typing import Final

from odradek.base.clock import Clock

SAID_MAX: Final = 20
WINDOW_MS: Final = 10_000


class Complaints:
    """Logs events of one kind and level, at most `SAID_MAX` in `WINDOW_MS`."""

    __slots__ = ("_clock", "_level", "_log", "_said", "_summary", "_unsaid", "_window_ends_ms")

    def __init__(
        self,
        log: logging.Logger,
        clock: Clock,
        summary: str = "%d more connections were closed or refused",
        *,
        level: int = logging.WARNING,
    ) -> None:
        """`summary` is logged with the number of events that were left out."""
        self._log = log
        self._level = level
        self._clock = clock
        self._summary = summary
        # How many events were logged in this window, and how many were left out since the last logged one.
        self._said = 0
        self._unsaid = 0
        self._window_ends_ms = 0

    def say(
        self,
        sentence: str,
        *arguments: object,
        trace: BaseException | None = None,
        fields: Mapping[str, object] | None = None,
    ) -> None:
        """Log an event, with the trace of an error if one is given, unless the limit is reached.

        `fields` are the fields of the event in JSON logs.
        """
        now_ms = self._clock.monotonic_ms()
        if now_ms >= self._window_ends_ms:
            self._window_ends_ms = now_ms + WINDOW_MS
            self._said = 0
        if self._said >= SAID_MAX:
            self._unsaid += 1
            return
        if self._unsaid:
            self._log.log(self._level, self._summary, self._unsaid)
            self._unsaid = 0
        self._said += 1
        self._log.log(self._level, sentence, *arguments, exc_info=trace, extra=fields)
