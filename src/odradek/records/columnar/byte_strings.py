"""Gathers pairs of byte strings out of one buffer into two Arrow arrays.

Each row has two strings, the second behind the first. One binary array over the buffer has them as entries,
with what lies between them as entries of its own:

    offsets   [key start, key end, value start, value end, next key start, ...]
    keys      entries 0, 4, 8, ...        values   entries 2, 6, 10, ...

so no byte is touched before Arrow copies those that are wanted.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from odradek.records.columnar.arrow_arrays import over
from odradek.records.columnar.varints import Booleans, Longs

_OFFSETS_END = 1 << 31


def gather(buffer: Any, bounds: Any, no_first: Booleans, no_second: Booleans) -> tuple[Any, Any]:
    """Two binary arrays: of each row the strings that `bounds` (starts, ends, starts, ends) delimit in
    `buffer`.

    Rows must be in the order of the buffer; `no_first` and `no_second` say where there is none (null).
    """
    count = len(no_first)
    offsets = np.empty(4 * count + 1, dtype=np.int32 if buffer.size < _OFFSETS_END else np.int64)
    for column, bound in enumerate(bounds):
        offsets[column : 4 * count : 4] = bound
    offsets[-1] = offsets[-2] if count else 0
    array, kind = (
        (pa.BinaryArray, pa.binary()) if offsets.itemsize == 4 else (pa.LargeBinaryArray, pa.large_binary())
    )
    whole = array.from_buffers(kind, 4 * count, [None, pa.py_buffer(offsets), buffer])
    rows: Longs = np.arange(0, 4 * count, 4, dtype=np.int64)
    # The bounds were checked by who made them.
    return (
        whole.take(over(rows, pa.int64(), no_first)),
        whole.take(over(rows + 2, pa.int64(), no_second)),
    )
