"""A timer task and the entry that holds it in a list.

A task knows its deadline and its two neighbours. It must not know a wheel, a clock or a purgatory.

The entry is the task's own base class, so that a task cannot have two of them, adding one allocates nothing,
and cancelling one touches its neighbours only (T2). With S the sentinel of a bucket that holds A, B and C:

    S ⇄ A ⇄ B ⇄ C ⇄ S      B.cancel() →      S ⇄ A ⇄ C ⇄ S      and B points nowhere

A cancelled task is reachable from no wheel any more, so that whatever it carries (a response, a page of
records) dies with its last user and not at its deadline.
"""

from __future__ import annotations

from abc import abstractmethod


class PendingCount:
    """How many entries are linked into the lists that share this count; never below 0."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0


class TimerTaskEntry:
    """A link of a circular list. The three fields are set together and cleared together."""

    __slots__ = ("after", "before", "counted_in")

    def __init__(self) -> None:
        self.before: TimerTaskEntry | None = None
        """The neighbour towards the oldest entry; None while in no list."""
        self.after: TimerTaskEntry | None = None
        """The neighbour towards the newest entry; None while in no list."""
        self.counted_in: PendingCount | None = None
        """The count that includes this entry; None while in no list, and for a sentinel always."""


class TimerTask(TimerTaskEntry):
    """Something to run once, at or after `deadline_ms` on the monotonic clock.

    It may be added again after it ran or was cancelled; adding it while it is pending moves it.
    """

    __slots__ = ("deadline_ms",)

    def __init__(self, deadline_ms: int) -> None:
        self.before = None  # Spelt out: this is the hot path, and a call to super() would double its cost.
        self.after = None
        self.counted_in = None
        self.deadline_ms = deadline_ms
        """Absolute, on `Clock.monotonic_ms`; it does not change while the task is pending."""

    @property
    def label(self) -> str:
        """Returns the name of the task in warnings."""
        return type(self).__qualname__

    @property
    def is_pending(self) -> bool:
        """Whether a timer holds this task: added, and neither cancelled nor taken out to run."""
        return self.counted_in is not None

    def cancel(self) -> None:
        """Leave the timer at once, in O(1); a task that is not pending stays as it is (T2, T4)."""
        before, after, pending = self.before, self.after, self.counted_in
        if before is None or after is None or pending is None:
            return
        before.after = after
        after.before = before
        self.before = self.after = self.counted_in = None
        pending.value -= 1

    @abstractmethod
    def run(self) -> None:
        """Do what is due. The task is no longer pending; it may add itself or others and cancel others."""
        raise NotImplementedError
