"""The events that wait for a controller, and for how long the earlier ones have waited.

Events are handled one after another, so an event waits while the process of an earlier one waits for the
store. A long queue, or a long wait, means that decisions (elections, requests) come late.
"""

from collections import deque

from odradek.base.clock import Clock
from odradek.base.durations import Histogram
from odradek.metadata.controller.events import ControllerEvent, RequestArrived

_NS_PER_MS = 1_000_000


class EventQueue:
    """The events to come, the oldest first."""

    __slots__ = ("_clock", "_waiting", "requests", "waits")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waiting: deque[tuple[ControllerEvent, int]] = deque()
        """Each event with the time of its arrival."""
        self.requests = 0
        """How many of the waiting events are requests."""
        self.waits = Histogram()
        """For how long each event waited that was taken out; in whole milliseconds."""

    def __len__(self) -> int:
        return len(self._waiting)

    def append(self, event: ControllerEvent) -> None:
        """Add an event behind all others."""
        self._waiting.append((event, self._clock.monotonic_ms()))
        self.requests += isinstance(event, RequestArrived)

    def append_first(self, event: ControllerEvent) -> None:
        """Add an event before all others."""
        self._waiting.appendleft((event, self._clock.monotonic_ms()))
        self.requests += isinstance(event, RequestArrived)

    def pop(self) -> ControllerEvent:
        """Take out the first event; there is one."""
        event, since_ms = self._waiting.popleft()
        self.requests -= isinstance(event, RequestArrived)
        self.waits.note((self._clock.monotonic_ms() - since_ms) * _NS_PER_MS)
        return event

    def clear(self) -> list[ControllerEvent]:
        """Take out all events, in order, without counting their waits: nothing handles them."""
        cleared = [event for event, _ in self._waiting]
        self._waiting.clear()
        self.requests = 0
        return cleared
