"""Finds where the fields of the records of many batches lie, without a loop over records; needs only numpy.

A record is a row of variable-length integers ("varints") and two byte strings:

    length | attributes | timestamp delta | offset delta | key length, key | value length, value | headers

`record_starts` finds where each record starts; then each field is decoded for all records at once
(`varints`). Stored bytes are not trusted: inconsistent lengths raise CorruptRecord, and nothing is read
outside the buffer.
"""

from dataclasses import dataclass

import numpy as np

from odradek.records.columnar.record_starts import record_starts
from odradek.records.columnar.varints import Booleans, Longs, VarintBytes, check
from odradek.records.varint import LONG_BYTES_MAX


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
class RecordFields:
    """One row per record, in the order of the sections; positions are those in the buffer."""

    ends: Longs
    """Where the record ends."""
    offsets: Longs
    timestamps_ms: Longs
    key_starts: Longs
    key_ends: Longs
    has_no_key: Booleans
    value_starts: Longs
    value_ends: Longs
    has_no_value: Booleans
    header_counts: Longs
    headers_starts: Longs
    """Where the first header begins, behind their count; none of them was read."""


def locate(data: VarintBytes, sections: Sections) -> RecordFields:
    """The fields of all records of `sections`.

    Raises CorruptRecord when a length points outside its section or does not match its content.
    """
    counts = sections.counts
    starts = record_starts(data, sections.starts, sections.ends, counts)
    length, at = data.read(starts)
    ends = at + length
    check(
        bool((length > 0).all() and (ends <= np.repeat(sections.ends, counts)).all()),
        "a record ends outside its batch",
    )
    timestamp_delta, at = data.read(at + 1, LONG_BYTES_MAX)
    offset_delta, at = data.read(at)
    key_length, key_starts = data.read(at)
    key_ends = key_starts + np.maximum(key_length, 0)
    check(bool((key_ends < ends).all() and (key_length >= -1).all()), "a key ends outside its record")
    value_length, value_starts = data.read(key_ends)
    value_ends = value_starts + np.maximum(value_length, 0)
    check(bool((value_ends < ends).all() and (value_length >= -1).all()), "a value ends outside its record")
    header_counts, headers_starts = data.read(value_ends)
    check(bool((header_counts >= 0).all() and (headers_starts <= ends).all()), "a header count is negative")
    _check_deltas(offset_delta, sections)
    return RecordFields(
        ends=ends,
        offsets=np.repeat(sections.base_offsets, counts) + offset_delta,
        timestamps_ms=_timestamps_ms(timestamp_delta, sections),
        key_starts=key_starts,
        key_ends=key_ends,
        has_no_key=key_length < 0,
        value_starts=value_starts,
        value_ends=value_ends,
        has_no_value=value_length < 0,
        header_counts=header_counts,
        headers_starts=headers_starts,
    )


def _timestamps_ms(deltas: Longs, sections: Sections) -> Longs:
    bases = np.repeat(sections.timestamps_ms, sections.counts)
    if sections.appended.any():
        deltas = np.where(np.repeat(sections.appended, sections.counts), 0, deltas)
    found: Longs = bases + deltas
    check(bool(((found >= bases) == (deltas >= 0)).all()), "a timestamp of more than 64 bits")
    return found


def _check_deltas(deltas: Longs, sections: Sections) -> None:
    """CorruptRecord unless the offsets of each batch rise, from its base offset up to its last one."""
    counts = sections.counts
    in_range = bool((deltas <= np.repeat(sections.last_deltas, counts)).all())
    before = np.empty_like(deltas)
    before[1:] = deltas[:-1]
    before[(np.cumsum(counts) - counts)[counts > 0]] = -1
    check(in_range and bool((before < deltas).all()), "the offsets of a batch do not rise to its last one")
