"""Compaction of Delta tables: OPTIMIZE, whose commit carries the marker, and VACUUM.

Delta itself removes old entries of its log, when it makes a checkpoint. It never removes the newest.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from odradek.spark.pipeline.compaction import Rewritten
from odradek.spark.pipeline.delta import DeltaWriter, newest_version
from odradek.spark.pipeline.lake import Marker
from odradek.spark.pipeline.lake_rows import as_compaction_failure

# VACUUM lists directories in that many tasks, 10,000 by default, which takes minutes on one machine.
_LISTING_TASKS: Final = "8"
_USER_METADATA: Final = "spark.databricks.delta.commitInfo.userMetadata"


class DeltaCompactor:
    """The port `Compactor`, for a Delta table in a session."""

    def __init__(self, session: DeltaWriter) -> None:
        self._session = session

    @as_compaction_failure
    def rewrite(self, marker: Marker, file_bytes: int) -> Rewritten:
        """OPTIMIZE: files below `file_bytes` are gathered into files of at most that size."""
        settings = {
            "spark.databricks.delta.optimize.minFileSize": str(file_bytes),
            "spark.databricks.delta.optimize.maxFileSize": str(file_bytes),
            _USER_METADATA: marker.text(),
        }
        with _settings(self._session.spark, settings):
            done = self._table().optimize().executeCompaction().collectAsList().get(0).getAs("metrics")
            return Rewritten(int(done.getAs("numFilesRemoved")), int(done.getAs("numFilesAdded")))

    @as_compaction_failure
    def restate(self, marker: Marker) -> None:
        """Append nothing, with the marker; the transaction is there because Delta makes no empty commit.

        Delta skips one whose version it has had, so this one grows with the table, and not with a clock.
        """
        writer = self._session.rows().limit(0).write.format("delta").mode("append")
        writer = writer.option("txnAppId", f"odradek-restated-{marker.commit.pipeline}")
        writer = writer.option("txnVersion", str(newest_version(self._session.directory)))
        writer.option("userMetadata", marker.text()).save(self._session.uri())

    @as_compaction_failure
    def expire(self, marker: Marker, keep_hours: int) -> None:
        """VACUUM: delete the files that have been in no version of the table for `keep_hours`."""
        settings = {
            "spark.sql.sources.parallelPartitionDiscovery.parallelism": _LISTING_TASKS,
            # The description says how long; Delta would refuse less than a week.
            "spark.databricks.delta.retentionDurationCheck.enabled": "false",
            # It makes two commits, at its start and at its end.
            _USER_METADATA: marker.text(),
        }
        with _settings(self._session.spark, settings):
            self._table().vacuum(float(keep_hours))

    def _table(self) -> Any:
        spark = self._session.spark
        tables = spark._jvm.io.delta.tables.DeltaTable  # noqa: SLF001  # Delta's Python needs a package
        return tables.forPath(spark._jsparkSession, self._session.uri())  # noqa: SLF001


@contextmanager
def _settings(spark: Any, settings: Mapping[str, str]) -> Iterator[None]:
    """Settings of a session for the length of one operation."""
    before = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value)
