"""Decodes the records inside a batch. This module must not know logs or rules.

A record is a row of varints and byte strings; its length counts what follows it:

    length  attributes  timestamp delta  offset delta  key length  key  value length  value   headers
      1a        00            06              02            02      6b       0c       hello!     00
     13 bytes            base time + 3  base offset + 1   1 byte    k     6 bytes              none

and a header is a key, which may not be null, and a value; a length of -1 is null. The bytes are not
trusted: inconsistent ones raise InvalidRecord, nothing is read outside the batch, and a count is used only if
there are bytes for it.
"""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple, TypeAlias

from odradek.base.buffers import Buffer
from odradek.base.errors import InvalidRecord
from odradek.base.ids import Offset
from odradek.records.blocks import BLOCKS_MAX, DecompressionLimit
from odradek.records.compression import DECOMPRESSED_BYTES_MAX, Codec, decompress, discard
from odradek.records.header import HEADER_BYTES, BatchHeader
from odradek.records.varint import LONG_BYTES_MAX, NULL_BITS, VARINTS, read_bits, read_varint
from odradek.records.work import Away, RecordSteps

RecordHeaders: TypeAlias = tuple[tuple[bytes, bytes | None], ...]
NamedHeaders: TypeAlias = tuple[tuple[str, bytes | None], ...]
"""The headers of a record: the name and the value of each, in the record's order."""

# Length, attributes, two deltas, two lengths and a count, at one byte each.
RECORD_BYTES_MIN = 7
# Of one header: the lengths of its key and its value.
HEADER_ENTRY_BYTES_MIN = 2

# Up to this size a batch is decompressed on this thread, in a fraction of a millisecond.
COMPRESSED_HERE_BYTES_MAX = 32 << 10
DECOMPRESSED_HERE_BYTES_MAX = 256 << 10
BLOCKS_HERE_MAX = 64
# Eight times what max.message.bytes lets in: the records of nearly every batch.
DECOMPRESSED_USUAL_BYTES_MAX = 8 << 20

LONG_MIN, LONG_MAX = -(1 << 63), (1 << 63) - 1

# What records that are written begin with, behind their length; the length of what is null; and no headers.
_ATTRIBUTES = b"\0"
_NULL = bytes((NULL_BITS,))
_NO_HEADERS = b"\0"


class Record(NamedTuple):
    """One record, complete; its bytes are copies."""

    offset: Offset
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    # Keys are UTF-8 by convention; kept as bytes, since they have not been checked.
    headers: RecordHeaders = ()


class RecordOutline(NamedTuple):
    """The fields of a record that a lookup reads."""

    offset_delta: int
    timestamp_delta_ms: int
    has_key: bool


def body_view(
    batch: Buffer,
    header: BatchHeader,
    position: int = 0,
    *,
    bytes_max: int = DECOMPRESSED_BYTES_MAX,
    blocks_free: int = BLOCKS_MAX,
) -> Buffer:
    """The records of the batch at `position`, uncompressed, without its header.

    A view of the batch where that is uncompressed itself. Raises what `decompress` does.
    """
    body = memoryview(batch)[position + HEADER_BYTES : position + header.size_bytes]
    return decompress(header.codec, body, bytes_max, blocks_free=blocks_free)


def body_in_steps(
    batch: Buffer, header: BatchHeader, position: int = 0, *, bytes_max: int = DECOMPRESSED_BYTES_MAX
) -> RecordSteps[Buffer]:
    """`body_view` in steps: small batches are decompressed on this thread, others on another thread."""
    body = memoryview(batch)[position + HEADER_BYTES : position + header.size_bytes]
    codec = header.codec
    if codec == Codec.NONE:
        return body
    result: Buffer
    if len(body) <= COMPRESSED_HERE_BYTES_MAX:
        try:
            result = decompress(
                codec, body, min(bytes_max, DECOMPRESSED_HERE_BYTES_MAX), blocks_free=BLOCKS_HERE_MAX
            )
        except DecompressionLimit:
            pass
        else:
            yield None
            return result
    if bytes_max > DECOMPRESSED_USUAL_BYTES_MAX:
        # Those of the usual size need not wait for the memory that the largest takes.
        try:
            result = yield _decompression(codec, body, DECOMPRESSED_USUAL_BYTES_MAX)
        except DecompressionLimit:
            pass
        else:
            return result
    result = yield _decompression(codec, body, bytes_max)
    return result


