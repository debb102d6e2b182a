"""Appends to one partition that this broker leads: checks, the log's errors as codes, then HW (R6, R7).

Invariants: one partition's error never affects another partition; nothing is written unless the returned
status says so.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from odradek.base.buffers import Buffer
from odradek.base.clock import Clock
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import LogError, OdradekError, RecordError, StorageFailure, code_of
from odradek.base.ids import NO_OFFSET, TopicPartition
from odradek.base.settings.definition import LONG_MAX
from odradek.base.topic_names import INTERNAL_TOPICS
from odradek.records.validation import ValidatedRecords, validate_in_steps
from odradek.records.work import RecordSteps
from odradek.replication.hosted_partitions import HostedPartitions
from odradek.replication.metering import Meters
from odradek.replication.outcomes import AppendOutcome
from odradek.replication.partition import Partition
from odradek.replication.produce_status import ProduceStatus
from odradek.storage import AppendInfo, Origin

ACKS_ALL: Final = -1
ACKS_NONE: Final = 0
ACKS_LEADER: Final = 1
ACKS: Final = (ACKS_ALL, ACKS_NONE, ACKS_LEADER)


@dataclass(frozen=True, slots=True)
class CheckedRecords:
    """Batches validated for one replica; invalid for one of the same name that is created later."""

    records: ValidatedRecords
    partition: Partition


Batches: TypeAlias = Buffer | CheckedRecords | LogError | ErrorCode
"""One partition's part of an append: the bytes as received, the validated batches, or the refusal."""

_WITHOUT_LOG_START: Final = frozenset(
    {
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)


class Appender:
    """Appends to local leaders. `on_storage_failure` takes the log's directory offline."""

    __slots__ = ("_clock", "_hosted", "_meters", "_on_storage_failure")

    def __init__(
        self,
        hosted: HostedPartitions,
        clock: Clock,
        meters: Meters,
        on_storage_failure: Callable[[Partition, StorageFailure], None],
    ) -> None:
        self._hosted = hosted
        self._clock = clock
        self._meters = meters
        self._on_storage_failure = on_storage_failure

    def check(
        self, entries: Mapping[TopicPartition, Buffer]
    ) -> RecordSteps[Mapping[TopicPartition, Batches]]:
        """Validate a client's batches; where that fails, the result makes `append` answer with the error."""
        now_ms = self._clock.wall_ms()
        checked: dict[TopicPartition, Batches] = {}
        for topic_partition, batches in entries.items():
            found = self._hosted.replica(topic_partition)
            if isinstance(found, ErrorCode):
                checked[topic_partition] = found
                yield None
                continue
            try:
                records = yield from validate_in_steps(batches, found.log.client_rules, now_ms)
                checked[topic_partition] = CheckedRecords(records, found)
            except LogError as refusal:
                checked[topic_partition] = refusal
            yield None
        return checked

    def append(
        self,
        topic_partition: TopicPartition,
        batches: Batches,
        *,
        acks: int,
        origin: Origin,
        internal_allowed: bool,
    ) -> ProduceStatus:
        """R6: append `batches`; returns the status, with the error where they are refused."""
        if topic_partition.topic in INTERNAL_TOPICS and not internal_allowed:
            return _refused(topic_partition, ErrorCode.INVALID_TOPIC_EXCEPTION)
        if isinstance(batches, ErrorCode):
            return _refused(topic_partition, batches)
        found = self._hosted.replica(topic_partition)
        if isinstance(found, ErrorCode):
            return _refused(topic_partition, found)
        if not found.log.is_settled:  # X6: the append would wait for the disk on the broker's thread
            return _refused(topic_partition, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        meter = self._meters.of_topic(topic_partition.topic)
        meter.produce_requests += 1
        if acks == ACKS_ALL and found.is_under_min_isr:
            meter.note_produce_error(ErrorCode.NOT_ENOUGH_REPLICAS)
            return _refused(topic_partition, ErrorCode.NOT_ENOUGH_REPLICAS)
        try:
            if isinstance(batches, LogError):
                raise batches
            if isinstance(batches, CheckedRecords):
                if batches.partition is not found:  # deleted meanwhile, and created again
                    return _refused(topic_partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
                info = found.append(batches.records, origin, self._clock.wall_ms())
            else:
                info = found.append(batches, origin, self._clock.wall_ms())
        except OdradekError as error:
            meter.note_produce_error(code_of(error))
            if isinstance(error, StorageFailure):
                self._on_storage_failure(found, error)
            return ProduceStatus(topic_partition, _refusal(found, error))
        if not info.duplicate:
            meter.bytes_in += info.size_bytes
            meter.messages_in += info.record_count
        return self._appended(found, info, acks)

    def _appended(self, partition: Partition, info: AppendInfo, acks: int) -> ProduceStatus:
        waits_for_replicas = acks == ACKS_ALL
        config = partition.log.config
        must_be_on_disk = config.odradek_log_flush_before_ack or (
            info.flush_due and config.flush_messages < LONG_MAX
        )
        waits_for_disk = acks != ACKS_NONE and must_be_on_disk
        required_offset = info.last_offset + 1
        high_watermark_rose = partition.raise_high_watermark(self._clock.monotonic_ms())
        acknowledged: ErrorCode | None = ErrorCode.NONE
        if waits_for_replicas or waits_for_disk:
            acknowledged = partition.acknowledgement(
                required_offset, by_replicas=waits_for_replicas, on_disk=waits_for_disk
            )
        outcome = AppendOutcome(
            ErrorCode.REQUEST_TIMED_OUT if acknowledged is None else acknowledged,
            info.first_offset,
            info.log_append_time_ms,
            info.log_start_offset,
        )
        # Set one by one: arguments by name would triple what this object costs.
        status = ProduceStatus(partition.topic_partition, outcome)
        status.is_appended = True
        status.required_offset = required_offset
        status.waits_for_replicas = waits_for_replicas
        status.waits_for_disk = waits_for_disk
        status.flush_due = info.flush_due or waits_for_disk
        status.high_watermark_rose = high_watermark_rose
        status.acks_pending = acknowledged is None
        return status


def _refused(topic_partition: TopicPartition, error_code: ErrorCode) -> ProduceStatus:
    return ProduceStatus(topic_partition, AppendOutcome(error_code=error_code))


def _refusal(partition: Partition, error: OdradekError) -> AppendOutcome:
    """The outcome for a refused append; for errors of the producer it also has the log start (KIP-360)."""
    code = code_of(error)
    return AppendOutcome(
        code,
        log_start_offset=NO_OFFSET if code in _WITHOUT_LOG_START else partition.log.log_start_offset,
        error_message=str(error) or None,
        record_errors=error.records if isinstance(error, RecordError) else (),
    )
