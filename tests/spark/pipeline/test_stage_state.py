"""What stages keep from batch to batch: taken over, refused where it is gone, and removed when it is old."""

from dataclasses import replace
from pathlib import Path

import pytest

from odradek.spark.pipeline.ledger import Table, TableRefused
from odradek.spark.pipeline.stage_state import StageState, checkpoint_of, digest_of, late_rows_of, stages_of
from odradek.spark.pipeline.transforms import Code, Deduplication, Windows
from tests.spark.pipeline.fake_lakes import FakeWriter, lake_table
from tests.spark.pipeline.fake_topics import described
from tests.spark.pipeline.test_ledger import commit

DEDUPLICATION = Deduplication(("id",), "_timestamp", 60)
STAGES = stages_of([Code(sql="select 1"), DEDUPLICATION])


def committed(table: Table, batch: int, content: str) -> None:
    """A batch whose only stage adds a file with `content` to what it keeps."""
    state = StageState(table)
    staging = table.stage()
    state.begin(staging)
    checkpoint_of(staging, 1).mkdir(parents=True, exist_ok=True)
    (checkpoint_of(staging, 1) / f"{batch}.delta").write_text(content)
    done = replace(commit(batch), stages=STAGES, state=digest_of(staging))
    table.seal(staging, done)
    table.publish(staging, done)


def test_a_batch_begins_with_the_state_of_the_batch_before(tmp_path: Path) -> None:
    with Table(tmp_path / "table", "flights", synced=lambda path: None) as table:
        table.open_for_writing()
        assert StageState(table).batch == 1
        committed(table, 1, "one")
        committed(table, 2, "two")
        kept = checkpoint_of(table.directory_of(2), 1)
        assert {one.name: one.read_text() for one in kept.iterdir()} == {"1.delta": "one", "2.delta": "two"}
        StageState(table).check(table.last(), STAGES)
        StageState(table).forget_before(2)
        assert not checkpoint_of(table.directory_of(1), 1).exists()
        assert (kept / "1.delta").read_text() == "one"
        assert StageState(table).batch == 3


def test_a_state_that_is_gone_or_incomplete_is_refused(tmp_path: Path) -> None:
    with Table(tmp_path / "table", "flights", synced=lambda path: None) as table:
        table.open_for_writing()
        committed(table, 1, "one")
        file = checkpoint_of(table.directory_of(1), 1) / "1.delta"
        for damage in (lambda: file.write_text("o"), file.unlink):
            damage()
            with pytest.raises(TableRefused, match=r"batch=1/_state is missing or damaged: it is what the"):
                StageState(table).check(table.last(), STAGES)


def test_other_stages_than_those_of_the_table_are_refused(tmp_path: Path) -> None:
    with Table(tmp_path / "table", "flights", synced=lambda path: None) as table:
        table.open_for_writing()
        StageState(table).check(None, STAGES)
        committed(table, 1, "one")
        with pytest.raises(
            TableRefused, match="was written with one row of each id by _timestamp, watermark"
        ):
            StageState(table).check(table.last(), [])
        windows = Windows(60, 30, "_timestamp", 5, ("origin",), ("count(*) as n",))
        with pytest.raises(TableRefused, match=r"has windows of 60 s every 30 s of _timestamp by origin"):
            StageState(table).check(table.last(), stages_of([windows]))


class Killed(BaseException):
    """The process ended here."""


@pytest.mark.parametrize("form", ["delta", "iceberg"])
def test_a_lake_tables_batch_has_its_state_also_when_the_next_run_records_it(
    form: str, tmp_path: Path
) -> None:
    description = described(tmp_path)

    def reached(at: str) -> None:
        if at == "after the commit":
            raise Killed(at)

    late = str(late_rows_of(Path(), 1) / "part-0.parquet")
    with lake_table(description, form) as table:
        table.open_for_writing()
        table.begin(FakeWriter(description.table, form, reached))
        staging = table.stage()
        for file in (staging / "part-0.parquet", staging / late, checkpoint_of(staging, 1) / "1.delta"):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("what the job wrote")
        done = replace(
            commit(), stages=STAGES, state=digest_of(staging), files={"part-0.parquet": 2, late: 1}
        )
        table.seal(staging, done)
        with pytest.raises(Killed):
            table.publish(staging, done)
    with lake_table(description, form) as table:
        table.open_for_writing()
        table.begin(FakeWriter(description.table, form))
        StageState(table.ledger).check(table.last(), STAGES)
        assert (table.ledger.directory_of(1) / late).is_file()
        assert table.ledger.commit(1).files == {late: 1}


def test_rows_that_are_late_are_beside_those_of_the_batch() -> None:
    assert late_rows_of(Path("table/batch=3"), 2) == Path("table/batch=3/_late/stage=2")
