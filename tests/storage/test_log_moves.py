"""A copy becomes the log: what it takes over, and a crash between the two names."""

import pytest

from odradek.base.chance import SeededChance
from odradek.base.clock import ManualClock
from odradek.base.execution import exhaust
from odradek.base.ids import TopicPartition
from odradek.base.settings import BrokerSettings, TopicConfig
from odradek.replication.log_copying import agree, copy_some
from odradek.storage import Log, LogManager
from odradek.storage.finding import FindingKind
from odradek.storage.memory_files import MemoryFileSystem
from tests.storage.log_bench import LogBench

ORDERS = TopicPartition("orders", 3)
PRODUCER, DELETED_PRODUCER = 7, 8


class Dead(BaseException):
    """The process was killed."""


@pytest.fixture
def disk() -> MemoryFileSystem:
    return MemoryFileSystem()


def start(disk: MemoryFileSystem) -> LogManager:
    return LogManager.open(
        BrokerSettings(log_dirs=("/d1", "/d2")),
        cluster_id="9mV0tsdqSpyTkIyXSMUJOw",
        file_system=disk,
        clock=ManualClock(),
        chance=SeededChance(1),
        config_of=lambda topic: TopicConfig(),
    )


def write_checkpoints(manager: LogManager) -> None:
    checkpoints = manager.checkpoints
    for writes in (
        exhaust(checkpoints.high_watermarks()),
        exhaust(checkpoints.recovery_points()),
        exhaust(checkpoints.log_start_offsets()),
    ):
        for write in writes:
            checkpoints.begin(write)
            write.run()
            checkpoints.written(write)


def copied(manager: LogManager, bench: LogBench) -> tuple[Log, Log]:
    """A log of ten records, the first by another producer; the first eight are deleted; and its copy."""
    log = manager.create(ORDERS)
    for number in range(10):
        producer_id = PRODUCER if number else DELETED_PRODUCER
        now_ms = bench.clock.wall_ms()
        batch = bench.batch(
            1, producer_id=producer_id, producer_epoch=0, base_sequence=number, timestamp_ms=now_ms
        )
        log.append_as_leader(batch, 4, now_ms=now_ms)
    log.restore_high_watermark(10)
    log.begin_epoch(6)
    log.delete_records_before(8)
    copy = manager.moves.begin(log, manager.directories[1])
    agree(copy, log)
    while copy.end_offset < log.end_offset:
        copy_some(copy, log, 100)
    copy.flush()
    assert manager.moves.marking(log, copy)() == []
    write_checkpoints(manager)
    return log, copy


def test_the_log_takes_over_what_batches_do_not_tell(disk: MemoryFileSystem, bench: LogBench) -> None:
    manager = start(disk)
    log, copy = copied(manager, bench)
    manager.moves.swap(log, copy)
    assert manager.get(ORDERS) is copy
    assert manager.moves.copies() == []
    assert (copy.log_start_offset, copy.high_watermark.offset, copy.end_offset) == (8, 10, 10)
    assert copy.latest_epoch == 6
    remembered = copy.producers.get(PRODUCER)
    assert remembered is not None
    assert [batch.first_offset for batch in remembered.batches] == [5, 6, 7, 8, 9], "also deleted ones"
    again = bench.batch(1, producer_id=PRODUCER, producer_epoch=0, base_sequence=6)
    info = copy.append_as_leader(again, 6, now_ms=0)
    assert info.duplicate
    manager.close()
    log_again = start(disk).get(ORDERS)
    assert log_again is not None
    assert (log_again.directory, log_again.log_start_offset, log_again.end_offset) == ("/d2", 8, 10)
    remembered = log_again.producers.get(PRODUCER)
    assert remembered is not None
    assert remembered.last_sequence == 9
    assert log_again.producers.get(DELETED_PRODUCER) is not None, "of whom there is no batch"


@pytest.mark.parametrize("ending", ["/d1/orders-3", "-future"])
def test_a_kill_between_the_names_leaves_one_log(
    disk: MemoryFileSystem, bench: LogBench, ending: str
) -> None:
    """L4"""
    manager = start(disk)
    log, copy = copied(manager, bench)

    def before(operation: str, path: str) -> None:
        if operation == "rename" and path.endswith(ending):
            raise Dead

    disk.before_operation = before
    with pytest.raises(Dead):
        manager.moves.swap(log, copy)
    disk.before_operation = None
    disk.kill()
    again = start(disk)
    kinds = {one.kind for one in again.report.findings()}
    found = again.get(ORDERS)
    assert found is not None
    assert (found.log_start_offset, found.end_offset) == (8, 10)
    if ending == "-future":
        assert found.directory == "/d2"
        assert FindingKind.MOVE_DONE in kinds
    else:
        assert found.directory == "/d1"
        assert FindingKind.MOVE_CONTINUED in kinds
