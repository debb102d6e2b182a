"""Replays of dead letters, over all sinks: each once, also after kills at any step; and what verify says."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from odradek.base.clock import ManualClock
from odradek.spark.pipeline.dead_letters import DeadLetters, open_letters
from odradek.spark.pipeline.description import Description, read_description
from odradek.spark.pipeline.engine import Engine, Replayed, Step
from odradek.spark.pipeline.lake import LakeTable
from odradek.spark.pipeline.ledger import DEAD_LETTERS, Table, TableRefused
from odradek.spark.pipeline.verifying import Findings
from tests.spark.pipeline.fake_lakes import FakeWriter, lake_table, run_into_lake, verified_lake
from tests.spark.pipeline.fake_topics import FakeJob, FakeTopics, Heard, described, rows_of, run, verified

FORMS = ("parquet", "delta", "iceberg")
# `n` becomes a double; before that a number with a fraction is a dead letter.
LONG = 'fields = { n = "long" }\nnew_fields = "dead-letter"'


class Killed(BaseException):
    """The process ended here."""


def value(**fields: object) -> bytes:
    return json.dumps(fields).encode()


def table_of(description: Description, form: str) -> Table | LakeTable:
    if form == "parquet":
        return Table(description.table, description.name, synced=lambda path: None)
    return lake_table(description, form)


def brought(description: Description, topics: FakeTopics, form: str) -> Heard:
    """One run."""
    return run(description, topics) if form == "parquet" else run_into_lake(description, topics, form)


def counted(description: Description, topics: FakeTopics, form: str) -> Findings:
    return verified(description, topics) if form == "parquet" else verified_lake(description, topics, form)


def replayed(
    description: Description,
    topics: FakeTopics,
    form: str,
    reached: Callable[[object], None] = lambda step: None,
) -> Replayed:
    with table_of(description, form) as table:
        table.open_for_writing()
        if isinstance(table, LakeTable):
            table.begin(FakeWriter(description.table, form, reached))
        job = FakeJob(topics, description)
        steps: Callable[[Step], None] = reached
        return Engine(description, table, topics, job, ManualClock(), Heard(), steps).replay()


def mended(description: Description) -> Description:
    """The description after a fix: the field `gate` is one of the table."""
    text = description.file.read_text()
    description.file.write_text(text.replace('n = "long"', 'n = "long", gate = "string"'))
    return read_description(description.file)


def with_letters(directory: Path, form: str) -> tuple[Description, FakeTopics]:
    """Two batches with five records, three of them dead letters; a fix helps two of these."""
    topics = FakeTopics(2)
    description = described(directory, decode=LONG, records_max=3)
    topics.logs[0] = [value(n=1), value(n=2, gate="B4"), b"broken"]
    topics.logs[1] = [value(n=4, gate="B5")]
    brought(description, topics, form)
    topics.logs[1].append(value(n=5))
    brought(description, topics, form)
    return description, topics


def places(description: Description, form: str) -> list[tuple[int, int, str | None]]:
    """Partition, offset and gate of each row of the table."""
    if form == "parquet":
        rows = rows_of(description)
    else:
        import pyarrow.parquet as pq

        files = FakeWriter(description.table, form).files()
        rows = [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]
    return sorted((row["_partition"], row["_offset"], row.get("gate")) for row in rows)  # type: ignore[misc]


@pytest.mark.parametrize("form", FORMS)
def test_what_can_be_read_now_becomes_rows_once(form: str, tmp_path: Path) -> None:
    description, topics = with_letters(tmp_path, form)
    before = counted(description, topics, form)
    assert (before.faults, before.records, before.rows, before.dead_letters) == ([], 5, 2, 3)
    assert replayed(description, topics, form).commit is None  # nothing has been mended
    description = mended(description)
    done = replayed(description, topics, form)
    assert (done.letters, done.remaining, done.commit and done.commit.rows) == (3, 1, 2)
    assert done.first_error.startswith("flights-0 at offset 2: the value is not JSON")
    assert places(description, form) == [
        (0, 0, None),
        (0, 1, "B4"),
        (1, 0, "B5"),
        (1, 1, None),
    ]
    found = counted(description, topics, form)
    assert (found.faults, found.records, found.rows, found.dead_letters) == ([], 5, 4, 1)
    last = table_of(description, form).last()
    assert last is not None
    assert (last.is_replay, last.records_total, last.dead_letters_total) == (True, 5, 1)
    again = replayed(description, topics, form)
    assert (again.letters, again.remaining, again.commit) == (1, 1, None)


@pytest.mark.parametrize("form", FORMS)
def test_a_pipeline_goes_on_after_a_replay_and_new_letters_are_open(form: str, tmp_path: Path) -> None:
    description, topics = with_letters(tmp_path, form)
    description = mended(description)
    replayed(description, topics, form)
    topics.logs[0] += [value(n=6), value(n="x")]
    assert [one.records for one in brought(description, topics, form).commits] == [2]
    found = counted(description, topics, form)
    assert (found.faults, found.records, found.rows, found.dead_letters) == ([], 7, 5, 2)
    assert replayed(description, topics, form).letters == 2


@pytest.mark.parametrize("form", FORMS)
def test_without_dead_letters_there_is_nothing_to_do(form: str, tmp_path: Path) -> None:
    topics = FakeTopics(1)
    description = described(tmp_path)
    assert replayed(description, topics, form) == Replayed(0, 0, None)
    topics.logs[0] = [value(n=1)]
    brought(description, topics, form)
    assert replayed(description, topics, form) == Replayed(0, 0, None)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(8))
def test_kills_at_any_step_cost_nothing(seed: int, form: str, tmp_path: Path) -> None:
    """Replays and runs are killed in turn; new fields turn dead letters into rows."""
    chance = random.Random(seed)
    topics = FakeTopics(2)
    description = described(tmp_path, decode=LONG, records_max=4)

    def reached(step: object) -> None:
        if chance.random() < 0.15:
            raise Killed(step)

    for turn in range(8):
        for log in topics.logs:
            for _ in range(chance.randint(0, 4)):
                drawn = chance.random()
                gate = {"gate": "B4"} if drawn < 0.4 else {}
                log.append(None if drawn < 0.05 else b"broken" if drawn < 0.2 else value(n=len(log), **gate))
        if turn == 4:
            description = mended(description)
        try:
            if form == "parquet":
                run(description, topics, reached)
            else:
                run_into_lake(description, topics, form, reached)
            replayed(description, topics, form, reached)
        except Killed:
            pass
    brought(description, topics, form)
    replayed(description, topics, form)
    found = counted(description, topics, form)
    records = [one for log in topics.logs for one in log if one is not None]
    assert found.faults == []
    assert (found.records, found.dead_letters) == (len(records), records.count(b"broken"))
    mine = places(description, form)
    assert len(mine) == len({place[:2] for place in mine}) == found.rows == len(records) - found.dead_letters


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("step", [Step.PLANNED, Step.STAGED, Step.WRITTEN, Step.SEALED, Step.PUBLISHED])
def test_a_replay_is_whole_or_absent_after_each_step(step: Step, form: str, tmp_path: Path) -> None:
    description, topics = with_letters(tmp_path, form)
    description = mended(description)

    def reached(at: object) -> None:
        if at is step:
            raise Killed(at)

    with pytest.raises(Killed):
        replayed(description, topics, form, reached)
    is_done = step is Step.PUBLISHED
    assert len(places(description, form)) == (4 if is_done else 2)
    assert replayed(description, topics, form).letters == (1 if is_done else 3)
    assert counted(description, topics, form).faults == []


def test_a_table_with_keys_takes_none_back(tmp_path: Path) -> None:
    """A deletion leaves no trace, so an older dead letter would bring the row of its key back."""
    description = described(tmp_path)
    text = description.file.read_text()
    description.file.write_text(text.replace("[sink]", '[sink]\nformat = "delta"\nkey = "n"'))
    with pytest.raises(TableRefused, match="has one row for each key, and dead letters cannot be taken back"):
        replayed(read_description(description.file), FakeTopics(1), "delta")


def test_dead_letters_that_are_gone_are_named(tmp_path: Path) -> None:
    description, topics = with_letters(tmp_path, "parquet")
    (file,) = (description.table / "batch=1" / DEAD_LETTERS).glob("part-1*")
    assert open_letters(Table(description.table, "flights")).count == 3
    file.unlink()
    with pytest.raises(TableRefused, match="is missing or damaged: its dead letters cannot be taken back"):
        replayed(mended(description), topics, "parquet")


def test_verify_finds_a_replay_that_took_back_too_much_or_too_little(tmp_path: Path) -> None:
    description, topics = with_letters(tmp_path, "parquet")
    description = mended(description)
    replayed(description, topics, "parquet")
    batch = description.table / "batch=3"
    (batch / "part-0.parquet").write_bytes((description.table / "batch=1" / "part-0.parquet").read_bytes())
    faults = "\n".join(counted(description, topics, "parquet").faults)
    assert (
        "batch=3, a replay, has rows of records that were no open dead letters, flights-0: offset 0" in faults
    )
    assert "batch=3, a replay, lacks dead letters that were open, flights-0: offset 1" in faults
    assert open_letters(Table(description.table, "flights")) == DeadLetters(
        (batch / DEAD_LETTERS / "part-0.parquet",), 1
    )


@pytest.mark.parametrize("form", ["delta", "iceberg"])
def test_verify_finds_a_lake_row_that_was_taken_back_twice(form: str, tmp_path: Path) -> None:
    description, topics = with_letters(tmp_path, form)
    description = mended(description)
    replayed(description, topics, form)
    writer = FakeWriter(description.table, form)
    again = [file.name for file in writer.files() if (0, 1) in _origins(file)]
    writer.commit(again, None)
    faults = "\n".join(counted(description, topics, form).faults)
    assert "batch=3, a replay, has dead letters more than once, flights-0: offset 1" in faults


def _origins(file: Path) -> list[tuple[int, int]]:
    import pyarrow.parquet as pq

    return [(row["_partition"], row["_offset"]) for row in pq.ParquetFile(file).read().to_pylist()]
