"""Compaction of Iceberg tables: a rewriting of data files whose snapshot carries the marker, and expiry."""

from typing import Any, Final

from odradek.base.clock import SystemClock
from odradek.spark.pipeline.compaction import Rewritten
from odradek.spark.pipeline.iceberg import IcebergWriter
from odradek.spark.pipeline.lake import MARKER, Marker
from odradek.spark.pipeline.lake_rows import as_compaction_failure

_HOUR_MS: Final = 3_600_000
# Each commit leaves a file of metadata; without this property Iceberg never deletes one.
_DELETES_METADATA: Final = "write.metadata.delete-after-commit.enabled"


class IcebergCompactor:
    """The port `Compactor`, for an Iceberg table in a session."""

    def __init__(self, session: IcebergWriter) -> None:
        self._session = session

    @as_compaction_failure
    def rewrite(self, marker: Marker, file_bytes: int) -> Rewritten:
        """Gather small files of each partition into files of about `file_bytes`."""
        table = self._table()
        if table.properties().get(_DELETES_METADATA) is None:
            table.updateProperties().set(_DELETES_METADATA, "true").commit()
        action = self._actions().rewriteDataFiles(table).snapshotProperty(MARKER, marker.text())
        # Two files are enough to be made one, as in Delta; Iceberg's default is five.
        action = action.option("min-input-files", "2").option("target-file-size-bytes", str(file_bytes))
        done = action.execute()
        return Rewritten(int(done.rewrittenDataFilesCount()), int(done.addedDataFilesCount()))

    @as_compaction_failure
    def restate(self, marker: Marker) -> None:
        """Append nothing, with the marker."""
        self._table().newAppend().set(MARKER, marker.text()).commit()

    @as_compaction_failure
    def expire(self, marker: Marker, keep_hours: int) -> None:
        """Expire snapshots older than that, but the newest, those with tags, and heads of branches."""
        older_than = SystemClock().wall_ms() - keep_hours * _HOUR_MS
        self._actions().expireSnapshots(self._table()).expireOlderThan(older_than).retainLast(1).execute()

    def _table(self) -> Any:
        spark = self._session.spark
        load = spark._jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable  # noqa: SLF001
        return load(spark._jsparkSession, self._session.name())  # noqa: SLF001

    def _actions(self) -> Any:
        spark = self._session.spark
        actions = spark._jvm.org.apache.iceberg.spark.actions.SparkActions  # noqa: SLF001
        return actions.get(spark._jsparkSession)  # noqa: SLF001
