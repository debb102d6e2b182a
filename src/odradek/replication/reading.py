"""Reads the partitions of a fetch, in request order, within its limits (R9, F7, F9).

Invariant: reading changes no state, neither of a follower (R10 comes after the first read, never after the
second) nor of the log. With max bytes 220 over all and 120 for each partition, batches of 80 bytes:

    p1  holds 160   limit 120   → 120   one batch and half of the next (L3); 100 bytes remain
    p2  holds 80    limit 100   → 80    20 bytes remain
    p3  holds 80    limit 20    → 0     not the first data of the answer: the limit holds
    p4  ...         limit 20    → 0     its HW is answered all the same

The first batch of the answer is returned whole even if it exceeds every limit, because otherwise a reader
could never get past it (KIP-74).

An answer holds at most HELD_BYTES_MAX of records in memory; records beyond that stay in the files until they
are sent.
"""

from collections.abc import Callable, Sequence
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import OdradekError, StorageFailure, code_of
from odradek.base.execution import ITEMS_PER_STEP, Steps
from odradek.base.ids import NO_BROKER, NO_EPOCH, NO_TOPIC_ID
from odradek.base.stored_bytes import StoredBytes
from odradek.replication.fetch_request import DEBUGGING_CONSUMER_ID, FetchParams, Isolation, PartitionFetch
from odradek.replication.hosted_partitions import HostedPartitions
from odradek.replication.outcomes import FetchOutcome
from odradek.replication.partition import Partition
from odradek.replication.replica_selection import RackAwareSelection
from odradek.replication.replication_ports import ReplicatedLog
from odradek.storage import EpochEnd
from odradek.storage.positions import UNKNOWN_EPOCH_END

HELD_BYTES_MAX: Final = 1024 * 1024
"""The most record bytes that one answer holds in memory; see the module's docstring."""


class Reader:
    """Reads for fetches. `on_storage_failure` takes the log's directory offline."""

    __slots__ = ("_hosted", "_on_storage_failure", "_selection")

    def __init__(
        self,
        hosted: HostedPartitions,
        on_storage_failure: Callable[[Partition, StorageFailure], None],
        selection: RackAwareSelection | None = None,
    ) -> None:
        """Without `selection` no consumer is sent to another replica (R13)."""
        self._hosted = hosted
        self._selection = selection
        self._on_storage_failure = on_storage_failure

    def read(self, params: FetchParams, fetches: Sequence[PartitionFetch]) -> list[FetchOutcome]:
        """One outcome per partition, in order; the sum of the records stays within the fetch's limit."""
        return self._read_some(params, fetches, _Allowance(params))

    def read_in_steps(
        self, params: FetchParams, fetches: Sequence[PartitionFetch]
    ) -> Steps[list[FetchOutcome]]:
        """`read` for very many partitions, in steps."""
        allowance = _Allowance(params)
        outcomes: list[FetchOutcome] = []
        for begin in range(0, len(fetches), ITEMS_PER_STEP):
            outcomes += self._read_some(params, fetches[begin : begin + ITEMS_PER_STEP], allowance)
            yield
        return outcomes

    def _read_some(
        self, params: FetchParams, fetches: Sequence[PartitionFetch], allowance: "_Allowance"
    ) -> list[FetchOutcome]:
        left_bytes, held_bytes_max = allowance.left_bytes, allowance.held_bytes_max
        at_least_one = allowance.at_least_one
        outcomes = []
        for fetch in fetches:
            max_bytes = fetch.max_bytes if fetch.max_bytes < left_bytes else left_bytes
            if max_bytes == 0 and at_least_one:
                max_bytes = 1  # a reader that allows 0 bytes must get past the first batch too
            outcome = self._read_partition(params, fetch, max_bytes, held_bytes_max, at_least_one)
            size_bytes = len(outcome.records)
            if size_bytes > 0:
                if not isinstance(outcome.records, StoredBytes):
                    held_bytes_max = max(0, held_bytes_max - size_bytes)
                at_least_one = False
                left_bytes = max(0, left_bytes - size_bytes)
            outcomes.append(outcome)
        allowance.left_bytes, allowance.held_bytes_max = left_bytes, held_bytes_max
        allowance.at_least_one = at_least_one
        return outcomes

    def _read_partition(
        self,
        params: FetchParams,
        fetch: PartitionFetch,
        max_bytes: int,
        held_bytes_max: int,
        at_least_one: bool,
    ) -> FetchOutcome:
        found = find_replica(self._hosted, params, fetch)
        if isinstance(found, ErrorCode):
            return FetchOutcome(found)
        log = found.log
        try:
            outcome = FetchOutcome(
                ErrorCode.NONE, log.high_watermark.offset, log.last_stable.offset, log.log_start_offset
            )
            if self._selection is not None and params.client is not None and not params.is_from_follower:
                preferred = self._selection.preferred_read_replica(found, fetch.fetch_offset, params.client)
                if preferred != NO_BROKER:  # as in Kafka, it gets no records here
                    outcome.preferred_read_replica = preferred
                    return outcome
            if fetch.last_fetched_epoch != NO_EPOCH:
                diverged = diverging_epoch(log, fetch)
                if diverged == UNKNOWN_EPOCH_END:
                    return FetchOutcome(ErrorCode.OFFSET_OUT_OF_RANGE)
                if diverged is not None:
                    outcome.diverging_epoch = diverged
                    return outcome
            if params.quota is not None and is_throttled(params, found):
                max_bytes, at_least_one = 0, False
            read = log.read(
                fetch.fetch_offset,
                max_bytes,
                found.bound(params.isolation),
                at_least_one=at_least_one,
                committed_only=params.isolation is Isolation.LAST_STABLE,
                held_bytes_max=held_bytes_max,
            )
        except OdradekError as error:
            if isinstance(error, StorageFailure):
                self._on_storage_failure(found, error)
            return FetchOutcome(code_of(error))
        outcome.position = read.position
        outcome.aborted_transactions = read.aborted_transactions
        # From Fetch 3 on, the client would discard an incomplete batch.
        if not read.first_batch_incomplete or params.hard_max_bytes:
            outcome.records = read.records
        return outcome


