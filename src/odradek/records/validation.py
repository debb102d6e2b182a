"""Validates batches that a log did not write itself, before it gives them offsets.

Two levels (`odradek.record.validation`, measured in docs/decisions/0003-record-validation.md). `header`
costs per batch: the 61 bytes are read, length and CRC checked, the rest passes untouched and uncopied.
`full` also walks the records, uncompressing them within a bound. Compacted topics, a limit on a record's
age and another codec than the producer's need the records and walk them always.

    64 KB batch, one read of its header, one CRC   ->   the same bytes, ready for `assign_offsets`

The rules about records apply only to batches of clients, not to those that the coordinators write. A batch
that arrived damaged is CorruptRecord, which clients send again; every other error is final, also for a
truncated batch, since TCP does not truncate.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeAlias

from odradek.base.buffers import Buffer
from odradek.base.errors import (
    InvalidRecord,
    InvalidTimestamp,
    LogError,
    RecordTooLarge,
    UnsupportedCompression,
)
from odradek.base.ids import NO_PRODUCER_ID
from odradek.base.settings import TopicConfig
from odradek.base.values import value
from odradek.records.builder import assemble_batch
from odradek.records.compression import CODECS_BY_NAME, DECOMPRESSED_BYTES_MAX, Codec
from odradek.records.framing import (
    LONG_MAX,
    LONG_MIN,
    RECORD_BYTES_MIN,
    RecordOutline,
    body_in_steps,
    discard_in_steps,
    iter_outlines,
)
from odradek.records.header import (
    CODEC_MASK,
    CONTROL_BIT,
    HEADER_BYTES,
    LOG_APPEND_TIME_BIT,
    NO_TIMESTAMP,
    TRANSACTIONAL_BIT,
    BatchHeader,
    check_crc,
    read_header,
)
from odradek.records.record_check import RECORDS_PER_STEP, RecordSummary, check_in_steps, check_records
from odradek.records.work import Away, RecordSteps, finish

# The largest number of records that an error names.
RECORDS_BLAMED_MAX = 100
# Up to this size a batch is recompressed on this thread; larger ones go to another thread.
RECOMPRESSED_HERE_BYTES_MAX = 4 << 10

FaultOf: TypeAlias = Callable[[RecordOutline], str | None]
"""A description of what is wrong with a record."""
Blamed: TypeAlias = tuple[tuple[int, str], ...]
"""Records by their number in the batch, and what is wrong with each."""

_NO_CODEC, _LAST_CODEC = int(Codec.NONE), int(Codec.ZSTD)


@value
class ValidationRules:
    """The rules of one topic for one kind of writer; made once, then used for every append."""

    # Whether a client wrote the batches: one batch, no control records, and all rules about records.
    from_client: bool = True
    # Largest batch, as stored.
    max_message_bytes: int = 1_048_588
    # The log sets the timestamps, so that the producer's are not looked at.
    log_append_time: bool = False
    # How far a timestamp may lie behind and ahead of the append, in ms.
    timestamp_before_max_ms: int = LONG_MAX
    timestamp_after_max_ms: int = 3_600_000
    # Every record needs a key, or it could never be compacted.
    compacted: bool = False
    # The codec of stored batches, None to keep the producer's; and its level, None for the codec's default.
    codec: int | None = None
    level: int | None = None
    # `odradek.record.validation=full`.
    walks_records: bool = False
    # What the records of one batch may take uncompressed, where they are looked at.
    decompressed_bytes_max: int = DECOMPRESSED_BYTES_MAX

    @property
    def needs_records(self) -> bool:
        """Whether a client's batch is walked."""
        return self.from_client and (
            self.walks_records
            or self.compacted
            or self.codec is not None
            or (self.timestamp_before_max_ms < LONG_MAX and not self.log_append_time)
        )


