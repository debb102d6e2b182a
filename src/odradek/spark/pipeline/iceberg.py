"""Iceberg tables as sinks: the marker is a property of the snapshot that a batch made.

The table is one of a Hadoop catalog: its directory alone has all of it. The newest metadata file is read
without Spark; the marker is looked for from the current snapshot back through its ancestors, so that a
snapshot that was rolled back does not count.
"""

import gzip
import hashlib
import json
import re
from pathlib import Path
from typing import Any, Final

from pyspark.sql import functions as f

from odradek.spark.pipeline.lake import MARKER, LakeState, Marker, marker_of
from odradek.spark.pipeline.lake_rows import LakeSession
from odradek.spark.pipeline.ledger import TableRefused
from odradek.spark.pipeline.local_paths import spark_path

_METADATA: Final = re.compile(r"v([0-9]+)(?:\.gz)?\.metadata\.json")

# Names of Iceberg's own metadata columns: a table with one of these could be written, and not be read.
_RESERVED: Final = (
    "_file",
    "_pos",
    "_deleted",
    "_spec_id",
    "_partition",
    "_row_id",
    "_last_updated_sequence_number",
)
PARTITION: Final = "_topic_partition"
"""What the column `_partition` is called in Iceberg tables."""

SETTINGS: Final = {
    "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
}


def read_iceberg_state(directory: Path) -> LakeState:
    """What the newest metadata of an Iceberg table says. Raises TableRefused if it is damaged."""
    files = _metadata_files(directory)
    if not files:
        return LakeState(has_commits=False, marker=None)
    file = files[max(files)]
    try:
        content = file.read_bytes()
        document = json.loads(gzip.decompress(content) if ".gz." in file.name else content)
        snapshots = {one["snapshot-id"]: one for one in document.get("snapshots", ())}
        at = document.get("current-snapshot-id")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError):
        raise TableRefused(f"{file} is damaged: the table cannot say what it holds") from None
    if at in (None, -1):
        return LakeState(has_commits=False, marker=None)
    while at is not None:
        snapshot = snapshots.get(at)
        if snapshot is None:
            return LakeState(has_commits=True, marker=None, is_cut=True)
        marker = marker_of(snapshot.get("summary", {}).get(MARKER))
        if marker is not None:
            is_newest = at == document["current-snapshot-id"]
            return LakeState(has_commits=True, marker=marker, is_newest=is_newest)
        at = snapshot.get("parent-snapshot-id")
    return LakeState(has_commits=True, marker=None)


def _metadata_files(directory: Path) -> dict[int, Path]:
    """The metadata files by their versions; none where there is no table."""
    metadata = directory / "metadata"
    there = list(metadata.iterdir()) if metadata.is_dir() else []
    return {int(found[1]): one for one in there if (found := _METADATA.fullmatch(one.name))}


class IcebergWriter(LakeSession):
    """Adds rows to an Iceberg table; see `LakeWriter`."""

    def exists(self) -> bool:
        """Whether the table has been made."""
        return bool(_metadata_files(self.directory))

    def append_rows(self, rows: Any, marker: Marker, *, is_new: bool) -> None:
        """Append the rows with the marker by one commit, which makes the table if it is new."""
        writer = (
            self.renamed(rows)
            .writeTo(self.name())
            .option("fanout-enabled", "true")
            .option(f"snapshot-property.{MARKER}", marker.text())
        )
        if not is_new:
            writer.option("mergeSchema", "true").append()
            return
        writer = writer.using("iceberg").tableProperty("format-version", "2")
        if not marker.commit.key:  # a MERGE adds columns by itself, and fails with this property
            writer = writer.tableProperty("write.spark.accept-any-schema", "true")
        if self.partition_by:
            writer = writer.partitionedBy(*(f.col(one) for one in self.partition_by))
        writer.create()  # the table and its first snapshot, by one commit

    def commit_settings(self, marker: Marker) -> dict[str, str]:
        """The settings of a session whose next commit, by SQL, has the marker."""
        return {f"spark.sql.iceberg.snapshot-property.{MARKER}": marker.text()}

    def renamed(self, frame: Any) -> Any:
        """A frame of rows with the names that columns have in Iceberg. Raises TableRefused."""
        frame = frame.withColumnsRenamed({name: self.column_name(name) for name in frame.columns})
        if reserved := [name for name in frame.columns if name.lower() in _RESERVED]:
            raise TableRefused(f"the rows have a column {reserved[0]}, a name that Iceberg keeps for itself")
        return frame

    def column_name(self, name: str) -> str:
        """What a column of the rows is called in Iceberg."""
        return PARTITION if name == "_partition" else name

    def rows(self) -> Any:
        """The table as a frame, with the names of columns that rows have in all formats."""
        return self.spark.table(self.name()).withColumnRenamed(PARTITION, "_partition")

    def name(self) -> str:
        """The table's name in a catalog of its own, which is the directory above it."""
        above = self.directory.absolute().parent
        catalog = f"odradek_{hashlib.sha256(str(above).encode()).hexdigest()[:12]}"
        setting = f"spark.sql.catalog.{catalog}"
        self.spark.conf.set(setting, "org.apache.iceberg.spark.SparkCatalog")
        self.spark.conf.set(f"{setting}.type", "hadoop")
        self.spark.conf.set(f"{setting}.warehouse", spark_path(above))
        self.spark.conf.set(f"{setting}.cache-enabled", "false")
        return f"{catalog}.`{self.directory.name}`"
