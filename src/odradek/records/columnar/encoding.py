"""Encodes columns as the records of batches, without a loop over records.

A record (`records/framing`) is two byte strings between varints, so a row is made of five columns:

    length, attributes, two deltas, key length | key | value length | value | header count | headers

The varints of each column are written for all rows at once, and Arrow joins the columns: the bytes of the
joined column are the records, one behind the other, so that a batch is a slice of them.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from odradek.records.columnar.varints import Longs

# The count of headers in a record without any.
_NO_HEADERS: Final = b"\x00"


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
    key_lengths, value_lengths = lengths(keys, null=-1), lengths(values, null=-1)
    attributes = np.zeros(len(values), dtype=np.int64)
    front = [_Varints(one) for one in (attributes, timestamp_deltas_ms, offset_deltas, key_lengths)]
    middle = _Varints(value_lengths)
    behind, header_lengths = _header_columns(headers)
    content = np.maximum(key_lengths, 0) + np.maximum(value_lengths, 0) + middle.widths + header_lengths
    for column in front:
        content += column.widths
    columns = [_written(_Varints(content), *front), keys, _written(middle), values, *behind]
    return _bytes_of(_joined(columns))


def lengths(column: Any, *, null: int = 0) -> Longs:
    """The length of each byte string; `null` for those that are null."""
    found: Longs = pc.fill_null(pc.binary_length(column), null).to_numpy(zero_copy_only=False)
    return found.astype(np.int64)


def varints(*columns: Longs) -> Any:
    """A `pa.BinaryArray`: in each row the varints of that row of the columns, one behind the other."""
    return _written(*(_Varints(column) for column in columns))


class _Varints:
    """A column of numbers that are written as varints."""

    __slots__ = ("bits", "width_max", "widths")

    def __init__(self, numbers: Longs) -> None:
        self.bits: npt.NDArray[np.uint64] = ((numbers << 1) ^ (numbers >> 63)).view(np.uint64)
        """The numbers with their signs in the lowest bits."""
        self.widths: Longs = np.ones(len(numbers), dtype=np.int64)
        """How many bytes each takes."""
        highest = int(self.bits.max(initial=0))
        self.width_max = max(1, -(-highest.bit_length() // 7))
        for place in range(1, self.width_max):
            self.widths += self.bits >> np.uint64(7 * place) > 0


def _written(*columns: _Varints) -> Any:
    """`varints` of columns that were measured before."""
    bounds = np.zeros(len(columns[0].bits) + 1, dtype=np.int32)
    np.cumsum(sum(column.widths for column in columns), out=bounds[1:])
    target = np.empty(int(bounds[-1]), dtype=np.uint8)
    position = bounds[:-1].astype(np.int64)
    for column in columns:
        bits, widths = column.bits, column.widths
        if column.width_max == 1:
            target[position] = bits
            position += 1
            continue
        target[position] = (bits & 0x7F) | (widths > 1).astype(np.uint64) << np.uint64(7)
        for place in range(1, column.width_max):
            rows = np.flatnonzero(widths > place)
            more = (widths[rows] > place + 1).astype(np.uint64) << np.uint64(7)
            target[position[rows] + place] = (bits[rows] >> np.uint64(7 * place)) & 0x7F | more
        position += widths
    return _binary(bounds, pa.py_buffer(target))


def _header_columns(headers: Any | None) -> tuple[list[Any], Any]:
    """The columns behind the value, and the bytes that they take in each row."""
    entries = None if headers is None else headers.flatten()
    if headers is None or entries is None or not len(entries):
        return [pa.scalar(_NO_HEADERS)], len(_NO_HEADERS)
    names, contents = pc.struct_field(entries, 0).cast(pa.binary()), pc.struct_field(entries, 1)
    contents = contents.cast(pa.binary())
    joined = _joined([varints(lengths(names)), names, varints(lengths(contents, null=-1)), contents])
    whole = _bytes_of(joined)
    listed = pc.fill_null(pc.list_value_length(headers), 0).to_numpy(zero_copy_only=False)
    counts = _Varints(listed.astype(np.int64))
    bounds = whole.bounds[np.concatenate(([0], np.cumsum(listed)))]
    column = _binary(bounds.astype(np.int32), pa.py_buffer(whole.data))
    return [_written(counts), column], counts.widths + np.diff(bounds)


def _joined(columns: list[Any]) -> Any:
    return pc.binary_join_element_wise(*columns, pa.scalar(b""), null_handling="replace", null_replacement="")


def _binary(bounds: npt.NDArray[np.int32], data: Any) -> Any:
    return pa.BinaryArray.from_buffers(pa.binary(), len(bounds) - 1, [None, pa.py_buffer(bounds), data])


def _bytes_of(column: Any) -> RecordBytes:
    """The bytes of a column of byte strings, which lie one behind the other."""
    _, bounds, data = column.buffers()
    places = np.frombuffer(bounds, dtype=np.int32)[column.offset : column.offset + len(column) + 1]
    return RecordBytes(memoryview(data), places.astype(np.int64))