class _Allowance:
    """How much a fetch may still read."""

    __slots__ = ("at_least_one", "held_bytes_max", "left_bytes")

    def __init__(self, params: FetchParams) -> None:
        self.left_bytes = max(0, params.max_bytes)
        """The limit over all partitions."""
        self.held_bytes_max = HELD_BYTES_MAX
        """The part of it that may be held in memory."""
        self.at_least_one = not params.hard_max_bytes
        """Whether the next batch is returned whole even if it exceeds the limits."""


def find_replica(
    hosted: HostedPartitions, params: FetchParams, fetch: PartitionFetch
) -> Partition | ErrorCode:
    """R9: returns the replica that may answer for this partition, or the error code."""
    topic_partition, topic_id = fetch.topic_partition, fetch.topic_id
    if not topic_partition.topic and topic_id != NO_TOPIC_ID:
        return ErrorCode.UNKNOWN_TOPIC_ID
    found = hosted.replica(
        topic_partition, leader_only=params.leader_only, current_leader_epoch=fetch.current_leader_epoch
    )
    if isinstance(found, ErrorCode):
        if found is ErrorCode.NOT_LEADER_OR_FOLLOWER and params.replica_id == DEBUGGING_CONSUMER_ID:
            return ErrorCode.REPLICA_NOT_AVAILABLE
        return found
    if params.replica_id >= 0 and not found.has_follower(params.replica_id, params.replica_epoch):
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    if topic_id != NO_TOPIC_ID and found.topic_id not in (topic_id, NO_TOPIC_ID):
        return ErrorCode.INCONSISTENT_TOPIC_ID
    return found


def diverging_epoch(log: ReplicatedLog, fetch: PartitionFetch) -> EpochEnd | None:
    """F9: returns where this log diverges from the fetcher's, or None; unknown if the fetcher's epoch is.

    It has a fast path, because a follower asks with every fetch, and mostly for the latest epoch.
    """
    if fetch.last_fetched_epoch == log.latest_epoch and fetch.fetch_offset <= log.end_offset:
        return None
    ours = log.end_offset_for_epoch(fetch.last_fetched_epoch)
    if ours.epoch < fetch.last_fetched_epoch or ours.end_offset < fetch.fetch_offset:
        return ours
    return None


def may_be_throttled(params: FetchParams, partition: Partition) -> bool:
    """F8: whether the fetcher is a follower out of sync that a quota holds back while it is exceeded."""
    quota = params.quota
    return (
        quota is not None
        and params.is_from_follower
        and quota.throttles(partition.topic_partition, partition.log.config)
        and not partition.is_in_sync(params.replica_id)
    )


def is_throttled(params: FetchParams, partition: Partition) -> bool:
    """F8: whether it is held back now."""
    quota = params.quota
    return quota is not None and may_be_throttled(params, partition) and quota.is_exceeded()
