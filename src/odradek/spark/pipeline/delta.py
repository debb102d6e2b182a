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
    names = [one.name for one in log.iterdir()] if log.is_dir() else []
    versions = sorted((int(found[1]) for name in names if (found := _VERSION.fullmatch(name))), reverse=True)
    restored_to: int | None = None
    for version in versions:
        info = _commit_info(log / f"{version:020}.json")
        marker = marker_of(info.get("userMetadata"))
        if marker is not None:
            if restored_to is not None and restored_to < version:
                raise TableRefused(
                    f"{directory} was restored to version {restored_to}, before batch"
                    f" {marker.commit.batch} was committed: restore version {version}, or begin a new table"
                )
            return LakeState(has_commits=True, marker=marker)
        operation, parameters = str(info.get("operation", "")), info.get("operationParameters") or {}
        if operation == "RESTORE":
            restored_to = min(_restored_version(parameters), version if restored_to is None else restored_to)
        elif _replaces(operation, parameters) and version:
            raise TableRefused(
                f"{directory} was overwritten by someone else, in version {version}:"
                " restore the version before, or begin a new table"
            )
    return LakeState(
        has_commits=bool(names), marker=None, is_cut=bool(names) and not (versions and versions[-1] == 0)
    )


class DeltaWriter(LakeSession):
    """Appends to a Delta table; see `LakeWriter`."""

    def _append(self, staging: Path, marker: Marker) -> None:
        uri = self.directory.absolute().as_uri()
        is_new = not any((self.directory / "_delta_log").glob("*.json"))
        frame = self.staged_rows(staging, None if is_new else self.rows())
        writer = (
            frame.write.format("delta")
            .mode("append")
            .option("mergeSchema", "true")
            .option("userMetadata", marker.text())
            .option("txnAppId", f"odradek-pipeline-{marker.commit.pipeline}")
            .option("txnVersion", str(marker.commit.batch))
        )
        if self.partition_by:
            writer = writer.partitionBy(*self.partition_by)
        writer.save(uri)

    def rows(self) -> Any:
        """The table as a frame."""
        return self.spark.read.format("delta").load(self.directory.absolute().as_uri())


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
