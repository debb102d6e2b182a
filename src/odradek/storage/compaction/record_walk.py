"""Reads what compaction needs of each record: position, deltas, key, and whether it has a value.

A kept record is copied unchanged, so no other field is decoded: a walk costs 0.8 µs per record, while
decoding whole records costs 4 µs. Stored bytes are not trusted: inconsistent ones raise InvalidRecord, and
nothing is read outside the batch.
"""

from collections.abc import Iterator
from typing import TypeAlias

from odradek.base.errors import InvalidRecord
from odradek.records.framing import RECORD_BYTES_MIN
from odradek.records.header import BatchHeader
from odradek.records.varint import LONG_BYTES_MAX, NULL_BITS, read_bits

RecordSpan: TypeAlias = tuple[int, int, int, int, bytes | None, bool]
"""Start and end within the body, bits of the timestamp delta, offset delta, key, whether there is a value."""

SPANS_AT_ONCE_MAX = 1_000
"""A batch may hold millions of records, whose spans would take many times its memory."""


def walk_records(body: bytes, header: BatchHeader) -> Iterator[list[RecordSpan]]:
    """Every record of a batch, in order, SPANS_AT_ONCE_MAX at a time; `body` is its uncompressed records."""
    try:
        yield from _spans(body, header)
    except IndexError:
        raise InvalidRecord(f"the batch ends before its {header.record_count} records do") from None


def delta_of(bits: int) -> int:
    """The number whose zigzag encoding is `bits`; decoded late, as most records are dropped."""
    return (bits >> 1) ^ -(bits & 1)


def _spans(body: bytes, header: BatchHeader) -> Iterator[list[RecordSpan]]:
    size, offset_delta_max = len(body), header.last_offset_delta
    end, delta_before = 0, -1
    spans: list[RecordSpan] = []
    for number in range(header.record_count):
        start = end
        bits = body[start]
        if bits < 0x80:
            position = start + 1
        elif (high := body[start + 1]) < 0x80:
            bits += (high << 7) - 0x80
            position = start + 2
        else:
            bits, position = read_bits(body, start)
        end = position + (bits >> 1)
        if bits & 1 or end > size or end - position < RECORD_BYTES_MIN - 1:
            raise InvalidRecord(f"record {number} ends outside its batch")

        bits = body[position + 1]  # after the attributes
        if bits < 0x80:
            position += 2
        elif (high := body[position + 2]) < 0x80:
            bits += (high << 7) - 0x80
            position += 3
        else:
            bits, position = read_bits(body, position + 1, LONG_BYTES_MAX)
        timestamp_bits = bits

        bits = body[position]
        if bits < 0x80:
            position += 1
        elif (high := body[position + 1]) < 0x80:
            bits += (high << 7) - 0x80
            position += 2
        else:
            bits, position = read_bits(body, position)
        offset_delta = bits >> 1
        if bits & 1 or not delta_before < offset_delta <= offset_delta_max:
            raise InvalidRecord(f"record {number} has offset delta {delta_of(bits)} behind {delta_before}")
        delta_before = offset_delta

        bits = body[position]
        if bits < 0x80:
            position += 1
        else:
            bits, position = read_bits(body, position)
        if not bits & 1:
            key_start = position
            position += bits >> 1
            key = body[key_start:position]
        elif bits == NULL_BITS:
            key = None
        else:
            raise InvalidRecord(f"record {number} has a key of negative length")
        if position >= end:
            raise InvalidRecord(f"record {number} has a key that ends outside of it")
        spans.append((start, end, timestamp_bits, offset_delta, key, body[position] != NULL_BITS))
        if len(spans) == SPANS_AT_ONCE_MAX:
            yield spans
            spans = []
    if end != size:
        raise InvalidRecord(f"{size - end} bytes follow the last of {header.record_count} records")
    if spans:
        yield spans
