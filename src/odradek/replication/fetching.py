"""Handles a fetch from its arrival to its answer: read, note the follower, answer or park (R9, R10, F1, F7).

Invariant: the steps have this order.

    1  read every partition         HW in the answer is the one from before (R10)
    2  update the follower's state  its LEO, its caught-up time; it may join the ISR, then HW may rise
    3  answer, or park              before it parks, the fetch is tried again: step 2 may have completed it
    4  in a later turn              wake what step 2 may complete: produces that wait for this fetch (R14)
    5  when a parked one completes  read again, do not note the follower: its offset is outdated (F7)
"""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Final

from odradek.base.clock import Clock
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import StorageFailure
from odradek.base.execution import ITEMS_PER_STEP, Later, RunSteps, Steps, listed
from odradek.base.ids import NO_BROKER
from odradek.replication.delayed_fetch import DelayedFetch, UnfilledFetch
from odradek.replication.fetch_request import FetchParams, PartitionFetch
from odradek.replication.follower_calls import FollowerCalls
from odradek.replication.hosted_partitions import HostedPartitions
from odradek.replication.isr_maintenance import IsrMaintenance
from odradek.replication.metering import Meters
from odradek.replication.outcomes import FetchOutcome
from odradek.replication.partition import Partition
from odradek.replication.purgatories import Purgatories
from odradek.replication.readable import Readable
from odradek.replication.reading import Reader
from odradek.replication.replica_selection import RackAwareSelection
from odradek.replication.wide_fetch import WideFetch
from odradek.storage.positions import LogPosition

LOOKED_AT_PER_STEP: Final = 500
_POSITION: Final = attrgetter("position")


