"""The table's directory: one writer, whole batches, nothing of others."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from odradek.spark.pipeline.ledger import COMMIT, Commit, Table, TableRefused

HOLDER = """
import sys, time
from pathlib import Path
from odradek.spark.pipeline.ledger import Table
table = Table(Path(sys.argv[1]), "flights")
table.open_for_writing()
print("locked", flush=True)
time.sleep(600)
"""


def commit(batch: int = 1, pipeline: str = "flights") -> Commit:
    return Commit(
        pipeline=pipeline,
        batch=batch,
        ranges={"flights": {"0": (0, 2)}},
        holes={},
        following={"flights": {"0": 2}},
        topic_ids={},
        fields={"n": "long"},
        records=2,
        rows=2,
        dead_letters=0,
        files={},
        records_total=2,
        dead_letters_total=0,
        committed_at_ms=1,
        took_ms=1,
    )


def committed(directory: Path, pipeline: str = "flights") -> None:
    with Table(directory, pipeline) as table:
        table.open_for_writing()
        staging = table.stage()
        table.seal(staging, commit(pipeline=pipeline))
        table.publish(staging, commit())


def test_a_commit_is_read_as_it_was_written(tmp_path: Path) -> None:
    committed(tmp_path / "table")
    found = Table(tmp_path / "table", "flights").last()
    assert found is not None
    assert found.following == commit().following
    assert {key: tuple(value) for key, value in found.ranges["flights"].items()} == {"0": (0, 2)}


@pytest.mark.slow
def test_a_second_writer_is_refused_until_the_first_process_has_died(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True, env=os.environ
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        table = Table(tmp_path, "flights")
        with pytest.raises(TableRefused, match=rf"is being written by another run \(process {holder.pid}\)"):
            table.open_for_writing()
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        table.open_for_writing()
        table.close()
    finally:
        holder.kill()
        holder.communicate()


def test_everything_is_durable_before_it_is_visible(tmp_path: Path) -> None:
    synced: list[Path] = []
    with Table(tmp_path / "table", "flights", synced=synced.append) as table:
        table.open_for_writing()
        staging = table.stage()
        (staging / "_dead_letters").mkdir()
        files = {staging / "part-0.parquet", staging / "_dead_letters" / "part-0.parquet"}
        for file in files:
            file.write_bytes(b"rows")
        table.seal(staging, commit())
        assert set(synced) == files | {staging / COMMIT, staging / "_dead_letters", staging}
        assert table.batches() == []
        table.publish(staging, commit())
        assert synced[-1] == tmp_path / "table"
        assert table.batches() == [1]


def test_a_batch_is_never_written_twice(tmp_path: Path) -> None:
    committed(tmp_path / "table")
    with Table(tmp_path / "table", "flights") as table:
        table.open_for_writing()
        staging = table.stage()
        table.seal(staging, commit())
        with pytest.raises(TableRefused, match="cannot commit batch 1"):
            table.publish(staging, commit())


def test_directories_of_others_are_refused(tmp_path: Path) -> None:
    committed(tmp_path / "table", pipeline="planes")
    with pytest.raises(TableRefused, match="belongs to pipeline planes"):
        Table(tmp_path / "table", "flights").last()
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "letters.txt").touch()
    with pytest.raises(TableRefused, match=r"holds letters\.txt, which no pipeline wrote"):
        Table(tmp_path / "foreign", "flights").open_for_writing()


def test_what_a_killed_run_left_is_swept_away(tmp_path: Path) -> None:
    with Table(tmp_path, "flights") as table:
        table.open_for_writing()
        left = table.stage()
        (left / "part-0.parquet").touch()
    with Table(tmp_path, "flights") as table:
        table.open_for_writing()
        assert not left.exists()


def full(path: Path) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_is_said_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Table(tmp_path, "flights", synced=full) as table:
        table.open_for_writing()
        sealed = table.stage()
        with pytest.raises(TableRefused, match=f"cannot write to {tmp_path}: no space left on device"):
            table.seal(sealed, commit())
        monkeypatch.setattr(Path, "mkdir", lambda path: full(path))
        with pytest.raises(TableRefused, match="no space left on device"):
            table.stage()


def test_a_run_begins_on_a_full_disk_and_gives_it_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Table(tmp_path, "flights") as table:
        table.open_for_writing()
        left = table.stage()
    monkeypatch.setattr(os, "write", lambda lock, text: full(tmp_path))
    with Table(tmp_path, "flights") as table:
        table.open_for_writing()
        assert not left.exists()


def test_what_is_no_directory_is_said_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "table").touch()
    table = Table(tmp_path / "table", "flights")
    for look in (table.last, table.holder):
        with pytest.raises(TableRefused, match=r"cannot read .*table: not a directory"):
            look()
