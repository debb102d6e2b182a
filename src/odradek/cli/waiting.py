"""Prints to standard error that a command waits for the brokers, and why, so that a user sees the cause.

3 s after records were first sent, the topic or an answer is waited for, and for records every 10 s then:

odradek: 4 records have not been acknowledged for 3 s: cannot connect to 127.0.0.1:9092: connection refused
odradek: records have waited for topic flights for 3 s: topic flights is not known
odradek: there has been no answer for 3 s: broker 2 has not answered
"""

import threading
import time
from typing import Protocol, Self

from odradek.base.closing import Closing
from odradek.cli.output import say

FIRST_S = 3.0
"""How long a batch waits before the first notice: longer than a leader election takes."""
AGAIN_S = 10.0
_LOOK_S = 0.5


class Waits(Protocol):
    """Who may have to wait: see `Sending` of `cli/sending` and `WaitingAdmin` of `cli/patient_admin`."""

    @property
    def waiting_since_s(self) -> float | None:
        """Since when it waits, by `time.monotonic`; None while it does not."""

    @property
    def subject(self) -> str:
        """What has lasted since then, such as "4 records have not been acknowledged"."""

    @property
    def obstacle(self) -> str:
        """Why what it waits for does not come; "" if that is not known."""


class Waiting:
    """Decides when to print a notice about one that waits; has no thread and no clock of its own."""

    def __init__(self, waits: Waits, again_s: float = AGAIN_S) -> None:
        """While a wait lasts, another notice is printed every `again_s` seconds."""
        self._waits = waits
        self._again_s = again_s
        # The wait of the last notice, by its begin, and the time of that notice.
        self._said: tuple[float, float] | None = None

    def sentence(self, now_s: float) -> str | None:
        """The notice to print now, or None; `now_s` is a time of `time.monotonic`."""
        since_s = self._waits.waiting_since_s
        if since_s is None or now_s - since_s < FIRST_S:
            return None
        if self._said is not None and self._said[0] == since_s and now_s - self._said[1] < self._again_s:
            return None
        self._said = since_s, now_s
        reason = self._waits.obstacle or "the broker has not answered"
        return f"{self._waits.subject} for {now_s - since_s:.0f} s: {reason}"


class WaitingNotice(Closing):
    """A thread that prints the notices until closed, because who waits may be blocked on an answer."""

    def __init__(self, waits: Waits, again_s: float = AGAIN_S) -> None:
        self._waiting = Waiting(waits, again_s)
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
            said = self._waiting.sentence(time.monotonic())
            if said is not None:
                say(f"odradek: {said}", as_error=True)
