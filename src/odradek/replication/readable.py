"""How many bytes a partition adds to a waiting fetch, from positions alone (F2 to F5, F9, case H of F6).

Invariant: nothing is read and nothing changes; a fetch is answered from a read of its own. The cases that
complete a fetch at once are listed in `delayed_fetch`.
"""

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import NO_EPOCH, NO_OFFSET
from odradek.replication.fetch_request import FetchParams, PartitionFetch
from odradek.replication.hosted_partitions import HostedPartitions
from odradek.replication.partition import Partition
from odradek.replication.reading import diverging_epoch, find_replica, is_throttled
from odradek.storage import LogPosition

COMPLETES_AT_ONCE: Final = -1
"""Returned in place of a number of bytes: the fetch completes, however many bytes were gathered."""


class Readable:
    """Counts for the fetches of one broker."""

    __slots__ = ("_hosted", "_sends_high_watermarks")

    def __init__(self, hosted: HostedPartitions, *, sends_high_watermarks: bool) -> None:
        self._hosted = hosted
        self._sends_high_watermarks = sends_high_watermarks
        """Case H."""

    def count(self, params: FetchParams, fetch: PartitionFetch, start: LogPosition) -> int:
        """Returns the bytes that the partition adds to the sum, or COMPLETES_AT_ONCE.

        `start` is the position of the fetch offset at the first read; unknown ones are skipped (F3).
        """
        partition = find_replica(self._hosted, params, fetch)
        if isinstance(partition, ErrorCode):  # Cases A-E
            return COMPLETES_AT_ONCE
        if start.offset == NO_OFFSET:
            return 0
        if self.owes_high_watermark(params, partition):
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

    def owes_high_watermark(self, params: FetchParams, partition: Partition) -> bool:
        """Case H: whether the fetcher is a follower to which this HW is yet to be sent."""
        if not self._sends_high_watermarks:
            return False
        leadership = partition.leadership
        remote = None if leadership is None else leadership.remotes.get(params.replica_id)
        return remote is not None and partition.log.high_watermark.offset > remote.high_watermark_sent
