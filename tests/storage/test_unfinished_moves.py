"""Copies of logs that were being moved to another directory: completed, made again, set aside, left alone."""

import errno
from collections.abc import Callable
from uuid import UUID

import pytest

from odradek.base.chance import SeededChance
from odradek.base.clock import ManualClock
from odradek.base.ids import TopicPartition
from odradek.base.settings import BrokerSettings, TopicConfig
from odradek.storage import LogManager, file_names
from odradek.storage.checkpoint import write_offsets
from odradek.storage.expected_logs import ExpectedLogs
from odradek.storage.finding import FindingKind
from odradek.storage.memory_files import Fault, MemoryFileSystem
from tests.storage.log_bench import LogBench

ORDERS = TopicPartition("orders", 3)
TOPIC_ID = UUID(int=7)
COPY = f"orders-3.{UUID(int=1).hex}-future"

Start = Callable[..., LogManager]


@pytest.fixture
def disk() -> MemoryFileSystem:
    return MemoryFileSystem()


@pytest.fixture
def start(disk: MemoryFileSystem) -> Start:
    def start(expected: ExpectedLogs | None = None) -> LogManager:
        return LogManager.open(
            BrokerSettings(log_dirs=("/d1", "/d2")),
            cluster_id="9mV0tsdqSpyTkIyXSMUJOw",
            file_system=disk,
            clock=ManualClock(),
            chance=SeededChance(1),
            config_of=lambda topic: TopicConfig(),
            expected=expected,
        )

    return start


def moves(manager: LogManager) -> list[FindingKind]:
    kinds = (
        FindingKind.MOVE_CONTINUED,
        FindingKind.MOVE_DONE,
        FindingKind.MOVE_ENDED,
        FindingKind.MOVE_LEFT,
    )
    return [one.kind for one in manager.report.findings() if one.kind in kinds]


def future_names(disk: MemoryFileSystem, directory: str) -> list[str]:
    return [name for name, _ in disk.list_directory(directory) if file_names.partition_of_future(name)]


def remove_what_is_due(manager: LogManager) -> None:
    for remove in manager.take_due_removals():
        remove()


def move(start: Start, disk: MemoryFileSystem, bench: LogBench, target: str) -> None:
    """A log of three records, stopped cleanly, with a copy of the first of them in `target`."""
    manager = start()
    log = manager.create(ORDERS, TOPIC_ID)
    while log.end_offset < 3:
        log.append_as_leader(bench.batch(1), 0, now_ms=0)
    log.restore_high_watermark(3)
    home = log.directory
    manager.close(broker_epoch=1)
    if home == target:  # the fewest logs are in the first directory, so the log is moved by hand
        other = "/d2" if target == "/d1" else "/d1"
        disk.rename(f"{home}/orders-3", f"{other}/orders-3")
        for name in (file_names.HIGH_WATERMARKS, file_names.RECOVERY_POINTS):
            disk.rename(f"{home}/{name}", f"{other}/{name}")
    disk.make_directory(f"{target}/{COPY}")
    disk.file(f"{target}/{COPY}/00000000000000000000.log", create=True)
    # Kafka writes the lines of the copy under the partition's own name.
    for name in (file_names.HIGH_WATERMARKS, file_names.RECOVERY_POINTS):
        write_offsets(disk, f"{target}/{name}", {ORDERS: 1})


@pytest.mark.parametrize("target", ["/d1", "/d2"])
def test_the_copying_goes_on_after_a_clean_stop(
    start: Start, disk: MemoryFileSystem, bench: LogBench, target: str
) -> None:
    """L4 R12: the copy's lines in the checkpoints of its directory are not those of the log."""
    move(start, disk, bench, target)
    manager = start()
    (line,) = [str(one) for one in manager.report.findings()]
    assert line == f"moving orders-3 to {target} goes on where it was"
    log, copy = manager.get(ORDERS), manager.moves.copy_of(ORDERS)
    assert log is not None
    assert copy is not None
    assert (log.end_offset, log.directory != target) == (3, True)
    assert (copy.end_offset, copy.directory, copy.path) == (0, target, f"{target}/{COPY}")
    assert manager.checkpointed_high_watermark(ORDERS) == 3
    log.restore_high_watermark(3)
    remove_what_is_due(manager)
    manager.close()
    again = start()
    assert moves(again) == [FindingKind.MOVE_CONTINUED]
    assert again.checkpointed_high_watermark(ORDERS) == 3


