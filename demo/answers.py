"""Verifies the tables against the topic and against the flights themselves, and asks them about delays."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from odradek.spark.pipeline.assembly import verify_table
from odradek.spark.pipeline.description import Description
from odradek.spark.pipeline.verifying import Findings

HOURS = ("flights", "departed", "delay", "worst")
"""The figures of an hour, as `pipelines/hourly.py` makes them."""


class NotOnce(Exception):
    """A table has other rows than the flights; the message says which."""


@dataclass(frozen=True, slots=True)
class Delays:
    """One line of an answer; delays are in minutes."""

    name: str
    flights: int
    cancelled: int
    mean: float
    worst: int


def read_table(spark: SparkSession, description: Description) -> DataFrame:
    """The rows of a table."""
    reader = spark.read.format(description.sink_format)
    if description.sink_format == "parquet":
        reader = reader.option("mergeSchema", "true")
    return reader.load(str(description.table))


def verified(spark: SparkSession, description: Description, expected: int) -> Findings:
    """What `odradek pipeline verify` finds. Raises NotOnce for a fault, and where records lack."""
    found = verify_table(description, spark)
    if found.faults:
        raise NotOnce(f"{description.name}: {'; '.join(found.faults)}")
    if found.records != expected or found.dead_letters or found.no_longer_there:
        raise NotOnce(
            f"{description.name} has read {found.records:,} records, of which {found.dead_letters:,} are dead"
            f" letters, where {expected:,} were sent"
        )
    return found


def check_flights(table: DataFrame, expected: int) -> None:
    """Raise NotOnce unless the table has the flights numbered 0 to `expected` - 1 once each."""
    row = table.agg(
        f.count("*").alias("rows"),
        f.count_distinct("id").alias("distinct"),
        f.min("id").alias("least"),
        f.max("id").alias("most"),
    ).collect()[0]
    found = (row["rows"], row["distinct"], row["least"], row["most"])
    if found != (expected, expected, 0, expected - 1):
        raise NotOnce(
            f"flights has {row['rows']:,} rows, {row['distinct']:,} different flights numbered {row['least']}"
            f" to {row['most']}, where {expected:,} were sent"
        )


def check_hours(hours: Any, flights: Any) -> None:
    """Raise NotOnce unless the hours, an Arrow table, are those that the flights of the data file make."""
    expected = hours_of(flights)
    found = _sorted(hours)
    if not found.equals(expected):
        counted = pc.sum(found["flights"]).as_py()
        raise NotOnce(
            f"delays has {found.num_rows:,} hours with {counted:,} flights, where {expected.num_rows:,} hours"
            f" with {flights.num_rows:,} were sent, or delays differ"
        )


def hours_of(flights: Any) -> Any:
    """The hours that the pipeline should make of these flights, computed by Arrow alone."""
    figures = [("id", "count"), ("dep_delay", "count"), ("dep_delay", "sum"), ("dep_delay", "max")]
    hours = flights.group_by(["origin", "time_hour"]).aggregate(figures)
    names = {f"{column}_{function}": name for (column, function), name in zip(figures, HOURS, strict=True)}
    hours = hours.rename_columns([names.get(name, name) for name in hours.column_names])
    times = pc.strptime(hours["time_hour"], "%Y-%m-%dT%H:%M:%SZ", "us").cast(pa.timestamp("us", tz="UTC"))
    hours = hours.set_column(hours.column_names.index("time_hour"), "time_hour", times)
    delay = pc.fill_null(hours["delay"], 0)
    return _sorted(hours.set_column(hours.column_names.index("delay"), "delay", delay))


def _sorted(hours: Any) -> Any:
    order = [("origin", "ascending"), ("time_hour", "ascending")]
    chosen = hours.select(["origin", "time_hour", *HOURS]).sort_by(order)
    types = [pa.string(), pa.timestamp("us", tz="UTC"), *[pa.int64()] * len(HOURS)]
    return chosen.cast(pa.schema(list(zip(chosen.column_names, types, strict=True)))).combine_chunks()


def delays_by_airline(table: DataFrame) -> Sequence[Delays]:
    """Departure delays of each airline, from the table of flights, the latest on average first."""
    return _delays(
        table.groupBy(f.col("airline").alias("name")).agg(
            f.count("*").alias("flights"),
            f.count_if("is_cancelled").alias("cancelled"),
            f.avg("dep_delay").alias("mean"),
            f.max("dep_delay").alias("worst"),
        )
    )


def delays_by_origin(hours: DataFrame) -> Sequence[Delays]:
    """Departure delays of each airport, from the table of delays, the latest on average first."""
    return _delays(
        hours.groupBy(f.col("origin").alias("name")).agg(
            f.sum("flights").alias("flights"),
            f.sum(f.col("flights") - f.col("departed")).alias("cancelled"),
            (f.sum("delay") / f.sum("departed")).alias("mean"),
            f.max("worst").alias("worst"),
        )
    )


def _delays(frame: DataFrame) -> Sequence[Delays]:
    return [Delays(**row.asDict()) for row in frame.orderBy(f.desc("mean")).collect()]
