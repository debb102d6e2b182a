"""Says what keeps this broker from fetching: quietly at first, and as a warning once it has lasted.

When leaderships move, the orders of the new leader and of its followers arrive in any order, and a broker
that restarts does not answer for a moment. Such delays end by themselves. So of one partition or broker:

    at 0 s       the first delay         INFO       orders-0, fetched from broker 2, delayed: ...
    at 1, 2 s    further ones            nothing
    at 3 s       it is delayed again     WARNING    orders-0, fetched from broker 2, delayed for 3000 ms: ...
    at 7 s       it is fetched           INFO       orders-0 is fetched again after 7000 ms

A delay that ends before it has lasted ends without a line. It goes on over a change of the leader epoch as
long as nothing was fetched in between, and ends also when the partition is not followed any more.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from odradek.base.clock import Clock
from odradek.base.ids import BrokerId, TopicPartition
from odradek.base.settings import BrokerSettings
from odradek.server.edge.complaints import Complaints

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
    is_said: bool = False
    """Whether the warning was logged."""


class DelayRemarks:
    """The delays of one node. What lasts is delayed again and again, so it is looked at then."""

    def __init__(self, log: logging.Logger, clock: Clock, lasts_ms: Callable[[], int]) -> None:
        """`lasts_ms` returns after how long a delay is worth a warning."""
        self._clock = clock
        self._lasts_ms = lasts_ms
        self._delays: dict[Subject, Delay] = {}
        self._brokers: dict[BrokerId, None] = {}
        """Those of the subjects that are brokers."""
        self._quiet = Complaints(log, clock, "%d more delays of fetches began or ended", level=logging.INFO)
        self._loud = Complaints(log, clock, "%d more delays of fetches have lasted")

    def __len__(self) -> int:
        return len(self._delays)

    def brokers(self) -> list[BrokerId]:
        """The brokers that do not answer fetches."""
        return list(self._brokers)

    def delay(self, subject: Subject) -> Delay | None:
        """The delay of a partition, or of what is fetched from a broker; None without one."""
        return self._delays.get(subject)

    def on_delay(self, subject: Subject, source: BrokerId, words: str, since_ms: int | None = None) -> None:
        """Called with each delay; the first one began at `since_ms`, or now."""
        now_ms = self._clock.monotonic_ms()
        delay = self._delays.get(subject)
        is_first = delay is None
        if delay is None:
            delay = self._delays[subject] = Delay(now_ms if since_ms is None else since_ms, source)
            if not isinstance(subject, TopicPartition):
                self._brokers[subject] = None
        delay.source = source
        named, lasted_ms, fields = _named(subject, source), now_ms - delay.since_ms, _fields(subject, delay)
        if not delay.is_said and lasted_ms >= self._lasts_ms():
            delay.is_said = True
            self._loud.say("%s, delayed for %d ms: %s", named, lasted_ms, words, fields=fields)
        elif is_first:
            self._quiet.say("%s, delayed: %s", named, words, fields=fields)

    def on_end(self, subject: Subject, words: str) -> None:
        """Called when a subject is fetched again, or not followed any more, as `words` say."""
        ended = self._delays.pop(subject, None)
        if not isinstance(subject, TopicPartition):
            self._brokers.pop(subject, None)
        if ended is not None and ended.is_said:
            said = (_name(subject), words, self._clock.monotonic_ms() - ended.since_ms)
            self._quiet.say("%s %s after %d ms", *said, fields=_fields(subject, ended))


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
