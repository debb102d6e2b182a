"""The declared stages on Spark: windows and deduplication by its streaming, and joins with a table.

A stage that keeps state is one query of Spark's streaming. For each batch of the pipeline it is started from
the state of the batch before, reads the rows of this batch as its one new step (`staged_source`), goes on
until nothing is left to do, and ends; its checkpoint is then the state of this batch (`stage_state`).

    rows → _input-1/ → late rows → _late/stage=1/
                     → query, with _state/stage=1/ → _output-1/ → the next stage

The watermark is Spark's: after each batch the newest time of all its rows, less `watermark_s`, and it never
goes back. Spark drops what is behind it in silence; so this is found first, by the same comparison with the
same watermark, and is counted and kept. What Spark then says it has dropped must be nothing else.
"""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import Window as Over
from pyspark.sql import functions as f
from pyspark.sql.types import TimestampType

from odradek.base.errors import OdradekError, SettingError
from odradek.spark.pipeline.fields import ORIGIN
from odradek.spark.pipeline.keyed_rows import column
from odradek.spark.pipeline.local_paths import spark_path
from odradek.spark.pipeline.row_files import save_rows
from odradek.spark.pipeline.stage_state import checkpoint_of, late_rows_of
from odradek.spark.pipeline.staged_source import NAME, StagedDataSource
from odradek.spark.pipeline.transforms import Deduplication, Stateful, TableJoin, Windows

_WINDOW: Final = "_odradek_window"
_RANK: Final = "_odradek_rank"
# A query lives for one batch, so its stores write whole states and remove old ones before it ends, and not at
# some time later in the background.
_SETTINGS: Final = {
    "spark.sql.streaming.stateStore.unloadOnCommit": "true",
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "1",
    "spark.sql.streaming.minBatchesToRetain": "2",
    "spark.sql.adaptive.enabled": "false",
}


class RowsRefused(OdradekError):
    """Rows of a batch have no time; the message is a sentence."""


@dataclass(frozen=True, slots=True)
class Staged:
    """What a stage made of the rows of a batch."""

    rows: DataFrame
    late: int
    """The rows that came too late, once for each window that they were too late for."""


def joined(stage: TableJoin, rows: DataFrame) -> DataFrame:
    """The rows with the columns of the table as it is now. Raises SettingError, what Spark raises."""
    table = rows.sparkSession.read.format(stage.format).load(spark_path(stage.table))
    for side, there in (("the rows have", rows.columns), (f"{stage.table} has", table.columns)):
        if missing := [name for name in stage.on if name not in there]:
            raise SettingError(f"a transform joins on {missing[0]}, and {side} {', '.join(there)}")
    both = [name for name in table.columns if name in rows.columns and name not in stage.on]
    if both:
        raise SettingError(
            f"the rows and {stage.table} both have the column {both[0]}, which is not in on: let a transform"
            " before give it another name"
        )
    return rows.join(table, list(stage.on), stage.how)


class StatefulStages:
    """Runs the stages that keep state on the rows of one batch, whose files are in `directory`.

    `batch` is its number: that of the last batch that the state has seen, and more.
    """

    def __init__(self, directory: Path, batch: int) -> None:
        self._directory = directory
        self._batch = batch
        # How many stages have been run.
        self._count = 0
        # Directories of rows between stages.
        self._between: list[Path] = []

    def run(self, stage: Stateful, rows: DataFrame) -> Staged:
        """The next stage. Raises SettingError, RowsRefused, and what Spark raises."""
        _check_columns(stage, rows)
        self._count += 1
        spark = rows.sparkSession
        staged = self._write(rows, f"_input-{self._count}")
        known = spark.read.schema(rows.schema).parquet(spark_path(staged))
        checkpoint = checkpoint_of(self._directory, self._count)
        late, timely = _split(stage, known, _watermark_ms(checkpoint))
        counted = late.count()
        if counted:
            save_rows(late, late_rows_of(self._directory, self._count))
        if isinstance(stage, Deduplication):
            timely = _first_of_keys(stage, timely)
        if counted or isinstance(stage, Deduplication):
            staged = self._write(timely, f"_timely-{self._count}")
        made = self._query(stage, staged, known.schema, checkpoint, spark, counted)
        return Staged(made, counted)

    def close(self) -> None:
        """Remove the rows between stages."""
        for one in self._between:
            shutil.rmtree(one, ignore_errors=True)

    def _write(self, rows: DataFrame, name: str) -> Path:
        directory = self._directory / name
        self._between.append(directory)
        save_rows(rows, directory)
        return directory

    def _query(
        self, stage: Stateful, staged: Path, schema: Any, checkpoint: Path, spark: SparkSession, late: int
    ) -> DataFrame:
        """What the query gives for these rows, its checkpoint being moved on."""
        output = self._directory / f"_output-{self._count}"
        self._between.append(output)
        spark.dataSource.register(StagedDataSource)
        stream = spark.readStream.format(NAME).schema(schema).option("batch", str(self._batch))
        given = _queried(stage, stream.option("path", str(staged.absolute())).load())

        def keep(rows: DataFrame, _number: int) -> None:
            save_rows(rows, output)

        with _settings(spark, _SETTINGS):
            writer = given.writeStream.foreachBatch(keep).outputMode("append")
            query = writer.option("checkpointLocation", spark_path(checkpoint)).start()
            try:
                query.processAllAvailable()
            finally:
                query.stop()
        dropped = sum(
            one.numRowsDroppedByWatermark
            for progress in query.recentProgress
            for one in progress.stateOperators
        )
        # Spark drops the closed windows of a row that also has open ones; otherwise it has no late row.
        may_drop = late and isinstance(stage, Windows) and stage.slide_s < stage.window_s
        if dropped and not may_drop:
            raise RowsRefused(f"Spark dropped {dropped:,} rows that are not late: nothing was committed")
        return spark.read.schema(given.schema).parquet(spark_path(output))


