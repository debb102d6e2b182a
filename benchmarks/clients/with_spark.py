"""The jobs, done in Spark: by our source, by a pipeline, and by Spark's own connector to Kafka."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from peers.spark_connector import connector_jars
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from benchmarks.clients.job import Figures, Job
from benchmarks.clients.stopwatch import Stopwatch
from odradek.spark.pipeline.assembly import opened
from odradek.spark.pipeline.description import read_description
from odradek.spark.pipeline.ledger import Commit
from odradek.spark.session import spark_session

SCHEMA = "flight long, origin string, delay long, tail string, note string"
FIELDS = ", ".join(f'{name} = "{kind}"' for name, kind in (field.split() for field in SCHEMA.split(", ")))
Work: TypeAlias = Callable[[SparkSession, Path], None]
"""What is done with a session and an empty directory."""


def source_rows(job: Job) -> Figures:
    """Read all columns of all records by our source."""
    return _twice(job, lambda spark, _: _to_nowhere(_frame(spark, "odradek", job)))


def connector_rows(job: Job) -> Figures:
    """Read all columns of all records by Spark's connector."""
    return _twice(job, lambda spark, _: _to_nowhere(_frame(spark, "kafka", job)))


def source_sums(job: Job) -> Figures:
    """Aggregate by partition what our source reads."""
    return _twice(job, lambda spark, _: _sums(_frame(spark, "odradek", job), job))


def connector_sums(job: Job) -> Figures:
    """Aggregate by partition what Spark's connector reads."""
    return _twice(job, lambda spark, _: _sums(_frame(spark, "kafka", job), job))


def pipeline_to_parquet(job: Job) -> Figures:
    """Run a pipeline to the end of its topic."""

    def run(spark: SparkSession, directory: Path) -> None:
        file = directory / "flights.toml"
        file.write_text(
            f'[source]\nbootstrap_servers = "{job.bootstrap}"\ntopics = ["{job.topic}"]\n'
            f'[decode]\nformat = "json"\nfields = {{ {FIELDS} }}\n'
            f'[sink]\npath = "table"\n[batch]\nrecords_max = {job.records}\n'
        )
        with opened(read_description(file), _Silent(), spark=spark) as engine:
            engine.run_once()

    return _twice(job, run)


def connector_to_parquet(job: Job) -> Figures:
    """Decode JSON by Spark's connector and `from_json`, and write Parquet."""

    def run(spark: SparkSession, directory: Path) -> None:
        text = f.col("value").cast("string")
        rows = _frame(spark, "kafka", job).select(
            "topic", "partition", "offset", "timestamp", f.from_json(text, SCHEMA).alias("decoded")
        )
        rows.select("topic", "partition", "offset", "timestamp", "decoded.*").write.parquet(
            str(directory / "table")
        )

    return _twice(job, run)


class _Silent:
    """Hears how a pipeline goes."""

    def committed(self, commit: Commit, records_behind: int) -> None:
        """Nothing to say."""

    def warned(self, sentence: str) -> None:
        """A warning makes the measurement worthless."""
        raise AssertionError(sentence)


def _twice(job: Job, work: Work) -> Figures:
    spark = spark_session("bench", settings={"spark.jars": ",".join(map(str, connector_jars()))})
    with tempfile.TemporaryDirectory() as first:
        work(spark, Path(first))
    with tempfile.TemporaryDirectory() as second, Stopwatch() as watch:
        work(spark, Path(second))
    spark.stop()
    return {"records": job.records / watch.took_s}


def _frame(spark: SparkSession, source: str, job: Job) -> DataFrame:
    options = {"kafka.bootstrap.servers": job.bootstrap, "subscribe": job.topic}
    return spark.read.format(source).options(**options).load()


def _to_nowhere(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def _sums(frame: DataFrame, job: Job) -> None:
    sums = frame.groupBy("partition").agg(f.count(f.lit(1)).alias("records"), f.sum("offset")).collect()
    found = sum(row["records"] for row in sums)
    assert found == job.records, f"{found} of {job.records} records"
