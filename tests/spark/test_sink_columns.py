import pyarrow as pa
import pytest

from odradek.base.errors import SettingError

pytest.importorskip("pyspark")

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampType,
)

from odradek.spark.sink_columns import check_columns, records_of

HEADERS = "array<struct<key:string,value:binary>>"


KINDS: dict[str, DataType] = {
    "string": StringType(),
    "binary": BinaryType(),
    "int": IntegerType(),
    "bigint": LongType(),
    "timestamp": TimestampType(),
    "map<string,binary>": MapType(StringType(), BinaryType()),
    HEADERS: ArrayType(StructType().add("key", StringType()).add("value", BinaryType())),
}


def schema(**columns: str) -> StructType:
    found = StructType()
    for name, kind in columns.items():
        found = found.add(name, KINDS[kind])
    return found


@pytest.mark.parametrize(
    ("columns", "topic", "sentence"),
    [
        ({"key": "string"}, "t", "Required attribute 'value' not found: the rows have key"),
        ({}, "t", "the rows have no columns"),
        ({"value": "string"}, None, "topic option required when no 'topic' attribute is present"),
        ({"value": "int"}, "t", "value attribute type must be a string or binary, and is int"),
        ({"value": "string", "key": "bigint"}, "t", "key attribute type must be a string or binary, and"),
        ({"value": "string", "topic": "binary"}, None, "topic attribute type must be a string, and is bin"),
        ({"value": "string", "partition": "bigint"}, "t", "partition attribute type must be a int, and is"),
        (
            {"value": "string", "headers": "map<string,binary>"},
            "t",
            "headers attribute type must be a array<struct<key:string,value:binary>>, and is map",
        ),
        ({"value": "string", "header": HEADERS}, "t", r"column header would have no .*mean headers\?"),
        ({"value": "string", "minutes": "int"}, "t", "column minutes would have no effect in a topic; a rec"),
    ],
)
def test_columns_that_are_no_records_are_refused(
    columns: dict[str, str], topic: str | None, sentence: str
) -> None:
    with pytest.raises(SettingError, match=sentence):
        check_columns(schema(**columns), topic)


def test_a_column_may_be_there_once() -> None:
    with pytest.raises(SettingError, match="the rows have two columns value"):
        check_columns(schema(value="string").add("value", StringType()), "t")


def test_what_the_source_reads_can_be_written() -> None:
    read = schema(
        key="binary",
        value="binary",
        topic="string",
        partition="int",
        offset="bigint",
        timestamp="timestamp",
        timestampType="int",
        headers=HEADERS,
    )
    check_columns(read, None)
    rows = pa.RecordBatch.from_pylist([{"value": b"v", "topic": "t", "offset": 7, "partition": 2}])
    (kept,) = records_of([rows, rows.slice(0, 0)], None)
    assert kept.to_pylist() == [{"topic": "t", "value": b"v", "partition": 2}]
    (kept,) = records_of([rows], "other")
    assert kept.schema.names == ["value", "partition"]


def test_a_row_without_a_topic_is_refused() -> None:
    rows = pa.RecordBatch.from_pylist([{"value": b"v", "topic": "t"}, {"value": b"v", "topic": None}])
    with pytest.raises(SettingError, match=r"null topic present in the data. Use the topic option"):
        list(records_of([rows], None))