def discard_in_steps(body: Buffer, header: BatchHeader) -> RecordSteps[None]:
    """Free a large result of `body_in_steps`, which must not be used afterwards."""
    if header.codec != Codec.NONE and len(body) > DECOMPRESSED_HERE_BYTES_MAX:
        yield Away(partial(discard, body))


def _decompression(codec: int, body: Buffer, bytes_max: int) -> Away:
    return Away(partial(decompress, codec, body, bytes_max), bytes_max)


def body_of(
    batch: Buffer,
    header: BatchHeader,
    position: int = 0,
    *,
    bytes_max: int = DECOMPRESSED_BYTES_MAX,
    blocks_free: int = BLOCKS_MAX,
) -> bytes:
    """`body_view` as bytes, for callers that keep parts of it."""
    return bytes(body_view(batch, header, position, bytes_max=bytes_max, blocks_free=blocks_free))


def iter_records(
    batch: Buffer,
    header: BatchHeader,
    position: int = 0,
    *,
    bytes_max: int = DECOMPRESSED_BYTES_MAX,
) -> Iterator[Record]:
    """Every record of the batch at `position`, in order; the caller checks the CRC.

    Raises InvalidRecord if the records are inconsistent, UnsupportedCompression for an unknown codec.
    """
    return iter_body(body_of(batch, header, position, bytes_max=bytes_max), header)


def iter_body(body: bytes, header: BatchHeader) -> Iterator[Record]:
    """`iter_records` for records that `body_of` has uncompressed."""
    try:
        yield from _records(body, header)
    except IndexError:
        raise InvalidRecord(f"the batch ends before its {header.record_count} records do") from None


def _records(body: bytes, header: BatchHeader) -> Iterator[Record]:
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    last_delta = header.last_offset_delta
    append_time_ms = header.max_timestamp if header.is_log_append_time else None
    position, delta_before = 0, -1
    for number in range(header.record_count):
        length, position = read_varint(body, position)
        end = position + length
        if length < RECORD_BYTES_MIN - 1 or end > len(body):
            raise InvalidRecord(f"record {number} of {length} bytes ends outside its batch")
        timestamp_delta, position = read_varint(body, position + 1, LONG_BYTES_MAX)
        timestamp_ms = base_timestamp + timestamp_delta
        if not LONG_MIN <= timestamp_ms <= LONG_MAX:
            raise InvalidRecord(f"record {number} has a timestamp of more than 64 bits")
        offset_delta, position = read_varint(body, position)
        # Compaction leaves gaps; the order stays.
        if not delta_before < offset_delta <= last_delta:
            raise InvalidRecord(
                f"record {number} has offset delta {offset_delta}, the one before {delta_before}"
            )
        delta_before = offset_delta
        key, position = _read_bytes(body, position)
        value, position = _read_bytes(body, position)
        headers: RecordHeaders = ()
        if body[position]:
            headers, position = read_headers(body, position, end)
        else:
            position += 1
        if position != end:
            raise InvalidRecord(f"record {number} says it ends at byte {end} and ends at {position}")
        yield Record(
            base_offset + offset_delta,
            timestamp_ms if append_time_ms is None else append_time_ms,
            key,
            value,
            headers,
        )
    if position != len(body):
        raise InvalidRecord(f"{len(body) - position} bytes follow the last of {header.record_count} records")


