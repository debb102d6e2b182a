"""Decodes the records of many batches into Arrow columns, without a loop over records.

`record_fields` finds where everything lies; keys and values are gathered out of the buffer (`byte_strings`).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from odradek.records.columnar.byte_strings import gather
from odradek.records.columnar.header_columns import header_column
from odradek.records.columnar.record_fields import Sections, locate
from odradek.records.columnar.varints import Longs, VarintBytes


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
    found = locate(data, sections)
    keys, values = gather(
        buffer,
        (found.key_starts, found.key_ends, found.value_starts, found.value_ends),
        found.has_no_key,
        found.has_no_value,
    )
    types = np.repeat(sections.appended.astype(np.int32), sections.counts)
    headers = None
    if with_headers:
        headers = header_column(data, buffer, found.header_counts, found.headers_starts, found.ends)
    return RecordColumns(found.offsets, found.timestamps_ms, types, keys, values, headers)
