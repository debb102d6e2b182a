"""The conformance suite of the file-system port, and what only one of its engines does."""

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from odradek.base.chance import SeededChance
from odradek.storage.faulty_files import FaultyFileSystem
from odradek.storage.files import FileSystem, write_atomically
from odradek.storage.memory_files import Fault, MemoryFileSystem
from odradek.storage.os_files import OsFileSystem


@pytest.fixture(params=["os", "faulty", "memory"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[FileSystem, str]:
    if request.param == "os":
        return OsFileSystem(), str(tmp_path)
    if request.param == "faulty":
        return FaultyFileSystem(lambda seconds: None), str(tmp_path)
    memory = MemoryFileSystem()
    memory.make_directory("/disk/of/tests")
    return memory, "/disk/of/tests"


def error_of(call: Callable[[], object]) -> int:
    with pytest.raises(OSError) as caught:
        call()
    assert caught.value.errno is not None
    return caught.value.errno


def test_reads_what_was_written_and_stops_at_the_end(disk: tuple[FileSystem, str]) -> None:
    files, root = disk
    file = files.file(f"{root}/a", create=True)
    file.write_at(b"hello", 0)
    file.write_at(memoryview(b"world"), 7)
    assert file.read_at(100, 0) == b"hello\0\0world"
    assert file.read_at(3, 7) == b"wor"
    assert file.read_at(3, 100) == b""
    assert file.size_bytes() == 12


def test_truncates_in_both_directions(disk: tuple[FileSystem, str]) -> None:
    files, root = disk
    file = files.file(f"{root}/a", create=True)
    file.write_at(b"hello", 0)
    file.truncate(2)
    assert file.read_at(10, 0) == b"he"
    file.truncate(4)
    assert file.read_at(10, 0) == b"he\0\0"


def test_a_negative_position_is_refused(disk: tuple[FileSystem, str]) -> None:
    file_system, root = disk
    file = file_system.file(f"{root}/some", create=True)
    with pytest.raises(OSError, match="Invalid argument"):
        file.read_at(1, -8)


def test_a_missing_file_is_an_error_at_first_use(disk: tuple[FileSystem, str]) -> None:
    files, root = disk
    file = files.file(f"{root}/none")
    assert error_of(lambda: file.read_at(1, 0)) == errno.ENOENT
    assert error_of(lambda: files.read(f"{root}/none")) == errno.ENOENT
    assert not files.exists(f"{root}/none")


def test_a_closed_file_opens_again(disk: tuple[FileSystem, str]) -> None:
    files, root = disk
    file = files.file(f"{root}/a", create=True)
    file.write_at(b"x", 0)
    file.close()
    file.write_at(b"y", 1)
    assert files.read(f"{root}/a") == b"xy"
    file.close()
    file.close()


def test_lists_names_with_sizes_in_order(disk: tuple[FileSystem, str]) -> None:
    files, root = disk
    files.make_directory(f"{root}/dir/below")
    files.file(f"{root}/b", create=True).write_at(b"123", 0)
    files.file(f"{root}/a", create=True)
    assert files.list_directory(root) == [("a", 0), ("b", 3), ("dir", -1)]


def test_renames_files_over_others_and_whole_directories(disk: tuple[FileSystem, str]) -> None:
    files, root = disk
    files.file(f"{root}/a", create=True).write_at(b"new", 0)
    files.file(f"{root}/b", create=True).write_at(b"old", 0)
    files.rename(f"{root}/a", f"{root}/b")
    assert files.read(f"{root}/b") == b"new"
    files.make_directory(f"{root}/d")
    files.rename(f"{root}/b", f"{root}/d/c")
    files.rename(f"{root}/d", f"{root}/e")
    assert files.read(f"{root}/e/c") == b"new"
    assert error_of(lambda: files.rename(f"{root}/none", f"{root}/x")) == errno.ENOENT


def test_an_open_file_stays_the_same_file_when_its_name_changes(disk: tuple[FileSystem, str]) -> None:
    files, root = disk
    file = files.file(f"{root}/a", create=True)
    file.write_at(b"x", 0)
    files.rename(f"{root}/a", f"{root}/b")
    file.write_at(b"y", 1)
    assert files.read(f"{root}/b") == b"xy"


def test_removes_files_and_trees_and_what_is_not_there(disk: tuple[FileSystem, str]) -> None:
    files, root = disk
    files.make_directory(f"{root}/d/e")
    files.file(f"{root}/d/e/f", create=True)
    files.file(f"{root}/g", create=True)
    for name in ("d", "g", "none"):
        files.remove(f"{root}/{name}")
    assert files.list_directory(root) == []


def test_a_lock_is_held_once_until_released(disk: tuple[FileSystem, str]) -> None:
    files, root = disk
    lock = files.lock(f"{root}/.lock")
    assert lock is not None
    assert files.lock(f"{root}/.lock") is None
    lock.release()
    again = files.lock(f"{root}/.lock")
    assert again is not None
    again.release()


def test_a_disk_has_room_for_what_is_not_used(disk: tuple[FileSystem, str]) -> None:
    files, root = disk
    total_bytes, usable_bytes = files.space(root)
    assert 0 < usable_bytes <= total_bytes
    with pytest.raises(OSError, match="No such file"):
        files.space(f"{root}/no")


def test_syncs_what_is_open_and_what_was_closed_since(disk: tuple[FileSystem, str]) -> None:
    files, root = disk
    file = files.file(f"{root}/a", create=True)
    file.write_at(b"x", 0)
    file.sync()
    sync = file.detached_sync()
    file.close()
    sync()
    files.sync_directory(root)
    assert files.read(f"{root}/a") == b"x"


def test_writes_atomically(disk: tuple[FileSystem, str]) -> None:
    """R12: a reader sees the old content or the new."""
    files, root = disk
    write_atomically(files, f"{root}/a", b"one", durable=True)
    write_atomically(files, f"{root}/a", b"2", durable=False)
    assert files.read(f"{root}/a") == b"2"
    assert files.list_directory(root) == [("a", 1)]


# The machine's files.


def test_holds_no_more_descriptors_than_allowed_and_spares_those_in_use(tmp_path: Path) -> None:
    files = OsFileSystem(descriptors_max=8)
    hot = files.file(f"{tmp_path}/hot", create=True)
    cold = [files.file(f"{tmp_path}/{number}", create=True) for number in range(50)]
    for number, file in enumerate(cold):
        file.write_at(b"%d" % number, 0)
        hot.write_at(b"hot", 0)
    assert files.open_files <= 8
    assert [file.read_at(2, 0) for file in cold] == [b"%d" % number for number in range(50)]
    assert hot.read_at(3, 0) == b"hot"
    for file in [hot, *cold]:
        file.close()
    assert files.open_files == 0


def test_a_read_only_file_system_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    files = OsFileSystem(read_only=True)
    file = files.file(f"{tmp_path}/a")
    assert file.read_at(1, 0) == b"x"
    assert error_of(lambda: file.write_at(b"y", 0)) == errno.EBADF
    file.close()


# The disk in memory.


def test_a_crash_without_chance_loses_everything_unsynced() -> None:
    disk = MemoryFileSystem()
    disk.make_directory("/d")
    disk.sync_directory("/")
    kept = disk.file("/d/kept", create=True)
    kept.write_at(b"aa", 0)
    kept.sync()
    disk.sync_directory("/d")
    kept.write_at(b"bb", 2)
    disk.file("/d/lost", create=True).sync()
    disk.rename("/d/kept", "/d/renamed")
    disk.crash()
    assert disk.list_directory("/d") == [("kept", 2)]
    assert disk.read("/d/kept") == b"aa"


def test_a_crash_by_chance_keeps_loses_or_tears_each_write() -> None:
    outcomes = set()
    for seed in range(60):
        disk = MemoryFileSystem()
        file = disk.file("/a", create=True)
        file.write_at(b"aa", 0)
        file.sync()
        disk.sync_directory("/")
        file.write_at(b"bb", 2)
        file.write_at(b"cc", 4)
        disk.crash(SeededChance(seed))
        outcomes.add(disk.read("/a"))
    assert {b"aa", b"aab", b"aabb", b"aabbcc", b"aa\0\0cc"} <= outcomes
    assert all(outcome.startswith(b"aa") for outcome in outcomes)


def test_a_disk_that_fills_up_has_less_room() -> None:
    disk = MemoryFileSystem(space_bytes=10)
    disk.file("/a", create=True).write_at(b"1234", 0)
    assert disk.space("/") == (10, 6)


def test_a_full_disk_takes_what_fits() -> None:
    disk = MemoryFileSystem(space_bytes=5)
    file = disk.file("/a", create=True)
    file.write_at(b"abc", 0)
    assert error_of(lambda: file.write_at(b"defg", 3)) == errno.ENOSPC
    assert disk.read("/a") == b"abcde"
    file.write_at(b"XY", 3)
    assert disk.read("/a") == b"abcXY"


def test_a_failed_sync_drops_what_it_should_have_written() -> None:
    """L7: which is why it must not be tried again."""
    disk = MemoryFileSystem()
    file = disk.file("/a", create=True)
    disk.sync_directory("/")
    file.write_at(b"x", 0)
    disk.inject(Fault("sync", errno.EIO))
    assert error_of(file.sync) == errno.EIO
    file.sync()
    assert disk.read("/a") == b"x"
    disk.crash()
    assert disk.read("/a") == b""


def test_faults_come_when_and_where_they_are_due() -> None:
    disk = MemoryFileSystem()
    disk.inject(Fault("write", errno.EIO, path_part="b", after=1))
    one, other = disk.file("/a", create=True), disk.file("/b", create=True)
    one.write_at(b"x", 0)
    other.write_at(b"x", 0)
    assert error_of(lambda: other.write_at(b"yy", 1)) == errno.EIO
    assert disk.read("/b") == b"xy", "half of it was written"
    other.write_at(b"zz", 1)
    assert disk.read("/b") == b"xzz"


def test_a_read_only_disk_refuses_every_change() -> None:
    disk = MemoryFileSystem()
    file = disk.file("/a", create=True)
    disk.read_only = True
    changes = [
        lambda: file.write_at(b"x", 0),
        lambda: file.truncate(0),
        lambda: disk.file("/b", create=True),
        lambda: disk.rename("/a", "/b"),
        lambda: disk.remove("/a"),
        lambda: disk.make_directory("/d"),
    ]
    assert [error_of(change) for change in changes] == [errno.EROFS] * len(changes)


def test_of_what_was_done_to_a_directory_a_prefix_survives_a_power_cut() -> None:
    """As on a journalling file system: never a later rename without an earlier one."""
    kept = set[tuple[str, ...]]()
    for seed in range(30):
        disk = MemoryFileSystem()
        disk.make_directory("/d")
        for name in ("a.tmp", "b.tmp"):
            disk.file(f"/d/{name}", create=True)
        disk.sync_directory("/d")
        disk.sync_directory("/")
        disk.rename("/d/a.tmp", "/d/a")
        disk.rename("/d/b.tmp", "/d/b")
        disk.remove("/d/a")
        disk.crash(SeededChance(seed))
        kept.add(tuple(name for name, _ in disk.list_directory("/d")))
    assert kept == {("a.tmp", "b.tmp"), ("a", "b.tmp"), ("a", "b"), ("b",)}


def test_a_disk_in_memory_says_what_a_power_cut_may_take() -> None:
    disk = MemoryFileSystem()
    disk.make_directory("/d")
    file = disk.file("/d/a", create=True)
    file.write_at(b"one", 0)
    file.sync()
    assert disk.at_risk_from("/d/a") == 0, "its name may go"
    disk.sync_directory("/d")
    disk.sync_directory("/")
    assert disk.at_risk_from("/d/a") is None
    file.write_at(b"two", 3)
    assert disk.at_risk_from("/d/a") == 3
    assert disk.content("/d/a") == b"onetwo"
    disk.remove("/d/a")
    assert disk.lingering("/d") == ["a"]
    assert disk.content("/d/a") is None


def test_a_cut_that_is_written_over_before_it_is_synced_may_be_undone() -> None:
    disk = MemoryFileSystem()
    file = disk.file("/a", create=True)
    file.write_at(b"onetwo", 0)
    file.truncate(3)
    assert not disk.may_undo_cut("/a")
    file.write_at(b"three", 3)
    assert disk.may_undo_cut("/a")
    file.sync()
    assert not disk.may_undo_cut("/a")
