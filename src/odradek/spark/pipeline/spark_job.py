"""The job of a batch on Spark: read the offsets, decode, transform, write rows and dead letters as Parquet.

Where each record is a row, rows are written and counted in one pass, and dead letters, if there are any, come
from a second reading of the same offsets. Where stages or keys read the records more than once, Spark keeps
what was decoded. Either way the files have to hold as many records as were counted.
"""

import importlib.util
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark import StorageLevel, cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as f

from odradek.base.errors import OdradekError, SettingError
from odradek.spark.first_sentence import sentence_first_of_rows
from odradek.spark.offset_ranges import OffsetRange
from odradek.spark.pipeline.batch_counts import BatchCounts, count_columns, counts_of
from odradek.spark.pipeline.decoded_rows import SOURCE_COLUMNS, Decoding, decode_rows, decoded_schema
from odradek.spark.pipeline.decoded_source import DECODING, NAME, DecodedDataSource
from odradek.spark.pipeline.description import TOPIC, Description
from odradek.spark.pipeline.engine import Written
from odradek.spark.pipeline.fields import INTERNAL, ORIGIN, Fields
from odradek.spark.pipeline.keyed_rows import column, newest_of_keys
from odradek.spark.pipeline.keys import DELETE, IGNORE, NO_RECORD_KEY, RECORD_KEY, Keying
from odradek.spark.pipeline.ledger import DEAD_LETTERS, DELETES, LATE, Table
from odradek.spark.pipeline.local_paths import spark_path
from odradek.spark.pipeline.row_files import clear, files_in, save_rows
from odradek.spark.pipeline.stage_state import StageState, digest_of
from odradek.spark.pipeline.stages import StatefulStages, joined
from odradek.spark.pipeline.topic_rows import json_texts_of, records_of
from odradek.spark.pipeline.topics import batch_options
from odradek.spark.pipeline.transforms import Code, TableJoin, Transform, has_windows
from odradek.spark.source import SCHEMA


class JobFailed(OdradekError):
    """Spark could not write a batch; the message is its reason in one sentence."""


