"""Prints to standard error that records wait for the brokers, and why, so that a user sees the cause.

3 s after records were first sent, or the topic is waited for, and every 10 s then:

odradek: 4 records have not been acknowledged for 3 s: cannot connect to 127.0.0.1:9092: connection refused
odradek: records have waited for topic flights for 3 s: topic flights is not known
"""

import threading
import time
from collections.abc import Callable
from typing import Protocol, Self

from odradek.base.closing import Closing
from odradek.cli.output import say

FIRST_S = 3.0
"""How long a batch waits before the first notice: longer than a leader election takes."""
AGAIN_S = 10.0
_LOOK_S = 0.5


class Waits(Protocol):
    """Who may have to wait: see `odradek.cli.sending.Sending`."""

    @property
    def waiting_since_s(self) -> float | None:
        """Since when it waits, by `time.monotonic`; None while it does not."""

    @property
    def waits_for(self) -> str:
        """What is needed before anything can be sent; "" if nothing is."""

    @property
    def unanswered(self) -> int:
        """How many records have no outcome."""

    @property
    def obstacle(self) -> str:
        """Why what it waits for does not come; "" if that is not known."""


class Waiting:
    """Decides when to print a notice about one sender; has no thread and no clock of its own."""

    def __init__(self, writer: Waits) -> None:
        self._writer = writer
        # The batch of the last notice, by the time of its first send, and the time of that notice.
        self._said: tuple[float, float] | None = None

    def sentence(self, now_s: float) -> str | None:
        """The notice to print now, or None; `now_s` is a time of `time.monotonic`."""
        since_s = self._writer.waiting_since_s
        if since_s is None or now_s - since_s < FIRST_S:
            return None
        if self._said is not None and self._said[0] == since_s and now_s - self._said[1] < AGAIN_S:
            return None
        self._said = since_s, now_s
        count = self._writer.unanswered
        reason = self._writer.obstacle or "the broker has not answered"
        if self._writer.waits_for:
            return f"records have waited for {self._writer.waits_for} for {now_s - since_s:.0f} s: {reason}"
        records = "1 record has" if count == 1 else f"{count:,} records have"
        return f"{records} not been acknowledged for {now_s - since_s:.0f} s: {reason}"


class WaitingNotice(Closing):
    """A thread that prints the notices until closed, because the writer may be blocked on an answer."""

    def __init__(self, writer: Waits, now_s: Callable[[], float] = time.monotonic) -> None:
        self._waiting = Waiting(writer)
        self._now_s = now_s
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="odradek-waiting", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def close(self) -> None:
        """Stop the thread."""
        self._is_over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._is_over.wait(_LOOK_S):
            said = self._waiting.sentence(self._now_s())
            if said is not None:
                say(f"odradek: {said}", as_error=True)
