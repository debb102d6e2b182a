"""The events of one history, at most so many, and the state before the first of them that is kept."""

from collections import deque
from typing import Final

from odradek.testing.sim.history.cluster_state import ClusterState
from odradek.testing.sim.history.events import Event, apply

EVENTS_MAX: Final = 100_000
"""How many events a history keeps: two virtual minutes of three brokers under load have fewer."""


class History:
    """Events in order. When there are too many, the oldest are forgotten, and their effect is in `base`."""

    def __init__(self, events_max: int = EVENTS_MAX) -> None:
        assert events_max > 0, "a history keeps events"
        self.events: deque[Event] = deque()
        """The events that are kept, oldest first."""
        self.base = ClusterState()
        """The state before the first of them."""
        self.now = ClusterState()
        """The state after the last of them."""
        self.forgotten = 0
        """How many older events are not kept."""
        self._events_max = events_max

    @property
    def next_number(self) -> int:
        """The number of the next event."""
        return self.forgotten + len(self.events)

    def add(self, event: Event) -> None:
        """Record the next event."""
        assert event.number == self.next_number, f"{event.number} is not the next number"
        self.events.append(event)
        apply(event, self.now)
        if len(self.events) > self._events_max:
            apply(self.events.popleft(), self.base)
            self.forgotten += 1
