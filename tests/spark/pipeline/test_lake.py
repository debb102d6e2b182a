"""Sinks of lake formats over logs of their form: kills at every step, tables that were changed or deleted."""

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from odradek.base.ids import TopicPartition
from odradek.spark.pipeline.lake import LEDGER, LakeState, LakeTable
from odradek.spark.pipeline.ledger import COMMIT, DEAD_LETTERS, TableRefused
from tests.spark.pipeline.fake_lakes import READERS, FakeWriter, lake_table, run_into_lake, verified_lake
from tests.spark.pipeline.fake_topics import FLIGHTS, FakeTopics, described

FORMS = ("delta", "iceberg")


class Killed(BaseException):
    """The process ended here."""


def value(**fields: object) -> bytes:
    return json.dumps(fields).encode()


def two_batches(directory: Path, form: str) -> tuple[Any, FakeTopics]:
    """A table after two batches of one record each."""
    topics = FakeTopics(1)
    description = described(directory, records_max=1)
    topics.logs[0] = [value(n=1), value(n=2)]
    run_into_lake(description, topics, form)
    return description, topics


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(12))
def test_a_kill_at_any_step_costs_nothing(seed: int, form: str, tmp_path: Path) -> None:
    """Runs are killed at steps drawn from the seed; others commit to the table in between."""
    chance = random.Random(seed)
    topics = FakeTopics(2)
    description = described(tmp_path, records_max=chance.choice([1, 3, 10]))

    def reached(step: object) -> None:
        if chance.random() < 0.12:
            raise Killed(step)

    for _ in range(10):
        for log in topics.logs:
            for _ in range(chance.randint(0, 4)):
                drawn = chance.random()
                log.append(None if drawn < 0.1 else b"broken" if drawn < 0.2 else value(n=len(log)))
        try:
            run_into_lake(description, topics, form, reached)
        except Killed:
            pass
        if chance.random() < 0.3 and lake_table(description, form).last() is not None:
            FakeWriter(description.table, form).commit([], None)
    run_into_lake(description, topics, form)
    found = verified_lake(description, topics, form)
    assert found.faults == []
    visible = sum(1 for log in topics.logs for one in log if one is not None)
    assert found.compared == found.records == found.rows + found.dead_letters == visible
    assert topics.group == {
        TopicPartition(FLIGHTS, number): len(log) for number, log in enumerate(topics.logs)
    }
    assert not list((description.table / LEDGER).glob("_staging-*"))


@pytest.mark.parametrize("form", FORMS)
def test_a_kill_behind_the_commit_is_finished_by_the_next_run(form: str, tmp_path: Path) -> None:
    topics = FakeTopics(1)
    topics.logs[0] = [value(n=1), b"broken"]
    description = described(tmp_path)

    def reached(step: object) -> None:
        if step == "after the commit":
            raise Killed(step)

    with pytest.raises(Killed):
        run_into_lake(description, topics, form, reached)
    table = lake_table(description, form)
    assert table.batches() == []
    last = table.last()
    assert last is not None
    assert (last.batch, last.following) == (1, {FLIGHTS: {"0": 2}})
    assert run_into_lake(description, topics, form).commits == []
    kept = table.ledger.directory_of(1)
    assert sorted(one.name for one in kept.iterdir()) == [COMMIT, DEAD_LETTERS]
    assert verified_lake(description, topics, form).faults == []


@pytest.mark.parametrize("form", FORMS)
def test_a_batch_that_is_committed_during_a_look_is_no_fault(form: str, tmp_path: Path) -> None:
    description, topics = two_batches(tmp_path, form)

    def read_while_a_run_commits(directory: Path) -> LakeState:
        state = READERS[form](directory)
        topics.logs[0].append(value(n=3))
        run_into_lake(description, topics, form)
        return state

    found = LakeTable(description.table, description.name, read_while_a_run_commits).last()
    assert found is not None
    assert found.batch == 2


@pytest.mark.parametrize("form", FORMS)
def test_a_ledger_that_was_deleted_is_made_from_the_table(form: str, tmp_path: Path) -> None:
    description, topics = two_batches(tmp_path, form)
    shutil.rmtree(description.table / LEDGER)
    lake_table(description, form).check_place()
    topics.logs[0].append(value(n=3))
    assert [one.batch for one in run_into_lake(description, topics, form).commits] == [3]
    assert len(FakeWriter(description.table, form).files()) == 3
    assert verified_lake(description, topics, form).faults == [
        "the ledger has batch=2, and lacks batch=1",
        "1 rows are of no batch of the ledger",
    ]


@pytest.mark.parametrize("form", FORMS)
def test_a_table_that_was_deleted_is_not_begun_anew_in_silence(form: str, tmp_path: Path) -> None:
    description, topics = two_batches(tmp_path, form)
    shutil.rmtree(description.table / ("_delta_log" if form == "delta" else "metadata"))
    with pytest.raises(TableRefused, match="has lost its batches up to 2, which had been committed"):
        run_into_lake(description, topics, form)


@pytest.mark.parametrize("form", FORMS)
def test_tables_of_others_are_refused(form: str, tmp_path: Path) -> None:
    description = described(tmp_path)
    description.table.mkdir()
    FakeWriter(description.table, form).commit([], None)
    with pytest.raises(TableRefused, match=r"holds .*, which no pipeline wrote: give an empty path"):
        run_into_lake(description, FakeTopics(1), form)
    (description.table / LEDGER).mkdir()
    with pytest.raises(TableRefused, match="holds a table that no pipeline wrote"):
        run_into_lake(description, FakeTopics(1), form)


