"""Logs of unknown topics: told from ours by the topic's id, set aside, taken back."""

from uuid import UUID

import pytest

from odradek.base.chance import SeededChance
from odradek.base.clock import ManualClock
from odradek.base.ids import TopicPartition
from odradek.storage import file_names
from odradek.storage.checkpoint import write_epochs
from odradek.storage.expected_logs import Elsewhere, ExpectedLogs
from odradek.storage.log_directory import LogDirectory
from odradek.storage.memory_files import MemoryFileSystem
from odradek.storage.partition_metadata import write_topic_id
from odradek.storage.strays import discard, is_stray, is_superseded, set_aside, take_back, where_moved

ORDERS = TopicPartition("orders", 3)
OLD, NEW = UUID(int=1), UUID(int=2)


@pytest.fixture
def directory() -> LogDirectory:
    """A log directory with one log, of the topic with the id `OLD`."""
    disk = MemoryFileSystem()
    disk.make_directory("/d1/orders-3")
    disk.file("/d1/orders-3/00000000000000000000.log", create=True)
    write_topic_id(disk, f"/d1/orders-3/{file_names.PARTITION_METADATA}", OLD)
    return LogDirectory("/d1", disk, ManualClock(), SeededChance(1), producer_expiration_ms=lambda: 1)


def expecting(topic_id: UUID, *partitions: int) -> ExpectedLogs:
    named = {TopicPartition("orders", number): topic_id for number in partitions}
    return ExpectedLogs(named, {topic_id: "orders"}, list(named))


@pytest.mark.parametrize(
    ("expected", "stray"),
    [
        pytest.param(expecting(OLD, 3), False, id="the topic's own"),
        pytest.param(expecting(NEW, 3), True, id="of an earlier topic of that name"),
        pytest.param(expecting(OLD, 2), True, id="no partition of this broker's"),
        pytest.param(ExpectedLogs({}, {}, []), True, id="no topic"),
    ],
)
def test_a_log_belongs_to_its_topic_by_the_id(
    directory: LogDirectory, expected: ExpectedLogs, stray: bool
) -> None:
    """R15"""
    assert is_stray(directory, ORDERS, expected) == stray


def test_a_log_without_an_id_goes_by_its_name(directory: LogDirectory) -> None:
    directory.file_system.remove(f"/d1/orders-3/{file_names.PARTITION_METADATA}")
    assert not is_stray(directory, ORDERS, expecting(NEW, 3))
    assert is_stray(directory, ORDERS, expecting(NEW, 2))


def test_a_stray_is_renamed_as_kafka_does_and_taken_back_when_its_topic_is_known(
    directory: LogDirectory,
) -> None:
    """R15"""
    name = set_aside(directory, ORDERS)
    assert name is not None
    assert name.startswith("orders-3.")
    assert name.endswith("-stray")
    assert directory.file_system.list_directory("/d1") == [(name, -1)]
    assert take_back(directory, name, expecting(NEW, 3)) is None
    assert take_back(directory, name, expecting(OLD, 2)) is None
    assert take_back(directory, name, expecting(OLD, 3)) == ORDERS
    assert directory.file_system.list_directory("/d1") == [("orders-3", -1)]


def test_a_stray_does_not_replace_a_log(directory: LogDirectory) -> None:
    name = set_aside(directory, ORDERS)
    assert name is not None
    directory.file_system.make_directory("/d1/orders-3")
    assert take_back(directory, name, expecting(OLD, 3)) is None


def test_what_has_no_segment_is_left_alone(directory: LogDirectory) -> None:
    """Such as somebody's directory `backup-2024`."""
    directory.file_system.make_directory("/d1/backup-2024")
    assert set_aside(directory, TopicPartition("backup", 2024)) is None


def test_the_longest_name_of_a_topic_fits() -> None:
    name = file_names.stray_directory(TopicPartition("x" * 249, 12), UUID(int=5))
    assert len(name) == 255
    assert file_names.partition_of_stray(name) == 12
    assert file_names.partition_of_stray("orders-3") is None


# --- replicas that were moved to other brokers


def test_a_log_whose_replica_was_moved_is_told_by_its_topics_id(directory: LogDirectory) -> None:
    moved = Elsewhere(5, is_whole=True)
    expected = ExpectedLogs({}, {}, [], elsewhere={(OLD, 3): moved})
    assert where_moved(directory, "orders-3", 3, expected) is moved
    assert where_moved(directory, "orders-3", 2, expected) is None
    others = ExpectedLogs({}, {}, [], elsewhere={(NEW, 3): moved})
    assert where_moved(directory, "orders-3", 3, others) is None
    directory.file_system.remove(f"/d1/orders-3/{file_names.PARTITION_METADATA}")
    assert where_moved(directory, "orders-3", 3, expected) is None


@pytest.mark.parametrize(
    ("epochs", "moved", "is_known"),
    [
        pytest.param([(2, 0), (4, 7)], Elsewhere(5, is_whole=True), True, id="a later epoch, all in sync"),
        pytest.param([(4, 0)], Elsewhere(5, is_whole=False), False, id="one is not in sync"),
        pytest.param([(5, 0)], Elsewhere(5, is_whole=True), False, id="the store may be older than the log"),
        pytest.param([], Elsewhere(5, is_whole=True), True, id="nothing was written to it"),
    ],
)
def test_others_have_all_records_under_a_later_epoch(
    directory: LogDirectory, epochs: list[tuple[int, int]], moved: Elsewhere, is_known: bool
) -> None:
    write_epochs(directory.file_system, f"/d1/orders-3/{file_names.LEADER_EPOCHS}", epochs)
    assert is_superseded(directory, "orders-3", moved) is is_known


def test_records_without_known_epochs_are_kept(directory: LogDirectory) -> None:
    directory.file_system.file("/d1/orders-3/00000000000000000000.log").write_at(b"records", 0)
    assert not is_superseded(directory, "orders-3", Elsewhere(5, is_whole=True))


def test_what_others_have_is_renamed_as_a_deleted_log(directory: LogDirectory) -> None:
    name = discard(directory, ORDERS)
    assert name is not None
    assert file_names.is_deleted_directory(name)
    assert directory.file_system.list_directory("/d1") == [(name, -1)]
