"""Beyond the conformance suite of file systems (test_files): what only these can do."""

import errno
from pathlib import Path

import pytest

from odradek.storage import os_files
from odradek.storage.faulty_files import FaultyFileSystem


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def files(pauses: list[float]) -> FaultyFileSystem:
    return FaultyFileSystem(pauses.append)


def test_a_full_disk_refuses_what_would_grow_and_nothing_else(
    files: FaultyFileSystem, tmp_path: Path
) -> None:
    file = files.file(f"{tmp_path}/a", create=True)
    file.write_at(b"abc", 0)
    files.faults.is_full = True
    for refused in (
        lambda: file.write_at(b"d", 3),
        lambda: file.truncate(10),
        lambda: files.file(f"{tmp_path}/b", create=True),
        lambda: files.make_directory(f"{tmp_path}/c"),
    ):
        with pytest.raises(OSError, match="No space left") as error:
            refused()
        assert error.value.errno == errno.ENOSPC
    file.write_at(b"xyz", 0)
    file.truncate(2)
    assert file.read_at(10, 0) == b"xy"
    assert files.space(str(tmp_path))[1] == 0
    files.faults.is_full = False
    file.write_at(b"z", 2)
    assert files.read(f"{tmp_path}/a") == b"xyz"


def test_a_slow_disk_takes_longer_to_write_and_to_sync(
    files: FaultyFileSystem, tmp_path: Path, pauses: list[float]
) -> None:
    file = files.file(f"{tmp_path}/a", create=True)
    files.faults.delay_ms = 50
    file.write_at(b"abc", 0)
    file.sync()
    file.detached_sync()()
    files.sync_directory(str(tmp_path))
    assert file.read_at(3, 0) == b"abc"
    assert pauses == [0.05] * 4


def test_after_the_end_nothing_is_written_and_everything_is_free(
    files: FaultyFileSystem, tmp_path: Path
) -> None:
    file = files.file(f"{tmp_path}/a", create=True)
    file.write_at(b"abc", 0)
    assert files.lock(f"{tmp_path}/lock") is not None
    files.end()
    assert files.open_files == 0
    for refused in (
        lambda: file.write_at(b"d", 3),
        lambda: files.file(f"{tmp_path}/b", create=True),
        lambda: files.rename(f"{tmp_path}/a", f"{tmp_path}/b"),
        lambda: files.remove(f"{tmp_path}/a"),
    ):
        with pytest.raises(OSError, match="the broker was killed"):
            refused()
    assert FaultyFileSystem(lambda _: None).lock(f"{tmp_path}/lock") is not None
    assert (tmp_path / "a").read_bytes() == b"abc"


def test_what_need_not_last_waits_for_no_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os_files, "_sync_descriptor", synced.append)
    for durable, expected in ((False, 0), (True, 2)):
        files = FaultyFileSystem(lambda _: None, durable=durable)
        file = files.file(f"{tmp_path}/{durable}", create=True)
        file.sync()
        file.detached_sync()()
        assert len(synced) == expected
