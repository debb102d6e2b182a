"""Compaction over logs in the form of the formats: the marker stays, kills cost nothing."""

import json
import random
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from odradek.base.clock import ManualClock
from odradek.base.errors import SettingError
from odradek.spark.pipeline.assembly import compact_table
from odradek.spark.pipeline.compaction import (
    NOTE,
    Compacted,
    CompactionFailed,
    Rewritten,
    Upkeep,
    compact,
    compacted_up_to,
)
from odradek.spark.pipeline.description import Compaction, Description
from odradek.spark.pipeline.engine import Engine
from odradek.spark.pipeline.lake import LEDGER, Marker
from odradek.spark.pipeline.ledger import TableRefused
from tests.spark.pipeline.fake_cluster import MASTER, FakeContext
from tests.spark.pipeline.fake_lakes import FakeWriter, lake_table, run_into_lake, verified_lake
from tests.spark.pipeline.fake_topics import FakeJob, FakeTopics, Heard, described

FORMS = ("delta", "iceberg")
SETTINGS = Compaction(after_commits=2, file_bytes=1 << 20, keep_hours=0)


class Killed(BaseException):
    """The process ended here."""


def value(number: int) -> bytes:
    return json.dumps({"n": number}).encode()


class FakeCompactor:
    """The port `Compactor`; `reached` is called around each commit."""

    def __init__(
        self, description: Description, form: str, reached: Callable[[str], None] = lambda at: None
    ) -> None:
        self._writer = FakeWriter(description.table, form)
        self._reached = reached
        self.finds_small_files = True
        self.loses_the_marker = False

    def rewrite(self, marker: Marker, file_bytes: int) -> Rewritten:
        assert file_bytes == SETTINGS.file_bytes
        if not self.finds_small_files:
            return Rewritten()
        self._reached("rewrite")
        self._writer.commit([], marker.text(), operation="OPTIMIZE")
        self._reached("rewritten")
        return Rewritten(len(self._writer.files()), 1)

    def restate(self, marker: Marker) -> None:
        self._reached("restate")
        self._writer.commit([], None if self.loses_the_marker else marker.text())

    def expire(self, marker: Marker, keep_hours: int) -> None:
        """Of Iceberg's snapshots the newest stays alone."""
        assert keep_hours == 0
        self._reached("expire")
        table = self._writer.directory
        if self._writer.form == "iceberg":
            document = self._writer.document()
            files = [name for one in document["snapshots"] for name in one["files"]]
            newest = document["snapshots"][-1] | {"files": files}
            self._writer.replace(document | {"snapshots": [newest]})
        (table / "old.parquet").unlink(missing_ok=True)


def filled(directory: Path, form: str, batches: int = 2) -> tuple[Description, FakeTopics]:
    """A table with batches of one record each, and a file of rows that it does not have any more."""
    topics = FakeTopics(1)
    description = described(directory, records_max=1)
    topics.logs[0] = [value(number) for number in range(batches)]
    run_into_lake(description, topics, form)
    (description.table / "old.parquet").write_bytes(b"")
    return description, topics


def compacted(description: Description, form: str, compactor: FakeCompactor | None = None) -> Compacted:
    with lake_table(description, form) as table:
        table.open_for_writing()
        table.begin(FakeWriter(description.table, form))
        return compact(table, compactor or FakeCompactor(description, form), SETTINGS)


@pytest.mark.parametrize("form", FORMS)
def test_the_pipeline_goes_on_exactly_after_compaction_and_expiry(form: str, tmp_path: Path) -> None:
    description, topics = filled(tmp_path, form)
    assert compacted(description, form) == Compacted(Rewritten(2, 1), files_removed=1)
    last = lake_table(description, form).last()
    assert last is not None
    assert last.batch == 2
    topics.logs[0].append(value(2))
    assert [one.batch for one in run_into_lake(description, topics, form).commits] == [3]
    assert verified_lake(description, topics, form).faults == []