def rules_of(config: TopicConfig, *, from_client: bool = True) -> ValidationRules:
    """The rules that a topic's settings make."""
    codec = CODECS_BY_NAME.get(config.compression_type)
    levels: dict[int | None, int] = {
        Codec.LZ4: config.compression_lz4_level,
        Codec.ZSTD: config.compression_zstd_level,
    }
    if config.compression_gzip_level > 0:
        levels[Codec.GZIP] = config.compression_gzip_level
    return ValidationRules(
        from_client=from_client,
        max_message_bytes=config.max_message_bytes,
        log_append_time=config.message_timestamp_type == "LogAppendTime",
        timestamp_before_max_ms=config.message_timestamp_before_max_ms,
        timestamp_after_max_ms=config.message_timestamp_after_max_ms,
        compacted="compact" in config.cleanup_policy,
        codec=codec,
        level=levels.get(codec),
        walks_records=config.odradek_record_validation == "full",
    )


class _Fault(NamedTuple):
    """What is wrong with some records of a batch."""

    kind: type[InvalidRecord] | type[InvalidTimestamp]
    words: str
    of_record: FaultOf


@dataclass(slots=True)
class ValidatedRecords:
    """Batches that satisfy all rules, ready for `assign_offsets`."""

    # Writable: the buffer that was validated where that is, else the one copy of it.
    data: bytearray | memoryview
    # One for each batch in `data`, in order and without gaps; they agree with the bytes.
    headers: list[BatchHeader]


def validate(buffer: Buffer, rules: ValidationRules, now_ms: int) -> ValidatedRecords:
    """Do `validate_in_steps` at once.

    A client's usual small batch, which is plain, short and without fault, is not made steps of.
    """
    if rules.from_client and rules.walks_records and not rules.codec:  # None, or Codec.NONE
        headers = _headers_of(buffer)
        header = headers[0]
        is_plain = not header.attributes & CODEC_MASK
        if len(headers) == 1 and is_plain and header.record_count <= RECORDS_PER_STEP:
            _check_batch(buffer, header, 0, rules)
            summary = check_records(memoryview(buffer)[HEADER_BYTES:], header.record_count)
            if _fault_in_summary(header, summary, rules, now_ms) is None:
                return _accepted(buffer, header, header.base_timestamp + summary.newest_delta_ms)
    return finish(validate_in_steps(buffer, rules, now_ms))


def validate_in_steps(buffer: Buffer, rules: ValidationRules, now_ms: int) -> RecordSteps[ValidatedRecords]:
    """Check whole batches against `rules`; `now_ms` is the wall clock. A writable `buffer` is taken over, not
    copied.

    Raises CorruptRecord if a length, magic or CRC does not hold; RecordTooLarge if a batch is above
    `max_message_bytes`, before or after recompression; UnsupportedCompression if a codec does not exist;
    InvalidTimestamp if a timestamp is out of bounds, or the producer set it to LogAppendTime; InvalidRecord
    for all else. Nothing of the buffer has been changed then.

    Where single records are to blame, the error names the first RECORDS_BLAMED_MAX of them (KIP-467).
    """
    headers = _headers_of(buffer)
    if rules.from_client and len(headers) != 1:
        raise InvalidRecord(f"{len(headers)} batches for a partition, there has to be exactly one")
    position = 0
    for header in headers:
        _check_batch(buffer, header, position, rules)
        position += header.size_bytes
    if rules.needs_records:
        return (yield from _validate_records(buffer, headers[0], rules, now_ms))
    if rules.from_client:
        newest = headers[0].max_timestamp
        if (fault := _fault_in_time(newest, rules, now_ms)) is not None:
            blamed = yield from _blamed_unseen(buffer, headers[0], rules, _too_far(headers[0], rules, now_ms))
            raise InvalidTimestamp(fault, blamed)
    return ValidatedRecords(_writable(buffer), headers)


