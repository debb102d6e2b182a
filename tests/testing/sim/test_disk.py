"""A disk as one life holds it: nothing of a dead life changes what the next one reads."""

import pytest

from odradek.storage.files import FileSystem
from odradek.storage.memory_files import MemoryFileSystem
from odradek.testing.sim.disk import Died, DiskHandle


@pytest.fixture
def disk() -> MemoryFileSystem:
    made = MemoryFileSystem()
    made.make_directory("/d")
    made.file("/d/a", create=True).write_at(b"before", 0)
    return made


def test_a_handle_is_the_disk_while_its_life_lasts(disk: MemoryFileSystem) -> None:
    handle: FileSystem = DiskHandle(disk)
    handle.file("/d/b", create=True).write_at(b"new", 0)
    handle.rename("/d/b", "/d/c")
    assert (handle.read("/d/c"), disk.read("/d/c"), handle.exists("/d/b")) == (b"new", b"new", False)


def test_what_the_dead_have_opened_changes_nothing(disk: MemoryFileSystem) -> None:
    handle = DiskHandle(disk)
    file = handle.file("/d/a")
    pinned, sync, lock = file.pin(), file.detached_sync(), handle.lock("/d/.lock")
    assert pinned is not None
    assert lock is not None
    handle.close()
    for call in (
        lambda: file.write_at(b"after", 0),
        lambda: file.truncate(0),
        lambda: file.read_at(6, 0),
        lambda: pinned.read_at(6, 0),
        lambda: handle.rename("/d/a", "/d/b"),
        lambda: handle.remove("/d/a"),
        lambda: handle.file("/d/b", create=True),
        lambda: handle.sync_directory("/d"),
        sync,
        lock.release,
    ):
        with pytest.raises(Died):
            call()
    assert disk.read("/d/a") == b"before"
    assert [name for name, _ in disk.list_directory("/d")] == [".lock", "a"]


def test_a_life_may_end_between_any_two_operations(disk: MemoryFileSystem) -> None:
    handle = DiskHandle(disk)
    handle.close_after(2, handle.close)
    file = handle.file("/d/a")
    file.write_at(b"1", 0)
    file.write_at(b"2", 1)
    with pytest.raises(Died):
        file.write_at(b"3", 2)
    assert disk.read("/d/a") == b"12fore"


def test_no_exception_handler_of_the_dead_goes_on() -> None:
    assert not issubclass(Died, Exception)