@pytest.mark.parametrize("form", FORMS)
def test_the_table_of_another_pipeline_is_refused(form: str, tmp_path: Path) -> None:
    description, topics = two_batches(tmp_path, form)
    description.file.write_text(description.file.read_text().replace('name = "flights"', 'name = "planes"'))
    from odradek.spark.pipeline.description import read_description

    with pytest.raises(TableRefused, match="belongs to pipeline flights"):
        run_into_lake(read_description(description.file), topics, form)


@pytest.mark.parametrize("form", FORMS)
def test_a_second_run_is_refused(form: str, tmp_path: Path) -> None:
    description, topics = two_batches(tmp_path, form)
    with lake_table(description, form) as first:
        first.open_for_writing()
        with pytest.raises(TableRefused, match="is being written by another run"):
            run_into_lake(description, topics, form)


@pytest.mark.parametrize("form", FORMS)
def test_a_batch_that_another_run_committed_meanwhile_is_refused(form: str, tmp_path: Path) -> None:
    """As by a run on another machine, whose lock this file system does not show."""
    description, topics = two_batches(tmp_path, form)
    topics.logs[0].append(value(n=3))

    class Late(FakeWriter):
        def append(self, staging: Path, marker: Any) -> None:
            """Delta skips a transaction that it has."""

    with lake_table(description, form) as table:
        table.open_for_writing()
        table.begin(Late(description.table, form))
        last = table.last()
        assert last is not None
        with pytest.raises(TableRefused, match=r"batch 2 of .* was committed by another run meanwhile"):
            table.publish(table.stage(), last)


def test_a_delta_table_that_was_restored_is_refused_until_it_is_brought_back(tmp_path: Path) -> None:
    description, topics = two_batches(tmp_path, "delta")
    writer = FakeWriter(description.table, "delta")
    writer.commit([], None, operation="RESTORE", operationParameters={"version": 0})
    with pytest.raises(TableRefused, match="restored to version 0, before batch 2 was committed"):
        run_into_lake(description, topics, "delta")
    writer.commit([], None, operation="RESTORE", operationParameters={"version": None, "timestamp": "x"})
    with pytest.raises(TableRefused, match="was restored to version"):
        run_into_lake(description, topics, "delta")


def test_a_restore_to_a_later_version_takes_nothing_back(tmp_path: Path) -> None:
    description, topics = two_batches(tmp_path, "delta")
    writer = FakeWriter(description.table, "delta")
    writer.commit([], None, operation="OPTIMIZE")
    writer.commit([], None, operation="RESTORE", operationParameters={"version": 2})
    assert run_into_lake(description, topics, "delta").commits == []


def test_a_delta_table_that_was_overwritten_is_refused(tmp_path: Path) -> None:
    description, topics = two_batches(tmp_path, "delta")
    FakeWriter(description.table, "delta").commit([], None, operationParameters={"mode": "Overwrite"})
    with pytest.raises(TableRefused, match="was overwritten by someone else, in version 2"):
        run_into_lake(description, topics, "delta")


def test_an_iceberg_table_that_was_rolled_back_is_refused(tmp_path: Path) -> None:
    description, topics = two_batches(tmp_path, "iceberg")
    writer = FakeWriter(description.table, "iceberg")
    writer.replace(writer.document() | {"current-snapshot-id": 1})
    with pytest.raises(TableRefused, match="was set back to batch 1, and batch 2 had been committed"):
        run_into_lake(description, topics, "iceberg")


def test_a_marker_that_was_expired_leaves_the_ledgers_word(tmp_path: Path) -> None:
    """Someone compacted the table and expired all other snapshots."""
    description, topics = two_batches(tmp_path, "iceberg")
    writer = FakeWriter(description.table, "iceberg")
    kept = writer.document()["snapshots"]
    files = [name for one in kept for name in one["files"]]
    compacted = {"snapshot-id": 9, "parent-snapshot-id": 2, "summary": {}, "files": files}
    writer.replace({"current-snapshot-id": 9, "snapshots": [compacted]})
    topics.logs[0].append(value(n=3))
    assert [one.batch for one in run_into_lake(description, topics, "iceberg").commits] == [3]
    assert verified_lake(description, topics, "iceberg").faults == []


def test_a_marker_that_was_expired_in_the_middle_of_a_commit_is_not_guessed(tmp_path: Path) -> None:
    description, topics = two_batches(tmp_path, "iceberg")
    writer = FakeWriter(description.table, "iceberg")
    writer.replace(
        {"current-snapshot-id": 9, "snapshots": [{"snapshot-id": 9, "parent-snapshot-id": 2, "files": []}]}
    )
    sealed = description.table / LEDGER / "_staging-1"
    sealed.mkdir()
    (sealed / COMMIT).write_text("{}")
    with pytest.raises(TableRefused, match="cannot say whether it has it"):
        run_into_lake(description, topics, "iceberg")


def test_damaged_metadata_is_named(tmp_path: Path) -> None:
    description, topics = two_batches(tmp_path, "iceberg")
    (description.table / "metadata" / "v9.metadata.json").write_text("{")
    with pytest.raises(TableRefused, match=r"v9\.metadata\.json is damaged"):
        run_into_lake(description, topics, "iceberg")
