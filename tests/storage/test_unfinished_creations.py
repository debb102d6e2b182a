"""Logs that a failing disk left half made, while the partition's log was made in another directory."""

import errno
from dataclasses import dataclass, field
from uuid import UUID

import pytest

from odradek.base.chance import SeededChance
from odradek.base.clock import ManualClock
from odradek.base.errors import DataDirectoryError
from odradek.base.ids import TopicPartition
from odradek.base.settings import BrokerSettings, TopicConfig
from odradek.storage import Log, LogManager
from odradek.storage.expected_logs import ExpectedLogs
from odradek.storage.memory_files import Fault, MemoryFileSystem
from tests.storage.log_bench import LogBench

ORDERS = TopicPartition("orders", 3)
TOPIC_ID = UUID(int=7)
EPOCH = 5
"""The broker epoch of the runs."""


@dataclass
class Broker:
    """A broker with two log directories."""

    disk: MemoryFileSystem = field(default_factory=MemoryFileSystem)
    clock: ManualClock = field(default_factory=ManualClock)

    def start(self) -> LogManager:
        return LogManager.open(
            BrokerSettings(log_dirs=("/d1", "/d2"), node_id=0),
            cluster_id="MkU3OEVBNTcwNTJENDM2Qg",
            file_system=self.disk,
            clock=self.clock,
            chance=SeededChance(1),
            config_of=lambda _: TopicConfig(),
            expected=ExpectedLogs({ORDERS: TOPIC_ID}, {TOPIC_ID: "orders"}, (ORDERS,)),
        )

    def is_there(self, directory: str) -> bool:
        return self.disk.exists(f"{directory}/{ORDERS}")


@pytest.fixture
def broker() -> Broker:
    return Broker()


def make_in_both(broker: Broker) -> tuple[LogManager, Log]:
    """The creation in /d1 fails after the log's directory is made, and the log is made in /d2."""
    manager = broker.start()
    broker.disk.inject(Fault("write", errno.ENOSPC, path_part="/d1/orders-3/partition.metadata"))
    log = manager.create(ORDERS, TOPIC_ID)
    assert log.directory == "/d2"
    assert broker.is_there("/d1")
    return manager, log


def put(disk: MemoryFileSystem, path: str, content: bytes) -> None:
    disk.file(path, create=True).write_at(content, 0)


def append(log: Log, bench: LogBench) -> None:
    log.append_as_leader(bench.batch(3), 0, now_ms=0)
    log.restore_high_watermark(log.end_offset)


def test_a_remnant_of_a_log_that_was_made_elsewhere_is_removed(broker: Broker, bench: LogBench) -> None:
    manager, log = make_in_both(broker)
    append(log, bench)
    manager.close(EPOCH)

    manager = broker.start()
    found = manager.get(ORDERS)
    assert found is not None
    assert (found.directory, found.end_offset) == ("/d2", 3)
    assert not broker.is_there("/d1")
    assert [line for line in manager.report.lines() if "creation" in line] == [
        "the creation of orders-3 in /d1 was interrupted, and the logs were made in another directory:"
        " what was left in /d1 has no records and is removed"
    ]
    for removal in manager.take_due_removals():
        removal()
    assert not [name for name, _ in broker.disk.list_directory("/d1") if name.startswith("orders")]


def test_of_two_logs_without_records_the_one_with_an_id_stays(broker: Broker) -> None:
    manager, _ = make_in_both(broker)
    manager.close(EPOCH)
    found = broker.start().get(ORDERS)
    assert found is not None
    assert found.directory == "/d2"
    assert not broker.is_there("/d1")


def test_two_logs_with_records_are_for_a_person_to_decide(broker: Broker, bench: LogBench) -> None:
    manager, log = make_in_both(broker)
    append(log, bench)
    manager.close(EPOCH)
    name = "00000000000000000000.log"
    put(broker.disk, f"/d1/{ORDERS}/{name}", broker.disk.read(f"/d2/{ORDERS}/{name}"))
    with pytest.raises(DataDirectoryError, match="move one of them away"):
        broker.start()


def test_an_empty_log_that_had_records_by_its_checkpoints_is_no_remnant(
    broker: Broker, bench: LogBench
) -> None:
    manager, log = make_in_both(broker)
    append(log, bench)
    manager.close(EPOCH)
    put(broker.disk, "/d1/replication-offset-checkpoint", b"0\n1\norders 3 9\n")
    with pytest.raises(DataDirectoryError, match="move one of them away"):
        broker.start()


def test_a_remnant_is_not_taken_for_the_log_while_that_is_offline(broker: Broker, bench: LogBench) -> None:
    """Else an empty log would count as in sync, and its broker might be elected."""
    manager, log = make_in_both(broker)
    append(log, bench)
    manager.close(EPOCH)
    broker.disk.inject(Fault("list", errno.EIO, path_part="/d2", times=-1))
    manager = broker.start()
    assert manager.get(ORDERS) is None
    assert manager.report.missing_logs == [ORDERS]
