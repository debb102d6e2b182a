"""L4, R12: an offset that was given out is never given out again, whatever happens to the log's files."""

from collections.abc import Callable

import pytest

from odradek.base.chance import SeededChance
from odradek.base.execution import exhaust
from odradek.base.settings import BrokerSettings, TopicConfig
from odradek.records.header import check_crc, iter_headers
from odradek.storage import Log, LogManager
from odradek.storage.lost_offsets import LOST_OFFSETS_MAX
from tests.storage.log_bench import PARTITION, LogBench

SMALL = TopicConfig(segment_bytes=500, index_interval_bytes=100, retention_ms=-1)
FIRST, SECOND, THIRD = ("00000000000000000000", "00000000000000000012", "00000000000000000024")


def start(bench: LogBench) -> LogManager:
    return LogManager.open(
        BrokerSettings(log_dirs=("/data",)),
        cluster_id="9mV0tsdqSpyTkIyXSMUJOw",
        file_system=bench.disk,
        clock=bench.clock,
        chance=SeededChance(1),
        config_of=lambda topic: SMALL,
    )


def fill(bench: LogBench, manager: LogManager, batches: int = 10) -> Log:
    log = manager.create(PARTITION)
    for _ in range(batches):
        bench.append(log, 3)
    log.advance_high_watermark(log.end_position)
    return log


def checkpoint(manager: LogManager) -> None:
    for checkpoints in (manager.checkpoints.high_watermarks(), manager.checkpoints.recovery_points()):
        for write in exhaust(checkpoints):
            write.run()
            manager.checkpoints.written(write)


def spans(log: Log) -> list[tuple[int, int, int]]:
    """First offset, next offset and number of records of each batch."""
    found, offset = [], log.log_start_offset
    while offset < log.end_offset:
        read = log.read(offset, 1 << 20, log.end_position, at_least_one=True)
        for position, header in iter_headers(read.held_records):
            check_crc(read.held_records, header, position)
            found.append((header.base_offset, header.next_offset, header.record_count))
            offset = header.next_offset
    return found


WHOLE = [(offset, offset + 3, 3) for offset in range(0, 30, 3)]
DAMAGES: dict[str, tuple[Callable[[LogBench], None], int]] = {
    "active segment removed": (lambda bench: remove(bench, THIRD), 24),
    "active segment emptied": (lambda bench: empty(bench, THIRD), 24),
    "all segments removed": (lambda bench: remove(bench, FIRST, SECOND, THIRD), 0),
    "middle segment removed": (lambda bench: remove(bench, SECOND), 12),
    "middle segment emptied": (lambda bench: empty(bench, SECOND), 12),
    "directory removed": (lambda bench: bench.disk.remove(f"/data/{PARTITION}"), 0),
}


def remove(bench: LogBench, *bases: str) -> None:
    for base in bases:
        for name in bench.names():
            if name.startswith(base) and name.endswith((".log", "index")):
                bench.disk.remove(bench.path(name))


def empty(bench: LogBench, base: str) -> None:
    bench.disk.file(bench.path(f"{base}.log")).truncate(0)


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("damage", DAMAGES)
def test_lost_offsets_are_told_and_passed_over(bench: LogBench, damage: str, clean: bool) -> None:
    """R12: the next record gets the offset that it would have got, and readers step over the hole."""
    manager = start(bench)
    fill(bench, manager)
    checkpoint(manager)
    if clean:
        manager.close()
    else:
        bench.disk.kill()
    work, end = DAMAGES[damage]
    work(bench)
    again = start(bench)
    log = again.create(PARTITION, is_new=False)
    lines = again.report.lines() + again.take_repairs()
    told = f"ends at offset {end} and had reached offset 30: the records between are lost"
    assert any(told in line for line in lines), lines
    assert log.end_offset == end, "a follower fetches from here"
    assert log.begin_epoch(7) == end
    assert log.end_offset == 30
    assert bench.append(log, 2, leader_epoch=7) == 30
    kept = [span for span in WHOLE if span[1] <= end]
    assert spans(log) == [*kept, (end, 30, 0), (30, 32, 2)]
    log.advance_high_watermark(log.end_position)
    again.close()
    assert spans(start(bench).create(PARTITION, is_new=False)) == [*kept, (end, 30, 0), (30, 32, 2)]


