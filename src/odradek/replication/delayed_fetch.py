"""A fetch that waits until there is enough to read (F1-F7).

Invariant: `try_complete` compares positions and reads no records; they are read only on completion. A fetch
completes by the *sum* of bytes over its partitions (S2, S3), unlike a produce. The cases, by partition:

    A  no longer led here (leader-only fetches)      at once
    B  no replica here                               at once
    C  unknown                                       at once
    D  its log directory is offline                  at once
    E  the fetcher's leader epoch is not this one's  at once
    F  start and end lie in two segments             at once: subtraction does not give the bytes between
       a fetch offset above the log's end            at once: truncated
       the fetcher's last epoch diverged (F9)        at once
    G  the sum of bytes over all partitions ≥ min    now
    H  a follower that does not have this HW yet     at once, where followers serve consumers (R13)

A consumer fetches p1 at 0 and p2 at 4, min bytes 100:

    p1 HW (5, segment 0, byte 60)    p2 HW (4, segment 0, byte 55), start the same    60 + 0  → waits
    p2 HW (7, segment 0, byte 95)                                                     60 + 40 → G
"""

from collections.abc import Callable, Sequence
from typing import ClassVar

from odradek.base.execution import Later
from odradek.base.values import value
from odradek.replication.delayed_result import DelayedResult
from odradek.replication.fetch_request import FetchParams, PartitionFetch
from odradek.replication.metering import Meters
from odradek.replication.outcomes import FetchOutcome
from odradek.replication.readable import COMPLETES_AT_ONCE, Readable, sum_bytes
from odradek.storage.positions import LogPosition


@value
class UnfilledFetch:
    """A fetch whose first read found fewer than its minimum bytes, and which therefore waits (F1)."""

    deadline_ms: int
    params: FetchParams
    fetches: Sequence[PartitionFetch]
    starts: Sequence[LogPosition]
    """The position of each partition's fetch offset at the first read; unknown ones are skipped (F3)."""
    readable: Readable
    meters: Meters


class DelayedFetch(DelayedResult[list[FetchOutcome]]):
    """One fetch request; watched under all of its partitions (D3)."""

    __slots__ = (
        "_fetches",
        "_meters",
        "_params",
        "_read_again",
        "_readable",
        "_starts",
        "gathered_bytes",
    )

    kind: ClassVar[str] = "fetch"

    def __init__(
        self,
        unfilled: UnfilledFetch,
        read_again: Callable[[], list[FetchOutcome]],
        later: Later[list[FetchOutcome]],
    ) -> None:
        super().__init__(unfilled.deadline_ms, later)
        self._params = unfilled.params
        self._fetches = unfilled.fetches
        self._starts = unfilled.starts
        """All that is kept of the first read, so that a thousand parked fetches need little memory."""
        self._readable = unfilled.readable
        self._meters = unfilled.meters
        self._read_again = read_again
        """Makes the answer (F7)."""
        self.gathered_bytes = 0
        """The sum at the last `try_complete` that looked at all partitions; for descriptions."""

    def try_complete(self) -> bool:
        """F2, F6: complete because of one partition (cases A to F, H), or because of the sum (case G)."""
        params = self._params
        free = held = 0
        for fetch, start in zip(self._fetches, self._starts, strict=True):
            count = self._readable.count(params, fetch, start)
            if count is COMPLETES_AT_ONCE:  # Cases A-F and H
                return self.force_complete()
            free += count[0]
            held += count[1]
            if free >= params.min_bytes:  # Case G, whatever the others have
                return self.force_complete()
        self.gathered_bytes = sum_bytes(params, free, held)
        return self.gathered_bytes >= params.min_bytes and self.force_complete()

    def result(self) -> list[FetchOutcome]:
        """F7: returns the outcomes of a second read."""
        return self._read_again()

    def on_abandoned(self) -> None:
        """See `DelayedAnswer.on_abandoned`."""
        super().on_abandoned()
        self._fetches = ()
        self._starts = ()
        self._read_again = list

    def on_expiration(self) -> None:
        """Count the expiry in the meters."""
        self._meters.note_fetch_expiration(from_follower=self._params.is_from_follower)

    def waits_for(self) -> str:
        """See `describe_waiting`."""
        return describe_waiting(self._params, self.gathered_bytes, len(self._fetches))


def describe_waiting(params: FetchParams, gathered_bytes: int, partitions: int) -> str:
    """D7: "fetch by broker 3 to the log end: 120 of 500 bytes over 2 partitions"."""
    reader = f"broker {params.replica_id}" if params.is_from_follower else "a consumer"
    return (
        f"fetch by {reader} to the {params.isolation.value}: "
        f"{gathered_bytes} of {params.min_bytes} bytes over {partitions} partitions"
    )
