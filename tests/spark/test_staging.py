from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from odradek.base.errors import OdradekError, SettingError
from odradek.spark.staging import StageLost, Staging


def rows(*values: bytes) -> pa.RecordBatch:
    headers = [[{"key": "h", "value": value}] for value in values]
    kind = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    return pa.record_batch(
        [pa.array(values, pa.binary()), pa.array(headers, kind)], names=["value", "headers"]
    )


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_rows_are_read_as_they_were_staged(tmp_path: Path, scheme: str) -> None:
    staging = Staging(f"{scheme}{tmp_path}/deep/down", "q")
    staged = staging.write([rows(b"1", b"2"), rows(b"3")])
    assert (staged.query, staged.rows) == ("q", 3)
    read = pa.Table.from_batches(staging.read(staged))
    assert read.equals(pa.Table.from_batches([rows(b"1", b"2", b"3")]))


def test_a_task_without_rows_stages_no_file(tmp_path: Path) -> None:
    staging = Staging(str(tmp_path), "q")
    staged = staging.write([])
    assert (staged.name, staged.rows) == ("", 0)
    assert list(staging.read(staged)) == []
    assert list(tmp_path.iterdir()) == []


def test_clearing_removes_what_is_of_the_query(tmp_path: Path) -> None:
    mine, other = Staging(str(tmp_path), "q"), Staging(str(tmp_path), "other")
    mine.write([rows(b"1")])
    kept = other.write([rows(b"2")])
    mine.clear()
    mine.clear()
    assert [one.name for one in tmp_path.iterdir()] == ["other"]
    assert [batch.num_rows for batch in other.read(kept)] == [1]


def test_rows_that_are_not_there_are_lost(tmp_path: Path) -> None:
    """The driver of another machine does not see them, or sees a part."""
    here, elsewhere = Staging(str(tmp_path / "a"), "q"), Staging(str(tmp_path / "b"), "q")
    staged = here.write([rows(b"1")])
    with pytest.raises(StageLost, match="must be a directory that the driver and all executors see"):
        list(elsewhere.read(staged))
    with pytest.raises(StageLost, match=r"a task staged 2 rows in .*, and 1 are there"):
        list(here.read(replace(staged, rows=2)))
    file = tmp_path / "a" / "q" / staged.name
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(StageLost, match="cannot read rows that a task staged"):
        list(here.read(staged))


def test_locations_that_cannot_be_opened_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="stagingLocation dbfs:/x cannot be opened from Python"):
        Staging("dbfs:/x", "q")
    (tmp_path / "file").touch()
    with pytest.raises(OdradekError, match=f"cannot stage rows in {tmp_path}/file"):
        Staging(f"{tmp_path}/file", "q").write([rows(b"1")])
