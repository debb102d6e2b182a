"""Rows as Parquet files in a directory of the driver's, with the proof that all of them are there.

Tasks on this machine write where the driver looks. On a cluster a machine that does not share the directory
makes one of its own, and Spark commits the files that the driver sees: rows would be lost in silence. So
there the rows that tasks wrote are counted by Spark, and compared with those of the files.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as f

from odradek.base.errors import OdradekError
from odradek.spark.master import is_local
from odradek.spark.pipeline.local_paths import spark_path

TEMPORARY = "_temporary"
"""Where tasks write before Spark commits their files."""


class RowsLost(OdradekError):
    """Tasks wrote rows where the driver does not see them."""


def save_rows(frame: DataFrame, directory: Path, partition_by: Sequence[str] = ()) -> None:
    """Add the rows to those of the directory. Raises RowsLost, and what Spark raises."""
    if is_local(str(frame.sparkSession.sparkContext.master)):
        _write(frame, directory, partition_by)
        return
    before = rows_in(directory)
    written = Observation()
    _write(frame.observe(written, f.count(f.lit(1)).alias("rows")), directory, partition_by)
    check_rows(directory, int(written.get["rows"]), rows_in(directory) - before)


def rows_in(directory: Path) -> int:
    """The rows of all files that Spark has committed in a directory and below it."""
    return sum(pq.read_metadata(one).num_rows for one in files_in(directory))


def files_in(directory: Path) -> list[Path]:
    """The files that Spark has committed in a directory and below it."""
    return [one for one in directory.rglob("*.parquet") if TEMPORARY not in one.parts]


def clear(directory: Path) -> None:
    """Remove what tasks left that ended after Spark had committed without them."""
    for one in list(directory.rglob(TEMPORARY)):
        shutil.rmtree(one, ignore_errors=True)


def check_rows(directory: Path, written: int, found: int) -> None:
    """Raises RowsLost if the driver does not find what tasks wrote."""
    if found != written:
        raise RowsLost(
            f"the executors wrote {written:,} rows to {directory}, and {found:,} are there for this process:"
            " sink.path must be a directory that all machines of the cluster share; nothing was committed"
        )


def _write(frame: DataFrame, directory: Path, partition_by: Sequence[str]) -> None:
    # The directory exists and is empty but for what this batch wrote.
    writer = frame.write.mode("append").option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false")
    if partition_by:
        writer = writer.partitionBy(*partition_by)
    writer.parquet(spark_path(directory))
