"""What compaction looks at of each record: where it lies, its deltas, its key, whether it has a value.

A record that stays is copied as it lies, so nothing else is taken out of it: a walk costs 1 µs a record,
where making whole records costs 4. Stored bytes are hostile all the same: InvalidRecord for whatever does not
add up, nothing is read outside the batch.
"""

from collections.abc import Iterator
from typing import TypeAlias

from odradek.base.errors import InvalidRecord
from odradek.records.framing import RECORD_BYTES_MIN
from odradek.records.header import BatchHeader
from odradek.records.varint import LONG_BYTES_MAX, NULL_BITS, read_bits

RecordSpan: TypeAlias = tuple[int, int, int, int, bytes | None, bool]
"""Start and end within the body, timestamp delta, offset delta, key, whether there is a value."""


def walk_records(body: bytes, header: BatchHeader) -> Iterator[RecordSpan]:
    """Every record of a batch, whose uncompressed records are `body`, in order."""
    try:
        yield from _spans(body, header)
    except IndexError:
        raise InvalidRecord(f"the batch ends before its {header.record_count} records do") from None


def _spans(body: bytes, header: BatchHeader) -> Iterator[RecordSpan]:
    size, offset_delta_max = len(body), header.last_offset_delta
    end, delta_before = 0, -1
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

        bits = body[position + 1]  # behind the attributes
        if bits < 0x80:
            position += 2
        elif (high := body[position + 2]) < 0x80:
            bits += (high << 7) - 0x80
            position += 3
        else:
            bits, position = read_bits(body, position + 1, LONG_BYTES_MAX)
        timestamp_delta = (bits >> 1) ^ -(bits & 1)

        bits = body[position]
        if bits < 0x80:
            position += 1
        elif (high := body[position + 1]) < 0x80:
            bits += (high << 7) - 0x80
            position += 2
        else:
            bits, position = read_bits(body, position)
        offset_delta = (bits >> 1) ^ -(bits & 1)
        if not delta_before < offset_delta <= offset_delta_max:
            raise InvalidRecord(f"record {number} has offset delta {offset_delta} behind {delta_before}")
        delta_before = offset_delta

        bits = body[position]
        if bits < 0x80:
            position += 1
        else:
            bits, position = read_bits(body, position)
        if not bits & 1:
            key = body[position : position + (bits >> 1)]
            position += bits >> 1
        elif bits == NULL_BITS:
            key = None
        else:
            raise InvalidRecord(f"record {number} has a key of negative length")
        if position >= end:
            raise InvalidRecord(f"record {number} has a key that ends outside of it")
        yield start, end, timestamp_delta, offset_delta, key, body[position] != NULL_BITS
    if end != size:
        raise InvalidRecord(f"{size - end} bytes follow the last of {header.record_count} records")