def _check_columns(stage: Stateful, rows: DataFrame) -> None:
    """Raises SettingError for a column that is not there, and for a time that is none."""
    of_stage = stage.key if isinstance(stage, Deduplication) else stage.by
    for name in (stage.time, *of_stage):
        if name not in rows.columns:
            raise SettingError(
                f"a stage needs the column {name}, and the rows have {', '.join(rows.columns)}"
            )
    kind = rows.schema[stage.time].dataType
    if not isinstance(kind, TimestampType):
        raise SettingError(
            f"{stage.time} is the time of a stage, and is a {kind.simpleString()}, not a timestamp"
        )


def _split(stage: Stateful, rows: DataFrame, watermark_ms: int) -> tuple[DataFrame, DataFrame]:
    """The late rows and the others. Raises RowsRefused for a row without a time.

    Late rows of windows say which window they were too late for. A row that is late for some of its windows
    is among both.
    """
    if missing := rows.where(column(stage.time).isNull()).count():
        raise RowsRefused(
            f"{missing:,} rows have no value in {stage.time}, the time of a stage: drop them in a transform"
            " before it, or give them one"
        )
    watermark = f.timestamp_millis(f.lit(watermark_ms))
    if isinstance(stage, Deduplication):
        is_late = column(stage.time) <= watermark
        return rows.where(is_late), rows.where(~is_late)
    window = _window(stage)
    placed = rows.select("*", window.alias(_WINDOW))
    late = placed.where(f.col(f"{_WINDOW}.end") <= watermark).select(
        *map(column, rows.columns),
        f.col(f"{_WINDOW}.start").alias("_window_start"),
        f.col(f"{_WINDOW}.end").alias("_window_end"),
    )
    # The last window of a row begins less than a slide before it.
    micros = f.unix_micros(column(stage.time))
    last_start = micros - f.pmod(micros, f.lit(stage.slide_s * 1_000_000))
    return late, rows.where(last_start + stage.window_s * 1_000_000 > watermark_ms * 1000)


def _queried(stage: Stateful, stream: DataFrame) -> DataFrame:
    """The stage as Spark's streaming has it."""
    marked = stream.withWatermark(stage.time, f"{stage.watermark_s} seconds")
    if isinstance(stage, Deduplication):
        return marked.dropDuplicatesWithinWatermark(list(stage.key))
    groups = marked.groupBy(_window(stage).alias(_WINDOW), *map(column, stage.by))
    made = groups.agg(*map(f.expr, stage.aggregates))
    return made.select(
        f.col(f"{_WINDOW}.start").alias("window_start"),
        f.col(f"{_WINDOW}.end").alias("window_end"),
        *map(column, made.columns[1:]),
    )


def _window(stage: Windows) -> Column:
    return f.window(column(stage.time), f"{stage.window_s} seconds", f"{stage.slide_s} seconds")


def _first_of_keys(stage: Deduplication, rows: DataFrame) -> DataFrame:
    """Of each key the first row of the batch, so that it does not depend on Spark's order which one stays."""
    order = [stage.time, *(name for name in ORIGIN[:3] if name in rows.columns and name != stage.time)]
    over = Over.partitionBy(*map(column, stage.key)).orderBy(*map(column, order))
    return rows.withColumn(_RANK, f.row_number().over(over)).where(f.col(_RANK) == 1).drop(_RANK)


def _watermark_ms(checkpoint: Path) -> int:
    """The watermark that the query's last step had, in ms since 1970; 0 before the first.

    Each step begins by writing it into the log of offsets: a line of JSON behind the version.
    """
    steps = {int(one.name): one for one in (checkpoint / "offsets").glob("[0-9]*")}
    if not steps:
        return 0
    lines = steps[max(steps)].read_text().splitlines()
    return int(json.loads(lines[1])["batchWatermarkMs"])


@contextmanager
def _settings(spark: SparkSession, wanted: dict[str, str]) -> Iterator[None]:
    """The session with these settings, for the length of a block."""
    before: dict[str, str | None] = {name: spark.conf.get(name, None) for name in wanted}
    try:
        for name, value in wanted.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, earlier in before.items():
            if earlier is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, earlier)
