"""Handles a DeleteRecords request from its arrival to its answer (KIP-107).

The leader raises its own log start at once. Followers learn it from Fetch responses and send their own log
start in the next fetch, which raises the low watermark.
"""

from collections.abc import Callable, Mapping
from typing import Final

from odradek.base.clock import Clock
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import OdradekError, StorageFailure, code_of
from odradek.base.execution import Later, Pace, Steps
from odradek.base.ids import NO_OFFSET, Offset, TopicPartition
from odradek.base.topic_names import INTERNAL_TOPICS
from odradek.replication.delayed_delete_records import DelayedDeleteRecords
from odradek.replication.hosted_partitions import HostedPartitions
from odradek.replication.outcomes import DeleteRecordsOutcome, DeleteRecordsOutcomes
from odradek.replication.partition import Partition
from odradek.replication.purgatories import Purgatories

HIGH_WATERMARK: Final[Offset] = -1
"""Given in place of an offset: delete all records below HW."""


class RecordDeletion:
    """Deletes old records of logs led here. `on_storage_failure` takes the log's directory offline."""

    __slots__ = ("_clock", "_hosted", "_on_storage_failure", "_purgatories")

    def __init__(
        self,
        hosted: HostedPartitions,
        purgatories: Purgatories,
        clock: Clock,
        on_storage_failure: Callable[[Partition, StorageFailure], None],
    ) -> None:
        self._hosted = hosted
        self._purgatories = purgatories
        self._clock = clock
        self._on_storage_failure = on_storage_failure

    def delete(
        self,
        offsets: Mapping[TopicPartition, Offset],
        *,
        timeout_ms: int,
        later: Later[DeleteRecordsOutcomes],
        internal_allowed: bool,
    ) -> Steps[DeleteRecordsOutcomes | None]:
        """Delete from one partition in each step; the result is ready when the live replicas followed."""
        outcomes: dict[TopicPartition, DeleteRecordsOutcome] = {}
        pending: dict[TopicPartition, Offset] = {}
        is_full, pace = False, Pace()
        for topic_partition, offset in offsets.items():
            if is_full:
                yield
            outcome, required = self._delete_from(topic_partition, offset, internal_allowed)
            outcomes[topic_partition] = outcome
            if outcome.low_watermark < required:
                pending[topic_partition] = required
            is_full = required != NO_OFFSET or pace.is_over()
        if not pending:
            return outcomes
        deadline_ms = self._clock.monotonic_ms() + max(0, timeout_ms)
        operation = DelayedDeleteRecords(deadline_ms, outcomes, pending, self._hosted, later)
        return (yield from operation.park_in_steps(self._purgatories.delete_records, list(offsets)))

    def _delete_from(
        self, topic_partition: TopicPartition, offset: Offset, internal_allowed: bool
    ) -> tuple[DeleteRecordsOutcome, Offset]:
        """Returns the outcome, and the low watermark that is required; -1 if nothing was deleted.

        While the low watermark is below that, the outcome has the error to answer if the request expires.
        """
        found = self._hosted.replica(topic_partition)
        if isinstance(found, ErrorCode):
            return _refused(found)
        if topic_partition.topic in INTERNAL_TOPICS and not internal_allowed:
            return _refused(ErrorCode.INVALID_TOPIC_EXCEPTION)
        log = found.log
        if "delete" not in log.config.cleanup_policy:
            return _refused(ErrorCode.POLICY_VIOLATION)
        if offset == HIGH_WATERMARK:
            offset = log.high_watermark.offset
        if offset < 0:
            return _refused(ErrorCode.OFFSET_OUT_OF_RANGE)
        try:
            log.delete_records_before(offset)
        except OdradekError as error:
            if isinstance(error, StorageFailure):
                self._on_storage_failure(found, error)
            return _refused(code_of(error))
        self._purgatories.note_change(topic_partition)
        low_watermark = found.low_watermark()
        error_code = ErrorCode.REQUEST_TIMED_OUT if low_watermark < offset else ErrorCode.NONE
        return DeleteRecordsOutcome(error_code, low_watermark), offset


def _refused(error_code: ErrorCode) -> tuple[DeleteRecordsOutcome, Offset]:
    return DeleteRecordsOutcome(error_code), NO_OFFSET
