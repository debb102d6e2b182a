"""Delta tables as sinks: the marker is the user metadata of a commit, the batch its transaction's version.

The log is read without Spark: `_delta_log/<version>.json` has a line `commitInfo`. Delta refuses a
transaction of an application whose version it already has, so that two runs never both commit a batch.
"""

import json
import re
from pathlib import Path
from typing import Any, Final

from odradek.spark.pipeline.lake import LakeState, Marker, marker_of
from odradek.spark.pipeline.lake_rows import LakeSession
from odradek.spark.pipeline.ledger import TableRefused
from odradek.spark.pipeline.local_paths import spark_path

_VERSION: Final = re.compile(r"([0-9]{20})\.json")
# Operations that put other rows in the place of all that were there.
_REPLACING: Final = ("CREATE OR REPLACE TABLE", "REPLACE TABLE")

SETTINGS: Final = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # The default, 50, makes small tables three times slower.
    "spark.databricks.delta.snapshotPartitions": "2",
}


def read_delta_state(directory: Path) -> LakeState:
    """What the log of a Delta table says. Raises TableRefused if it was restored or replaced since."""
    log = directory / "_delta_log"
    names = _names(log)
    versions = sorted((int(found[1]) for name in names if (found := _VERSION.fullmatch(name))), reverse=True)
    restored_to: int | None = None
    # The first version, from the newest back, whose marker is of the batch that was committed last.
    marked: tuple[int, Marker] | None = None
    for version in versions:
        info = _commit_info(log / f"{version:020}.json")
        marker = marker_of(info.get("userMetadata"))
        if marker is not None:
            marked = marked or (version, marker)
            if marker.staging != marked[1].staging:
                break
            if restored_to is None or restored_to >= version:
                is_newest = marked[0] == versions[0]
                return LakeState(has_commits=True, marker=marked[1], is_newest=is_newest)
        if marked is not None:
            continue  # a compaction repeats the marker: the table may have been restored to before that
        operation, parameters = str(info.get("operation", "")), info.get("operationParameters") or {}
        if operation == "RESTORE":
            restored_to = min(_restored_version(parameters), version if restored_to is None else restored_to)
        elif _replaces(operation, parameters) and version:
            raise TableRefused(
                f"{directory} was overwritten by someone else, in version {version}:"
                " restore the version before, or begin a new table"
            )
    if marked is not None:
        raise TableRefused(
            f"{directory} was restored to version {restored_to}, before batch"
            f" {marked[1].commit.batch} was committed: restore version {marked[0]}, or begin a new table"
        )
    return LakeState(
        has_commits=bool(names), marker=None, is_cut=bool(names) and not (versions and versions[-1] == 0)
    )


def newest_version(directory: Path) -> int:
    """The version of the table's newest commit; 0 without any."""
    names = _names(directory / "_delta_log")
    return max((int(found[1]) for name in names if (found := _VERSION.fullmatch(name))), default=0)


def _names(log: Path) -> list[str]:
    """The files of a log, without Delta's temporary ones, which are alone while the first is written."""
    return [one.name for one in log.iterdir() if one.name[0] not in "._"] if log.is_dir() else []


class DeltaWriter(LakeSession):
    """Adds rows to a Delta table; see `LakeWriter`."""

    def exists(self) -> bool:
        """Whether the table has been made."""
        return any((self.directory / "_delta_log").glob("*.json"))

    def name(self) -> str:
        """The table as SQL names it."""
        return f"delta.`{self.uri()}`"

    def append_rows(self, rows: Any, marker: Marker, *, is_new: bool) -> None:
        """Append the rows with the marker by one commit, which makes the table if it is new."""
        application, version = _transaction(marker)
        writer = (
            rows.write.format("delta")
            .mode("append")
            .option("mergeSchema", "true")
            .option("userMetadata", marker.text())
            .option("txnAppId", application)
            .option("txnVersion", version)
        )
        if self.partition_by:
            writer = writer.partitionBy(*self.partition_by)
        writer.save(self.uri())

    def commit_settings(self, marker: Marker) -> dict[str, str]:
        """The settings of a session whose next commit, by SQL, has the marker."""
        application, version = _transaction(marker)
        return {
            "spark.databricks.delta.commitInfo.userMetadata": marker.text(),
            "spark.databricks.delta.write.txnAppId": application,
            "spark.databricks.delta.write.txnVersion": version,
        }

    def rows(self) -> Any:
        """The table as a frame."""
        return self.spark.read.format("delta").load(self.uri())

    def uri(self) -> str:
        """The table's directory, for Spark."""
        return spark_path(self.directory)


def _transaction(marker: Marker) -> tuple[str, str]:
    """The application and its version that Delta takes a batch for, once."""
    return f"odradek-pipeline-{marker.commit.pipeline}", str(marker.commit.batch)


def _commit_info(file: Path) -> dict[str, Any]:
    with file.open() as lines:
        for line in lines:
            if '"commitInfo"' in line:
                found = json.loads(line).get("commitInfo")
                if isinstance(found, dict):
                    return found
    return {}


def _restored_version(parameters: dict[str, Any]) -> int:
    """The version that a RESTORE went back to; -1 if it was named by a time, which may be any."""
    try:
        return int(parameters["version"])
    except (KeyError, TypeError, ValueError):
        return -1


def _replaces(operation: str, parameters: dict[str, Any]) -> bool:
    if operation.startswith(_REPLACING):
        return True
    is_overwrite = operation == "WRITE" and parameters.get("mode") == "Overwrite"
    return is_overwrite and "predicate" not in parameters
