"""Decodes the records of a batch into tuples of a caller's class: what `iter_records` does, faster.

    reader = TupleReader(Record, ("orders", 0), (epoch, False), body, header, first=17)
    reader.read(500)     the next 500 records, of which those from offset 17 on are returned
    reader.is_done       all were read

Numbers of one and two bytes, nearly all there are, are read in line, and the tuples are made without a call
of their class. Invariant: it accepts and refuses the same bytes as `framing.iter_body`, with the same values;
but the names of headers are text, as applications want them, and headers of records that are left out are not
looked at.
"""

from typing import Any, Final, Generic, TypeVar

from odradek.base.errors import InvalidRecord
from odradek.base.ids import Offset
from odradek.records.framing import (
    LONG_MAX,
    LONG_MIN,
    RECORD_BYTES_MIN,
    NamedHeaders,
)
from odradek.records.header import BatchHeader
from odradek.records.header_reader import HeaderReader
from odradek.records.varint import LONG_BYTES_MAX, NULL_BITS, read_bits

_Shared = tuple[Any, Any, Any, Any]
T = TypeVar("T", bound=tuple[Any, ...])
# The kind of tuple, what all share, the records' bytes, their header, the first offset, what reads headers.
_What = tuple[type[T], _Shared, bytes, BatchHeader, Offset, HeaderReader]

_LENGTH_MIN: Final = RECORD_BYTES_MIN - 1
_NO_HEADERS: Final[NamedHeaders] = ()


class TupleReader(Generic[T]):
    """Decodes the records of one batch, as many at a time as are asked for; see the module.

    Invariant: records that were read are not read again. A `read` that raises has read nothing, so the next
    one raises the same.
    """

    __slots__ = ("_at", "_body", "_delta", "_first", "_header", "_headers", "_kind", "_number", "_shared")

    def __init__(
        self,
        kind: type[T],
        before: tuple[Any, Any],
        after: tuple[Any, Any],
        body: bytes,
        header: BatchHeader,
        first: Offset,
        headers: HeaderReader,
    ) -> None:
        """Makes of each record `before` + (offset, timestamp, key, value, `NamedHeaders`) + `after`.

        `kind` is a NamedTuple of these fields; records before the offset `first` are left out.
        """
        self._headers = headers
        self._kind = kind
        self._shared: _Shared = (*before, *after)
        self._body = body
        self._header = header
        self._first = first
        # How many records were read, where the next one begins, and the offset delta of the last one.
        self._number = self._at = 0
        self._delta = -1

    @property
    def left(self) -> int:
        """How many records were not read."""
        return self._header.record_count - self._number

    @property
    def is_done(self) -> bool:
        """Whether all records were read."""
        return self._number >= self._header.record_count and self._at == len(self._body)

    def read(self, count: int) -> list[T]:
        """The next `count` records, or those in front of one whose headers are for a later slice.

        Raises InvalidRecord as `iter_records` does.
        """
        header = self._header
        end_number = min(header.record_count, self._number + count)
        try:
            found, end_number, position, delta = _decode(
                (self._kind, self._shared, self._body, header, self._first, self._headers),
                (self._number, end_number, self._at, self._delta),
            )
        except IndexError:
            raise InvalidRecord(f"the batch ends before its {header.record_count} records do") from None
        size = len(self._body)
        if end_number == header.record_count and position != size:
            raise InvalidRecord(f"{size - position} bytes follow the last of {header.record_count} records")
        self._number, self._at, self._delta = end_number, position, delta
        if header.is_log_append_time:
            at = header.max_timestamp
            return [tuple.__new__(self._kind, (*one[:3], at, *one[4:])) for one in found]
        return found


def _decode(what: _What[T], where: tuple[int, int, int, int]) -> tuple[list[T], int, int, int]:
    """Decode from one record number to another; returns the records, and number, position, delta behind."""
    kind, (one, two, eight, nine), body, header, first, reader = what
    first_number, end_number, position, delta_before = where
    new, found = tuple.__new__, list[T]()
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    last_delta, size = header.last_offset_delta, len(body)
    for number in range(first_number, end_number):
        begin = position
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
        key, bits = None, body[position]
        position += 1
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
        headers, offset = _NO_HEADERS, base_offset + delta
        position += 1
        if body[position - 1]:
            read = (headers, max(position, end)) if offset < first else reader.read(body, position - 1, end)
            if read is None:
                return found, number, begin, delta_before
            headers, position = read
        if position != end:
            raise InvalidRecord(f"record {number} says it ends at byte {end} and ends at {position}")
        delta_before = delta
        if offset >= first:
            found.append(new(kind, (one, two, offset, timestamp_ms, key, value, headers, eight, nine)))
    return found, end_number, position, delta_before


def _taken(body: bytes, bits: int, position: int) -> tuple[bytes | None, int]:
    """A key or value of the length in `bits`; None for null."""
    if not bits & 1:
        end = position + (bits >> 1)
        return body[position:end], end
    if bits == NULL_BITS:
        return None, position
    raise InvalidRecord("a key or value of negative length")
