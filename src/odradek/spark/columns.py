"""Decodes the record batches of a fetch response into Arrow columns without a loop over records.

A record is a row of variable-length integers ("varints") and two byte strings:

    length | attributes | timestamp delta | offset delta | key length, key | value length, value | headers

The start of a record is known only from the length of the record before it. So finding the starts ("the
chase") is the only sequential step. It runs over all batches of a response together ("lockstep": one array of
positions, each step advances every batch by one record). Then each field is decoded for all records at once:

    starts       [0, 71, 140, ...]                       from the chase
    timestamps   zigzag(varint at starts + 1 + ...)      one array operation per byte of the widest varint
    keys         entries 0, 4, 8, ... of a binary array whose offsets are
    values       entries 2, 6, 10, ...      [key start, key end, value start, value end, next key start, ...]

so no byte of a key or value is touched before Arrow gathers it. Stored bytes are not trusted: inconsistent
lengths raise CorruptRecord, and nothing is read outside the buffer.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from odradek.base.errors import CorruptRecord

Longs = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

VARINT_BYTES_MAX = 10
# Below this many batches the array operations of a lockstep cost more than a plain loop.
LOCKSTEP_BATCHES_MIN = 24
# Zeros behind the buffer, so that a varint at its very end can be gathered without a bounds check per byte.
PADDING_BYTES = 16


@dataclass(frozen=True, slots=True)
class Section:
    """The records of one batch inside a buffer, uncompressed."""

    # Where the first record starts and where the last one ends, as positions in the buffer.
    start: int
    end: int
    record_count: int
    base_offset: int
    base_timestamp_ms: int
    # The time of the append where the topic stamps records itself, else None.
    append_timestamp_ms: int | None


@dataclass(frozen=True, slots=True)
class RecordColumns:
    """One row per record, in the order of the sections."""

    offsets: Longs
    timestamps_ms: Longs
    timestamp_types: npt.NDArray[np.int32]
    keys: Any  # pa.BinaryArray
    values: Any  # pa.BinaryArray
    headers: Any | None  # pa.ListArray of struct<key: string, value: binary>


def decode_sections(data: bytes, sections: list[Section], *, with_headers: bool = False) -> RecordColumns:
    """Decode all records of `sections`, which lie in `data` in ascending order.

    Raises CorruptRecord when a length points outside its section or does not match its content.
    """
    padded = np.frombuffer(data + bytes(PADDING_BYTES), dtype=np.uint8)
    counts = np.array([section.record_count for section in sections], dtype=np.int64)
    starts = _record_starts(padded, sections, counts)
    ends_of_sections = np.repeat(np.array([section.end for section in sections], dtype=np.int64), counts)

    length, at = _varints(padded, starts)
    record_end = at + length
    _check(
        bool((length >= 0).all() and (record_end <= ends_of_sections).all()),
        "a record ends outside its batch",
    )
    timestamp_delta, at = _varints(padded, at + 1)
    offset_delta, at = _varints(padded, at)
    key_length, key_start = _varints(padded, at)
    key_end = key_start + np.maximum(key_length, 0)
    _check(bool((key_end < record_end).all() and (key_length >= -1).all()), "a key ends outside its record")
    value_length, value_start = _varints(padded, key_end)
    value_end = value_start + np.maximum(value_length, 0)
    _check(
        bool((value_end < record_end).all() and (value_length >= -1).all()), "a value ends outside its record"
    )
    header_count, headers_start = _varints(padded, value_end)
    _check(
        bool((header_count >= 0).all() and (headers_start <= record_end).all()), "a header count is negative"
    )

    base_offsets = np.repeat(np.array([section.base_offset for section in sections], dtype=np.int64), counts)
    keys, values = _strings(
        data, (key_start, key_end, value_start, value_end), key_length < 0, value_length < 0
    )
    timestamps, types = _timestamps(sections, counts, timestamp_delta)
    headers = _headers(data, header_count, headers_start, record_end) if with_headers else None
    return RecordColumns(base_offsets + offset_delta, timestamps, types, keys, values, headers)


def _check(holds: bool, fault: str) -> None:
    if not holds:
        raise CorruptRecord(fault)


def _varints(padded: Bytes, positions: Longs) -> tuple[Longs, Longs]:
    """Zigzag varints at all `positions`: (values, positions behind them)."""
    _check(
        not len(positions) or int(positions.max()) < len(padded) - VARINT_BYTES_MAX,
        "a varint outside the batch",
    )
    byte = padded[positions].astype(np.int64)
    raw = byte & 0x7F
    ends = positions + 1
    open_rows = np.flatnonzero(byte & 0x80)
    shift = 7
    while len(open_rows):
        _check(shift < 7 * VARINT_BYTES_MAX, "a varint of more than ten bytes")
        byte = padded[ends[open_rows]].astype(np.int64)
        raw[open_rows] |= (byte & 0x7F) << shift
        ends[open_rows] += 1
        open_rows = open_rows[(byte & 0x80) != 0]
        shift += 7
    # The logical shift of zigzag, on the bits as an unsigned number.
    halved = (raw.view(np.uint64) >> np.uint64(1)).view(np.int64)
    return halved ^ -(raw & 1), ends


def _record_starts(padded: Bytes, sections: list[Section], counts: Longs) -> Longs:
    if len(sections) < LOCKSTEP_BATCHES_MIN:
        parts = [_chase(padded, section) for section in sections]
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)
    return _lockstep(padded, sections, counts)


def _chase(padded: Bytes, section: Section) -> Longs:
    """Record starts of one section, by a plain loop over bytes."""
    data = padded[section.start : section.end].tobytes()
    starts: list[int] = []
    position, end = 0, len(data)
    try:
        for _ in range(section.record_count):
            starts.append(position)
            byte = data[position]
            position += 1
            length = byte & 0x7F
            shift = 7
            while byte & 0x80:
                byte = data[position]
                position += 1
                length |= (byte & 0x7F) << shift
                shift += 7
            _check(not length & 1 and shift <= 35, "a record with a negative length")
            position += length >> 1
    except IndexError:
        raise CorruptRecord("fewer records than the batch claims") from None
    _check(position == end, "the records do not fill their batch")
    return np.array(starts, dtype=np.int64) + section.start


def _lockstep(padded: Bytes, sections: list[Section], counts: Longs) -> Longs:
    """Record starts of many sections, all advancing by one record per step."""
    ends = np.array([section.end for section in sections], dtype=np.int64)
    first_rows = np.concatenate(([0], np.cumsum(counts)[:-1]))
    starts = np.empty(int(counts.sum()), dtype=np.int64)
    alive = np.flatnonzero(counts > 0)
    position = np.array([section.start for section in sections], dtype=np.int64)
    _check(bool((position[counts == 0] == ends[counts == 0]).all()), "the records do not fill their batch")
    step = 0
    while len(alive):
        here = position[alive]
        _check(bool((here < ends[alive]).all()), "fewer records than the batch claims")
        starts[first_rows[alive] + step] = here
        length, behind = _varints(padded, here)
        _check(bool((length >= 0).all()), "a record with a negative length")
        position[alive] = behind + length
        step += 1
        done = counts[alive] == step
        finished = alive[done]
        _check(bool((position[finished] == ends[finished]).all()), "the records do not fill their batch")
        alive = alive[~done]
    return starts


def _strings(
    data: bytes,
    bounds: tuple[Longs, Longs, Longs, Longs],
    no_key: npt.NDArray[np.bool_],
    no_value: npt.NDArray[np.bool_],
) -> tuple[Any, Any]:
    """Keys and values as two binary arrays gathered from `data`."""
    count = len(no_key)
    offsets = np.empty(4 * count + 1, dtype=np.int64)
    for column, bound in enumerate(bounds):
        offsets[column : 4 * count : 4] = bound
    offsets[-1] = offsets[-2] if count else 0
    if len(data) < 1 << 31:
        whole = pa.BinaryArray.from_buffers(
            pa.binary(), 4 * count, [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data)]
        )
    else:
        whole = pa.LargeBinaryArray.from_buffers(
            pa.large_binary(), 4 * count, [None, pa.py_buffer(offsets), pa.py_buffer(data)]
        )
    rows = np.arange(count, dtype=np.int64) * 4
    keys = whole.take(pa.array(rows, mask=no_key))
    values = whole.take(pa.array(rows + 2, mask=no_value))
    return keys, values


def _timestamps(sections: list[Section], counts: Longs, deltas: Longs) -> tuple[Longs, npt.NDArray[np.int32]]:
    """(timestamps in ms, types: 0 create time, 1 append time), one per record."""
    appended = np.array([section.append_timestamp_ms is not None for section in sections], dtype=np.int32)
    bases = np.array(
        [
            section.base_timestamp_ms if section.append_timestamp_ms is None else section.append_timestamp_ms
            for section in sections
        ],
        dtype=np.int64,
    )
    types = np.repeat(appended, counts)
    return np.repeat(bases, counts) + np.where(types == 1, 0, deltas), types


def _headers(data: bytes, counts: Longs, starts: Longs, ends: Longs) -> Any:
    """Headers as list<struct<key, value>>; a record without headers gets null, at no cost."""
    keys: list[str] = []
    values: list[bytes | None] = []
    offsets = np.zeros(len(counts) + 1, dtype=np.int32)
    np.cumsum(counts, out=offsets[1:])
    _check(bool((counts <= ends - starts).all()), "more headers than bytes")
    for row in np.flatnonzero(counts):
        _headers_of_one(data, int(counts[row]), int(starts[row]), int(ends[row]), keys, values)
    entries = pa.StructArray.from_arrays(
        [pa.array(keys, pa.string()), pa.array(values, pa.binary())],
        fields=[pa.field("key", pa.string()), pa.field("value", pa.binary())],
    )
    mask = pa.array(counts == 0)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), entries, mask=mask)


def _headers_of_one(
    data: bytes, count: int, position: int, end: int, keys: list[str], values: list[bytes | None]
) -> None:
    for _ in range(count):
        length, position = _varint(data, position, end)
        _check(0 <= length <= end - position, "a header key ends outside its record")
        try:
            keys.append(data[position : position + length].decode())
        except UnicodeDecodeError:
            raise CorruptRecord("a header key that is not UTF-8") from None
        position += length
        length, position = _varint(data, position, end)
        _check(-1 <= length <= end - position, "a header value ends outside its record")
        values.append(None if length < 0 else data[position : position + length])
        position += max(length, 0)
    _check(position == end, "headers do not fill their record")


def _varint(data: bytes, position: int, end: int) -> tuple[int, int]:
    raw = shift = 0
    while True:
        _check(position < end and shift < 35, "a varint outside its record")
        byte = data[position]
        position += 1
        raw |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return (raw >> 1) ^ -(raw & 1), position
        shift += 7
