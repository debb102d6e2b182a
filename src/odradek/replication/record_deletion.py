"""Handles a DeleteRecords request from its arrival to its answer (KIP-107).

The leader raises its own log start at once. Followers learn it from Fetch responses and send their own log
start in the next fetch, which raises the low watermark.
"""

from collections.abc import Callable, Mapping
from typing import Final

from odradek.base.clock import Clock
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import OdradekError, StorageFailure, code_of
from odradek.base.execution import Later, Steps
from odradek.base.ids import Offset, TopicPartition
from odradek.base.topic_names import INTERNAL_TOPICS
from odradek.replication.delayed_delete_records import DelayedDeleteRecords, DeletionStatus
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
        """Delete in steps, one partition in each; the result is ready when the live replicas followed."""
        statuses: dict[TopicPartition, DeletionStatus] = {}
        for topic_partition, offset in offsets.items():
            if statuses:
                yield
            statuses[topic_partition] = self._delete_from(topic_partition, offset, internal_allowed)
        if not any(status.is_pending for status in statuses.values()):
            return {key: status.outcome for key, status in statuses.items()}
        deadline_ms = self._clock.monotonic_ms() + max(0, timeout_ms)
        operation = DelayedDeleteRecords(deadline_ms, statuses, self._hosted, later)
        return operation.park(self._purgatories.delete_records, list(offsets))

    def _delete_from(
        self, topic_partition: TopicPartition, offset: Offset, internal_allowed: bool
    ) -> DeletionStatus:
        found = self._hosted.replica(topic_partition)
        if isinstance(found, ErrorCode):
            return _refused(topic_partition, found)
        if topic_partition.topic in INTERNAL_TOPICS and not internal_allowed:
            return _refused(topic_partition, ErrorCode.INVALID_TOPIC_EXCEPTION)
        log = found.log
        if "delete" not in log.config.cleanup_policy:
            return _refused(topic_partition, ErrorCode.POLICY_VIOLATION)
        if offset == HIGH_WATERMARK:
            offset = log.high_watermark.offset
        if offset < 0:
            return _refused(topic_partition, ErrorCode.OFFSET_OUT_OF_RANGE)
        try:
            log.delete_records_before(offset)
        except OdradekError as error:
            if isinstance(error, StorageFailure):
                self._on_storage_failure(found, error)
            return _refused(topic_partition, code_of(error))
        self._purgatories.note_change(topic_partition)
        low_watermark = found.low_watermark()
        is_pending = low_watermark < offset
        error_code = ErrorCode.REQUEST_TIMED_OUT if is_pending else ErrorCode.NONE
        return DeletionStatus(
            topic_partition, DeleteRecordsOutcome(error_code, low_watermark), offset, is_pending
        )


def _refused(topic_partition: TopicPartition, error_code: ErrorCode) -> DeletionStatus:
    return DeletionStatus(topic_partition, DeleteRecordsOutcome(error_code))
