"""The Spark side: a topic becomes a partitioned Parquet table, and the table answers questions."""

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

FLIGHT = (
    "id long, year int, month int, day int, dep_time int, sched_dep_time int, dep_delay int, arr_time int,"
    " sched_arr_time int, arr_delay int, carrier string, flight int, tailnum string, origin string,"
    " dest string, air_time int, distance int, hour int, minute int, time_hour timestamp"
)


@dataclass(frozen=True)
class Delays:
    """One line of an answer: name, number of flights, mean and worst delay in minutes."""

    name: str
    flights: int
    mean_delay: float
    worst_delay: int


def write_table(spark: SparkSession, bootstrap: str, topic: str, path: str) -> None:
    """Read the whole topic and write the flights, one folder per origin."""
    records = (
        spark.read.format("odradek")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", topic)
        .load()
    )
    flights = records.select(
        f.from_json(f.col("value").cast("string"), FLIGHT).alias("flight"),
        f.col("partition").alias("source_partition"),
        f.col("offset").alias("source_offset"),
    ).select("flight.*", "source_partition", "source_offset")
    flights.write.mode("overwrite").partitionBy("origin").parquet(path)


def delays_by(table: DataFrame, column: str) -> list[Delays]:
    """Departure delays by `column`, the latest on average first."""
    rows = (
        table.groupBy(column)
        .agg(
            f.count("*").alias("flights"),
            f.avg("dep_delay").alias("mean_delay"),
            f.max("dep_delay").alias("worst_delay"),
        )
        .orderBy(f.desc("mean_delay"))
        .collect()
    )
    return [Delays(row[column], row["flights"], row["mean_delay"], row["worst_delay"]) for row in rows]


def check_exactly_once(table: DataFrame, expected: int) -> None:
    """Raise unless the table holds the flights numbered 0 to `expected` - 1 once each."""
    row = table.agg(
        f.count("*").alias("rows"),
        f.count_distinct("id").alias("distinct"),
        f.min("id").alias("least"),
        f.max("id").alias("most"),
    ).collect()[0]
    found = (row["rows"], row["distinct"], row["least"], row["most"])
    if found != (expected, expected, 0, expected - 1):
        raise SystemExit(
            f"the table does not hold each flight once: {row['rows']} rows, {row['distinct']} different"
            f" flights numbered {row['least']} to {row['most']}, expected {expected}"
        )
