"""Rows on their way from the tasks to the driver, as files in a directory that all of them see.

    <location>/<query>/<random>.arrow      the rows of one task, as columns that a producer takes

Files are written before anything is sent, and read by the driver when all tasks have ended. A file that no
message names is of a task that failed, or of a driver that was killed: the next commit of the query removes
it. Nothing here has to outlive a machine: a batch whose rows are gone before its commit is computed again.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final
from uuid import uuid4

import pyarrow as pa
import pyarrow.fs as pa_fs

from odradek.base.errors import OdradekError, SettingError

_OPTIONS: Final = pa.ipc.IpcWriteOptions(compression="lz4")


class StageLost(OdradekError):
    """Rows that a task staged cannot be read."""


@dataclass(frozen=True, slots=True)
class Staged:
    """What one task has staged."""

    query: str
    """The id of the streaming query or of the batch write."""
    name: str
    """The file, within the directory of the query; "" without rows."""
    rows: int


class Staging:
    """The directory of one query. Raises SettingError for a location that cannot be opened."""

    def __init__(self, location: str, query: str) -> None:
        """`location` is a path or a URI that pyarrow knows (file, s3, gs, hdfs, abfss)."""
        try:
            files, path = pa_fs.FileSystem.from_uri(location)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
            raise SettingError(
                f"stagingLocation {location} cannot be opened from Python: give a directory, or a URI of"
                f" file, s3, gs, hdfs or abfss ({error})"
            ) from error
        self._files: Any = files
        self._location = location
        self._query = query
        self._directory = f"{path.rstrip('/')}/{query}"

    def write(self, batches: Iterable[pa.RecordBatch]) -> Staged:
        """Stage the rows of one task; the batches have the same columns. Raises OdradekError."""
        name, count = f"{uuid4()}.arrow", 0
        writer: Any = None
        try:
            for batch in batches:
                if writer is None:
                    self._files.create_dir(self._directory, recursive=True)
                    sink = self._files.open_output_stream(f"{self._directory}/{name}")
                    writer = pa.ipc.new_stream(sink, batch.schema, options=_OPTIONS)
                writer.write_batch(batch)
                count += batch.num_rows
            if writer is None:
                return Staged(self._query, "", 0)
            writer.close()
            sink.close()
        except OSError as error:
            raise OdradekError(f"cannot stage rows in {self._location}: {error}") from error
        return Staged(self._query, name, count)

    def read(self, staged: Staged) -> Iterator[pa.RecordBatch]:
        """The rows of a task. Raises StageLost."""
        if not staged.name:
            return
        count = 0
        try:
            with (
                self._files.open_input_stream(f"{self._directory}/{staged.name}") as source,
                pa.ipc.open_stream(source) as reader,
            ):
                for batch in reader:
                    count += batch.num_rows
                    yield batch
        except (OSError, pa.ArrowInvalid) as error:
            raise StageLost(
                f"the driver cannot read rows that a task staged in {self._location}: stagingLocation must"
                f" be a directory that the driver and all executors see ({error})"
            ) from error
        if count != staged.rows:
            raise StageLost(f"a task staged {staged.rows} rows in {self._location}, and {count} are there")

    def clear(self) -> None:
        """Remove all that is staged of the query; what cannot be removed is left."""
        try:
            self._files.delete_dir(self._directory)
        except OSError:
            pass
