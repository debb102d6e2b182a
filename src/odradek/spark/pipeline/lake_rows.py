"""What the writers of all lake formats share: the JVM's lock, the staged rows, errors as one sentence."""

import time
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from pyspark.sql import functions as f

from odradek.base.errors import OdradekError
from odradek.base.ids import TopicPartition
from odradek.spark.pipeline.fields import ORIGIN
from odradek.spark.pipeline.lake import Marker
from odradek.spark.pipeline.ledger import TableRefused
from odradek.spark.pipeline.spark_job import ORIGIN_SCHEMA, JobFailed, sentence_of
from odradek.spark.pipeline.verifying import LakeOffsets

# A JVM whose driver was killed ends by itself; it may be committing until then.
ORPHAN_WAIT_S: Final = 120
_LOOK_INTERVAL_S: Final = 0.2


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
        """Append the rows and the marker by one commit. Raises JobFailed."""
        try:
            self._append(staging, marker)
        except OdradekError:
            raise
        except Exception as error:  # Spark's, py4j's
            raise JobFailed(f"the table refuses the batch: {sentence_of(str(error))}") from error

    @abstractmethod
    def _append(self, staging: Path, marker: Marker) -> None:
        """Append the rows and the marker by one commit."""

    def staged_rows(self, staging: Path, table: Any | None) -> Any:
        """The rows of a batch; for one without rows an empty frame with the columns of the table."""
        if any(staging.glob("*.parquet")):
            return self.spark.read.parquet(staging.absolute().as_uri())
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
