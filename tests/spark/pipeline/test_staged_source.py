"""The source of a stage's query, without a JVM: its position is a batch, its rows are those of the files."""

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark")

from pyspark.sql.types import (
    ArrayType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampType,
)

from odradek.spark.pipeline.staged_source import StagedReader

MOMENT = datetime(2013, 1, 1, 5, 15, 0, 123456, tzinfo=UTC)
FAR = datetime(3000, 1, 1, tzinfo=UTC)


SCHEMA = (
    StructType()
    .add("at", TimestampType())
    .add("tags", ArrayType(StringType()))
    .add("place", StructType().add("gate", StringType()))
    .add("seats", MapType(StringType(), IntegerType()))
    .add("n", LongType())
)


def reader(directory: Path) -> StagedReader:
    return StagedReader({"path": str(directory), "batch": "7"}, SCHEMA)


def test_a_batch_is_one_step_of_the_stream(tmp_path: Path) -> None:
    found = reader(tmp_path)
    assert (found.initialOffset(), found.latestOffset()) == ({"batch": 6}, {"batch": 7})
    assert found.partitions({"batch": 3}, {"batch": 7}) == []


def test_rows_have_the_types_that_spark_expects(tmp_path: Path) -> None:
    """Also moments of 96 bits, as Spark writes them, which are further away than nanoseconds reach."""
    rows = pa.table(
        {
            "at": pa.array([MOMENT, FAR], pa.timestamp("us", "UTC")),
            "tags": pa.array([["a", None], None], pa.list_(pa.string())),
            "place": pa.array([{"gate": "B4"}, None], pa.struct({"gate": pa.string()})),
            "seats": pa.array([[("first", 8)], []], pa.map_(pa.string(), pa.int32())),
            "n": pa.array([1, None], pa.int64()),
        }
    )
    pq.write_table(rows, tmp_path / "part-0.parquet", use_deprecated_int96_timestamps=True)
    found = reader(tmp_path)
    (partition,) = found.partitions({"batch": 6}, {"batch": 7})
    (batch,) = found.read(partition)
    assert batch.schema.field("at").type == pa.timestamp("us", tz="UTC")
    assert batch.schema.field("tags").type == pa.list_(pa.field("element", pa.string()))
    assert batch.to_pylist() == [
        {"at": MOMENT, "tags": ["a", None], "place": {"gate": "B4"}, "seats": [("first", 8)], "n": 1},
        {"at": FAR, "tags": None, "place": None, "seats": [], "n": None},
    ]
