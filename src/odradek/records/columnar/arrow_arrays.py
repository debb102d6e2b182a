"""Arrow arrays over the memory of numpy's, and arrays of one string throughout.

`pyarrow.array` and `pyarrow.scalar` look whether they were given something of pandas, and import it for that
where it is installed: 0.4 s of CPU for a process that needs nothing of it, such as each worker of Spark.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from odradek.records.columnar.varints import Booleans


def over(numbers: Any, kind: Any, no_value: Booleans | None = None) -> Any:
    """An array of the Arrow type `kind` over a contiguous numpy array of items of the same width; `no_value`
    says which are null.
    """
    valid = None
    if no_value is not None and no_value.any():
        valid = pa.py_buffer(np.packbits(~no_value, bitorder="little"))
    return pa.Array.from_buffers(kind, len(numbers), [valid, pa.py_buffer(numbers)])


def booleans(values: Booleans) -> Any:
    """An array of booleans, a bit each."""
    bits = np.packbits(values, bitorder="little")
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, pa.py_buffer(bits)])


def repeated(text: str, count: int) -> Any:
    """An array of strings in which `text`, which is not empty, stands `count` times."""
    data = text.encode()
    offsets = np.arange(0, len(data) * count + 1, len(data), dtype=np.int32)
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(data * count))
