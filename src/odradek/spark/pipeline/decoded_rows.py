"""Batches of records become batches of decoded columns, on an executor.

Each record keeps its place: beside the columns of the table stand those that say where it comes from, and
`_raw`, `_error`, `_new_fields` and `_change`, by which the job tells rows, dead letters and deletions apart.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from odradek.spark.pipeline.avro import AvroFormat
from odradek.spark.pipeline.change_events import Envelope
from odradek.spark.pipeline.column_types import ARROW_TYPES, SPARK_TYPES
from odradek.spark.pipeline.decoding import Decoder
from odradek.spark.pipeline.fields import ORIGIN, Fields
from odradek.spark.pipeline.json_columns import json_columns
from odradek.spark.pipeline.keys import RECORD_KEY, Keying, decode_changes

ORIGIN_SCHEMA: Final = "_topic string, _partition int, _offset bigint, _timestamp timestamp, _key binary"
SOURCE_COLUMNS: Final = {
    "_topic": "topic",
    "_partition": "partition",
    "_offset": "offset",
    "_timestamp": "timestamp",
    "_key": "key",
}
"""The source's column of each origin column."""
ROWS_MAX: Final = 10_000
"""Records that are decoded together: one that Arrow does not read has its neighbours decoded one by one."""


@dataclass(frozen=True, slots=True)
class Decoding:
    """What a task needs to know to decode records."""

    decoder: Decoder
    keying: Keying

    def as_text(self) -> str:
        """All of it as JSON, for Spark hands on options as text."""
        return json.dumps([asdict(self.decoder), asdict(self.keying)])

    @classmethod
    def from_text(cls, text: str) -> "Decoding":
        """What `as_text` made the text of."""
        decoder, keying = json.loads(text)
        decoder["avro"] = decoder["avro"] and AvroFormat(**decoder["avro"])
        keying["envelope"] = keying["envelope"] and Envelope(**_with_tuples(keying["envelope"]))
        return cls(Decoder(**decoder), Keying(**_with_tuples(keying)))


def decoded_schema(fields: Fields) -> str:
    """The columns of decoded records in the words of Spark."""
    columns = [f"`{name}` {SPARK_TYPES.get(kind, kind)}" for name, kind in fields.items()]
    internal = "_raw binary, _error string, _new_fields string, _change string"
    return ", ".join([ORIGIN_SCHEMA, *columns, internal])


def decode_rows(decoding: Decoding, batches: Iterable[Any]) -> Iterator[Any]:
    """Batches with the source's columns as batches with those of `decoded_schema`."""
    for batch in batches:
        for start in range(0, len(batch), ROWS_MAX):
            yield _decode(decoding, batch.slice(start, ROWS_MAX))


def _decode(decoding: Decoding, batch: Any) -> Any:
    columns = _columns_at_once(decoding, batch)
    if columns is None:
        return _decode_one_by_one(decoding, batch)
    nothing = pa.nulls(len(batch), pa.string())
    return _decoded(decoding, batch, columns, [pa.nulls(len(batch), pa.binary()), *[nothing] * 3])


def _columns_at_once(decoding: Decoding, batch: Any) -> list[Any] | None:
    """The columns of records that are rows without exception; None if they have to be looked at singly."""
    fields, keying = decoding.decoder.fields, decoding.keying
    if decoding.decoder.format != "json" or keying.envelope is not None:
        return None
    columns = json_columns(fields, batch.column("value"))
    if columns is None:
        return None
    # A record with a null in its key is a dead letter; fields of the key may be made by transforms later on.
    by_name = dict(zip(fields, columns, strict=True))
    for name in keying.columns:
        if name == RECORD_KEY:
            of_key = batch.column("key")
        elif keying.is_transformed:
            continue
        elif name in by_name:
            of_key = by_name[name]
        else:
            return None
        if of_key.null_count:
            return None
    return columns


def _decode_one_by_one(decoding: Decoding, batch: Any) -> Any:
    """Record by record, with what is wrong with each."""
    decoder, keying = decoding.decoder, decoding.keying
    values = batch.column("value")
    texts = values.to_pylist()
    keys = batch.column("key").to_pylist() if keying.columns else [None] * len(texts)
    decoded, changes = decode_changes(keying, decoder, keys, texts)
    columns = [pa.array(decoded.columns[name], ARROW_TYPES[kind]) for name, kind in decoder.fields.items()]
    errors = pa.array(decoded.errors, pa.string())
    raw = pc.if_else(errors.is_valid(), values, pa.scalar(None, pa.binary()))
    new = [None if one is None else json.dumps(one) for one in decoded.new_fields]
    internal = [raw, errors, pa.array(new, pa.string()), pa.array(changes, pa.string())]
    return _decoded(decoding, batch, columns, internal)


def _decoded(decoding: Decoding, batch: Any, columns: Sequence[Any], internal: Sequence[Any]) -> Any:
    arrays = [*(batch.column(name) for name in SOURCE_COLUMNS.values()), *columns, *internal]
    names = [*ORIGIN, *decoding.decoder.fields, "_raw", "_error", "_new_fields", "_change"]
    return pa.RecordBatch.from_arrays(arrays, names=names)


def _with_tuples(document: dict[str, Any]) -> dict[str, Any]:
    """The document with the tuples that JSON has made lists of."""
    return {name: tuple(one) if isinstance(one, list) else one for name, one in document.items()}