def iter_outlines(body: Buffer, header: BatchHeader) -> Iterator[RecordOutline]:
    """The fields that lookups need of each record of an uncompressed `body`, without copies.

    Raises InvalidRecord if a record ends outside the batch, or offsets do not rise.
    """
    position, delta_before, last_delta, end_of_body = 0, -1, header.last_offset_delta, len(body)
    try:
        for number in range(header.record_count):
            length, position = read_varint(body, position)
            end = position + length
            if length < RECORD_BYTES_MIN - 1 or end > end_of_body:
                raise InvalidRecord(f"record {number} of {length} bytes ends outside its batch")
            timestamp_delta, position = read_varint(body, position + 1, LONG_BYTES_MAX)
            offset_delta, position = read_varint(body, position)
            if not delta_before < offset_delta <= last_delta:
                raise InvalidRecord(
                    f"record {number} has offset delta {offset_delta}, the one before {delta_before}"
                )
            delta_before = offset_delta
            key_length, _ = read_varint(body, position)
            yield RecordOutline(offset_delta, timestamp_delta, key_length >= 0)
            position = end
    except IndexError:
        raise InvalidRecord(f"the batch ends before its {header.record_count} records do") from None


def append_record(
    target: bytearray,
    timestamp_delta: int,
    offset_delta: int,
    key: bytes | None,
    value: bytes | None,
    headers: RecordHeaders = (),
) -> None:
    """Append one record's bytes to the uncompressed records of a batch."""
    numbers = VARINTS
    stamp, delta = numbers[timestamp_delta], numbers[offset_delta]
    key_length, value_length = _NULL, _NULL
    if key is None:
        key = b""
    else:
        key_length = numbers[len(key)]
    if value is None:
        value = b""
    else:
        value_length = numbers[len(value)]
    rest = _encoded_headers(headers) if headers else _NO_HEADERS
    content_bytes = (
        len(stamp) + len(delta) + len(key_length) + len(key) + len(value_length) + len(value) + len(rest) + 1
    )
    # One copy, and no objects but the parts that are there already: producers are here with every record.
    target += b"".join(
        (numbers[content_bytes], _ATTRIBUTES, stamp, delta, key_length, key, value_length, value, rest)
    )


def _encoded_headers(headers: RecordHeaders) -> bytes:
    encoded = bytearray(VARINTS[len(headers)])
    for name, content in headers:
        for one in (name, content):
            encoded += _NULL if one is None else VARINTS[len(one)]
            encoded += one or b""
    return bytes(encoded)


def _read_bytes(body: bytes, position: int) -> tuple[bytes | None, int]:
    """A length and as many bytes; that they lie within their record shows at the record's end."""
    bits = body[position]
    if bits < 0x80:
        start = position + 1
    else:
        bits, start = read_bits(body, position)
    if not bits & 1:
        end = start + (bits >> 1)
        return body[start:end], end
    if bits == NULL_BITS:
        return None, start
    raise InvalidRecord("a key or value of negative length")


def named(headers: RecordHeaders) -> NamedHeaders:
    """The same with names as text; what is not UTF-8 in a name becomes a backslash and its number (\\xff)."""
    return tuple((name.decode(errors="backslashreplace"), value) for name, value in headers)


def read_headers(body: bytes, position: int, record_end: int) -> tuple[RecordHeaders, int]:
    """A record's headers, their count at `position`, and the position behind them. Raises InvalidRecord."""
    count, position = read_varint(body, position)
    check_header_count(count, record_end - position)
    headers = []
    for _ in range(count):
        name, value, position = read_header(body, position)
        headers.append((name, value))
    return tuple(headers), position


def check_header_count(count: int, size_bytes: int) -> None:
    """Raises InvalidRecord unless so many headers may lie in so many bytes."""
    if not 0 <= count <= size_bytes // HEADER_ENTRY_BYTES_MIN:
        raise InvalidRecord(f"{count} headers are announced, {size_bytes} bytes are left for them")


def read_header(body: bytes, position: int) -> tuple[bytes, bytes | None, int]:
    """The name and the value of the header at `position`, and the position behind it."""
    name, position = _read_bytes(body, position)
    if name is None:
        raise InvalidRecord("a header without a key")
    value, position = _read_bytes(body, position)
    return name, value, position
