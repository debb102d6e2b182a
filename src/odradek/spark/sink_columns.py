"""The columns of rows that are written: those of Spark's Kafka sink, checked before anything is sent.

    value      string or binary     required; null: a record without a value
    key        string or binary     missing or null: a record without a key
    topic      string               not read where the option topic is given
    headers    array<struct<key:string,value:binary>>
    partition  int                  missing or null: the partitioner decides

The other columns of the source (offset, timestamp, timestampType) are left out, as Spark's sink does, so that
what was read can be written. Spark's sink leaves out any other column, too, and so loses a misspelt one; here
it is refused.
"""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from odradek.base.errors import SettingError

if TYPE_CHECKING:  # the driver commits without it
    from pyspark.sql.types import DataType, StructType

_HEADERS: Final = "array<struct<key:string,value:binary>>"
TYPES: Final = {
    "topic": ("string",),
    "key": ("string", "binary"),
    "value": ("string", "binary"),
    "headers": (_HEADERS,),
    "partition": ("int",),
}
"""What each column may be, by Spark's names of types."""
LEFT_OUT: Final = ("offset", "timestamp", "timestampType")
NO_TOPIC: Final = "Use the topic option for setting a topic."


def check_columns(schema: "StructType", topic: str | None) -> None:
    """Raises SettingError for columns that are no records; `topic` is the option, None without it."""
    names = schema.fieldNames()
    if "value" not in names:
        raise SettingError(f"Required attribute 'value' not found: the rows have {_listed(names)}")
    if topic is None and "topic" not in names:
        raise SettingError(f"topic option required when no 'topic' attribute is present. {NO_TOPIC}")
    for column in schema.fields:
        _check_column(column.name, column.dataType)
        if names.count(column.name) > 1:
            raise SettingError(f"the rows have two columns {column.name}")


def records_of(rows: Iterable[pa.RecordBatch], topic: str | None) -> Iterator[pa.RecordBatch]:
    """The columns that a producer takes; that of the topic only without the option.

    Raises SettingError for a row without a topic.
    """
    for batch in rows:
        if not batch.num_rows:
            continue
        names = [name for name in TYPES if name in batch.schema.names and (name != "topic" or topic is None)]
        if topic is None and batch.column("topic").null_count:
            raise SettingError(f"null topic present in the data. {NO_TOPIC}")
        yield batch.select(names)


def _check_column(name: str, kind: "DataType") -> None:
    if name in LEFT_OUT:
        return
    if name not in TYPES:
        close = get_close_matches(name, TYPES, n=1)
        hint = f"did you mean {close[0]}?" if close else f"a record has {_listed(list(TYPES))}"
        raise SettingError(f"the column {name} would have no effect in a topic; {hint}")
    written = kind.simpleString().partition(" collate ")[0]
    if written not in TYPES[name]:
        wanted = " or ".join(TYPES[name])
        raise SettingError(f"{name} attribute type must be a {wanted}, and is {written}")


def _listed(names: list[str]) -> str:
    return ", ".join(names) or "no columns"