def _headers_of(buffer: Buffer) -> list[BatchHeader]:
    headers: list[BatchHeader] = []
    position, end = 0, len(buffer)
    while position < end or not headers:
        if end - position < HEADER_BYTES:
            raise InvalidRecord(f"{end - position} bytes are too few for a batch")
        header = read_header(buffer, position)
        size_bytes = header.size_bytes
        if size_bytes > end - position:
            raise InvalidRecord(f"a batch of {size_bytes} bytes is cut short after {end - position}")
        headers.append(header)
        position += size_bytes
    return headers


def _check_batch(buffer: Buffer, header: BatchHeader, position: int, rules: ValidationRules) -> None:
    if header.size_bytes > rules.max_message_bytes:
        raise _too_large(header.size_bytes, rules)
    check_crc(buffer, header, position)
    _check_header(header, rules)


def _check_size(size_bytes: int, rules: ValidationRules) -> None:
    if size_bytes > rules.max_message_bytes:
        raise _too_large(size_bytes, rules)


def _too_large(size_bytes: int, rules: ValidationRules) -> RecordTooLarge:
    return RecordTooLarge(
        f"a batch of {size_bytes} bytes is above max.message.bytes, {rules.max_message_bytes}"
    )


def _check_header(header: BatchHeader, rules: ValidationRules) -> None:
    count, attributes = header.record_count, header.attributes
    if count < 1 or header.last_offset_delta != count - 1:
        raise InvalidRecord(f"{count} records cannot have offsets 0 to {header.last_offset_delta}")
    codec = attributes & CODEC_MASK
    if codec > _LAST_CODEC:
        raise UnsupportedCompression(f"no codec has the id {codec}")
    # A lie about the count would give away offsets by the billion.
    is_plain = codec == _NO_CODEC
    room_bytes = header.size_bytes - HEADER_BYTES if is_plain else rules.decompressed_bytes_max
    if count > room_bytes // RECORD_BYTES_MIN:
        raise InvalidRecord(f"{count} records do not fit in {room_bytes} bytes")
    has_producer_id = header.producer_id > NO_PRODUCER_ID
    if has_producer_id:
        if header.producer_epoch < 0:
            raise InvalidRecord(f"producer {header.producer_id} has no epoch")
    elif attributes & TRANSACTIONAL_BIT:
        raise InvalidRecord("a transactional batch without a producer id")
    if not rules.from_client:
        return
    if header.base_offset:
        raise InvalidRecord(f"a producer's batch begins at offset 0, not {header.base_offset}")
    if attributes & CONTROL_BIT:
        raise InvalidRecord("clients may not write control records")
    if has_producer_id and header.base_sequence < 0:
        raise InvalidRecord(f"producer {header.producer_id} sent sequence number {header.base_sequence}")
    if attributes & LOG_APPEND_TIME_BIT:
        raise InvalidTimestamp("producers may not set the timestamp type to LogAppendTime")


def _fault_in_time(timestamp_ms: int, rules: ValidationRules, now_ms: int) -> str | None:
    if rules.log_append_time or timestamp_ms == NO_TIMESTAMP:
        return None
    if timestamp_ms - now_ms > rules.timestamp_after_max_ms:
        return f"timestamp {timestamp_ms} is more than {rules.timestamp_after_max_ms} ms ahead of {now_ms}"
    if now_ms - timestamp_ms > rules.timestamp_before_max_ms:
        return f"timestamp {timestamp_ms} is more than {rules.timestamp_before_max_ms} ms behind {now_ms}"
    return None


def _too_far(header: BatchHeader, rules: ValidationRules, now_ms: int) -> FaultOf:
    base_ms = header.base_timestamp
    return lambda record: _fault_in_time(base_ms + record.timestamp_delta_ms, rules, now_ms)


def _fault_in_key(record: RecordOutline) -> str | None:
    return None if record.has_key else "it has no key, which a compacted topic needs"


def _blamed(body: Buffer, header: BatchHeader, fault_of: FaultOf) -> RecordSteps[Blamed]:
    """The records of a refused batch that have a fault, by their numbers; none when they do not add up."""
    blamed: list[tuple[int, str]] = []
    try:
        for number, record in enumerate(iter_outlines(body, header)):
            fault = fault_of(record)
            if fault is not None:
                blamed.append((number, fault))
                if len(blamed) == RECORDS_BLAMED_MAX:
                    break
            if number % RECORDS_PER_STEP == 0:
                yield None
    except InvalidRecord:
        return ()
    return tuple(blamed)