def test_a_copy_is_made_again_after_a_kill(start: Start, disk: MemoryFileSystem, bench: LogBench) -> None:
    """L4: how much of it is on disk is not known."""
    move(start, disk, bench, "/d2")
    start()
    disk.kill()
    again = start()
    assert moves(again) == [FindingKind.MOVE_CONTINUED]
    remove_what_is_due(again)
    (name,) = future_names(disk, "/d2")
    assert name != COPY
    copy = again.moves.copy_of(ORDERS)
    assert copy is not None
    assert (copy.end_offset, copy.path) == (0, f"/d2/{name}")


def test_a_copy_whose_log_is_offline_is_left_alone_until_the_log_is_back(
    start: Start, disk: MemoryFileSystem, bench: LogBench
) -> None:
    move(start, disk, bench, "/d2")
    disk.inject(Fault("list", errno.EIO, "/d1", times=-1))
    manager = start()
    assert moves(manager) == [FindingKind.MOVE_LEFT]
    remove_what_is_due(manager)
    assert disk.exists(f"/d2/{COPY}")
    disk.kill()
    disk.faults.clear()
    again = start()
    assert moves(again) == [FindingKind.MOVE_CONTINUED]


@pytest.mark.parametrize("stop", ["clean", "kill"])
def test_a_copy_that_ends_above_its_log_is_set_aside(
    start: Start, disk: MemoryFileSystem, bench: LogBench, stop: str
) -> None:
    """L4: its records may be all that is left of them."""
    move(start, disk, bench, "/d2")
    manager = start()
    copy = manager.moves.copy_of(ORDERS)
    assert copy is not None
    for offset in range(5):
        copy.append_as_follower(bench.batch(1, base_offset=offset))
    if stop == "clean":
        manager.close()
    else:
        disk.kill()
    again = start()
    assert moves(again) == [FindingKind.MOVE_ENDED]
    assert again.moves.copies() == []
    remove_what_is_due(again)
    (stray,) = [name for name, _ in disk.list_directory("/d2") if file_names.partition_of_stray(name) == 3]
    line = next(str(one) for one in again.report.findings() if one.kind is FindingKind.MOVE_ENDED)
    assert stray in line
    assert max(size for _, size in disk.list_directory(f"/d2/{stray}")) > 0
    again.close()
    expected = ExpectedLogs({ORDERS: TOPIC_ID}, {TOPIC_ID: "orders"}, [])
    later = start(expected)
    assert later.report.strays_left == {"/d2": [stray]}, "it does not come back beside the log"
    log = later.get(ORDERS)
    assert log is not None
    assert (log.directory, log.end_offset) == ("/d1", 3)


def test_of_two_copies_of_a_log_one_goes_on(start: Start, disk: MemoryFileSystem, bench: LogBench) -> None:
    move(start, disk, bench, "/d2")
    other = f"orders-3.{UUID(int=2).hex}-future"
    disk.make_directory(f"/d2/{other}")
    manager = start()
    assert moves(manager) == [FindingKind.MOVE_CONTINUED]
    remove_what_is_due(manager)
    assert len(future_names(disk, "/d2")) == 1


def test_a_copy_beside_its_log_is_removed(start: Start, disk: MemoryFileSystem, bench: LogBench) -> None:
    move(start, disk, bench, "/d2")
    disk.rename(f"/d2/{COPY}", f"/d1/{COPY}")
    manager = start()
    assert moves(manager) == []
    remove_what_is_due(manager)
    assert future_names(disk, "/d1") == []


def test_a_copy_of_a_log_that_is_not_there_is_named_and_stays(start: Start, disk: MemoryFileSystem) -> None:
    disk.make_directory(f"/d1/{COPY}")
    manager = start()
    (line,) = manager.report.lines()
    assert line.startswith(f"/d1/{COPY} is an unfinished copy of a log that is not served here")
    remove_what_is_due(manager)
    assert disk.exists(f"/d1/{COPY}")


def test_a_copy_of_a_deleted_topic_stays_with_its_stray(
    start: Start, disk: MemoryFileSystem, bench: LogBench
) -> None:
    """R15"""
    move(start, disk, bench, "/d2")
    manager = start(ExpectedLogs({}, {}, []))
    assert moves(manager) == [FindingKind.MOVE_LEFT]
    assert manager.get(ORDERS) is None
    remove_what_is_due(manager)
    assert disk.exists(f"/d2/{COPY}")


@pytest.mark.parametrize(
    ("name", "partition"),
    [
        (COPY, ORDERS),
        (f"a.b-0-1.{'0f' * 16}-future", TopicPartition("a.b-0", 1)),
        (f"orders-03.{'0f' * 16}-future", None),
        (f"orders-3.{'0f' * 15}-future", None),
        (f"orders-3.{'0f' * 16}-future-4", None),
        ("orders-3", None),
    ],
)
def test_a_copy_is_known_by_kafkas_name(name: str, partition: TopicPartition | None) -> None:
    assert file_names.partition_of_future(name) == partition
