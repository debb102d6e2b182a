"""The headers of records as an Arrow list: all records that have some advance by one header a step."""

from typing import Any

import numpy as np
import pyarrow as pa

from odradek.base.errors import CorruptRecord
from odradek.records.columnar.byte_strings import gather
from odradek.records.columnar.varints import Longs, VarintBytes, check

HEADER_TYPE = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))
HEADER_BYTES_MIN = 2
"""A header with an empty key and no value: a byte for each length."""


def header_column(data: VarintBytes, buffer: Any, counts: Longs, starts: Longs, ends: Longs) -> Any:
    """list<struct<key: string, value: binary>>, null for a record without headers.

    CorruptRecord when headers do not fill their record up to its end, or a key is not UTF-8.
    """
    check(bool((counts * HEADER_BYTES_MIN <= ends - starts).all()), "more headers than bytes")
    offsets = np.concatenate(([0], np.cumsum(counts)))
    bounds = np.zeros((4, int(offsets[-1])), dtype=np.int64)
    without_value = np.zeros(int(offsets[-1]), dtype=np.bool_)
    position = starts.copy()
    rows = np.flatnonzero(counts)
    step = 0
    while len(rows):
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
    check(bool((position == ends).all()), "headers do not fill their record")
    # Entries of the gathered array must begin in the order of the buffer, as they do within one record.
    keys, values = gather(buffer, bounds, np.zeros_like(without_value), without_value)
    try:
        keys = keys.cast(pa.string())
    except pa.ArrowInvalid:
        raise CorruptRecord("a header key that is not UTF-8") from None
    fields = [HEADER_TYPE.value_type.field(0), HEADER_TYPE.value_type.field(1)]
    headers = pa.StructArray.from_arrays([keys, values], fields=fields)
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), headers, mask=pa.array(counts == 0))


_KEY_OUTSIDE = "a header key ends outside its record"
_VALUE_OUTSIDE = "a header value ends outside its record"
