"""The headers of records as an Arrow list: all records that have some advance by one header a step.

Where few records have many more headers than the others, their rest is read one by one, which is faster then.
"""

from array import array
from typing import Any

import numpy as np
import pyarrow as pa

from odradek.base.errors import CorruptRecord, InvalidRecord
from odradek.records.columnar.arrow_arrays import booleans, over
from odradek.records.columnar.byte_strings import gather
from odradek.records.columnar.varints import Longs, VarintBytes, check
from odradek.records.header_reader import HEADERS_MAX
from odradek.records.varint import read_varint

HEADER_TYPE = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))
HEADER_BYTES_MIN = 2
"""A header with an empty key and no value: a byte for each length."""
# Fewer records than these are read one by one.
_TOGETHER_MIN = 16


def header_column(data: VarintBytes, buffer: Any, counts: Longs, starts: Longs, ends: Longs) -> Any:
    """list<struct<key: string, value: binary>>, null for a record without headers.

    CorruptRecord when headers do not fill their record up to its end, or a key is not UTF-8.
    """
    check(bool((counts * HEADER_BYTES_MIN <= ends - starts).all()), "more headers than bytes")
    check(bool((counts <= HEADERS_MAX).all()), f"a record has more than {HEADERS_MAX} headers")
    offsets = np.concatenate(([0], np.cumsum(counts)))
    bounds = np.zeros((4, int(offsets[-1])), dtype=np.int64)
    without_value = np.zeros(int(offsets[-1]), dtype=np.bool_)
    position = starts.copy()
    rows = np.flatnonzero(counts)
    step = 0
    while len(rows) >= _TOGETHER_MIN:
        entries = offsets[rows] + step
        key_length, key_start = data.read(position[rows])
        key_end = key_start + key_length
        check(bool((key_length >= 0).all() and (key_end < ends[rows]).all()), _KEY_OUTSIDE)
        value_length, value_start = data.read(key_end)
        value_end = value_start + np.maximum(value_length, 0)
        check(bool((value_length >= -1).all() and (value_end <= ends[rows]).all()), _VALUE_OUTSIDE)
        bounds[:, entries] = (key_start, key_end, value_start, value_end)
        without_value[entries] = value_length < 0
        position[rows] = value_end
        step += 1
        rows = rows[counts[rows] > step]
    for row in rows.tolist():
        begin, end = int(offsets[row]) + step, int(offsets[row + 1])
        try:
            found, position[row] = _read_rest(data.padded, int(position[row]), int(ends[row]), end - begin)
        except InvalidRecord as fault:
            raise CorruptRecord(str(fault)) from None
        bounds[:, begin:end] = found[:4]
        without_value[begin:end] = found[4]
    check(bool((position == ends).all()), "headers do not fill their record")
    # Entries of the gathered array must begin in the order of the buffer, as they do within one record.
    keys, values = gather(buffer, bounds, np.zeros_like(without_value), without_value)
    try:
        keys = keys.cast(pa.string())
    except pa.ArrowInvalid:
        raise CorruptRecord("a header key that is not UTF-8") from None
    fields = [HEADER_TYPE.value_type.field(0), HEADER_TYPE.value_type.field(1)]
    headers = pa.StructArray.from_arrays([keys, values], fields=fields)
    return pa.ListArray.from_arrays(
        over(offsets.astype(np.int32), pa.int32()), headers, mask=booleans(counts == 0)
    )


def _read_rest(data: bytes, position: int, end: int, count: int) -> tuple[Longs, int]:
    """Where keys and values of the next `count` headers of a record begin and end, and which have no value.

    Five rows with a column for each header; and the position behind them.
    """
    found = array("q")
    for _ in range(count):
        length, key_start = read_varint(data, position)
        key_end = key_start + length
        check(length >= 0 and key_end < end, _KEY_OUTSIDE)
        length, value_start = read_varint(data, key_end)
        position = value_start + max(length, 0)
        check(length >= -1 and position <= end, _VALUE_OUTSIDE)
        found.extend((key_start, key_end, value_start, position, length < 0))
    return np.frombuffer(found, dtype=np.int64).reshape(count, 5).T, position


_KEY_OUTSIDE = "a header key ends outside its record"
_VALUE_OUTSIDE = "a header value ends outside its record"
