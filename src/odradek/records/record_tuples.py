"""Decodes all records of a batch at once into tuples of a caller's class: what `iter_records` does, faster.

Numbers of one and two bytes, nearly all there are, are read in line, and the tuples are made without a call
of their class. Invariant: it accepts and refuses the same bytes as `framing.iter_body`, with the same values.
"""

from typing import Any, Final, TypeVar

from odradek.base.errors import InvalidRecord
from odradek.base.ids import Offset
from odradek.records.framing import LONG_MAX, LONG_MIN, RECORD_BYTES_MIN, RecordHeaders, read_headers
from odradek.records.header import BatchHeader
from odradek.records.varint import LONG_BYTES_MAX, NULL_BITS, read_bits

_Shared = tuple[Any, Any, Any, Any]
T = TypeVar("T", bound=tuple[Any, ...])

_LENGTH_MIN: Final = RECORD_BYTES_MIN - 1
_NO_HEADERS: Final[RecordHeaders] = ()


def decode_tuples(
    kind: type[T],
    before: tuple[Any, Any],
    after: tuple[Any, Any],
    body: bytes,
    header: BatchHeader,
    first: Offset,
) -> list[T]:
    """The records from offset `first` on, each `before` + (offset, timestamp, key, value, headers) + `after`.

    `kind` is a NamedTuple of these fields. Raises InvalidRecord as `iter_records` does.
    """
    try:
        found = _decode(kind, (*before, *after), body, header, first)
    except IndexError:
        raise InvalidRecord(f"the batch ends before its {header.record_count} records do") from None
    if header.is_log_append_time:
        at = header.max_timestamp
        return [tuple.__new__(kind, (*one[:3], at, *one[4:])) for one in found]
    return found


def _decode(kind: type[T], shared: _Shared, body: bytes, header: BatchHeader, first: Offset) -> list[T]:
    new = tuple.__new__
    one, two, eight, nine = shared
    found: list[T] = []
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    last_delta, size = header.last_offset_delta, len(body)
    position, delta_before = 0, -1
    for number in range(header.record_count):
        bits = body[position]
        position += 1
        if bits >= 0x80:
            byte = body[position]
            if byte < 0x80:
                bits += (byte << 7) - 0x80
                position += 1
            else:
                bits, position = read_bits(body, position - 1)
        length = bits >> 1 ^ -(bits & 1)
        end = position + length
        if length < _LENGTH_MIN or end > size:
            raise InvalidRecord(f"record {number} of {length} bytes ends outside its batch")
        bits = body[position + 1]
        position += 2
        if bits >= 0x80:
            bits, position = read_bits(body, position - 1, LONG_BYTES_MAX)
        timestamp_ms = base_timestamp + (bits >> 1 ^ -(bits & 1))
        if not LONG_MIN <= timestamp_ms <= LONG_MAX:
            raise InvalidRecord(f"record {number} has a timestamp of more than 64 bits")
        bits = body[position]
        position += 1
        if bits >= 0x80:
            bits, position = read_bits(body, position - 1)
        delta = bits >> 1 ^ -(bits & 1)
        if not delta_before < delta <= last_delta:
            raise InvalidRecord(f"record {number} has offset delta {delta}, the one before {delta_before}")
        delta_before = delta
        bits = body[position]
        position += 1
        key = None
        if bits != NULL_BITS:
            if bits >= 0x80:
                bits, position = read_bits(body, position - 1)
            key, position = _taken(body, bits, position)
        bits = body[position]
        position += 1
        if bits >= 0x80:
            byte = body[position]
            if byte < 0x80:
                bits += (byte << 7) - 0x80
                position += 1
            else:
                bits, position = read_bits(body, position - 1)
        if bits & 1:
            value, position = _taken(body, bits, position)
        else:
            start = position
            position += bits >> 1
            value = body[start:position]
        headers = _NO_HEADERS
        position += 1
        if body[position - 1]:
            headers, position = read_headers(body, position - 1, end)
        if position != end:
            raise InvalidRecord(f"record {number} says it ends at byte {end} and ends at {position}")
        offset = base_offset + delta
        if offset >= first:
            found.append(new(kind, (one, two, offset, timestamp_ms, key, value, headers, eight, nine)))
    if position != size:
        raise InvalidRecord(f"{size - position} bytes follow the last of {header.record_count} records")
    return found


def _taken(body: bytes, bits: int, position: int) -> tuple[bytes | None, int]:
    """A key or value of the length in `bits`; None for null."""
    if not bits & 1:
        end = position + (bits >> 1)
        return body[position:end], end
    if bits == NULL_BITS:
        return None, position
    raise InvalidRecord("a key or value of negative length")
