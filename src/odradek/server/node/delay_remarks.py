"""Says what keeps this broker from fetching: quietly at first, and as a warning once it has lasted.

When leaderships move, the orders of the new leader and of its followers arrive in any order, and a broker
that restarts does not answer for a moment. Such delays end by themselves. So of one partition or broker:

    at 0 s       the first delay         INFO       orders-0, fetched from broker 2, delayed: ...
    at 1, 2 s    further ones            nothing
    at 2.5 s     it is still delayed     WARNING    orders-0, fetched from broker 2, delayed for 2500 ms: ...
    at 7 s       it is fetched           INFO       orders-0 is fetched again after 7000 ms

A delay that ends before it has lasted ends without a line. It goes on over a change of the leader epoch as
long as nothing was fetched in between, and ends also when the partition is not followed any more.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from odradek.base.ids import BrokerId, TopicPartition
from odradek.base.settings import BrokerSettings
from odradek.server.edge.complaints import Complaints
from odradek.timer import TimedCall, Timer

Subject = TopicPartition | BrokerId
"""What is delayed: a partition, or all that is fetched from a broker."""


def lasting_ms(settings: BrokerSettings) -> int:
    """When a delay has lasted: a fetch that waits at the leader, and two backoffs, are no reason to warn."""
    return settings.replica_fetch_wait_max_ms + 2 * settings.replica_fetch_backoff_ms


@dataclass(slots=True)
class Delay:
    """One delay that has not ended. Times are on the monotonic clock."""

    since_ms: int
    """When it began; never changes."""
    source: BrokerId
    """From whom was to be fetched, the latest time."""
    words: str
    """Why it was delayed, the latest time."""
    is_said: bool = False
    """Whether the warning was logged."""


class DelayRemarks:
    """The delays of one node."""

    def __init__(
        self,
        log: logging.Logger,
        timer: Timer,
        lasts_ms: Callable[[], int],
        goes_on: Callable[[Subject], bool],
    ) -> None:
        """`lasts_ms` returns after how long a delay is worth a warning.

        `goes_on` returns whether a subject is still delayed, or fetched from at all.
        """
        self._timer = timer
        self._lasts_ms = lasts_ms
        self._goes_on = goes_on
        self._delays: dict[Subject, Delay] = {}
        """The oldest first."""
        self._look: TimedCall | None = None
        """Looks which delays have lasted; None while all have their warning."""
        clock = timer.clock
        self._quiet = Complaints(log, clock, "%d more delays of fetches began or ended", level=logging.INFO)
        self._loud = Complaints(log, clock, "%d more delays of fetches have lasted")

    def __len__(self) -> int:
        return len(self._delays)

    def delay(self, subject: Subject) -> Delay | None:
        """The delay of a partition, or of what is fetched from a broker; None without one."""
        return self._delays.get(subject)

    def on_delay(self, subject: Subject, source: BrokerId, words: str) -> None:
        """Called with each delay."""
        known = self._delays.get(subject)
        if known is not None:
            known.source, known.words = source, words
            return
        began = Delay(self._timer.clock.monotonic_ms(), source, words)
        self._delays[subject] = began
        self._quiet.say("%s, delayed: %s", _named(subject, source), words, fields=_fields(subject, began))
        self._look_later()

    def on_end(self, subject: Subject, words: str) -> None:
        """Called when a subject is fetched again, or not followed any more, as `words` say."""
        ended = self._delays.pop(subject, None)
        if ended is not None and ended.is_said:
            lasted_ms = self._timer.clock.monotonic_ms() - ended.since_ms
            said = (_name(subject), words, lasted_ms)
            self._quiet.say("%s %s after %d ms", *said, fields=_fields(subject, ended))

    def close(self) -> None:
        """Called when the broker stops: nothing is looked at any more."""
        if self._look is not None:
            self._look.cancel()
        self._look = None
        self._delays.clear()

    def _look_later(self) -> None:
        """Look when the oldest delay without a warning has lasted."""
        if self._look is not None:
            return
        oldest = next((one for one in self._delays.values() if not one.is_said), None)
        if oldest is not None:
            self._look = TimedCall(oldest.since_ms + self._lasts_ms(), self._on_look)
            self._timer.add(self._look)

    def _on_look(self) -> None:
        self._look = None
        now_ms, lasts_ms = self._timer.clock.monotonic_ms(), self._lasts_ms()
        for subject, delay in list(self._delays.items()):
            if not self._goes_on(subject):
                self.on_end(subject, "is not fetched any more")
            elif not delay.is_said and now_ms - delay.since_ms >= lasts_ms:
                delay.is_said = True
                said = (_named(subject, delay.source), now_ms - delay.since_ms, delay.words)
                self._loud.say("%s, delayed for %d ms: %s", *said, fields=_fields(subject, delay))
        self._look_later()


def _name(subject: Subject) -> str:
    return str(subject) if isinstance(subject, TopicPartition) else f"broker {subject}"


def _named(subject: Subject, source: BrokerId) -> str:
    if isinstance(subject, TopicPartition):
        return f"{subject}, fetched from broker {source}"
    return f"what is fetched from broker {source}"


def _fields(subject: Subject, delay: Delay) -> dict[str, object]:
    """The fields of an event in JSON logs."""
    fields: dict[str, object] = {"leader": delay.source}
    if isinstance(subject, TopicPartition):
        fields["topic"], fields["partition"] = subject
    return fields
