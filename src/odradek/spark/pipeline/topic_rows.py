"""Rows as records of a topic: what Spark stages of a batch, and where a record says that it comes from.

Each record has the header `odradek.origin`, by which `verify` counts the topic: the place of the record that
it was made of and the pipeline's name, `flights/0/17/flights`. No part but the last can have a slash.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from odradek.base.errors import SettingError
from odradek.base.ids import TopicPartition
from odradek.spark.pipeline.fields import ORIGIN, Fields
from odradek.spark.pipeline.verifying import LakeOffsets

ORIGIN_HEADER: Final = "odradek.origin"
_ORIGIN: Final = re.compile(rb"([A-Za-z0-9._-]+)/(\d+)/(\d+)/(.+)")
# Spark's own format of times has three digits of a second, and columns have six.
_JSON_OPTIONS: Final = {
    "ignoreNullFields": "false",
    "timeZone": "UTC",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
}
_BYTES: Final = ("binary", "string")


def records_of(rows: DataFrame, value_format: str, json_texts: Iterable[str] = ()) -> DataFrame:
    """`rows` as columns `key` and `value`, both bytes, and those of the origin that they have.

    The value is with `raw` the column `value`, with `json` an object of all columns but those of the origin;
    the columns `json_texts` hold JSON, which is put into it as it is. Raises SettingError for rows that have
    no value, and for a key or value that is neither bytes nor text.
    """
    types = dict(rows.dtypes)
    place = [f.col(name) for name in ORIGIN[:3] if name in types]
    key = _bytes(types, "_key") if "_key" in types else f.lit(None).cast("binary")
    if value_format == "raw":
        if "value" not in types:
            raise SettingError(
                f'sink.value_format = "raw" sends the column value, and the rows have {", ".join(types)}'
            )
        return rows.select(*place, key.alias("key"), _bytes(types, "value").alias("value"))
    held = set(json_texts)
    columns = [
        f.parse_json(f.col(f"`{name}`")).alias(name) if name in held else f.col(f"`{name}`")
        for name in types
        if name not in ORIGIN
    ]
    if not columns:
        raise SettingError(f"the rows have {', '.join(types)}, and no column for the values of the topic")
    value = f.to_json(f.struct(*columns), _JSON_OPTIONS).cast("binary")
    return rows.select(*place, key.alias("key"), value.alias("value"))


def json_texts_of(fields: Fields) -> list[str]:
    """The fields that are kept as JSON text."""
    return [name for name, kind in fields.items() if kind == "json"]


def table_to_send(staged: pa.RecordBatch, pipeline: str) -> pa.Table:
    """The columns that a producer takes, of staged ones: key, value and the header of the origin."""
    names = ["key", "value"]
    columns: list[Any] = [staged.column("key"), staged.column("value")]
    if set(ORIGIN[:3]) <= set(staged.schema.names):
        origins = origins_of(staged, pipeline)
        header = pa.StructArray.from_arrays(
            [pa.array([ORIGIN_HEADER] * len(origins), pa.string()), origins], names=["key", "value"]
        )
        # One header for each row.
        starts = pa.array(np.arange(len(origins) + 1, dtype=np.int32))
        names.append("headers")
        columns.append(pa.ListArray.from_arrays(starts, header))
    return pa.table(columns, names=names)


def origins_of(staged: pa.RecordBatch, pipeline: str) -> Any:
    """An array of the header's value for each row, of columns that have the origin."""
    parts = [pc.cast(staged.column(name), pa.string()) for name in ORIGIN[:3]]
    return pc.binary_join_element_wise(*parts, pipeline, "/").cast(pa.binary())


def origins_in(batches: Iterable[pa.RecordBatch], pipeline: str) -> LakeOffsets:
    """Where the records of a topic come from, those of this pipeline; `batches` have the source's columns."""
    found: dict[TopicPartition, list[int]] = {}
    count = 0
    for topic, partition, offset in _origins(batches, pipeline.encode()):
        count += 1
        found.setdefault(TopicPartition(topic, partition), []).append(offset)
    offsets = {one: np.sort(np.array(mine, dtype=np.int64)) for one, mine in found.items()}
    return LakeOffsets(offsets, count)


def _origins(batches: Iterable[pa.RecordBatch], pipeline: bytes) -> Iterator[tuple[str, int, int]]:
    for batch in batches:
        for headers in batch.column("headers").to_pylist():
            for header in headers or ():
                if header["key"] != ORIGIN_HEADER or header["value"] is None:
                    continue
                place = _ORIGIN.fullmatch(header["value"])
                if place is not None and place[4] == pipeline:
                    yield place[1].decode(), int(place[2]), int(place[3])


def _bytes(types: dict[str, str], name: str) -> Any:
    if types[name] not in _BYTES:
        raise SettingError(f"the column {name} is to be bytes or text in a topic, and is a {types[name]}")
    return f.col(name).cast("binary")