def test_the_hole_stays_filled_after_a_kill(bench: LogBench) -> None:
    """L4: recovery finds no gap in it."""
    manager = start(bench)
    fill(bench, manager)
    manager.close()
    remove(bench, THIRD)
    log = start(bench).create(PARTITION, is_new=False)
    log.begin_epoch(7)
    bench.append(log, 2, leader_epoch=7)
    bench.disk.kill()
    again = start(bench)
    assert spans(again.create(PARTITION, is_new=False))[-2:] == [(24, 30, 0), (30, 32, 2)]
    assert not any("lost" in line for line in again.report.lines())


def test_a_leader_that_appends_without_a_new_epoch_passes_them_too(bench: LogBench) -> None:
    fill(bench, start(bench)).close()
    remove(bench, THIRD)
    log = bench.open(SMALL, recovery_point=30)
    assert bench.append(log, 1) == 30


def test_a_follower_gets_the_lost_records_from_its_leader(bench: LogBench) -> None:
    """X2: nothing is passed over that the leader still has."""
    log = bench.open(SMALL, high_watermark=6)
    log.append_as_follower(bench.batch(3, base_offset=0) + bench.batch(3, base_offset=3))
    assert log.begin_epoch(2) == 6
    assert bench.append(log, 1, leader_epoch=2) == 6


@pytest.mark.parametrize("has_fetched", [True, False])
def test_a_follower_has_lost_nothing_when_it_leads_later(bench: LogBench, has_fetched: bool) -> None:
    """X4: a power cut behind a truncation may leave the recovery point above LEO (seed 662)."""
    log = bench.open(SMALL, recovery_point=30)
    end = 0
    if has_fetched:
        end = 3
        log.append_as_follower(bench.batch(3, base_offset=0))
    else:
        assert not log.truncate_to(0), "the leader's epoch ends at or above LEO"
    assert log.begin_epoch(2) == end
    assert bench.append(log, 1, leader_epoch=2) == end


def test_a_topic_made_again_begins_at_its_beginning(bench: LogBench) -> None:
    """The checkpoints still hold the end of the topic that had this name before."""
    manager = start(bench)
    fill(bench, manager)
    checkpoint(manager)
    manager.delete(PARTITION)
    log = manager.create(PARTITION)
    assert bench.append(log, 1) == 0
    bench.disk.kill()
    again = start(bench)
    assert again.report.lines() == ["/data was not stopped cleanly, its logs were verified"]
    assert bench.append(again.create(PARTITION, is_new=False), 1) == 1


@pytest.mark.parametrize(
    ("name", "offset", "told"),
    [
        ("replication-offset-checkpoint", 90, "replication-offset-checkpoint is damaged"),
        ("recovery-point-offset-checkpoint", 31 + LOST_OFFSETS_MAX, "recovery-point-offset-checkpoint is"),
        ("log-start-offset-checkpoint", 40, "log-start-offset-checkpoint is damaged"),
        ("log-start-offset-checkpoint", 20, "log-start-offset-checkpoint is damaged"),
    ],
)
def test_an_offset_that_cannot_be_is_ignored_and_told(
    bench: LogBench, name: str, offset: int, told: str
) -> None:
    """R12: a digit that changed hides no record and gives no offset away."""
    manager = start(bench)
    fill(bench, manager)
    manager.close()
    file = bench.disk.file(f"/data/{name}")
    file.truncate(0)
    file.write_at(b"0\n1\norders 0 %d\n" % offset, 0)
    again = start(bench)
    log = again.create(PARTITION, is_new=False)
    assert any(told in line for line in again.report.lines())
    assert spans(log) == WHOLE
    assert bench.append(log, 1) == 30


def test_the_first_segment_gone_is_told(bench: LogBench) -> None:
    """L4: after a clean stop the log begins where its first leader epoch does."""
    manager = start(bench)
    fill(bench, manager)
    manager.close()
    remove(bench, FIRST)
    again = start(bench)
    (line,) = again.report.lines()
    assert line == (
        f"/data/{PARTITION} is damaged (it begins at offset 12, its leader epochs at 0) "
        "and lacks the records between"
    )
    assert again.create(PARTITION, is_new=False).log_start_offset == 12


def test_an_epoch_that_the_last_batch_denies_is_read_from_the_batches(bench: LogBench) -> None:
    """X4: a wrong epoch would have another broker cut its log at the wrong place."""
    log = bench.open(SMALL)
    for epoch in (0, 4, 4):
        bench.append(log, 3, leader_epoch=epoch)
    log.close()
    file = bench.disk.file(bench.path("leader-epoch-checkpoint"))
    file.truncate(0)
    file.write_at(b"0\n2\n0 0\n5 3\n", 0)
    again = bench.open(SMALL)
    assert again.end_offset_for_epoch(4) == (4, 9)
    assert len(again.recovery.damages) == 1