@pytest.mark.parametrize("form", FORMS)
def test_the_marker_is_restated_behind_the_commits_of_others(form: str, tmp_path: Path) -> None:
    """Their commits would let an expiry take the snapshot, or the log's entry, that has the marker."""
    description, topics = filled(tmp_path, form)
    FakeWriter(description.table, form).commit([], None)
    compactor = FakeCompactor(description, form)
    compactor.finds_small_files = False
    marker = lake_table(description, form).newest_marker()
    assert marker is not None
    assert not lake_table(description, form).ends_with(marker)
    compacted(description, form, compactor)
    assert lake_table(description, form).ends_with(marker)
    assert run_into_lake(description, topics, form).commits == []
    assert verified_lake(description, topics, form).faults == []


def test_a_marker_that_others_expired_is_made_from_the_ledger(tmp_path: Path) -> None:
    description, topics = filled(tmp_path, "iceberg")
    writer = FakeWriter(description.table, "iceberg")
    files = [name for one in writer.document()["snapshots"] for name in one["files"]]
    lonely = {"snapshot-id": 9, "parent-snapshot-id": 2, "summary": {}, "files": files}
    writer.replace({"current-snapshot-id": 9, "snapshots": [lonely]})
    compacted(description, "iceberg")
    marker = lake_table(description, "iceberg").newest_marker()
    assert marker is not None
    assert (marker.staging, marker.commit.batch) == ("batch=2", 2)
    topics.logs[0].append(value(2))
    assert [one.batch for one in run_into_lake(description, topics, "iceberg").commits] == [3]


@pytest.mark.parametrize("form", FORMS)
def test_nothing_is_expired_while_the_newest_commit_lacks_the_marker(form: str, tmp_path: Path) -> None:
    description, _ = filled(tmp_path, form)
    FakeWriter(description.table, form).commit([], None)
    compactor = FakeCompactor(description, form)
    compactor.finds_small_files = False
    compactor.loses_the_marker = True
    with pytest.raises(TableRefused, match="was changed by someone else while it was compacted"):
        compacted(description, form, compactor)
    assert (description.table / "old.parquet").exists()


@pytest.mark.parametrize("form", FORMS)
def test_an_empty_table_has_nothing_to_compact(form: str, tmp_path: Path) -> None:
    assert compacted(described(tmp_path), form) == Compacted(Rewritten(), 0)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(8))
def test_kills_of_runs_and_compactions_cost_nothing(seed: int, form: str, tmp_path: Path) -> None:
    chance = random.Random(seed)
    topics = FakeTopics(1)
    description = described(tmp_path, records_max=2)

    def reached(step: object) -> None:
        if chance.random() < 0.15:
            raise Killed(step)

    for _ in range(10):
        topics.logs[0] += [value(len(topics.logs[0]) + number) for number in range(chance.randint(0, 4))]
        try:
            run_into_lake(description, topics, form, reached)
            if topics.logs[0] and chance.random() < 0.3:
                FakeWriter(description.table, form).commit([], None)
            compacted(description, form, FakeCompactor(description, form, reached))
        except Killed:
            pass
    run_into_lake(description, topics, form)
    found = verified_lake(description, topics, form)
    assert (found.faults, found.rows) == ([], len(topics.logs[0]))


@pytest.mark.parametrize("form", FORMS)
def test_a_run_compacts_after_enough_batches_of_all_runs(form: str, tmp_path: Path) -> None:
    description, topics = filled(tmp_path, form, batches=1)
    done: list[Compacted] = []

    def run_more(batches: int) -> None:
        topics.logs[0] += [value(0)] * batches
        heard = Heard()
        with lake_table(description, form) as table:
            table.open_for_writing()
            table.begin(FakeWriter(description.table, form))
            upkeep = Upkeep(table, FakeCompactor(description, form), SETTINGS, done.append, heard.warned)
            job = FakeJob(topics, description)
            Engine(description, table, topics, job, ManualClock(), heard, upkeep=upkeep).run_once()
        assert heard.warnings == []

    run_more(1)
    assert (len(done), compacted_up_to(lake_table(description, form))) == (1, 2)
    run_more(1)
    assert len(done) == 1
    run_more(3)
    assert (len(done), compacted_up_to(lake_table(description, form))) == (3, 6)
    (description.table / LEDGER / NOTE).write_text("{")
    run_more(1)
    assert len(done) == 4
    assert verified_lake(description, topics, form).faults == []


