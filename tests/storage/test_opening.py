"""Taking possession of log directories: which are refused, and that a refusal changes nothing."""

import pytest

from odradek.base.chance import SeededChance
from odradek.base.clock import ManualClock
from odradek.base.errors import DataDirectoryError
from odradek.base.settings import BrokerSettings, TopicConfig
from odradek.storage import LogManager
from odradek.storage.memory_files import MemoryFileSystem
from odradek.storage.opening import stored_cluster_id

CLUSTER = "9mV0tsdqSpyTkIyXSMUJOw"


@pytest.fixture
def disk() -> MemoryFileSystem:
    """A log directory of Apache Kafka that has lost its `meta.properties`."""
    disk = MemoryFileSystem()
    for number in range(7):
        disk.make_directory(f"/d1/flights-{number}")
        disk.file(f"/d1/flights-{number}/00000000000000000000.log", create=True)
    disk.make_directory("/d1/backup-2024")
    disk.file("/d1/recovery-point-offset-checkpoint", create=True)
    return disk


def open_logs(disk: MemoryFileSystem) -> LogManager:
    return LogManager.open(
        BrokerSettings(log_dirs=("/d1",)),
        cluster_id=CLUSTER,
        file_system=disk,
        clock=ManualClock(),
        chance=SeededChance(1),
        config_of=lambda topic: TopicConfig(),
    )


def test_logs_of_nobody_are_not_adopted(disk: MemoryFileSystem) -> None:
    sentence = (
        "/d1 holds flights-0, flights-1, flights-2, flights-3, flights-4 and 2 more but no meta.properties"
        " that says whose they are: put that file back, or name an empty directory"
    )
    before = disk.list_directory("/d1")
    with pytest.raises(DataDirectoryError, match=sentence):
        stored_cluster_id(disk, ["/d1"], 0)
    with pytest.raises(DataDirectoryError, match=sentence):
        open_logs(disk)
    assert disk.list_directory("/d1") == before


def test_a_directory_without_logs_may_be_taken(disk: MemoryFileSystem) -> None:
    for number in range(7):
        disk.remove(f"/d1/flights-{number}")
    disk.file("/d1/orders-1", create=True)
    assert stored_cluster_id(disk, ["/d1"], 0) is None
    open_logs(disk).close()
    assert disk.exists("/d1/meta.properties")
