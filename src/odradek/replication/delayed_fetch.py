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
    H  a follower that does not have this HW yet     at once, where `replica.selector.class` is set

A consumer fetches p1 at 0 and p2 at 4, min bytes 100:

    p1 HW (5, segment 0, byte 60)    p2 HW (4, segment 0, byte 55), start the same    60 + 0  → waits
    p2 HW (7, segment 0, byte 95)                                                     60 + 40 → G
"""

from collections.abc import Callable, Sequence
from typing import ClassVar

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Later
from odradek.base.ids import NO_EPOCH, NO_OFFSET
from odradek.base.values import value
from odradek.replication.delayed_result import DelayedResult
from odradek.replication.fetch_request import FetchParams, PartitionFetch
from odradek.replication.hosted_partitions import HostedPartitions
from odradek.replication.metering import Meters
from odradek.replication.outcomes import FetchOutcome
from odradek.replication.partition import Partition
from odradek.replication.reading import diverging_epoch, find_replica, is_throttled
from odradek.storage import LogPosition

COMPLETES_AT_ONCE = -1
"""Returned in place of a number of bytes: the fetch completes, however many bytes were gathered."""


@value
class UnfilledFetch:
    """A fetch whose first read found fewer than its minimum bytes, and which therefore waits (F1)."""

    deadline_ms: int
    params: FetchParams
    fetches: Sequence[PartitionFetch]
    first_read: Sequence[FetchOutcome]
    """The outcomes of the first read; mainly used for the position of each partition's fetch offset."""
    hosted: HostedPartitions
    meters: Meters
    sends_high_watermarks: bool
    """Case H."""


class DelayedFetch(DelayedResult[list[FetchOutcome]]):
    """One fetch request; watched under all of its partitions (D3)."""

    __slots__ = (
        "_fetches",
        "_hosted",
        "_meters",
        "_params",
        "_read_again",
        "_sends_high_watermarks",
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
        # Only this is kept of the first read, so that a thousand parked fetches need little memory.
        self._params = unfilled.params
        self._fetches = unfilled.fetches
        self._starts = [outcome.position for outcome in unfilled.first_read]
        """The position of each partition's fetch offset at the first read; unknown ones are skipped (F3)."""
        self._hosted = unfilled.hosted
        self._meters = unfilled.meters
        self._read_again = read_again
        """Makes the answer (F7)."""
        self._sends_high_watermarks = unfilled.sends_high_watermarks
        self.gathered_bytes = 0
        """The sum at the last `try_complete` that looked at all partitions; for descriptions."""

    def try_complete(self) -> bool:
        """F2, F6: complete because of one partition (cases A to F, H), or because of the sum (case G)."""
        gathered_bytes = 0
        for fetch, start in zip(self._fetches, self._starts, strict=True):
            found = find_replica(self._hosted, self._params, fetch)
            if isinstance(found, ErrorCode):  # Cases A-E
                return self.force_complete()
            readable_bytes = self._readable_bytes(found, fetch, start)
            if readable_bytes == COMPLETES_AT_ONCE:  # Cases F and H
                return self.force_complete()
            gathered_bytes += readable_bytes
            if gathered_bytes >= self._params.min_bytes:  # Case G, whatever the others have
                return self.force_complete()
        self.gathered_bytes = gathered_bytes
        return False

    def _readable_bytes(self, partition: Partition, fetch: PartitionFetch, start: LogPosition) -> int:
        """F3, F4, F5: the bytes that the partition adds to the sum, or COMPLETES_AT_ONCE."""
        params = self._params
        if start.offset == NO_OFFSET:
            return 0
        if self._sends_high_watermarks and self._owes_high_watermark(partition):
            return COMPLETES_AT_ONCE
        log = partition.log
        if fetch.last_fetched_epoch != NO_EPOCH and diverging_epoch(log, fetch) is not None:
            return COMPLETES_AT_ONCE
        end = partition.bound(params.isolation)
        if end.offset == fetch.fetch_offset:
            return 0
        if end.is_in_older_segment_than(start):
            return COMPLETES_AT_ONCE
        if start.is_in_older_segment_than(end):
            return 0 if is_throttled(params, partition) else COMPLETES_AT_ONCE
        if end.offset < fetch.fetch_offset:
            return COMPLETES_AT_ONCE if fetch.fetch_offset > log.end_offset else 0
        if is_throttled(params, partition):
            return 0
        return min(max(0, end.bytes_since(start)), fetch.max_bytes)

    def _owes_high_watermark(self, partition: Partition) -> bool:
        leadership = partition.leadership
        remote = None if leadership is None else leadership.remotes.get(self._params.replica_id)
        return remote is not None and partition.log.high_watermark.offset > remote.high_watermark_sent

    def result(self) -> list[FetchOutcome]:
        """F7: returns the outcomes of a second read."""
        return self._read_again()

    def on_abandoned(self) -> None:
        """See `DelayedResult.on_abandoned`."""
        super().on_abandoned()
        self._fetches = ()
        self._starts = []
        self._read_again = list

    def on_expiration(self) -> None:
        """Count the expiry in the meters."""
        if self._params.is_from_follower:
            self._meters.follower_fetch_expirations += 1
        else:
            self._meters.consumer_fetch_expirations += 1

    def waits_for(self) -> str:
        """D7: "fetch by broker 3 to the log end: 120 of 500 bytes over 2 partitions"."""
        params = self._params
        reader = f"broker {params.replica_id}" if params.is_from_follower else "a consumer"
        return (
            f"fetch by {reader} to the {params.isolation.value}: "
            f"{self.gathered_bytes} of {params.min_bytes} bytes over {len(self._fetches)} partitions"
        )
