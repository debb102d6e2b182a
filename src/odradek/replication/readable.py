"""How many bytes a partition adds to a waiting fetch, from positions alone (F2 to F5, F8, F9, case H of F6).

Invariant: nothing is read and nothing changes; a fetch is answered from a read of its own. The cases that
complete a fetch at once are listed in `delayed_fetch`.

Bytes that a quota may hold back are counted apart: whether it does changes with every answer to any follower
and as time passes, without an event of the partition. `GatheredBytes` asks when it compares the sum.
"""

from typing import Final, Generic, TypeAlias, TypeVar

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import NO_EPOCH, NO_OFFSET
from odradek.replication.fetch_request import FetchParams, PartitionFetch
from odradek.replication.hosted_partitions import HostedPartitions
from odradek.replication.partition import Partition
from odradek.replication.reading import diverging_epoch, find_replica, may_be_throttled
from odradek.storage import LogPosition

P = TypeVar("P")


ByteCount: TypeAlias = tuple[int, int]
"""What one partition adds: bytes that are answered in any case, and bytes that a quota may hold back."""

NO_BYTES: Final[ByteCount] = (0, 0)
COMPLETES_AT_ONCE: Final[ByteCount] = (-1, 0)
"""This object in place of numbers: the fetch completes, however many bytes were gathered."""
COMPLETES_UNLESS_HELD: Final[ByteCount] = (0, 1 << 31)
"""The same, if the quota does not hold it back: more than any minimum."""


class GatheredBytes(Generic[P]):
    """The bytes that each partition of a waiting fetch had when it was last looked at, and their sum."""

    __slots__ = ("_counts", "_free", "_held", "_params")

    def __init__(self, params: FetchParams) -> None:
        self._params = params
        self._counts: dict[P, ByteCount] = {}
        self._free = 0
        self._held = 0

    def put(self, partition: P, count: ByteCount) -> None:
        """Replace what the partition adds; `count` is a number of bytes."""
        free, held = self._counts.get(partition, NO_BYTES)
        self._counts[partition] = count
        self._free += count[0] - free
        self._held += count[1] - held

    @property
    def sum_bytes(self) -> int:
        """F8: the sum of what may be answered now."""
        return sum_bytes(self._params, self._free, self._held)

    @property
    def is_enough(self) -> bool:
        """Case G: whether the sum reaches the fetch's minimum."""
        return self.sum_bytes >= self._params.min_bytes


def sum_bytes(params: FetchParams, free: int, held: int) -> int:
    """Returns the bytes that may be answered, of these that a quota may not and may hold back."""
    if held and params.quota is not None and params.quota.is_exceeded():
        return free
    return free + held


class Readable:
    """Counts for the fetches of one broker."""

    __slots__ = ("_hosted", "_sends_high_watermarks")

    def __init__(self, hosted: HostedPartitions, *, sends_high_watermarks: bool) -> None:
        self._hosted = hosted
        self._sends_high_watermarks = sends_high_watermarks
        """Case H."""

    def count(self, params: FetchParams, fetch: PartitionFetch, start: LogPosition) -> ByteCount:
        """Returns what the partition adds to the sum, or COMPLETES_AT_ONCE.

        `start` is the position of the fetch offset at the first read; unknown ones are skipped (F3).
        """
        partition = find_replica(self._hosted, params, fetch)
        if isinstance(partition, ErrorCode):  # Cases A-E
            return COMPLETES_AT_ONCE
        if start.offset == NO_OFFSET:
            return NO_BYTES
        if self.owes_high_watermark(params, partition):
            return COMPLETES_AT_ONCE
        log = partition.log
        if fetch.last_fetched_epoch != NO_EPOCH and diverging_epoch(log, fetch) is not None:
            return COMPLETES_AT_ONCE
        end = partition.bound(params.isolation)
        if end.offset == fetch.fetch_offset:
            return NO_BYTES
        if end.is_in_older_segment_than(start):
            return COMPLETES_AT_ONCE
        if start.is_in_older_segment_than(end):
            return COMPLETES_UNLESS_HELD if may_be_throttled(params, partition) else COMPLETES_AT_ONCE
        if end.offset < fetch.fetch_offset:
            return COMPLETES_AT_ONCE if fetch.fetch_offset > log.end_offset else NO_BYTES
        size_bytes = min(max(0, end.bytes_since(start)), fetch.max_bytes)
        return (0, size_bytes) if may_be_throttled(params, partition) else (size_bytes, 0)

    def owes_high_watermark(self, params: FetchParams, partition: Partition) -> bool:
        """Case H: whether the fetcher is a follower to which this HW is yet to be sent."""
        if not self._sends_high_watermarks:
            return False
        leadership = partition.leadership
        remote = None if leadership is None else leadership.remotes.get(params.replica_id)
        return remote is not None and partition.log.high_watermark.offset > remote.high_watermark_sent