def _blamed_unseen(
    buffer: Buffer, header: BatchHeader, rules: ValidationRules, fault_of: FaultOf
) -> RecordSteps[Blamed]:
    """`_blamed` for records that have not been decompressed yet."""
    try:
        body = yield from body_in_steps(buffer, header, bytes_max=rules.decompressed_bytes_max)
    except InvalidRecord:
        return ()
    blamed = yield from _blamed(body, header, fault_of)
    yield from discard_in_steps(body, header)
    return blamed


def _validate_records(
    buffer: Buffer, header: BatchHeader, rules: ValidationRules, now_ms: int
) -> RecordSteps[ValidatedRecords]:
    """The part of `validate` that looks at the records of a client's one batch."""
    body = yield from body_in_steps(buffer, header, bytes_max=rules.decompressed_bytes_max)
    try:
        records = yield from _validate_body(buffer, body, header, rules, now_ms)
    except LogError:
        yield from discard_in_steps(body, header)
        raise
    yield from discard_in_steps(body, header)
    return records


def _validate_body(
    buffer: Buffer, body: Buffer, header: BatchHeader, rules: ValidationRules, now_ms: int
) -> RecordSteps[ValidatedRecords]:
    summary = yield from check_in_steps(body, header.record_count)
    fault = _fault_in_summary(header, summary, rules, now_ms)
    if fault is not None:
        raise fault.kind(fault.words, (yield from _blamed(body, header, fault.of_record)))
    newest = header.base_timestamp + summary.newest_delta_ms
    if rules.codec is None or rules.codec == header.codec:
        return _accepted(buffer, header, newest)
    header.max_timestamp = newest
    if rules.codec == _NO_CODEC:
        _check_size(HEADER_BYTES + len(body), rules)
    assemble = partial(assemble_batch, header, body, rules.codec, rules.level)
    if len(body) <= RECOMPRESSED_HERE_BYTES_MAX:
        data = assemble()
    else:
        data = yield Away(assemble)
    _check_size(len(data), rules)
    return ValidatedRecords(data, [header])


def _fault_in_summary(
    header: BatchHeader, summary: RecordSummary, rules: ValidationRules, now_ms: int
) -> _Fault | None:
    """What the topic's rules refuse among the records of a batch, if anything."""
    if rules.compacted and summary.first_without_key is not None:
        words = f"record {summary.first_without_key} has no key, which a compacted topic needs"
        return _Fault(InvalidRecord, words, _fault_in_key)
    oldest = header.base_timestamp + summary.oldest_delta_ms
    newest = header.base_timestamp + summary.newest_delta_ms
    if oldest < LONG_MIN or newest > LONG_MAX:
        raise InvalidRecord("a record has a timestamp of more than 64 bits")
    if rules.log_append_time:
        return None
    late = _fault_in_time(newest, rules, now_ms)
    if late is None and oldest != newest:
        late = _fault_in_time(oldest, rules, now_ms)
    return None if late is None else _Fault(InvalidTimestamp, late, _too_far(header, rules, now_ms))


def _accepted(buffer: Buffer, header: BatchHeader, newest_ms: int) -> ValidatedRecords:
    """The batch as it came; some clients leave a wrong largest timestamp in the header, on which lookups by
    time and retention rely."""
    writable = _writable(buffer)
    if header.max_timestamp != newest_ms:
        header.max_timestamp = newest_ms
        header.seal_into(writable)
    return ValidatedRecords(writable, [header])


def _writable(buffer: Buffer) -> bytearray | memoryview:
    if isinstance(buffer, bytearray) or (isinstance(buffer, memoryview) and not buffer.readonly):
        return buffer
    return bytearray(buffer)
