"""Tables with logs in the form of Delta's and of Iceberg's, written without Spark, for tests of sinks."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow.parquet as pq

from odradek.base.clock import ManualClock
from odradek.base.ids import TopicPartition
from odradek.spark.pipeline.delta import read_delta_state
from odradek.spark.pipeline.description import Description
from odradek.spark.pipeline.engine import Engine, Step
from odradek.spark.pipeline.iceberg import read_iceberg_state
from odradek.spark.pipeline.lake import MARKER, LakeTable, Marker
from odradek.spark.pipeline.verifying import Findings, LakeOffsets, verify
from tests.spark.pipeline.fake_topics import FLIGHTS, FakeJob, FakeTopics, Heard

READERS = {"delta": read_delta_state, "iceberg": read_iceberg_state}


class FakeWriter:
    """The port `LakeWriter`; `reached` is called before and after the one file that is the commit."""

    def __init__(self, directory: Path, form: str, reached: Callable[[str], None] = lambda at: None) -> None:
        self.directory = directory
        self.form = form
        self._reached = reached
        self.is_held = False

    def hold(self, lock: Path) -> None:
        assert lock.parent.is_dir()
        self.is_held = True

    def release(self) -> None:
        self.is_held = False

    def append(self, staging: Path, marker: Marker) -> None:
        assert self.is_held
        names = []
        for one in sorted(staging.glob("*.parquet")):
            names.append(f"part-{uuid4().hex}.parquet")
            shutil.copy(one, self.directory / names[-1])
        self._reached("before the commit")
        self.commit(names, marker.text())
        self._reached("after the commit")

    def commit(self, names: list[str], marker: str | None, **info: Any) -> None:
        """One commit of the table; without a marker it is someone else's."""
        if self.form == "delta":
            self._commit_delta(names, marker, info)
        else:
            self._commit_iceberg(names, marker)

    def _commit_delta(self, names: list[str], marker: str | None, info: dict[str, Any]) -> None:
        log = self.directory / "_delta_log"
        log.mkdir(exist_ok=True)
        info = {"operation": "WRITE", "operationParameters": {"mode": "Append"}} | info
        if marker:
            info["userMetadata"] = marker
        lines = [json.dumps({"commitInfo": info}), *(json.dumps({"add": {"path": name}}) for name in names)]
        version = len(list(log.glob("*.json")))
        (log / f"{version:020}.json").write_text("\n".join(lines))

    def _commit_iceberg(self, names: list[str], marker: str | None) -> None:
        before = self.document()
        parent = before.get("current-snapshot-id")
        snapshot = {
            "snapshot-id": max((one["snapshot-id"] for one in before.get("snapshots", [])), default=0) + 1,
            "parent-snapshot-id": parent,
            "summary": {"operation": "append"} | ({MARKER: marker} if marker else {}),
            "files": names,
        }
        self.replace(
            {
                "current-snapshot-id": snapshot["snapshot-id"],
                "snapshots": [*before.get("snapshots", []), snapshot],
            }
        )

    def document(self) -> dict[str, Any]:
        """The newest metadata of an Iceberg table."""
        files = sorted(
            self.directory.glob("metadata/*.json"), key=lambda one: int(one.name.split(".")[0][1:])
        )
        found: dict[str, Any] = json.loads(files[-1].read_text()) if files else {}
        return found

    def replace(self, document: dict[str, Any]) -> None:
        """Newer metadata of an Iceberg table."""
        metadata = self.directory / "metadata"
        metadata.mkdir(exist_ok=True)
        version = len(list(metadata.iterdir())) + 1
        (metadata / f"v{version}.metadata.json").write_text(json.dumps(document))

    def files(self) -> list[Path]:
        """The files of rows that the table has now."""
        if self.form == "iceberg":
            names = [name for one in self.document().get("snapshots", []) for name in one["files"]]
        else:
            logs = sorted(self.directory.glob("_delta_log/*.json"))
            actions = [json.loads(line) for one in logs for line in one.read_text().splitlines()]
            names = [action["add"]["path"] for action in actions if "add" in action]
        return [self.directory / name for name in names]


def lake_table(description: Description, form: str) -> LakeTable:
    return LakeTable(description.table, description.name, READERS[form], lambda path: None)


def run_into_lake(
    description: Description,
    topics: FakeTopics,
    form: str,
    reached: Callable[[object], None] = lambda step: None,
) -> Heard:
    """One run until the ends of the topics; what `reached` raises ends it as a kill would."""
    heard = Heard()
    with lake_table(description, form) as table:
        table.open_for_writing()
        table.begin(FakeWriter(description.table, form, reached))
        steps: Callable[[Step], None] = reached
        Engine(
            description, table, topics, FakeJob(topics, description), ManualClock(), heard, steps
        ).run_once()
    return heard


def verified_lake(description: Description, topics: FakeTopics, form: str) -> Findings:
    table = lake_table(description, form)
    rows = [
        row
        for file in FakeWriter(description.table, form).files()
        for row in pq.ParquetFile(file).read().to_pylist()
    ]
    offsets = {
        TopicPartition(FLIGHTS, number): np.sort(
            np.array([row["_offset"] for row in rows if row["_partition"] == number], dtype=np.int64)
        )
        for number in range(len(topics.logs))
    }
    return verify(
        table.ledger,
        topics.view(),
        topics.offsets,
        is_one_to_one=True,
        rows=LakeOffsets(offsets, len(rows)),
    )
