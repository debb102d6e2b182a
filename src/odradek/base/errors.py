"""The error tree: what can go wrong because of a peer, a disk or a user.

Programming errors are assertions and crash; the errors here are handled. An error reaches a peer as an error
code, and only `WIRE_CODES` maps errors to codes:

    OdradekError
    ├── ApiError                   a refusal that carries its own error code
    │   ├── ElementsRefused            some of the elements of one operation were refused, each with its error
    │   ├── TransactionAbortable       the transaction failed: abort it, and do it again
    │   └── ProducerFatal              the producer failed, it was fenced say: close it
    ├── MalformedRequest           bytes that are not a request: the connection is closed
    ├── SettingError               a setting that a user wrote: one sentence, exit code 2
    ├── DataDirectoryError         a data directory that cannot be used: one sentence, exit code 2
    ├── FaultRefused               a fault that a test cannot set as it wrote it: one sentence
    ├── WakeupError                a consumer's poll that another thread has ended
    └── LogError                   what a log refuses or cannot do
        ├── CorruptRecord              length, magic or CRC do not hold
        ├── RecordError                what may be wrong with single records, which it names
        │   ├── InvalidRecord              breaks a rule: one whole batch, count, framing, missing key
        │   └── InvalidTimestamp           outside message.timestamp.{before,after}.max.ms
        ├── UnsupportedCompression     a codec that the topic or the version does not allow
        ├── RecordTooLarge             one batch above max.message.bytes
        ├── RecordListTooLarge         a batch above segment.bytes
        ├── OffsetOutOfRange           below the log's start or above its end
        ├── OutOfOrderSequence         a gap in an idempotent producer's sequence
        ├── DuplicateSequence          a batch older than the five that are remembered
        ├── InvalidProducerEpoch       a producer that was fenced by a newer epoch
        ├── UnknownProducer            a producer id that has expired here
        ├── InvalidTransactionState    a transactional write that no transaction allows
        ├── FileUnavailable            one file cannot be opened or read, the disk works otherwise
        └── StorageFailure             the disk failed: the log directory goes offline
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from odradek.base.error_codes import ErrorCode


class OdradekError(Exception):
    """The root: everything that Odradek raises for others to handle."""


class ApiError(OdradekError):
    """A refusal that names its own error code."""

    def __init__(self, code: ErrorCode, message: str = "") -> None:
        super().__init__(message or code.name)
        self.code = code
        self.message = message


_SHOWN = 3
"""How many refusals of one operation its message has."""


class ElementsRefused(ApiError):
    """Of the elements of one operation (topics, partitions, replicas) at least one was refused.

    The code is that of the first, the message has those of the first few; `refused` has the error of each,
    `done` the others.
    """

    def __init__(
        self,
        refused: Mapping[Any, ApiError],  # any hashable key; Mapping's keys are invariant
        done: Sequence[Hashable],
        verb: str = "done",
    ) -> None:
        first, *more = refused.values()
        said = [*map(str, [first, *more][:_SHOWN])]
        if len(refused) > _SHOWN:
            said.append(f"{len(refused) - _SHOWN} more were refused")
        if done:
            said.append(f"{verb}: {', '.join(map(str, done))}")
        super().__init__(first.code, "; ".join(said))
        self.refused = dict(refused)
        self.done = list(done)


class TransactionAbortable(ApiError):
    """A transaction failed: the application aborts it, and may do it again with the same producer."""


class ProducerFatal(ApiError):
    """A transactional producer can write no more: another one has its id, or it may not use it."""


class MalformedRequest(OdradekError):
    """Bytes that do not decode as the request they claim to be."""


class SettingError(OdradekError):
    """A setting with an unknown name or a value that it cannot take."""


class DataDirectoryError(OdradekError):
    """A data directory in use by another broker, of another cluster, or not writable."""


class FaultRefused(OdradekError):
    """A request about faults that cannot be carried out; the message is a sentence."""


class WakeupError(OdradekError):
    """`wakeup` was called; the consumer is as usable as before."""


class LogError(OdradekError):
    """What a log refuses or cannot do."""


class CorruptRecord(LogError):
    """A batch whose length, magic or CRC does not hold."""


class RecordError(LogError):
    """A batch that is refused, however often it is sent."""

    def __init__(self, message: str = "", records: tuple[tuple[int, str], ...] = ()) -> None:
        super().__init__(message)
        # Indexes of the invalid records in the batch, each with its fault; empty: the whole batch is refused.
        self.records = records


class InvalidRecord(RecordError):
    """Not one whole batch, or one that breaks a rule."""


class InvalidTimestamp(RecordError):
    """A record too far in the past or the future."""


class UnsupportedCompression(LogError):
    """A codec that may not be used here."""


class RecordTooLarge(LogError):
    """A batch above `max.message.bytes`."""


class RecordListTooLarge(LogError):
    """A batch above `segment.bytes`."""


class OffsetOutOfRange(LogError):
    """An offset below the log's start or above its end."""


class OutOfOrderSequence(LogError):
    """A gap in the sequence numbers of an idempotent producer."""


class DuplicateSequence(LogError):
    """A batch that was appended before the ones whose offsets are still remembered."""


class InvalidProducerEpoch(LogError):
    """A producer that a newer epoch has fenced."""


class UnknownProducer(LogError):
    """A producer id that this log does not know."""


class InvalidTransactionState(LogError):
    """A transactional write outside any transaction that this log knows of."""


class FileUnavailable(LogError):
    """A file of one log is gone or cannot be opened (permissions, open files); the disk has not failed."""


class StorageFailure(LogError):
    """The disk failed; the message names the directory and the system's own error."""


WIRE_CODES: dict[type[OdradekError], ErrorCode] = {
    MalformedRequest: ErrorCode.INVALID_REQUEST,
    SettingError: ErrorCode.INVALID_CONFIG,
    CorruptRecord: ErrorCode.CORRUPT_MESSAGE,
    RecordError: ErrorCode.INVALID_RECORD,
    InvalidRecord: ErrorCode.INVALID_RECORD,
    InvalidTimestamp: ErrorCode.INVALID_TIMESTAMP,
    UnsupportedCompression: ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
    RecordTooLarge: ErrorCode.MESSAGE_TOO_LARGE,
    RecordListTooLarge: ErrorCode.RECORD_LIST_TOO_LARGE,
    OffsetOutOfRange: ErrorCode.OFFSET_OUT_OF_RANGE,
    OutOfOrderSequence: ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    DuplicateSequence: ErrorCode.DUPLICATE_SEQUENCE_NUMBER,
    InvalidProducerEpoch: ErrorCode.INVALID_PRODUCER_EPOCH,
    UnknownProducer: ErrorCode.UNKNOWN_PRODUCER_ID,
    InvalidTransactionState: ErrorCode.INVALID_TXN_STATE,
    FileUnavailable: ErrorCode.KAFKA_STORAGE_ERROR,
    StorageFailure: ErrorCode.KAFKA_STORAGE_ERROR,
}


def code_of(error: OdradekError) -> ErrorCode:
    """The wire code of an error, or of its nearest kind that the table names; else UNKNOWN_SERVER_ERROR."""
    if isinstance(error, ApiError):
        return error.code
    codes = (WIRE_CODES[kind] for kind in type(error).__mro__ if kind in WIRE_CODES)
    return next(codes, ErrorCode.UNKNOWN_SERVER_ERROR)
