"""A standing watch: operations that come one after another, each of them under the same many keys (D3, D4).

A client with a thousand keys that waits, is answered and waits again would be appended to a thousand lists
each time. Its standing watch has an *entry* in each of these lists from the beginning. To watch the client's
next operation is to put it into the watch: one assignment, whatever the number of keys.

    entries under p1, p2, p3
    Op1 put into the watch          p1: Op1     p2: Op1     p3: Op1         watched 3
    Op1 completes through p2        p1: Op1✓    p2:         p3: Op1✓        watched 2: p2's entry notes it
    Op2 takes its place             p1: Op2     p2: Op2     p3: Op2         watched 3

So the lists are those of D3 to D6, but for one thing: when the next operation takes the place of a completed
one, the completed one leaves all lists at once, without a sweep.

An entry also receives the next event of its key at once (`on_event`, `on_change`), whether or not an
operation waits then; so the client's next operation knows which of its keys have had events, and looks at no
others. After an event while no operation waits, the entry leaves the list: its client may be gone. Who looks
at the key again enters it again.
"""

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from odradek.timer.delayed_operation import DelayedOperation

K = TypeVar("K")


class StandingWatch:
    """The operation of one client that is watched under all keys for which the client has an entry."""

    __slots__ = ("entries", "listed", "number", "operation")

    def __init__(self) -> None:
        self.operation: DelayedOperation | None = None
        """The latest operation, open or completed; None before the first and after a sweep."""
        self.number = 0
        """The `watched_number` of the latest operation."""
        self.entries = 0
        """How many keys have an entry of this watch."""
        self.listed = 0
        """How many of these keys list the operation."""

    @property
    def has_open_operation(self) -> bool:
        """Whether an event may complete an operation now."""
        return self.operation is not None and not self.operation.is_completed


class StandingEntry(ABC, Generic[K]):
    """The place of a standing watch in the list of one key; changed by the purgatory's lists only."""

    __slots__ = ("dropped", "is_entered")

    def __init__(self) -> None:
        self.dropped = 0
        """The number of the operation that the key's list does not have, or has dropped; 0: of none."""
        self.is_entered = False
        """Whether it is in the list of its key, and so receives events."""

    @property
    @abstractmethod
    def watch(self) -> StandingWatch:
        """The watch that it belongs to."""

    @abstractmethod
    def on_event(self) -> None:
        """Called at once on an event for which operations are woken; it only notes the event for later."""

    @abstractmethod
    def on_change(self) -> None:
        """The same on a change of the key that completes no operation."""

    def listed(self) -> DelayedOperation | None:
        """The operation that the key's list has through this entry, if any."""
        watch = self.watch
        return None if self.dropped == watch.number else watch.operation