class Fetching:
    """Serves fetches from the partitions that this broker hosts."""

    __slots__ = (
        "_clock",
        "_hosted",
        "_isr_maintenance",
        "_meters",
        "_purgatories",
        "_run_steps",
        "_sends_high_watermarks",
        "follower_calls",
        "readable",
        "reader",
    )

    def __init__(
        self,
        hosted: HostedPartitions,
        purgatories: Purgatories,
        follower_calls: FollowerCalls,
        isr_maintenance: IsrMaintenance,
        meters: Meters,
        clock: Clock,
        on_storage_failure: Callable[[Partition, StorageFailure], None],
        run_steps: RunSteps,
        *,
        selection: RackAwareSelection | None,
    ) -> None:
        """`selection` sends consumers to followers, which then must learn of each rise of HW (F6, case H)."""
        self._hosted = hosted
        self._purgatories = purgatories
        self.follower_calls = follower_calls
        self._isr_maintenance = isr_maintenance
        self._meters = meters
        self._clock = clock
        self.reader = Reader(hosted, on_storage_failure, selection)
        self._sends_high_watermarks = selection is not None
        """F6, case H."""
        self.readable = Readable(hosted, sends_high_watermarks=self._sends_high_watermarks)
        self._run_steps = run_steps

    def fetch(
        self, params: FetchParams, fetches: Sequence[PartitionFetch], later: Later[list[FetchOutcome]]
    ) -> list[FetchOutcome] | DelayedFetch:
        """Read; returns the answer, or the delayed fetch that will pass its answer to `later`."""
        outcomes = self.reader.read(params, fetches)
        self.note_reads(params, fetches, outcomes)
        if fetches and may_wait(params, outcomes):
            return self._park(params, fetches, outcomes, later)
        self.note_answer(params, fetches, outcomes)
        return outcomes

    def fetch_in_steps(
        self, params: FetchParams, fetches: Sequence[PartitionFetch], later: Later[list[FetchOutcome]]
    ) -> Steps[list[FetchOutcome] | DelayedFetch]:
        """`fetch` for very many partitions, a few in each step; a delayed fetch is answered in steps, too."""
        outcomes = yield from self.reader.read_in_steps(params, fetches)
        for begin in range(0, len(fetches), ITEMS_PER_STEP):
            some = slice(begin, begin + ITEMS_PER_STEP)
            self.note_reads(params, fetches[some], outcomes[some])
            yield
        if not (yield from may_wait_in_steps(params, outcomes)):
            yield from self.note_answer_in_steps(params, fetches, outcomes)
            return outcomes
        starts = yield from listed(map(_POSITION, outcomes))
        operation = WideFetch(
            self._unfilled(params, fetches, starts),
            lambda later: self._run_steps(self._finish(params, fetches, later)),
            later,
        )
        yield
        if (yield from operation.park_in_steps(self._purgatories.fetch)):
            return (yield from self._read_again(params, fetches))
        self.follower_calls.note_waiting(params, operation)
        return operation

    def _read_again(
        self, params: FetchParams, fetches: Sequence[PartitionFetch]
    ) -> Steps[list[FetchOutcome]]:
        outcomes = yield from self.reader.read_in_steps(params, fetches)
        yield from self.note_answer_in_steps(params, fetches, outcomes)
        return outcomes

    def _finish(
        self, params: FetchParams, fetches: Sequence[PartitionFetch], later: Later[list[FetchOutcome]]
    ) -> Steps[None]:
        later((yield from self._read_again(params, fetches)))

    def note_answer_in_steps(
        self, params: FetchParams, fetches: Sequence[PartitionFetch], outcomes: Sequence[FetchOutcome]
    ) -> Steps[None]:
        """`note_answer`, a few partitions in each step."""
        for begin in range(0, len(fetches), ITEMS_PER_STEP):
            some = slice(begin, begin + ITEMS_PER_STEP)
            self.note_answer(params, fetches[some], outcomes[some])
            yield

    def note_reads(
        self, params: FetchParams, fetches: Sequence[PartitionFetch], outcomes: Sequence[FetchOutcome]
    ) -> None:
        """Count first reads in the meters, and update the state of the follower that reads."""
        self._meter_reads(fetches, outcomes)
        if params.is_from_follower:
            self._note_follower(params, fetches, outcomes)

    def _note_follower(
        self, params: FetchParams, fetches: Sequence[PartitionFetch], outcomes: Sequence[FetchOutcome]
    ) -> None:
        """R10, R3, R14: update the follower's state; wake operations where HW or the low watermark rose."""
        now_ms = self._clock.monotonic_ms()
        for fetch, outcome in zip(fetches, outcomes, strict=True):
            if outcome.error_code is not ErrorCode.NONE or outcome.diverging_epoch is not None:
                continue
            partition = self._hosted.get(fetch.topic_partition)
            # The partition is gone if its directory failed while a later partition was read.
            if partition is None or not partition.has_follower(params.replica_id, params.replica_epoch):
                continue
            low_watermark_rose = partition.note_fetch(
                params.replica_id, outcome.position, fetch.log_start_offset, now_ms
            )
            self._isr_maintenance.consider_joining(partition, params.replica_id, params.replica_epoch)
            if partition.raise_high_watermark(now_ms) or low_watermark_rose:
                self._purgatories.wake_soon(fetch.topic_partition)

    def _park(
        self,
        params: FetchParams,
        fetches: Sequence[PartitionFetch],
        outcomes: Sequence[FetchOutcome],
        later: Later[list[FetchOutcome]],
    ) -> list[FetchOutcome] | DelayedFetch:
        def read_again() -> list[FetchOutcome]:
            outcomes = self.reader.read(params, fetches)
            self.note_answer(params, fetches, outcomes)
            return outcomes

        starts = [outcome.position for outcome in outcomes]
        operation = DelayedFetch(self._unfilled(params, fetches, starts), read_again, later)
        keys = list(dict.fromkeys(fetch.topic_partition for fetch in fetches))
        known = operation.park(self._purgatories.fetch, keys)
        if known is not None:
            return known
        self.follower_calls.note_waiting(params, operation)
        return operation

    def _unfilled(
        self, params: FetchParams, fetches: Sequence[PartitionFetch], starts: Sequence[LogPosition]
    ) -> UnfilledFetch:
        return UnfilledFetch(
            self._clock.monotonic_ms() + self.follower_calls.max_wait_ms(params),
            params,
            fetches,
            starts,
            self.readable,
            self._meters,
        )

    def note_answer(
        self, params: FetchParams, fetches: Sequence[PartitionFetch], outcomes: Sequence[FetchOutcome]
    ) -> None:
        """Count the answer in the meters."""
        is_from_follower = params.is_from_follower
        for fetch, outcome in zip(fetches, outcomes, strict=True):
            size_bytes = len(outcome.records)
            if size_bytes > 0:
                meter = self._meters.of_topic(fetch.topic_partition.topic)
                if is_from_follower:
                    meter.replication_bytes_out += size_bytes
                    self._count_in_quota(params, fetch, size_bytes)
                else:
                    meter.bytes_out += size_bytes
            if is_from_follower and self._sends_high_watermarks:
                self._note_high_watermark_sent(params, fetch, outcome)

    def _count_in_quota(self, params: FetchParams, fetch: PartitionFetch, size_bytes: int) -> None:
        """F8."""
        partition = None if params.quota is None else self._hosted.get(fetch.topic_partition)
        if params.quota is not None and partition is not None:
            params.quota.record(fetch.topic_partition, partition.log.config, size_bytes)

    def _note_high_watermark_sent(
        self, params: FetchParams, fetch: PartitionFetch, outcome: FetchOutcome
    ) -> None:
        partition = self._hosted.get(fetch.topic_partition)
        leadership = None if partition is None else partition.leadership
        remote = None if leadership is None else leadership.remotes.get(params.replica_id)
        if remote is not None and outcome.error_code is ErrorCode.NONE:
            remote.note_answer(outcome.high_watermark)

    def _meter_reads(self, fetches: Sequence[PartitionFetch], outcomes: Sequence[FetchOutcome]) -> None:
        for fetch, outcome in zip(fetches, outcomes, strict=True):
            if self._hosted.get(fetch.topic_partition) is not None:
                meter = self._meters.of_topic(fetch.topic_partition.topic)
                meter.fetch_requests += 1
                if outcome.error_code is not ErrorCode.NONE:
                    meter.note_fetch_error(outcome.error_code)


