"""Which directory has a partition's log, by what a start finds."""

import errno
from uuid import UUID

import pytest

from odradek.base.chance import SeededChance
from odradek.base.clock import ManualClock
from odradek.base.ids import TopicPartition
from odradek.storage.file_names import MOVED_AWAY, MOVED_HERE, future_directory
from odradek.storage.log_directory import LogDirectory
from odradek.storage.memory_files import Fault, MemoryFileSystem
from odradek.storage.move_marks import SettledMoves, mark_of, settle_moves, write_mark

ORDERS = TopicPartition("orders", 3)
LOG = "orders-3"
COPY = future_directory(ORDERS, UUID(int=1))


@pytest.fixture
def disk() -> MemoryFileSystem:
    disk = MemoryFileSystem()
    for directory in ("/d1", "/d2", "/d3"):
        disk.make_directory(directory)
    disk.sync_directory("")
    return disk


def make(disk: MemoryFileSystem, path: str, *, here: str | None = None, away: str | None = None) -> None:
    disk.make_directory(path)
    for name, mark in ((MOVED_HERE, here), (MOVED_AWAY, away)):
        if mark is not None:
            write_mark(disk, path, name, mark)


def directories(disk: MemoryFileSystem) -> list[LogDirectory]:
    return [
        LogDirectory(path, disk, ManualClock(), SeededChance(1), producer_expiration_ms=lambda: 1)
        for path in ("/d1", "/d2", "/d3")
    ]


def left(disk: MemoryFileSystem) -> list[str]:
    """What is in the directories, without the ids in the names."""
    found = []
    for directory in ("/d1", "/d2", "/d3"):
        for name, _ in disk.list_directory(directory):
            base, _, ending = name.partition(".")
            found.append(f"{directory}/{base}{'-' + ending.rpartition('-')[2] if ending else ''}")
    return found


def settle(disk: MemoryFileSystem, *, none_is_missing: bool = True) -> SettledMoves:
    return settle_moves(directories(disk), none_is_missing=none_is_missing)


def test_a_log_wins_over_its_copy(disk: MemoryFileSystem) -> None:
    make(disk, f"/d1/{LOG}", away="a")
    make(disk, f"/d2/{COPY}", here="a")
    settled = settle(disk)
    assert (settled.done, settled.present, settled.is_whole) == ({}, {ORDERS}, True)
    assert left(disk) == ["/d1/orders-3", "/d2/orders-3-future"]


def test_a_marked_copy_is_the_log_where_there_is_no_other(disk: MemoryFileSystem) -> None:
    make(disk, f"/d1/{LOG}.{'0f' * 16}-delete", away="a")
    make(disk, f"/d2/{COPY}", here="a")
    settled = settle(disk)
    assert (settled.done, settled.present) == ({"/d2": [ORDERS]}, {ORDERS})
    assert left(disk) == ["/d1/orders-3-delete", "/d2/orders-3"]
    disk.sync_directory("/d1")
    disk.crash()
    assert left(disk) == ["/d1/orders-3-delete", "/d2/orders-3"], "the name is on disk"
    assert settle(disk).done == {}


@pytest.mark.parametrize("mark", [None, ""])
def test_a_copy_without_a_mark_is_no_log(disk: MemoryFileSystem, mark: str | None) -> None:
    make(disk, f"/d2/{COPY}", here=mark)
    assert settle(disk).done == {}
    assert left(disk) == ["/d2/orders-3-future"]


@pytest.mark.parametrize("missing", ["a directory", "a disk"])
def test_a_marked_copy_waits_while_the_log_may_be_somewhere_else(
    disk: MemoryFileSystem, missing: str
) -> None:
    make(disk, f"/d2/{COPY}", here="a")
    if missing == "a disk":
        disk.inject(Fault("list", errno.EIO, "/d1"))
    settled = settle(disk, none_is_missing=missing == "a disk")
    assert (settled.done, settled.is_whole) == ({}, False)
    assert left(disk) == ["/d2/orders-3-future"]


def test_of_two_logs_the_one_that_came_from_the_other_stays(disk: MemoryFileSystem) -> None:
    make(disk, f"/d1/{LOG}", away="a")
    make(disk, f"/d2/{LOG}", here="a")
    assert settle(disk).done == {"/d2": [ORDERS]}
    assert left(disk) == ["/d1/orders-3-delete", "/d2/orders-3"]


def test_of_several_moves_the_last_one_counts(disk: MemoryFileSystem) -> None:
    """The first directory was offline when the log was moved on from the second."""
    make(disk, f"/d1/{LOG}", away="a")
    make(disk, f"/d2/{LOG}", here="a", away="b")
    make(disk, f"/d3/{LOG}", here="b")
    assert settle(disk).done == {"/d3": [ORDERS]}
    assert left(disk) == ["/d1/orders-3-delete", "/d2/orders-3-delete", "/d3/orders-3"]


@pytest.mark.parametrize(
    ("first", "second"),
    [({}, {}), ({}, {"here": "a"}), ({"away": "b"}, {"here": "a"}), ({"away": ""}, {"here": ""})],
)
def test_of_two_logs_that_no_marks_connect_none_is_touched(
    disk: MemoryFileSystem, first: dict[str, str], second: dict[str, str]
) -> None:
    """One may be of a directory that was away while the other was made anew (R15)."""
    make(disk, f"/d1/{LOG}", **first)
    make(disk, f"/d2/{LOG}", **second)
    assert settle(disk).done == {}
    assert left(disk) == ["/d1/orders-3", "/d2/orders-3"]


def test_a_mark_is_on_disk_when_it_is_written(disk: MemoryFileSystem) -> None:
    make(disk, f"/d1/{LOG}", away="a")
    disk.sync_directory("/d1")
    disk.crash()
    assert mark_of(disk, f"/d1/{LOG}", MOVED_AWAY) == "a"
    assert mark_of(disk, f"/d1/{LOG}", MOVED_HERE) == ""


def test_a_disk_that_fails_takes_its_directory_offline(disk: MemoryFileSystem) -> None:
    make(disk, f"/d2/{COPY}", here="a")
    disk.inject(Fault("rename", errno.EIO, "/d2"))
    found = directories(disk)
    settle_moves(found, none_is_missing=True)
    assert [one.failure is None for one in found] == [True, False, True]
