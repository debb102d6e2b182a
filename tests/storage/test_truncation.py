"""X4, X6: cutting a log cuts everything that it remembers, and is on disk before the next append."""

import pytest

from odradek.base.chance import SeededChance
from odradek.base.execution import ITEMS_PER_STEP, exhaust
from odradek.base.ids import TopicPartition
from odradek.base.settings import BrokerSettings, TopicConfig
from odradek.storage import LogManager
from odradek.storage.positions import UNKNOWN_EPOCH_END
from tests.storage.log_bench import PARTITION, LogBench

SMALL = TopicConfig(segment_bytes=500, index_interval_bytes=100, retention_ms=-1)


@pytest.mark.parametrize("offset", [4, 5, 100])
def test_a_truncation_behind_the_end_drops_the_epoch_that_wrote_nothing(bench: LogBench, offset: int) -> None:
    """X6: else this broker would answer that epoch 5 ends here, when another leader's 5 went on."""
    log = bench.open()
    bench.append(log, 4, leader_epoch=3)
    log.begin_epoch(5)
    assert log.end_offset_for_epoch(5) == (5, 4)
    assert not log.truncate_to(offset)
    assert log.latest_epoch == 3
    assert log.end_offset_for_epoch(5) == UNKNOWN_EPOCH_END
    log.flush()
    bench.disk.crash()
    assert bench.open(clean=False, recovery_point=4).latest_epoch == 3


def test_an_epoch_that_wrote_something_stays(bench: LogBench) -> None:
    """X6"""
    log = bench.open()
    bench.append(log, 4, leader_epoch=3)
    assert not log.truncate_to(4)
    assert log.latest_epoch == 3


def test_a_truncation_is_on_disk_before_the_next_append(bench: LogBench) -> None:
    """X6: a power cut brings back neither the records that were cut nor their epoch."""
    log = bench.open(SMALL)
    for epoch in range(6):
        bench.append(log, 3, leader_epoch=epoch)
    log.flush()
    log.truncate_to(6)
    bench.append(log, 1, leader_epoch=9)
    assert log.flushed_offset == 6
    bench.disk.crash()
    again = bench.open(SMALL, clean=False, recovery_point=6)
    assert again.end_offset == 6
    assert again.latest_epoch == 1


def test_only_the_first_append_behind_a_truncation_waits_for_the_disk(bench: LogBench) -> None:
    log = bench.open(SMALL)
    bench.append(log, 3)
    bench.append(log, 3)
    log.truncate_to(3)
    flush = log.pending_flush()
    assert flush is not None
    flush.run()
    log.mark_flushed(flush)
    synced: list[str] = []
    bench.disk.before_operation = lambda operation, path: synced.append(operation)
    bench.append(log, 3)
    assert "sync" not in synced, "the flush in the background has done it"


def test_the_recovery_point_is_lowered_on_disk_too(bench: LogBench) -> None:
    """X6: what is written behind the cut is verified by the next start."""
    manager = open_manager(bench)
    log = manager.create(PARTITION)
    for _ in range(4):
        bench.append(log, 3)
    log.flush()
    for write in exhaust(manager.checkpoints.recovery_points()):
        write.run()
        manager.checkpoints.written(write)
    assert bench.disk.read(RECOVERY_POINTS).splitlines()[2:] == [b"orders 0 12"]
    log.truncate_to(6)
    bench.append(log, 3)
    assert bench.disk.read(RECOVERY_POINTS).splitlines()[2:] == [b"orders 0 6"]


def test_recovery_cuts_a_log_where_the_leader_epoch_falls(bench: LogBench) -> None:
    """X6: such a batch is what an old leader wrote and a lost truncation left."""
    log = bench.open()
    for epoch in (3, 3, 5, 5):
        bench.append(log, 3, leader_epoch=epoch)
    stale = bench.batch(3, base_offset=12, leader_epoch=4)
    end = log.end_position.byte_position
    bench.disk.file(bench.path("00000000000000000000.log")).write_at(stale, end)
    again = bench.open(clean=False)
    assert again.end_offset == 12
    (cut,) = again.recovery.cuts
    assert cut.reason == "leader epoch 4 follows epoch 5"


def test_recovery_cuts_where_the_epoch_falls_from_one_segment_to_the_next(bench: LogBench) -> None:
    """X6: also when the segment before is taken as it is."""
    log = bench.open()
    bench.append(log, 3, leader_epoch=5)
    log.roll()
    log.flush()
    stale = bench.batch(3, base_offset=3, leader_epoch=4)
    bench.disk.file(bench.path("00000000000000000003.log")).write_at(stale, 0)
    again = bench.open(clean=False, recovery_point=4)
    assert [cut.reason for cut in again.recovery.cuts] == ["leader epoch 4 follows epoch 5"]
    assert (again.end_offset, again.latest_epoch) == (3, 5)


def open_manager(bench: LogBench) -> LogManager:
    return LogManager.open(
        BrokerSettings(log_dirs=("/data",)),
        cluster_id="9mV0tsdqSpyTkIyXSMUJOw",
        file_system=bench.disk,
        clock=bench.clock,
        chance=SeededChance(1),
        config_of=lambda topic: SMALL,
    )


RECOVERY_POINTS = "/data/recovery-point-offset-checkpoint"


@pytest.mark.parametrize("moment", ["while it is gathered", "before it is written", "while it is written"])
def test_a_recovery_point_from_before_a_truncation_never_replaces_the_one_after_it(
    bench: LogBench, moment: str
) -> None:
    """X6: the checkpoint that is on its way to the disk in the background has the log's old, higher end."""
    manager = open_manager(bench)
    log = manager.create(PARTITION)
    for number in range(ITEMS_PER_STEP):  # so that there is more than one step
        manager.create(TopicPartition("other", number))
    for _ in range(4):
        bench.append(log, 3)
    log.flush()

    def cut() -> None:
        log.truncate_to(6)
        bench.append(log, 3)

    def cut_once(operation: str, path: str) -> None:
        if operation == "rename" and moment == "while it is written":
            bench.disk.before_operation = None
            cut()

    steps = manager.checkpoints.recovery_points()
    if moment == "while it is gathered":
        next(steps)
        cut()
    writes = exhaust(steps)
    if moment == "before it is written":
        cut()
    bench.disk.before_operation = cut_once
    for write in writes:
        write.run()
        manager.checkpoints.written(write)
    assert b"orders 0 6" in bench.disk.read(RECOVERY_POINTS).splitlines()
    assert exhaust(manager.checkpoints.recovery_points()) == [], "nothing has changed since"


def test_recovery_takes_epochs_that_stay_or_rise(bench: LogBench) -> None:
    """X6"""
    log = bench.open(SMALL)
    for epoch in (0, 0, 1, 4, 4, 4, 9):
        bench.append(log, 3, leader_epoch=epoch)
    bench.disk.kill()
    again = bench.open(SMALL, clean=False)
    assert (again.end_offset, again.latest_epoch, again.recovery.cuts) == (21, 9, [])
