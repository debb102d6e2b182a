"""Encodes columns as the records of batches, without a loop over records.

A record (`records/framing`) is two byte strings between varints, so a row is made of five columns:

    length, attributes, two deltas, key length | key | value length | value | header count | headers

The varints of each column are written for all rows at once, and Arrow joins the columns: the bytes of the
joined column are the records, one behind the other, so that a batch is a slice of them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from odradek.records.columnar.varints import VARINT_BYTES_MAX, Longs

_Bits = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class RecordBytes:
    """The records of some rows, uncompressed."""

    data: memoryview
    bounds: Longs
    """Row i lies in [bounds[i], bounds[i + 1]) of `data`."""

    def slice(self, first: int, end: int) -> memoryview:
        """The records of the rows [first, end)."""
        return self.data[int(self.bounds[first]) : int(self.bounds[end])]


def encode_records(
    timestamp_deltas_ms: Longs, offset_deltas: Longs, keys: Any, values: Any, headers: Any | None
) -> RecordBytes:
    """The records of these rows, of which there must be one.

    `keys` and `values` are `pa.BinaryArray`s, in which null is null. `headers` is a list<struct<key, value:
    binary>> whose lists may be null, but no struct or key in them; None if no row has any. Together the rows
    must stay below 2 GiB.
    """
    count = len(values)
    header_counts, header_bytes = _header_columns(headers, count)
    key_lengths, value_lengths = lengths(keys, null=-1), lengths(values, null=-1)
    front = [
        np.zeros(count, dtype=np.int64),
        timestamp_deltas_ms,
        offset_deltas,
        key_lengths,
    ]
    content = np.maximum(key_lengths, 0) + np.maximum(value_lengths, 0)
    for column in (*front, value_lengths, header_counts):
        content += _widths(_zigzag(column))
    if header_bytes is not None:
        content += lengths(header_bytes)
    columns = [varints(content, *front), keys, varints(value_lengths), values, varints(header_counts)]
    if header_bytes is not None:
        columns.append(header_bytes)
    return _bytes_of(_joined(columns))


def lengths(column: Any, *, null: int = 0) -> Longs:
    """The length of each byte string; `null` for those that are null."""
    found: Longs = pc.fill_null(pc.binary_length(column), null).to_numpy(zero_copy_only=False)
    return found.astype(np.int64)


def varints(*columns: Longs) -> Any:
    """A `pa.BinaryArray`: in each row the varints of that row of the columns, one behind the other."""
    bits = [_zigzag(column) for column in columns]
    widths = [_widths(column) for column in bits]
    bounds = np.zeros(len(columns[0]) + 1, dtype=np.int32)
    np.cumsum(sum(widths), out=bounds[1:])
    target = np.empty(int(bounds[-1]), dtype=np.uint8)
    position = bounds[:-1].astype(np.int64)
    for column, width in zip(bits, widths, strict=True):
        target[position] = (column & 0x7F) | np.where(width > 1, 0x80, 0).astype(np.uint64)
        for place in range(1, int(width.max(initial=1))):
            rows = np.flatnonzero(width > place)
            low = (column[rows] >> np.uint64(7 * place)) & 0x7F
            target[position[rows] + place] = low | np.where(width[rows] > place + 1, 0x80, 0).astype(
                np.uint64
            )
        position += width
    return _binary(bounds, pa.py_buffer(target))


def _header_columns(headers: Any | None, count: int) -> tuple[Longs, Any | None]:
    """How many headers each row has, and their bytes; None if no row has any."""
    if headers is None:
        return np.zeros(count, dtype=np.int64), None
    counts = pc.fill_null(pc.list_value_length(headers), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    entries = headers.flatten()
    if not len(entries):
        return counts, None
    names, contents = pc.struct_field(entries, 0).cast(pa.binary()), pc.struct_field(entries, 1)
    contents = contents.cast(pa.binary())
    joined = _joined([varints(lengths(names)), names, varints(lengths(contents, null=-1)), contents])
    whole = _bytes_of(joined)
    bounds = whole.bounds[np.concatenate(([0], np.cumsum(counts)))]
    return counts, _binary(bounds.astype(np.int32), pa.py_buffer(whole.data))


def _zigzag(column: Longs) -> _Bits:
    return ((column << 1) ^ (column >> 63)).view(np.uint64)


def _widths(bits: _Bits) -> Longs:
    """How many bytes a varint takes."""
    widths = np.ones(len(bits), dtype=np.int64)
    for place in range(1, VARINT_BYTES_MAX):
        is_longer = bits >> np.uint64(7 * place) > 0
        if not is_longer.any():
            break
        widths += is_longer
    return widths


def _joined(columns: list[Any]) -> Any:
    return pc.binary_join_element_wise(*columns, pa.scalar(b""), null_handling="replace", null_replacement="")


def _binary(bounds: npt.NDArray[np.int32], data: Any) -> Any:
    return pa.BinaryArray.from_buffers(pa.binary(), len(bounds) - 1, [None, pa.py_buffer(bounds), data])


def _bytes_of(column: Any) -> RecordBytes:
    """The bytes of a column of byte strings, which lie one behind the other."""
    _, bounds, data = column.buffers()
    places = np.frombuffer(bounds, dtype=np.int32)[column.offset : column.offset + len(column) + 1]
    return RecordBytes(memoryview(data), places.astype(np.int64))
