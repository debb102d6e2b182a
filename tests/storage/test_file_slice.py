"""A slice of a file, on both engines of the file-system port."""

import errno
from pathlib import Path

import pytest

from odradek.storage.file_slice import SLICE_BYTES_MIN, FileSlice
from odradek.storage.files import File, FileSystem
from odradek.storage.memory_files import Fault, MemoryFileSystem
from odradek.storage.os_files import OsFileSystem

SIZE = 3 * SLICE_BYTES_MIN
CONTENT = bytes(number % 251 for number in range(SIZE))


@pytest.fixture(params=["os", "memory"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[FileSystem, str]:
    if request.param == "os":
        return OsFileSystem(), str(tmp_path / "a")
    memory = MemoryFileSystem()
    memory.make_directory("/disk")
    return memory, "/disk/a"


def written(disk: tuple[FileSystem, str]) -> File:
    files, path = disk
    file = files.file(path, create=True)
    file.write_at(CONTENT, 0)
    return file


def slice_of(file: File, position: int, size_bytes: int) -> FileSlice:
    pinned = file.pin()
    assert pinned is not None
    return FileSlice(pinned, position, size_bytes)


def test_a_slice_is_read_piece_by_piece_up_to_its_end(disk: tuple[FileSystem, str]) -> None:
    found = slice_of(written(disk), 100, SLICE_BYTES_MIN)
    assert len(found) == SLICE_BYTES_MIN
    assert found.read_at(1000, 0) + found.read_at(SIZE, 1000) == CONTENT[100 : 100 + SLICE_BYTES_MIN]
    assert found.read_at(10, SLICE_BYTES_MIN) == b""


def test_a_slice_outlives_its_file(disk: tuple[FileSystem, str]) -> None:
    """Retention, deletion and compaction may remove a segment that is being sent."""
    file = written(disk)
    found = slice_of(file, 0, SIZE)
    file.close()
    disk[0].remove(disk[1])
    successor = disk[0].file(disk[1], create=True)
    successor.write_at(bytes(SIZE), 0)
    assert found.read_at(SIZE, 0) == CONTENT


def test_what_was_cut_off_is_gone_also_when_it_is_written_anew(disk: tuple[FileSystem, str]) -> None:
    file = written(disk)
    found = slice_of(file, 0, SIZE)
    file.truncate(SLICE_BYTES_MIN)
    file.write_at(bytes(SIZE), SLICE_BYTES_MIN)
    assert found.read_at(SIZE, 0) == CONTENT[:SLICE_BYTES_MIN]
    assert found.read_at(SIZE, SLICE_BYTES_MIN) == b""
    assert slice_of(file, SLICE_BYTES_MIN, SIZE).read_at(SIZE, 0) == bytes(SIZE), "a later slice sees it"


def test_appending_and_cutting_what_was_appended_is_no_matter(disk: tuple[FileSystem, str]) -> None:
    file = written(disk)
    found = slice_of(file, 0, SIZE)
    file.write_at(b"more", SIZE)
    file.truncate(SIZE)
    assert found.read_at(SIZE, 0) == CONTENT


def test_slices_of_a_file_share_a_descriptor_which_ends_with_the_last_of_them(tmp_path: Path) -> None:
    files = OsFileSystem()
    file = written((files, str(tmp_path / "a")))
    assert files.open_files == 1
    first, second = slice_of(file, 0, SIZE), slice_of(file, 0, SIZE)
    assert files.open_files == 2
    del first
    assert files.open_files == 2
    del second
    assert files.open_files == 1


def test_only_half_of_the_descriptors_may_be_pinned(tmp_path: Path) -> None:
    files = OsFileSystem(descriptors_max=4)
    pinned = []
    for number in range(4):
        file = written((files, str(tmp_path / f"{number}")))
        pinned.append(file.pin())
    assert [one is not None for one in pinned] == [True, True, False, False]
    assert files.open_files <= 4
    pinned.clear()
    assert file.pin() is not None


def test_a_failing_disk_is_an_error() -> None:
    memory = MemoryFileSystem()
    memory.make_directory("/disk")
    found = slice_of(written((memory, "/disk/a")), 0, SIZE)
    memory.faults.append(Fault("read", errno.EIO))
    with pytest.raises(OSError, match="/disk/a"):
        found.read_at(1, 0)


def test_a_slice_knows_whether_it_is_in_memory(disk: tuple[FileSystem, str]) -> None:
    file = written(disk)
    found = slice_of(file, 0, SIZE)
    assert found.is_in_memory(SIZE, 0), "it was just written"
    assert file.is_in_memory(SIZE, 0)
    if isinstance(disk[0], MemoryFileSystem):
        disk[0].cold_paths.add(disk[1])
        assert not found.is_in_memory(SIZE, 0)
        assert not file.is_in_memory(SIZE, 0)
