"""What the writers of all lake formats share: the JVM's lock, the staged rows, errors as one sentence."""

import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

import numpy as np
from pyspark.sql import functions as f

from odradek.base.errors import OdradekError
from odradek.base.ids import TopicPartition
from odradek.spark.pipeline.compaction import CompactionFailed
from odradek.spark.pipeline.decoded_rows import ORIGIN_SCHEMA
from odradek.spark.pipeline.fields import ORIGIN
from odradek.spark.pipeline.keyed_rows import DELETED, ORDER
from odradek.spark.pipeline.lake import Marker
from odradek.spark.pipeline.ledger import DELETES, TableRefused
from odradek.spark.pipeline.local_paths import spark_path
from odradek.spark.pipeline.merging import fault_in_types, merge_statement
from odradek.spark.pipeline.spark_job import JobFailed, sentence_of
from odradek.spark.pipeline.verifying import LakeOffsets

# A JVM whose driver was killed ends by itself; it may be committing until then.
ORPHAN_WAIT_S: Final = 120
_LOOK_INTERVAL_S: Final = 0.2
# The view that a MERGE reads.
_SOURCE: Final = "odradek_batch"

P = ParamSpec("P")
C = TypeVar("C")
T = TypeVar("T")


class LakeSession:
    """A table of a lake format in one Spark session."""

    def __init__(self, spark: Any, directory: Path, partition_by: Sequence[str]) -> None:
        self.spark = spark
        self.directory = directory
        self.partition_by = tuple(partition_by)
        # The JVM's open lock file; None until it is held.
        self._held: Any = None

    def hold(self, lock: Path) -> None:
        """Lock the file by the JVM, so that the lock lasts as long as anything of this run can commit."""
        java = self.spark._jvm.java.io  # noqa: SLF001  # there is no public name for it
        opened = java.RandomAccessFile(str(lock.absolute()), "rw")
        deadline = time.monotonic() + ORPHAN_WAIT_S
        while (held := opened.getChannel().tryLock()) is None:
            if time.monotonic() > deadline:
                opened.close()
                raise TableRefused(
                    f"{self.directory} is still being written by the Java process of an earlier run: end it"
                )
            time.sleep(_LOOK_INTERVAL_S)
        self._held = held

    def release(self) -> None:
        """Let go of the lock."""
        if self._held is not None:
            self._held.acquiredBy().close()
            self._held = None

    def append(self, staging: Path, marker: Marker) -> None:
        """Add the rows and the marker by one commit: a MERGE for a table with keys. Raises JobFailed."""
        try:
            self._add(staging, marker)
        except OdradekError:
            raise
        except Exception as error:  # Spark's, py4j's
            raise JobFailed(f"the table refuses the batch: {sentence_of(str(error))}") from error

    def _add(self, staging: Path, marker: Marker) -> None:
        commit = marker.commit
        table = self.rows() if self.exists() else None
        if table is None or not commit.key:
            self.append_rows(self.staged_rows(staging, table), marker, is_new=table is None)
        elif commit.rows or commit.deletes:
            rows = self.staged_rows(staging, table)
            self._merge(rows, self._staged_deletes(staging), table, marker)
        else:
            self.append_rows(table.limit(0), marker, is_new=False)

    def _merge(self, rows: Any, deletes: Any | None, table: Any, marker: Marker) -> None:
        rows, table = self.renamed(rows), self.renamed(table)
        if fault := fault_in_types(dict(rows.dtypes), dict(table.dtypes)):
            raise JobFailed(f"the table refuses the batch: {fault}")
        source = rows.withColumn(DELETED, f.lit(False))
        if deletes is not None:
            gone = self.renamed(deletes).withColumn(DELETED, f.lit(True))
            source = source.unionByName(gone, allowMissingColumns=True)
        source.createOrReplaceTempView(_SOURCE)
        order = [self.column_name(name) for name in ORDER]
        statement = merge_statement(
            self.name(), _SOURCE, rows.columns, table.columns, marker.commit.key, order
        )
        settings = self.commit_settings(marker)
        try:
            for name, value in settings.items():
                self.spark.conf.set(name, value)
            self.spark.sql(statement)
        finally:
            for name in settings:
                self.spark.conf.unset(name)
            self.spark.catalog.dropTempView(_SOURCE)

    def _staged_deletes(self, staging: Path) -> Any | None:
        """The keys whose rows a batch deletes, with their origin; None without any."""
        directory = staging / DELETES
        return self.spark.read.parquet(spark_path(directory)) if directory.is_dir() else None

    @abstractmethod
    def exists(self) -> bool:
        """Whether the table has been made."""

    @abstractmethod
    def name(self) -> str:
        """The table as SQL names it."""

    @abstractmethod
    def append_rows(self, rows: Any, marker: Marker, *, is_new: bool) -> None:
        """Append the rows with the marker by one commit, which makes the table if it is new."""

    @abstractmethod
    def commit_settings(self, marker: Marker) -> dict[str, str]:
        """The settings of a session whose next commit, by SQL, has the marker."""

    def renamed(self, frame: Any) -> Any:
        """A frame of rows with the names that columns have in this format. Raises TableRefused."""
        return frame

    def column_name(self, name: str) -> str:
        """What a column of the rows is called in this format."""
        return name

    def staged_rows(self, staging: Path, table: Any | None) -> Any:
        """The rows of a batch; for one without rows an empty frame with the columns of the table."""
        if any(staging.glob("*.parquet")):
            return self.spark.read.parquet(spark_path(staging))
        if table is not None:
            return table.limit(0)
        return self.spark.createDataFrame([], ORIGIN_SCHEMA)

    @abstractmethod
    def rows(self) -> Any:
        """The table as a frame."""

    def offsets(self, partitions: Iterable[TopicPartition]) -> LakeOffsets | None:
        """The offsets of the table's rows; None if the rows do not say where they come from."""
        table = self.rows()
        if not set(ORIGIN[:3]) <= set(table.columns):
            return None
        found = {}
        for partition in sorted(partitions):
            mine = table.where(
                (f.col("_topic") == partition.topic) & (f.col("_partition") == partition.partition)
            )
            offsets = mine.select("_offset").toArrow()["_offset"].to_numpy()
            found[partition] = np.sort(offsets)
        return LakeOffsets(found, table.count())


def as_compaction_failure(work: Callable[Concatenate[C, P], T]) -> Callable[Concatenate[C, P], T]:
    """Make a CompactionFailed, in one sentence, of whatever a method raises."""

    @wraps(work)
    def guarded(self: C, /, *arguments: P.args, **named: P.kwargs) -> T:
        try:
            return work(self, *arguments, **named)
        except OdradekError:
            raise
        except Exception as error:  # Spark's, py4j's
            raise CompactionFailed(f"the table cannot be compacted: {sentence_of(str(error))}") from error

    return guarded
