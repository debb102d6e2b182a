"""The PySpark data source `odradek.staged`: one batch of rows as the next step of a stream.

A stage that keeps state is a query of Spark's streaming, which goes on from its checkpoint with each batch of
the pipeline. Its position is the number of the batch. The rows are Parquet files in a directory that the
driver and the executors see under the same path.

Spark's own source of files is not used: it remembers the name of every file for a week.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

NAME = "odradek.staged"
Position = dict[str, int]


class StagedDataSource(DataSource):
    """The source, whose options are `path` and `batch`; its schema is given."""

    @classmethod
    def name(cls) -> str:
        """The name for `format(...)`."""
        return NAME

    def streamReader(self, schema: StructType) -> "StagedReader":  # noqa: N802 - Spark's name
        """A reader of these rows."""
        return StagedReader(self.options, schema)


class FilePartition(InputPartition):
    """One Spark task: the file that it reads."""

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.file = file


class StagedReader(DataSourceStreamReader):
    """Reads the files of one batch; a stream that has read it is at its number."""

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        self._path = options["path"]
        self._batch = int(options["batch"])
        self._schema = to_arrow_schema(schema)

    def initialOffset(self) -> Position:  # noqa: N802 - Spark's name
        """Before the batch."""
        return {"batch": self._batch - 1}

    def latestOffset(self) -> Position:  # noqa: N802 - Spark's name
        """Behind the batch."""
        return {"batch": self._batch}

    def partitions(self, start: Position, end: Position) -> Sequence[InputPartition]:
        """One task for each file."""
        return [FilePartition(str(one)) for one in sorted(Path(self._path).glob("*.parquet"))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one file, on an executor."""
        if not isinstance(partition, FilePartition):
            return
        # Spark writes moments as the 96 bits of Hive, whose range is wider than that of nanoseconds.
        with pq.ParquetFile(partition.file, coerce_int96_timestamp_unit="us") as file:
            for batch in file.iter_batches():
                yield from _cast(batch, self._schema)


def _cast(batch: Any, schema: pa.Schema) -> list[pa.RecordBatch]:
    """The rows with exactly the types that Spark expects."""
    found: list[pa.RecordBatch] = pa.Table.from_batches([batch]).cast(schema).to_batches()
    return found