class SparkJob:
    """The port `Job` of the engine, on one session. Raises SettingError for transforms it cannot load.

    A job that writes batches takes what stages keep from the batches of `ledger`, which is open for writing.
    """

    def __init__(
        self,
        description: Description,
        spark: SparkSession,
        ledger: Table | None = None,
        check_executors: Callable[[Path], None] = lambda directory: None,
    ) -> None:
        """`check_executors` is called with the directory of each batch that is to be written by tasks."""
        self._description = description
        self._spark = spark
        spark.dataSource.register(DecodedDataSource)
        self._check_executors = check_executors
        self._state = None if ledger is None else StageState(ledger)
        self._stages = [_stage(one) for one in description.transforms]

    def write(self, ranges: Sequence[OffsetRange], fields: Fields, directory: Path) -> Written:
        """Write rows of `ranges` into `directory`, dead letters below it. Raises JobFailed, SettingError."""
        if not ranges and not self._begins_partitions():
            return self._without_records(directory)
        self._check_executors(directory)
        most = self._description.dead_letters_max
        return self._guarded(lambda: self._write(self.decoded(ranges, fields), fields, directory, most))

    def _begins_partitions(self) -> bool:
        """Whether this batch makes a lake's table with partitions, whose columns it must have, if no rows."""
        is_first = self._state is not None and self._state.batch == 1
        return (
            is_first and bool(self._description.partition_by) and self._description.sink_format != "parquet"
        )

    def _without_records(self, directory: Path) -> Written:
        """What the stages keep stays as it is."""
        if self._state is not None:
            self._state.begin(directory)
        return Written(0, 0, 0, {}, keeps_origin=True, state=digest_of(directory))

    def replay(self, letters: Sequence[Path], fields: Fields, directory: Path) -> Written:
        """Write what the dead letters in these files become. Raises JobFailed, SettingError."""
        self._check_executors(directory)
        return self._guarded(lambda: self._write(self._letters(letters, fields), fields, directory, None))

    def _guarded(self, work: Callable[[], Written]) -> Written:
        try:
            return work()
        except PySparkException as error:
            raise JobFailed(f"Spark cannot write the batch: {sentence_of(str(error))}") from error
        except OdradekError:
            raise
        except Exception as error:  # whatever a user's function raises, and py4j
            raise JobFailed(f"the batch cannot be written: {sentence_of(str(error))}") from error

    def _write(
        self, decoded: DataFrame, fields: Fields, directory: Path, dead_letters_max: int | None
    ) -> Written:
        """Write records that are decoded; rows only with few enough dead letters."""
        if self._is_plain(fields):
            return self._write_plain(decoded, fields, directory, dead_letters_max)
        kept = decoded.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            return self._write_kept(kept, fields, directory, dead_letters_max)
        finally:
            kept.unpersist()

    def _is_plain(self, fields: Fields) -> bool:
        """Whether each record that can be decoded is a row, whatever the other records are."""
        described = self._description
        has_places = {*ORIGIN, *fields}.issuperset(described.partition_by)
        return not self._stages and not described.keying.columns and has_places

    def _write_plain(
        self, decoded: DataFrame, fields: Fields, directory: Path, dead_letters_max: int | None
    ) -> Written:
        """Count the records while their rows are written, and read again for dead letters, if any."""
        if self._state is not None:
            self._state.begin(directory)
        observed = Observation()
        rows = decoded.observe(observed, *count_columns()).where("_error is null").drop(*INTERNAL)
        self._save_rows(rows, fields, rows, directory)
        counts = counts_of(observed.get)
        if refused := self._refused(counts, decoded, directory, dead_letters_max):
            return refused
        return self._written(counts, directory, rows)

    def _write_kept(
        self, kept: DataFrame, fields: Fields, directory: Path, dead_letters_max: int | None
    ) -> Written:
        """Count the records first, then send those that can be decoded through the stages."""
        counts = counts_of(kept.agg(*count_columns()).collect()[0].asDict())
        if refused := self._refused(counts, kept, directory, dead_letters_max):
            return refused
        readable = kept.where("_error is null").drop("_raw", "_error", "_new_fields")
        if self._state is not None:
            self._state.begin(directory)
        stateful = StatefulStages(directory, self._state.batch if self._state else 1)
        try:
            rows, late = self._transformed(readable.where("_change is null").drop("_change"), stateful)
            deletes, superseded = self._save_rows(rows, fields, readable, directory)
        finally:
            stateful.close()
        return self._written(counts, directory, rows, deletes=deletes, superseded=superseded, late=late)

    def _refused(
        self, counts: BatchCounts, decoded: DataFrame, directory: Path, dead_letters_max: int | None
    ) -> Written | None:
        """Write the dead letters. Returns what `write` returns where nothing can be committed, else None."""
        if counts.new_fields:
            return Written(
                counts.records, 0, counts.dead, {}, keeps_origin=True, new_fields=counts.new_fields
            )
        if not counts.dead:
            return None
        letters = decoded.where("_error is not null")
        save_rows(letters.select(*ORIGIN, "_error", f.col("_raw").alias("_value")), directory / DEAD_LETTERS)
        if dead_letters_max is None or counts.dead <= dead_letters_max:
            return None
        first_error = _first_error(directory)
        return Written(counts.records, 0, counts.dead, {}, keeps_origin=True, first_error=first_error)

    def _written(
        self,
        counts: BatchCounts,
        directory: Path,
        rows: DataFrame,
        *,
        deletes: int = 0,
        superseded: int = 0,
        late: int = 0,
    ) -> Written:
        """What the files of the directory hold. Raises JobFailed if that is not what was counted."""
        clear(directory)
        files = {
            str(one.relative_to(directory)): pq.read_metadata(one).num_rows for one in files_in(directory)
        }
        beside = (DEAD_LETTERS, DELETES, LATE)
        written = sum(count for name, count in files.items() if not name.startswith(beside))
        dead = sum(count for name, count in files.items() if name.startswith(DEAD_LETTERS))
        if not self._stages:
            _check_records(counts.records, written + deletes + superseded + counts.ignored + dead)
        has_origin = set(ORIGIN[:3]) <= set(rows.columns)
        return Written(
            counts.records,
            written,
            counts.dead,
            files,
            keeps_origin=has_origin and not has_windows(self._description.transforms),
            first_error=_first_error(directory),
            deletes=deletes,
            superseded=superseded,
            ignored=counts.ignored,
            late=late,
            state=digest_of(directory),
        )

    def _save_rows(
        self, rows: DataFrame, fields: Fields, readable: DataFrame, directory: Path
    ) -> tuple[int, int]:
        """Write the rows; returns the numbers of deletions and of what gave way."""
        self._check_columns(rows)
        if self._description.sink_format == TOPIC:
            # Behind transforms a column of that name may be anything.
            texts = [] if self._stages else json_texts_of(fields)
            rows = records_of(rows, self._description.value_format, texts)
        if self._has_keys(rows):
            return self._save_newest(rows, readable.where(f.col("_change") == DELETE), directory)
        # Partitions of a lake table are its own; its rows are staged without.
        is_table = self._description.sink_format == "parquet"
        save_rows(rows, directory, self._description.partition_by if is_table else ())
        return 0, 0

    def _has_keys(self, rows: DataFrame) -> bool:
        """Whether the rows have the columns of a key. Raises SettingError if transforms left one out."""
        keying = self._description.keying
        missing = [name for name in keying.columns if name not in rows.columns]
        if missing and keying.is_transformed:
            raise SettingError(f"sink.key names {missing[0]}, and the rows have {', '.join(rows.columns)}")
        # A field that is not known yet is one that no record has had: the batch has no rows.
        return bool(keying.columns) and not missing

    def _save_newest(self, rows: DataFrame, deletions: DataFrame, directory: Path) -> tuple[int, int]:
        """Write the newest of each key; returns the numbers of deletions and of what gave way."""
        keying = self._description.keying
        known = dict.fromkeys([*keying.columns, *ORIGIN])
        gone = deletions.select(*map(column, known)) if keying.may_delete else None
        newest = newest_of_keys(rows, gone, keying.columns)
        try:
            newest.save(directory, rows.columns, keying.columns)
        finally:
            newest.frame.unpersist()
        return newest.deletes, newest.superseded

    def decoded(self, ranges: Sequence[OffsetRange], fields: Fields) -> DataFrame:
        """All records with origin, decoded fields, `_raw`, `_error`, `_new_fields` and `_change`.

        They are decoded where they are read, but for raw values, which Spark's own columns hold as they are.
        """
        is_raw = self._description.format == "raw"
        if not ranges:
            schema = SCHEMA if is_raw else decoded_schema(fields)
            nothing = self._spark.createDataFrame([], schema)
            return self._kept_raw(nothing) if is_raw else nothing
        read = self._spark.read.options(**self._options(ranges))
        if is_raw:
            return self._kept_raw(read.format("odradek").load())
        decoding = self._decoding(fields).as_text()
        return read.format(NAME).option(DECODING, decoding).schema(decoded_schema(fields)).load()

    def _letters(self, files: Sequence[Path], fields: Fields) -> DataFrame:
        """Dead letters, decoded as the records that they were; Spark has read them before they are."""
        letters = self._spark.read.parquet(*(spark_path(one) for one in files))
        columns = [f.col(origin).alias(name) for origin, name in SOURCE_COLUMNS.items()]
        records = letters.select(*columns, f.col("_value").alias("value"))
        if self._description.format == "raw":
            return self._kept_raw(records)
        return records.mapInArrow(partial(_decode_letters, self._decoding(fields)), decoded_schema(fields))

    def _decoding(self, fields: Fields) -> Decoding:
        return Decoding(self._description.decoder(fields), self._description.keying)

    def _options(self, ranges: Sequence[OffsetRange]) -> dict[str, str]:
        """The options of a source that reads these ranges."""
        starts: dict[str, dict[str, int]] = {}
        ends: dict[str, dict[str, int]] = {}
        for one in ranges:
            topic, number = one.topic_partition
            starts.setdefault(topic, {})[str(number)] = one.start
            ends.setdefault(topic, {})[str(number)] = one.end
        return batch_options(self._description) | {
            "assign": json.dumps(
                {topic: [int(number) for number in offsets] for topic, offsets in starts.items()}
            ),
            "startingOffsets": json.dumps(starts),
            "endingOffsets": json.dumps(ends),
        }

    def _kept_raw(self, records: DataFrame) -> DataFrame:
        """Records with the source's columns, whose values are kept as they are."""
        error, change = _raw_changes(self._description.keying)
        return records.select(
            *(f.col(name).alias(origin) for origin, name in SOURCE_COLUMNS.items()),
            "value",
            f.when(error.isNotNull(), f.col("value")).alias("_raw"),
            error.alias("_error"),
            f.lit(None).cast("string").alias("_new_fields"),
            change.alias("_change"),
        )

    def _transformed(self, frame: DataFrame, stateful: StatefulStages) -> tuple[DataFrame, int]:
        """The rows behind all stages, and how many came too late for one."""
        late = 0
        for stage in self._stages:
            if isinstance(stage, str):
                frame.createOrReplaceTempView("records")
                frame = frame.sparkSession.sql(stage)
            elif isinstance(stage, TableJoin):
                frame = joined(stage, frame)
            elif callable(stage):
                frame = stage(frame)
                if not isinstance(frame, DataFrame):
                    raise SettingError(f"the transform returned a {type(frame).__name__}, not a DataFrame")
            else:
                done = stateful.run(stage, frame)
                frame, late = done.rows, late + done.late
        return frame, late

    def _check_columns(self, rows: DataFrame) -> None:
        missing = [name for name in self._description.partition_by if name not in rows.columns]
        if missing:
            raise SettingError(
                f"partition_by names {missing[0]}, and the rows have {', '.join(rows.columns)}: if no record"
                " has had it yet, name it with its type in decode.fields"
            )


