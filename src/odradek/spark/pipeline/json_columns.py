"""Decodes the JSON of a whole batch into columns by Arrow's reader, ten times as fast as record by record.

It does so only where the outcome is that of `decoding`, whose words say what is wrong with a record. Arrow's
reader is the more lenient in a few places, which are looked for here: it takes one line for one record, it
knows NaN, it rounds whole numbers. Wherever Arrow refuses a batch, or its outcome might be another one, the
answer is None, and the batch is decoded record by record.
"""

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from odradek.spark.pipeline.column_types import ARROW_TYPES
from odradek.spark.pipeline.fields import Fields
from odradek.spark.pipeline.moments import days, moments

_OF_TEXT: Final[dict[str, Callable[[Any], Any | None]]] = {"timestamp": moments, "date": days}
"""The types of fields that are texts of JSON, and what makes their columns of those."""
TYPES: Final = frozenset({"string", "long", "double", "boolean", *_OF_TEXT})
"""The types of fields that Arrow and `fields` read alike; `json` keeps what Arrow would take apart."""
BYTES_MAX: Final = 1 << 30
"""Arrow counts the bytes of a block in 32 bits."""
WHOLE_MAX: Final = float(1 << 53)
"""From here on not every whole number is a double; `fields` refuses those that are not."""


def json_columns(fields: Fields, values: Any) -> list[Any] | None:
    """The columns of `fields`, an Arrow array of `values.type` binary being one object of JSON an entry.

    None if the values have to be decoded one by one.
    """
    if not len(values) or values.null_count or not fields or not TYPES.issuperset(fields.values()):
        return None
    try:
        texts = values.cast(pa.string())  # refuses what is not UTF-8
        if not _are_lines_of_objects(texts):
            return None
        lines = _lines(texts)
        if lines is None:
            return None
        table = pyarrow.json.read_json(
            pa.BufferReader(lines),
            read_options=pyarrow.json.ReadOptions(use_threads=False, block_size=len(lines)),
            parse_options=pyarrow.json.ParseOptions(
                explicit_schema=pa.schema([(name, _read_as(kind)) for name, kind in fields.items()]),
                unexpected_field_behavior="error",
            ),
        )
        table.validate(full=True)
        # A line that holds two objects is two rows; none is no row, since each begins with a brace.
        if table.num_rows != len(values):
            return None
        columns = []
        for name, kind in fields.items():
            column = _column(kind, table.column(name).combine_chunks())
            if column is None:
                return None
            columns.append(column)
    except pa.ArrowInvalid:
        return None
    return columns


def _read_as(kind: str) -> Any:
    """The type that Arrow's reader gives a field of this one."""
    return ARROW_TYPES["string" if kind in _OF_TEXT else kind]


def _column(kind: str, read: Any) -> Any | None:
    """The column of a field from what Arrow's reader gave. Raises ArrowInvalid; None as of `json_columns`."""
    if kind in _OF_TEXT:
        return _OF_TEXT[kind](read)
    return read if kind != "double" or _is_exact(read) else None


def _are_lines_of_objects(texts: Any) -> bool:
    """Whether each text is one line that begins and ends with a brace."""
    fits = pc.and_(pc.starts_with(texts, "{"), pc.ends_with(texts, "}"))
    breaks = pc.match_substring_regex(texts, r"[\r\n]")
    return pc.all(fits).as_py() and not pc.any(breaks).as_py()


def _lines(texts: Any) -> Any | None:
    """The texts as the lines of one buffer; None if they are too long for one."""
    if texts.nbytes > BYTES_MAX:
        return None
    ended = pc.binary_join_element_wise(texts, "", "\n")
    first, last = ended.offset, ended.offset + len(ended)
    _, offsets, data = ended.buffers()
    ends = pa.Array.from_buffers(pa.int32(), last + 1, [None, offsets])
    begin, end = ends[first].as_py(), ends[last].as_py()
    return data.slice(begin, end - begin)


def _is_exact(column: Any) -> bool:
    """Whether each number is the one that was written: finite, not rounded, and no zero with a sign."""
    size = pc.abs(column)
    fits = pc.and_(pc.is_finite(column), pc.less(size, WHOLE_MAX))
    # 1 / -0.0 is the infinite below zero.
    signed = pc.less(pc.divide(1.0, pc.if_else(pc.equal(column, 0.0), column, 1.0)), 0.0)
    return bool(pc.all(fits).as_py() is not False and pc.any(signed).as_py() is not True)
