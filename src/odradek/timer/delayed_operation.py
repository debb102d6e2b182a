"""An operation that cannot be answered yet: completed exactly once, by an event or by its deadline (D1, D2).

It knows when it is complete and what to do then. It must not know the purgatory that watches it, nor its
keys.

    open ── force_complete() ──► completed: out of the timer, on_complete() ran    the first caller gets True
      │                               ▲
      └── the deadline: run() ────────┘   then on_expiration()                     later callers get False

Events do not call `try_complete` but `safe_try_complete`. Completing one operation may cause an event that
tries another, which may come back to the first while its condition is being tested:

    safe_try_complete()            the holder
      try_complete()               tests the condition, moves the high watermark on its way
        safe_try_complete()        nested: remembered, returns False
      try_complete()               the holder again, since the state may have changed after it was read
"""

from abc import abstractmethod
from collections.abc import Hashable
from typing import ClassVar, Final

from odradek.timer.timer_task import PendingCount, TimerTask

TRIES_MAX: Final = 1_000
"""After so many repeated attempts, the operation is assumed to wake itself forever."""


class DelayedCount(PendingCount):
    """How many operations of a purgatory are in the timer, and how many entries of lists they have."""

    __slots__ = ("entries",)

    def __init__(self) -> None:
        super().__init__()
        self.entries = 0


class DelayedOperation(TimerTask):
    """A timer task that an event may complete before its deadline.

    A subclass says what `kind` it is, and implements `try_complete`, `on_complete` and `waits_for`.
    """

    __slots__ = (
        "_delayed_in",
        "_try_again",
        "_trying",
        "entries",
        "is_completed",
        "watched_at_ms",
        "watched_number",
    )

    kind: ClassVar[str]
    """What it is called in listings and metrics: "produce", "fetch"."""

    def __init__(self, deadline_ms: int) -> None:
        super().__init__(deadline_ms)
        self.is_completed = False
        """Whether it is completed; never False again."""
        self.watched_at_ms = deadline_ms
        """When a purgatory began to watch it, on the monotonic clock; set by the purgatory."""
        self.watched_number = 0
        """Its place in the order of all operations that its purgatory began to watch; 0 before."""
        self.entries = 0
        """In how many lists of keys it was put; set by the purgatory, 0 for a standing watch."""
        self._trying = False
        """Whether a `safe_try_complete` is running further up the stack."""
        self._try_again = False
        """Whether another one was called meanwhile."""
        self._delayed_in: DelayedCount | None = None
        """The purgatory's count of its operations in the timer, while this one is among them."""

    @property
    def label(self) -> str:
        """See `TimerTask.label`."""
        return f"the deadline of a delayed {self.kind}"

    @abstractmethod
    def try_complete(self) -> bool:
        """Test the condition: when it holds, return what `force_complete` returned, else False (D2)."""
        raise NotImplementedError

    def try_complete_for(self, key: Hashable) -> bool:
        """`try_complete` after an event for one key; a subclass may override it to check only that key."""
        return self.try_complete()

    @abstractmethod
    def on_complete(self) -> None:
        """Finish or answer the operation. Called exactly once, after it has left the timer (D1)."""
        raise NotImplementedError

    def on_expiration(self) -> None:
        """Called after `on_complete` when it was the deadline that completed the operation."""

    @abstractmethod
    def waits_for(self) -> str:
        """Returns a description of the condition that is still open, for a person (D7)."""
        raise NotImplementedError

    def force_complete(self) -> bool:
        """Complete, whatever the condition: True for the call that did it, False for all later ones (D1).

        What `on_complete` raises goes to the caller; the operation is completed all the same.
        """
        if self.is_completed:
            return False
        self.is_completed = True
        self.cancel()
        self.on_complete()
        return True

    def abandon(self) -> None:
        """End without an answer, since no client waits for it any more; never called by the operation itself.

        It leaves the timer, counts as completed, and gives back what it holds; its keys' lists drop it when
        they are next looked at (D6).
        """
        if not self.is_completed:
            self.is_completed = True
            self.cancel()
            self.on_abandoned()

    def on_abandoned(self) -> None:
        """Called in place of `on_complete`, to drop what only an answer needs."""

    def safe_try_complete(self, key: Hashable = None) -> bool:
        """Try to complete on behalf of an event, of `key` where there is one: True when this did it (D2).

        An attempt that raises ends the holder's turn, with whatever it had remembered; the next event tries
        afresh.
        """
        if self.is_completed:
            return False
        if self._trying:
            self._try_again = True
            return False
        self._trying = True
        try:
            for _ in range(TRIES_MAX):
                self._try_again = False
                if self.try_complete() if key is None else self.try_complete_for(key):
                    return True
                key = None
                if self.is_completed or not self._try_again:
                    return False
        finally:
            self._trying = False
        raise AssertionError(f"testing whether a delayed {self.kind} is complete wakes it again, for ever")

    def cancel(self) -> None:
        """Leave the timer, uncompleted, and the purgatory's count of delayed operations with it."""
        if self._delayed_in is not None:
            self._delayed_in.value -= 1
            self._delayed_in.entries -= self.entries
            self._delayed_in = None
        TimerTask.cancel(self)

    def delay_in(self, delayed: "DelayedCount") -> None:
        """Count as delayed in a purgatory, which puts the operation into its timer, until `cancel`."""
        assert self._delayed_in is None, f"a delayed {self.kind} is in one timer, once"
        self._delayed_in = delayed
        delayed.value += 1
        delayed.entries += self.entries

    def run(self) -> None:
        """Expire (D1)."""
        if self.force_complete():
            self.on_expiration()
