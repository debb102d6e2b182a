"""The types of a table's columns in the words of Spark and of Arrow; `json` is kept as text."""

from typing import Any, Final

import pyarrow as pa

SPARK_TYPES: Final = {"long": "bigint", "json": "string"}
"""Of the types that Spark calls otherwise."""
ARROW_TYPES: Final[dict[str, Any]] = {
    "string": pa.string(),
    "long": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "date": pa.date32(),
    "json": pa.string(),
}
