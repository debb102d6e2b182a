"""The outcomes of operations per partition: plain data, which the handlers turn into wire messages.

Data without behaviour. A new outcome means success with an empty result; errors are set afterwards.
"""

from dataclasses import dataclass
from typing import TypeAlias

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import NO_BROKER, NO_EPOCH, NO_OFFSET, BrokerId, LeaderEpoch, Offset, TopicPartition
from odradek.base.stored_bytes import StoredBytes
from odradek.storage import AbortedTransaction, EpochEnd, LogPosition
from odradek.storage.positions import UNKNOWN_POSITION

NO_TIMESTAMP = -1


@dataclass(slots=True)
class AppendOutcome:
    """A partition's part of the answer to a produce."""

    error_code: ErrorCode = ErrorCode.NONE
    base_offset: Offset = NO_OFFSET
    """The first record's offset; -1 if the append failed (P1). As in Kafka, later errors keep it."""
    log_append_time_ms: int = NO_TIMESTAMP
    """The timestamp of the records under `message.timestamp.type=LogAppendTime`, else -1."""
    log_start_offset: Offset = NO_OFFSET
    error_message: str | None = None
    """The error in words; None where the code says enough."""
    record_errors: tuple[tuple[int, str], ...] = ()
    """Indexes of the records that made the batch fail, each with its message (Produce 8)."""


AppendOutcomes: TypeAlias = dict[TopicPartition, AppendOutcome]
"""The answer to a produce."""


@dataclass(slots=True)
class FetchOutcome:
    """A partition's part of the answer to a fetch."""

    error_code: ErrorCode = ErrorCode.NONE
    high_watermark: Offset = NO_OFFSET
    """HW before the follower's state was updated by this fetch (R10); -1 with an error (R9)."""
    last_stable_offset: Offset = NO_OFFSET
    log_start_offset: Offset = NO_OFFSET
    records: bytes | memoryview | StoredBytes = b""
    aborted_transactions: list[AbortedTransaction] | None = None
    """The aborted transactions for a read-committed fetch; None for any other."""
    preferred_read_replica: BrokerId = NO_BROKER
    """The replica that this consumer should read from (R13), or -1."""
    diverging_epoch: EpochEnd | None = None
    """Where the log diverges from the fetcher's (F9); None if it does not."""
    position: LogPosition = UNKNOWN_POSITION
    """The position of the fetch offset; unknown with an error. Not sent to the client."""


@dataclass(slots=True)
class DeleteRecordsOutcome:
    """A partition's part of the answer to a DeleteRecords."""

    error_code: ErrorCode = ErrorCode.NONE
    low_watermark: Offset = NO_OFFSET
    """The least log start over the live replicas; -1 with an error."""


DeleteRecordsOutcomes: TypeAlias = dict[TopicPartition, DeleteRecordsOutcome]
"""The answer to a DeleteRecords."""


@dataclass(slots=True)
class ListedOffset:
    """The answer to a ListOffsets for one partition; offset -1 without an error: no record matches."""

    error_code: ErrorCode = ErrorCode.NONE
    timestamp_ms: int = NO_TIMESTAMP
    offset: Offset = NO_OFFSET
    leader_epoch: LeaderEpoch = NO_EPOCH


@dataclass(slots=True)
class EpochEndOutcome:
    """The answer to an OffsetForLeaderEpoch for one partition; (-1, -1) when the epoch is unknown."""

    error_code: ErrorCode = ErrorCode.NONE
    leader_epoch: LeaderEpoch = NO_EPOCH
    end_offset: Offset = NO_OFFSET