def test_a_compaction_that_fails_is_a_warning_and_tried_later(tmp_path: Path) -> None:
    description, topics = filled(tmp_path, "delta")
    heard = Heard()
    attempts: list[str] = []

    def fail(at: str) -> None:
        attempts.append(at)
        raise CompactionFailed("the table cannot be compacted: the disk is full")

    topics.logs[0] += [value(number) for number in range(2, 5)]
    with lake_table(description, "delta") as table:
        table.open_for_writing()
        table.begin(FakeWriter(description.table, "delta"))
        compactor = FakeCompactor(description, "delta", fail)
        upkeep = Upkeep(table, compactor, SETTINGS, lambda done: None, heard.warned)
        job = FakeJob(topics, description)
        Engine(description, table, topics, job, ManualClock(), heard, upkeep=upkeep).run_once()
    assert [one.batch for one in heard.commits] == [3, 4, 5]
    assert heard.warnings == [
        "the table cannot be compacted: the disk is full; this is tried again after batch 5",
        "the table cannot be compacted: the disk is full; this is tried again after batch 7",
    ]
    assert attempts == ["rewrite", "rewrite"]


def test_a_restore_to_before_a_compaction_takes_no_batch_back(tmp_path: Path) -> None:
    """The compaction's commit repeats the marker; others committed in between."""
    description, topics = filled(tmp_path, "delta")
    writer = FakeWriter(description.table, "delta")
    writer.commit([], None)
    compacted(description, "delta")
    writer.commit([], None, operation="RESTORE", operationParameters={"version": 2})
    assert run_into_lake(description, topics, "delta").commits == []
    writer.commit([], None, operation="RESTORE", operationParameters={"version": 0})
    with pytest.raises(TableRefused, match="restored to version 0, before batch 2 was committed: restore"):
        run_into_lake(description, topics, "delta")


def test_tables_of_parquet_files_are_refused_with_the_reason(tmp_path: Path) -> None:
    description = described(tmp_path)
    with pytest.raises(SettingError, match="cannot be compacted: a table of Parquet files has no log in"):
        compact_table(description)


def test_a_note_that_cannot_be_kept_costs_one_compaction_more(tmp_path: Path) -> None:
    description, _ = filled(tmp_path, "delta")
    (description.table / LEDGER / "_compacted.new").mkdir()
    compacted(description, "delta")
    assert compacted_up_to(lake_table(description, "delta")) == 0


def test_a_cluster_without_free_cores_is_said_to_be_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyspark")
    from odradek.spark.pipeline import executors, formats

    description, _ = filled(tmp_path, "delta")
    description = replace(description, compaction=SETTINGS)
    heard = threading.Event()
    said: list[str] = []

    def warn(sentence: str) -> None:
        said.append(sentence)
        heard.set()

    def answer_late() -> None:
        assert heard.wait(60)

    for name, made in (
        ("table_of", lambda one: lake_table(one, "delta")),
        ("lake_session", lambda one, session: FakeWriter(one.table, "delta")),
        ("compactor_of", lambda one, lake: FakeCompactor(one, "delta")),
    ):
        monkeypatch.setattr(formats, name, made)
    monkeypatch.setattr(executors, "Executors", partial(executors.Executors, wait_s=0))
    done = compact_table(description, FakeContext(fail=answer_late), warn)
    assert done.rewritten == Rewritten(2, 1)
    assert said == [
        f"no executor of {MASTER} has answered for 0 s: it may have no free cores or memory, or its machines"
        " may not reach this one (spark.driver.host in [spark.settings])"
    ]
    assert not list((description.table / LEDGER).glob("_staging-*"))