def may_wait(params: FetchParams, outcomes: Sequence[FetchOutcome]) -> bool:
    """F1: whether a fetch of at least one partition is parked rather than answered at once.

    `outcomes` are those of the partitions that were read: the quiet ones of a session have nothing to answer.
    """
    return params.max_wait_ms > 0 and _gathered(outcomes, 0, params.min_bytes) < params.min_bytes


def may_wait_in_steps(params: FetchParams, outcomes: Sequence[FetchOutcome]) -> Steps[bool]:
    """`may_wait` where there are very many, in steps."""
    if params.max_wait_ms <= 0:
        return False
    read_bytes = 0
    for begin in range(0, len(outcomes), LOOKED_AT_PER_STEP):
        some = outcomes[begin : begin + LOOKED_AT_PER_STEP]
        read_bytes = _gathered(some, read_bytes, params.min_bytes)
        yield
    return read_bytes < params.min_bytes


def _gathered(outcomes: Sequence[FetchOutcome], read_bytes: int, min_bytes: int) -> int:
    """Returns `read_bytes` with those of these outcomes; at least `min_bytes` if one cannot wait."""
    for outcome in outcomes:
        if (
            outcome.error_code is not ErrorCode.NONE
            or outcome.diverging_epoch is not None
            or outcome.preferred_read_replica != NO_BROKER
        ):
            return max(read_bytes, min_bytes)
        read_bytes += len(outcome.records)
    return read_bytes