def test_a_log_whose_records_were_all_deleted_has_nothing_to_tell(bench: LogBench) -> None:
    manager = start(bench)
    log = fill(bench, manager, 2)
    log.delete_records_before(6)
    manager.close()
    assert start(bench).report.lines() == []


@pytest.mark.parametrize("is_removed", [True, False])
def test_deleted_records_stay_deleted_without_their_checkpoint(bench: LogBench, is_removed: bool) -> None:
    """R12: the first leader epoch begins where the log does."""
    manager = start(bench)
    log = fill(bench, manager)
    log.delete_records_before(7)
    manager.close()
    path = "/data/log-start-offset-checkpoint"
    if is_removed:
        bench.disk.remove(path)
    else:
        bench.disk.file(path).truncate(3)
    again = start(bench).create(PARTITION, is_new=False)
    assert (again.log_start_offset, again.end_offset) == (7, 30)


@pytest.mark.parametrize("line", [b"ordfrs 0 7", b"orders 5 7", b"orders 0 6", b"orders 0 9"])
def test_a_damaged_line_of_the_log_start_does_not_bring_deleted_records_back(
    bench: LogBench, line: bytes
) -> None:
    """R12: the leader epochs of the log hold the same offset."""
    manager = start(bench)
    fill(bench, manager).delete_records_before(7)
    manager.close()
    bench.disk.file("/data/log-start-offset-checkpoint").write_at(line, 4)
    again = start(bench).create(PARTITION, is_new=False)
    assert (again.log_start_offset, again.end_offset) == (7, 30)


def test_where_two_files_disagree_nothing_is_hidden_and_it_is_told(bench: LogBench) -> None:
    """R12: an epoch that seems to begin behind the first record may as well be the damaged one."""
    manager = start(bench)
    fill(bench, manager)
    manager.close()
    bench.disk.file(bench.path("leader-epoch-checkpoint")).write_at(b"0\n1\n0 9\n", 0)
    again = start(bench)
    (line, _) = again.report.lines()
    assert "it begins at offset 0, its leader epochs at 9) and may show records that were deleted" in line
    assert again.create(PARTITION, is_new=False).log_start_offset == 0
    again.close()
    assert start(bench).report.lines() == []


def test_after_a_kill_a_log_start_that_the_leader_epochs_deny_is_told(bench: LogBench) -> None:
    """R12: another log's line, damaged into this log's name, must not hide records without a word.

    After a power cut the leader epochs may be the older file, so the records stay hidden: they may be
    deleted ones.
    """
    manager = start(bench)
    fill(bench, manager)
    manager.close()
    bench.disk.remove("/data/.kafka_cleanshutdown")
    file = bench.disk.file("/data/log-start-offset-checkpoint")
    file.truncate(0)
    file.write_at(b"0\n1\norders 0 7\n", 0)
    again = start(bench)
    assert any(
        f"/data/{PARTITION} is damaged (its checkpoint begins at offset 7, its leader epochs at 0) "
        "and does not show the records before offset 7" in line
        for line in again.report.lines()
    )
    assert again.create(PARTITION, is_new=False).log_start_offset == 7


def test_after_a_kill_deleted_records_are_no_damage(bench: LogBench) -> None:
    """R12: both files have the log start, whichever of them was written last."""
    manager = start(bench)
    fill(bench, manager).delete_records_before(7)
    manager.close()
    bench.disk.remove("/data/.kafka_cleanshutdown")
    again = start(bench)
    assert not any("is damaged" in line for line in again.report.lines())
    assert again.create(PARTITION, is_new=False).log_start_offset == 7


def test_a_kill_soon_after_a_deletion_does_not_bring_the_records_back(bench: LogBench) -> None:
    """R12: the leader epochs have a log start at once, the checkpoint of all logs a minute later."""
    manager = start(bench)
    log = fill(bench, manager)
    for write in exhaust(manager.checkpoints.log_start_offsets()):
        write.run()
        manager.checkpoints.written(write)
    log.delete_records_before(7)
    bench.disk.kill()
    again = start(bench)
    (line,) = [line for line in again.report.lines() if "begins at offset" in line]
    assert line.startswith(f"{PARTITION} begins at offset 7, as its leader epochs do")
    assert not any("is damaged" in line for line in again.report.lines())
    assert again.create(PARTITION, is_new=False).log_start_offset == 7
