"""A delayed fetch of very many partitions, which checks only one partition on each event.

Invariant: `_gathered` has the bytes that each partition had when it was last checked, and each was checked
after its last event. A produce that wakes a fetch of 2,000 partitions makes it check one.

    parked            each partition is watched and then checked, a few in each step
    an append to p1   p1 is checked; the sum is enough
    completed         every partition is read, in steps, and then the fetch is answered
"""

from collections.abc import Callable, Hashable
from typing import Final

from odradek.base.execution import Later, Pace, Steps
from odradek.base.ids import TopicPartition
from odradek.replication.delayed_fetch import DelayedFetch, UnfilledFetch
from odradek.replication.outcomes import FetchOutcome
from odradek.replication.readable import COMPLETES_AT_ONCE, GatheredBytes
from odradek.timer import Purgatory

PLACED_PER_STEP: Final = 200


class WideFetch(DelayedFetch):
    """One fetch request of very many partitions."""

    __slots__ = ("_finish", "_gathered", "_places")

    def __init__(
        self,
        unfilled: UnfilledFetch,
        finish: Callable[[Later[list[FetchOutcome]]], None],
        later: Later[list[FetchOutcome]],
    ) -> None:
        """`finish` reads again in steps and passes the outcomes to the callback that it is given."""
        super().__init__(unfilled, list, later)
        self._finish = finish
        self._gathered: GatheredBytes[int] = GatheredBytes(unfilled.params)
        """The bytes of each partition, by its index in the request."""
        self._places: dict[TopicPartition, list[int]] = {}
        """The indexes of each partition in the request; complete when it is watched."""

    def park_in_steps(self, purgatory: Purgatory[TopicPartition]) -> Steps[bool]:
        """Watch the fetch in the purgatory; returns True if it is complete already."""
        pace = Pace(PLACED_PER_STEP)
        for place, fetch in enumerate(self._fetches):
            self._places.setdefault(fetch.topic_partition, []).append(place)
            if pace.is_over():
                yield
        is_complete = yield from purgatory.watch_in_steps(self, list(self._places))
        self._is_parked = not is_complete
        return is_complete

    def try_complete_for(self, key: Hashable) -> bool:
        """See `DelayedOperation.try_complete_for`; the cases are those of `DelayedFetch`."""
        assert isinstance(key, tuple)
        for place in self._places.get(TopicPartition(*key), ()):
            fetch = self._fetches[place]
            count = self._readable.count(self._params, fetch, self._starts[place])
            if count is COMPLETES_AT_ONCE:
                return self.force_complete()
            self._gathered.put(place, count)
        self.gathered_bytes = self._gathered.sum_bytes
        return self._gathered.is_enough and self.force_complete()

    def on_complete(self) -> None:
        """F7: read again, in steps. Before the fetch is parked, the caller of `park_in_steps` does that."""
        if self._is_parked:
            self._finish(self._later)