def sentence_of(text: str) -> str:
    """The reason in the many lines that Spark makes of an exception: that of Odradek or of Python, if any."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line in lines:
        if line.startswith("odradek.") and ": " in line:
            return line.partition(": ")[2]
    blamed = [line for line in lines if line.split(":")[0].endswith(("Error", "Exception")) and ": " in line]
    for line in blamed:
        if not line.startswith(("py4j.", "org.apache.spark.", "java.", "Caused by", "at ")):
            return line
    # Java's own: the last cause, as of a full disk; those of suppressed exceptions are indented.
    causes = [line for line in text.splitlines() if line.startswith("Caused by: ")]
    if causes:
        return causes[-1].removeprefix("Caused by: ").partition(": ")[2] or causes[-1]
    return lines[0] if lines else "Spark gives no reason"


def _raw_changes(keying: Keying) -> tuple[Column, Column]:
    """The error of a record that is not decoded, and what it does to the row of its key; see `keys`."""
    nothing = f.lit(None).cast("string")
    change = f.when(f.col("value").isNull(), f.lit(keying.tombstones)) if keying.tombstones else nothing
    if RECORD_KEY not in keying.columns:
        return nothing, change
    has_none = f.col("key").isNull() & (f.coalesce(change, f.lit("")) != IGNORE)
    return f.when(has_none, f.lit(NO_RECORD_KEY)), f.when(~has_none, change)


def _decode_letters(decoding: Decoding, batches: Iterator[Any]) -> Iterator[Any]:
    """On an executor: records with the source's columns become decoded ones."""
    return sentence_first_of_rows(decode_rows(decoding, batches))


