"""The reaper: drops operations from the lists that completed through another key (D6).

It decides when a sweep is worth its cost, and sweeps. Invariant: it completes no operation.

The completed operations that are still in some list are not counted. The estimate is an upper bound:
operations watched since the last sweep began, plus those pending then, minus those in the timer now. With
`purge_interval` 2:

    watch Op1, Op2, Op3       counted 3, delayed 3, estimate 0
    Op1 and Op2 complete      counted 3, delayed 1, estimate 2     not above 2
    watch Op4, Op4 completes  counted 4, delayed 1, estimate 3     above: sweep; counted := 1, estimate 0

The estimate is checked after every advance of the clock. Where operations complete long before their
deadlines, nothing else would advance it soon; so the call that lifts the estimate above the interval asks
the timer for an advance.

An operation of many keys leaves as many entries. So a sweep is also due when the completed entries outnumber
the open ones by OUTNUMBERED_MAX: those in lists without those of operations in the timer. (A standing watch
has no more than one operation, and is not counted.)

A sweep examines at most `SLICE_ENTRIES` entries in one turn of the loop. Lists may change between turns: an
entry that the sweep misses because of that was open a moment ago, and the next sweep finds it.
"""

from collections.abc import Callable
from typing import Final, Generic, TypeVar

from odradek.timer.delayed_operation import DelayedCount
from odradek.timer.timer import Timer
from odradek.timer.timer_task import TimerTask
from odradek.timer.watchers import Watchers

K = TypeVar("K")

SLICE_ENTRIES: Final = 1_000
"""Entries examined in one turn of the loop: about 0.6 ms, were each of them its key's only one."""

OUTNUMBERED_MAX: Final = 10_000
"""By how many completed entries may outnumber open ones."""

CHECK_DELAY_MS: Final = 200
"""How long completed operations beyond the purge interval may wait for an advance of the clock."""


class Advance(TimerTask):
    """A task without work: when it is due the clock advances, and then every reaper checks."""

    __slots__ = ()

    def run(self) -> None:
        """See the class."""


class Reaper(Generic[K]):
    """Sweeps the lists of one purgatory."""

    __slots__ = (
        "_advance",
        "_defer",
        "_delayed",
        "_keys",
        "_next_entry",
        "_purge_interval",
        "_timer",
        "_watchers",
        "counted",
    )

    def __init__(
        self,
        watchers: Watchers[K],
        delayed: DelayedCount,
        timer: Timer,
        purge_interval: int,
        defer: Callable[[Callable[[], None]], None] | None,
    ) -> None:
        self._watchers = watchers
        self._delayed = delayed
        self._timer = timer
        self._purge_interval = purge_interval
        self._defer = defer
        """Runs a callback in a later turn of the loop; None: a sweep runs through."""
        self._advance = Advance(0)
        self.counted = 0
        """Operations watched since the last sweep began, each once, plus those pending then."""
        self._keys: list[K] | None = None
        """The keys that the sweep at work has not finished, last first; None between sweeps."""
        self._next_entry = 0
        """Where the sweep goes on in the list of the last of these."""
        timer.call_after_advance(self.check)

    @property
    def estimate(self) -> int:
        """At most how many operations are completed and still in some list."""
        return self.counted - self._delayed.value

    @property
    def _is_due(self) -> bool:
        delayed = self._delayed
        if self.counted - delayed.value > self._purge_interval:
            return True
        return self._watchers.list_entries - 2 * delayed.entries > OUTNUMBERED_MAX

    def count_watched(self) -> None:
        """Count one more operation, and have the clock advanced soon if a sweep is due."""
        self.counted += 1
        if self._is_due and not self._advance.is_pending:
            self._advance.deadline_ms = self._timer.clock.monotonic_ms() + CHECK_DELAY_MS
            self._timer.add(self._advance)

    def uncount_watched(self) -> None:
        """Undo `count_watched` for an operation that is not watched after all."""
        self.counted -= 1

    def check(self) -> None:
        """Begin a sweep if one is due and none is at work."""
        if self._keys is None and self._is_due:
            self._advance.cancel()
            self.counted = self._delayed.value
            self._watchers.drop_completed_standing()
            self._keys = list(self._watchers.by_key)
            self._keys.reverse()
            self._sweep()

    def _sweep(self) -> None:
        while self._sweep_slice():
            if self._defer is not None:
                self._defer(self._sweep)
                return

    def _sweep_slice(self) -> bool:
        """Examine at most `SLICE_ENTRIES` entries; return whether the sweep is still at work."""
        keys, watchers = self._keys, self._watchers
        assert keys is not None, "a slice belongs to a sweep"
        allowance = SLICE_ENTRIES
        while keys and allowance > 0:
            key, start = keys[-1], self._next_entry
            stop = start + allowance
            length = len(watchers.by_key.get(key, ()))
            resume_at = watchers.drop_completed_between(key, start, stop) if length > start else 0
            if length <= stop:
                keys.pop()
                self._next_entry = 0
                allowance -= max(1, length - start)
            else:
                self._next_entry = resume_at
                allowance = 0
        if keys:
            return True
        self._keys = None
        return False
