"""Decodes the records of many batches into columns, without a loop over records.

A record is a row of variable-length integers ("varints") and two byte strings:

    length | attributes | timestamp delta | offset delta | key length, key | value length, value | headers

`record_starts` finds where each record starts; then each field is decoded for all records at once
(`varints`), and keys and values are gathered out of the buffer (`byte_strings`). Stored bytes are not
trusted: inconsistent lengths raise CorruptRecord, and nothing is read outside the buffer.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from odradek.records.columnar.byte_strings import gather
from odradek.records.columnar.header_columns import header_column
from odradek.records.columnar.record_starts import record_starts
from odradek.records.columnar.varints import Booleans, Longs, VarintBytes, check


@dataclass(frozen=True, slots=True)
class Sections:
    """The records of several batches inside one buffer, uncompressed: an entry per batch, in ascending
    order."""

    starts: Longs
    """Where the first record of the batch starts."""
    ends: Longs
    """Where its last record ends."""
    counts: Longs
    """How many records the batch has."""
    last_deltas: Longs
    """The offset delta that the batch's header names as its last."""
    base_offsets: Longs
    """What offset deltas are added to."""
    timestamps_ms: Longs
    """What timestamp deltas are added to; the append time itself where the topic stamps its records."""
    appended: Booleans
    """Whether the timestamp is the append time."""


@dataclass(frozen=True, slots=True)
class RecordColumns:
    """One row per record, in the order of the sections."""

    offsets: Longs
    timestamps_ms: Longs
    timestamp_types: npt.NDArray[np.int32]
    """0 create time, 1 append time."""
    keys: Any  # pa.BinaryArray
    values: Any  # pa.BinaryArray
    headers: Any | None  # pa.ListArray of struct<key: string, value: binary>


def decode_sections(padded: bytes, sections: Sections, *, with_headers: bool = False) -> RecordColumns:
    """Decode all records of `sections`, which lie in `padded` in front of PADDING_BYTES zeros.

    Raises CorruptRecord when a length points outside its section or does not match its content.
    """
    data, buffer = VarintBytes(padded), pa.py_buffer(padded)
    counts = sections.counts
    starts = record_starts(data, sections.starts, sections.ends, counts)

    length, at = data.read(starts)
    record_end = at + length
    check(
        bool((length > 0).all() and (record_end <= np.repeat(sections.ends, counts)).all()),
        "a record ends outside its batch",
    )
    timestamp_delta, at = data.read(at + 1)
    offset_delta, at = data.read(at)
    key_length, key_start = data.read(at)
    key_end = key_start + np.maximum(key_length, 0)
    check(bool((key_end < record_end).all() and (key_length >= -1).all()), "a key ends outside its record")
    value_length, value_start = data.read(key_end)
    value_end = value_start + np.maximum(value_length, 0)
    check(
        bool((value_end < record_end).all() and (value_length >= -1).all()), "a value ends outside its record"
    )
    header_count, headers_start = data.read(value_end)
    check(
        bool((header_count >= 0).all() and (headers_start <= record_end).all()), "a header count is negative"
    )

    keys, values = gather(
        buffer, (key_start, key_end, value_start, value_end), key_length < 0, value_length < 0
    )
    types = np.repeat(sections.appended.astype(np.int32), counts)
    timestamps = np.repeat(sections.timestamps_ms, counts)
    timestamps += timestamp_delta if not sections.appended.any() else np.where(types == 1, 0, timestamp_delta)
    headers = None
    if with_headers:
        headers = header_column(data, buffer, header_count, headers_start, record_end)
    _check_deltas(offset_delta, sections)
    offsets = np.repeat(sections.base_offsets, counts) + offset_delta
    return RecordColumns(offsets, timestamps, types, keys, values, headers)


def _check_deltas(deltas: Longs, sections: Sections) -> None:
    """CorruptRecord unless the offsets of each batch rise, from its base offset up to its last one."""
    counts = sections.counts
    in_range = bool((deltas <= np.repeat(sections.last_deltas, counts)).all())
    before = np.empty_like(deltas)
    before[1:] = deltas[:-1]
    before[(np.cumsum(counts) - counts)[counts > 0]] = -1
    check(in_range and bool((before < deltas).all()), "the offsets of a batch do not rise to its last one")