def _check_records(read: int, accounted: int) -> None:
    """Raises JobFailed if a batch without transforms holds other records than were counted.

    Dead letters are read again, and so is a part whose decoded rows were on an executor that Spark has lost.
    """
    if read != accounted:
        raise JobFailed(
            f"{read:,} records were read, and {accounted:,} were written: a part of the batch was read again,"
            " and the topic had changed by then; nothing was committed, and the next run reads the batch anew"
        )


def _first_error(directory: Path) -> str:
    """The first dead letter of the batch with its place; "" without any."""
    columns = ["_topic", "_partition", "_offset", "_error"]
    found = [
        pq.read_table(one, columns=columns).to_pylist()[:1]
        for one in sorted((directory / DEAD_LETTERS).glob("*.parquet"))
    ]
    rows = sorted(([*row.values()] for some in found for row in some), key=lambda row: row[:3])
    if not rows:
        return ""
    topic, partition, offset, error = rows[0]
    return f"{topic}-{partition} at offset {offset}: {error}"


def _stage(transform: Transform) -> Any:
    """Declared stages and SQL as they are, a function from its file. Raises SettingError."""
    if not isinstance(transform, Code):
        return transform
    if transform.python_file is None:
        return transform.sql
    file = transform.python_file
    spec = importlib.util.spec_from_file_location(f"odradek_transform_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]  # executors cannot import it by name
        return getattr(module, transform.function)
    except FileNotFoundError:
        raise SettingError(f"there is no file {file}, which a transform names") from None
    except AttributeError:
        raise SettingError(f"{file} has no function {transform.function}") from None
    except Exception as error:  # the user's module may raise anything
        raise SettingError(f"{file} cannot be imported: {error}") from error
