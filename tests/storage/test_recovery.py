"""L4: what a log is after a stop that was not clean, and after damage."""

import errno

import pytest

from odradek.base.errors import DataDirectoryError, StorageFailure
from odradek.base.settings import TopicConfig
from odradek.records.header import iter_headers
from odradek.records.work import finish
from odradek.storage import Log
from odradek.storage.checkpoint import read_epochs, write_epochs
from odradek.storage.memory_files import Fault
from tests.storage.log_bench import LogBench

SMALL = TopicConfig(segment_bytes=500, index_interval_bytes=100, retention_ms=-1)
FIRST = "00000000000000000000"
SECOND = "00000000000000000012"
BATCH_BYTES = 103


def filled(bench: LogBench, batches: int = 10) -> Log:
    log: Log = bench.open(SMALL)
    for _ in range(batches):
        bench.append(log, 3)
    assert len(bench.batch(3)) == BATCH_BYTES
    return log


def offsets_of(log: Log) -> list[int]:
    offset, found = log.log_start_offset, []
    while offset < log.end_offset:
        headers = [
            h
            for _, h in iter_headers(
                log.read(offset, 1 << 20, log.end_position, at_least_one=True).held_records
            )
        ]
        found += [header.base_offset for header in headers]
        offset = headers[-1].next_offset
    return found


def corrupt(bench: LogBench, name: str, position: int, data: bytes) -> None:
    bench.disk.file(bench.path(name)).write_at(data, position)


def test_a_killed_broker_loses_nothing(bench: LogBench) -> None:
    """L4: what was written before a kill -9 is in the page cache."""
    filled(bench)
    bench.disk.kill()
    log = bench.open(SMALL, clean=False)
    assert offsets_of(log) == list(range(0, 30, 3))
    assert log.recovery.segments_verified == 3
    assert log.recovery.bytes_verified == 10 * BATCH_BYTES
    assert log.recovery.is_uneventful()
    assert bench.append(log) == 30


def test_what_a_killed_broker_had_cut_off_does_not_come_back_below_what_is_appended(bench: LogBench) -> None:
    """X6: the process died before it had synced the cut."""
    log = filled(bench)
    log.flush()
    log.truncate_to(25)
    bench.disk.kill()
    bench.append(bench.open(SMALL, clean=False), leader_epoch=1)
    path = bench.path("00000000000000000024.log")
    assert (bench.disk.may_undo_cut(path), bench.disk.at_risk_from(path)) == (False, 0)
    assert bench.disk.lingering(f"{bench.path('')}") == []


def test_a_clean_stop_skips_it(bench: LogBench) -> None:
    """L4"""
    filled(bench).close()
    log = bench.open(SMALL)
    assert (log.recovery.segments_verified, log.recovery.is_uneventful()) == (0, True)
    assert offsets_of(log) == list(range(0, 30, 3))


def test_verifies_from_the_segment_of_the_recovery_point(bench: LogBench) -> None:
    """L4: what was flushed long ago is not read again."""
    filled(bench)
    log = bench.open(SMALL, clean=False, recovery_point=14)
    assert log.recovery.segments_verified == 2
    assert log.flushed_offset == 14


def test_a_torn_tail_is_cut_and_kept_aside(bench: LogBench) -> None:
    """L4: truncates at the first torn batch, and reports it."""
    filled(bench, 2)
    torn = bytes(bench.batch(3))[:50]
    corrupt(bench, f"{FIRST}.log", 2 * BATCH_BYTES, torn)
    log = bench.open(SMALL, clean=False)
    assert offsets_of(log) == [0, 3]
    (cut,) = log.recovery.cuts
    assert (cut.position, cut.size_bytes, log.recovery.records_lost_from) == (2 * BATCH_BYTES, 50, 6)
    assert cut.kept_in == f"{bench.path(FIRST)}.log.corrupted-{bench.clock.wall_ms()}"
    assert bench.disk.read(cut.kept_in) == torn
    assert f"cut at byte {2 * BATCH_BYTES}" in str(cut)
    assert bench.append(log) == 6


def test_a_tail_of_zeros_is_cut_and_not_kept(bench: LogBench) -> None:
    """L4: a file that grew before its data came."""
    filled(bench, 2)
    corrupt(bench, f"{FIRST}.log", 2 * BATCH_BYTES, bytes(200))
    log = bench.open(SMALL, clean=False)
    assert offsets_of(log) == [0, 3]
    assert [cut.kept_in for cut in log.recovery.cuts] == [None]
    assert not any("corrupted" in name for name in bench.names())


@pytest.mark.parametrize("byte", [0, 8, 16, 17, 23, 61, 100])
def test_a_corrupt_middle_ends_the_log_and_loses_nothing_whole(bench: LogBench, byte: int) -> None:
    """L4: Kafka cuts here too; the batches behind are kept aside, and the report names them."""
    filled(bench)
    before = {name: bench.disk.read(bench.path(name)) for name in bench.names() if name.endswith(".log")}
    at = BATCH_BYTES + byte
    flipped = bytes([before[f"{FIRST}.log"][at] ^ 0x41])
    corrupt(bench, f"{FIRST}.log", at, flipped)
    log = bench.open(SMALL, clean=False)
    assert offsets_of(log) == [0]
    assert log.end_offset == log.recovery.records_lost_from == 3
    kept = {cut.path: bench.disk.read(cut.kept_in) for cut in log.recovery.cuts if cut.kept_in}
    assert len(kept) == 3
    assert kept[bench.path(f"{FIRST}.log")][BATCH_BYTES:] == before[f"{FIRST}.log"][2 * BATCH_BYTES :]
    assert kept[bench.path(f"{SECOND}.log")] == before[f"{SECOND}.log"]
    assert bench.append(log) == 3
    log.close()
    assert offsets_of(bench.open(SMALL)) == [0, 3], "and what was set aside is never read again"


def test_a_disk_too_full_to_keep_the_cut_bytes_is_not_cut(bench: LogBench) -> None:
    """L4: better offline than a loss."""
    filled(bench)
    corrupt(bench, f"{FIRST}.log", BATCH_BYTES + 70, b"?")
    bench.disk.inject(Fault("write", errno.ENOSPC, path_part="corrupted", times=-1))
    size = len(bench.disk.read(bench.path(f"{FIRST}.log")))
    with pytest.raises(StorageFailure):
        bench.open(SMALL, clean=False)
    assert len(bench.disk.read(bench.path(f"{FIRST}.log"))) == size


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
@pytest.mark.parametrize("damage", ["missing", "odd size", "zeros", "garbage"])
def test_damaged_indexes_are_made_again(bench: LogBench, suffix: str, damage: str) -> None:
    """L4: after a clean stop too."""
    filled(bench).close()
    newest = max(name for name in bench.names() if name.endswith(".log"))[:20]
    for base in (FIRST, newest):
        path = bench.path(base + suffix)
        if damage == "missing":
            bench.disk.remove(path)
        else:
            content = {"odd size": b"\0" * 13, "zeros": bytes(240), "garbage": b"\xff" * 24}[damage]
            file = bench.disk.file(path)
            file.truncate(0)
            file.write_at(content, 0)
    log = bench.open(SMALL)
    assert offsets_of(log) == list(range(0, 30, 3))
    for offset in range(30):
        assert log.read(offset, 1, log.end_position, at_least_one=True).records
    found = finish(log.offset_for_timestamp(1_000))
    assert found is not None
    if damage in ("missing", "odd size"):
        assert len(log.recovery.rebuilt_indexes) == 2
    assert log.recovery.cuts == []


def test_an_index_preallocated_by_kafka_is_read(bench: LogBench) -> None:
    """L1: it ends in zeros, which are no entries."""
    filled(bench).close()
    for name in bench.names():
        if name.endswith(("index", "timeindex")):
            file = bench.disk.file(bench.path(name))
            file.truncate(file.size_bytes() + 2400)
    log = bench.open(SMALL)
    assert offsets_of(log) == list(range(0, 30, 3))
    assert finish(log.offset_for_timestamp(1_000)) == (1_000, 0, 0)
    assert log.recovery.rebuilt_indexes == []
    assert bench.append(log) == 30


def test_a_damaged_epoch_file_is_read_from_the_batches_again(bench: LogBench) -> None:
    log = bench.open(SMALL)
    for epoch in (0, 0, 3, 3, 7):
        bench.append(log, 3, leader_epoch=epoch)
    log.close()
    corrupt(bench, "leader-epoch-checkpoint", 0, b"?")
    again = bench.open(SMALL)
    assert [str(damage) for damage in again.recovery.damages] != []
    assert [again.end_offset_for_epoch(epoch) for epoch in (0, 3, 7)] == [(0, 6), (3, 12), (7, 15)]


def test_a_damaged_snapshot_is_ignored(bench: LogBench) -> None:
    log = bench.open(SMALL)
    for sequence in range(10):
        bench.append(log, 1, producer_id=7, producer_epoch=0, base_sequence=sequence)
    log.close()
    for name in bench.names():
        if name.endswith(".snapshot"):
            corrupt(bench, name, 8, b"????")
    again = bench.open(SMALL)
    entry = again.producers.get(7)
    assert entry is not None
    assert (entry.last_sequence, len(entry.batches)) == (9, 5), "all batches were read again"
    assert again.recovery.damages


def test_leftovers_are_cleared(bench: LogBench) -> None:
    """L4: as Kafka does."""
    filled(bench, 2).close()
    for name in (
        f"{FIRST}.log.deleted",
        f"{FIRST}.log.cleaned",
        "leader-epoch-checkpoint.tmp",
        "00000000000000000099.index",
    ):
        bench.disk.file(bench.path(name), create=True)
    log = bench.open(SMALL)
    assert offsets_of(log) == [0, 3]
    assert not any(name.endswith((".deleted", ".cleaned", ".tmp")) or "99" in name for name in bench.names())


def test_a_compaction_that_was_done_but_for_its_names_is_finished(bench: LogBench) -> None:
    """L4: .swap"""
    log = filled(bench)
    log.close()
    compacted = bench.batch(1, base_offset=5) + bench.batch(1, base_offset=20)
    bench.disk.file(bench.path(f"{FIRST}.log.swap"), create=True).write_at(compacted, 0)
    again = bench.open(SMALL)
    assert offsets_of(again) == [5, 20, 24, 27]


def test_a_compaction_that_was_interrupted_is_undone(bench: LogBench) -> None:
    """L4: .cleaned beside .swap"""
    filled(bench).close()
    bench.disk.file(bench.path(f"{FIRST}.log.swap"), create=True).write_at(bench.batch(1), 0)
    bench.disk.file(bench.path(f"{FIRST}.log.cleaned"), create=True)
    assert offsets_of(bench.open(SMALL)) == list(range(0, 30, 3))


@pytest.mark.parametrize("damaged_at", [0, 16, 70, BATCH_BYTES + 8])
def test_a_damaged_result_of_a_compaction_is_undone_while_its_sources_are_there(
    bench: LogBench, damaged_at: int
) -> None:
    """L4 L5: magic, length, body: whatever is damaged, nothing is lost, and the report names the file."""
    filled(bench).close()
    swap = bytearray(bench.batch(3, base_offset=3) + bench.batch(3, base_offset=9))
    swap[damaged_at] ^= 0x7F
    for suffix in ("log", "index"):
        bench.disk.file(bench.path(f"{FIRST}.{suffix}.swap"), create=True).write_at(swap, 0)
    log = bench.open(SMALL, clean=False, recovery_point=12)
    assert offsets_of(log) == list(range(0, 30, 3))
    [line] = log.recovery.lines()
    assert f"{FIRST}.log.swap is damaged" in line
    assert "nothing is lost" in line
    kept = [name for name in bench.names() if ".corrupted-" in name]
    assert len(kept) == 1
    assert bench.disk.read(bench.path(kept[0])) == swap
    assert not any(name.endswith(".swap") for name in bench.names())
    log.close()
    assert bench.open(SMALL).recovery.is_uneventful()


def test_a_damaged_result_of_a_compaction_whose_source_is_gone_refuses_the_start(bench: LogBench) -> None:
    """L4 L5: nothing is changed, and the sentence says what is damaged, what is left, and what to do."""
    filled(bench).close()
    swap = bench.batch(3, base_offset=3)[:-1]
    bench.disk.file(bench.path(f"{FIRST}.log.swap"), create=True).write_at(swap, 0)
    bench.disk.rename(bench.path(f"{FIRST}.log"), bench.path(f"{FIRST}.log.deleted"))
    before = bench.names()
    with pytest.raises(DataDirectoryError, match="is damaged") as refused:
        bench.open(SMALL, clean=False, recovery_point=12)
    assert f"{FIRST}.log.swap is damaged (at byte 0: 1 bytes of the batch" in str(refused.value)
    assert f"there is still {FIRST}.log.deleted" in str(refused.value)
    assert "from a backup, or move that directory" in str(refused.value)
    assert bench.names() == before


def test_a_log_that_ends_before_its_start_begins_there(bench: LogBench) -> None:
    filled(bench, 2).close()
    log = bench.open(SMALL, clean=False, log_start_offset=50, high_watermark=50)
    assert (log.log_start_offset, log.end_offset) == (50, 50)
    assert bench.append(log) == 50


def test_idempotent_producers_go_on_after_a_crash(bench: LogBench) -> None:
    """L4: the producer state is rebuilt from the recovery point."""
    log = bench.open(SMALL)
    for sequence in range(12):
        bench.append(log, 1, producer_id=7, producer_epoch=2, base_sequence=sequence)
    bench.disk.kill()
    again = bench.open(SMALL, clean=False, recovery_point=9)
    repeated = bench.batch(1, producer_id=7, producer_epoch=2, base_sequence=11)
    info = again.append_as_leader(repeated, 0, now_ms=bench.clock.wall_ms())
    assert (info.duplicate, info.first_offset) == (True, 11)
    assert bench.append(again, 1, producer_id=7, producer_epoch=2, base_sequence=12) == 12


def test_a_segment_that_lost_its_end_ends_the_log(bench: LogBench) -> None:
    """L4: a gap between segments is a loss, of which the log's end has to tell the followers."""
    filled(bench)
    file = bench.disk.file(bench.path(f"{FIRST}.log"))
    file.truncate(2 * BATCH_BYTES)
    log = bench.open(SMALL, clean=False)
    assert offsets_of(log) == [0, 3]
    assert log.recovery.records_lost_from == 6
    assert [cut.reason for cut in log.recovery.cuts] == ["the offsets from 6 on are missing"] * 2
    assert all(cut.kept_in and bench.disk.exists(cut.kept_in) for cut in log.recovery.cuts)


def test_a_compacted_log_may_have_gaps_between_segments(bench: LogBench) -> None:
    """L4 L5"""
    filled(bench)
    bench.disk.file(bench.path(f"{FIRST}.log")).truncate(2 * BATCH_BYTES)
    compacted = TopicConfig(cleanup_policy=frozenset({"compact"}), segment_bytes=500)
    log = bench.open(compacted, clean=False)
    assert offsets_of(log) == [0, 3, *range(12, 30, 3)]
    assert log.recovery.cuts == []


def test_a_segment_closed_after_its_flush_gets_its_indexes_again(bench: LogBench) -> None:
    """L4: its batches were on disk at the power cut, its indexes were not."""
    log = bench.open(SMALL)
    bench.append(log, 3, timestamp_ms=500)
    log.flush()
    log.roll()
    bench.disk.sync_directory(log.path)
    bench.disk.crash()
    again = bench.open(SMALL, clean=False, recovery_point=3)
    assert finish(again.offset_for_timestamp(400)) == (500, 0, 0)


def test_a_later_segments_damage_does_not_stop_an_earlier_ones_recovery(bench: LogBench) -> None:
    """L4: the producer state of the first is read before the second has been verified."""
    log = bench.open(SMALL)
    for sequence in range(20):
        bench.append(log, 1, producer_id=7, producer_epoch=0, base_sequence=sequence)
    second = sorted(name for name in bench.names() if name.endswith(".log"))[1]
    for name in bench.names():
        if name.endswith(".snapshot"):
            bench.disk.remove(bench.path(name))
    corrupt(bench, second, 0, bytes(40))
    again = bench.open(SMALL, clean=False, recovery_point=int(second[:20]) + 1)
    assert again.end_offset == int(second[:20])
    entry = again.producers.get(7)
    assert entry is not None
    assert entry.last_sequence == again.end_offset - 1


def test_a_missing_epoch_file_is_made_again_and_told(bench: LogBench) -> None:
    """X4"""
    log = bench.open(SMALL)
    for epoch in (0, 3):
        bench.append(log, 3, leader_epoch=epoch)
    log.close()
    bench.disk.remove(bench.path("leader-epoch-checkpoint"))
    again = bench.open(SMALL)
    (damage,) = again.recovery.damages
    assert str(damage).endswith("is damaged (it is missing or empty) and was made again from the batches")
    assert [again.end_offset_for_epoch(epoch) for epoch in (0, 3)] == [(0, 3), (3, 6)]


@pytest.mark.parametrize(
    "content", [b"0\n2\n0 0\n3 1", b"0\n2\n0 0\n3 4\n", b"0\n2\n0 0\n3 2\n", b"0\n1\n3 0\n"]
)
def test_an_epoch_that_does_not_begin_where_the_file_says_is_found(bench: LogBench, content: bytes) -> None:
    """X4: cut at a digit, or with another digit, the file still looks like one."""
    log = bench.open(SMALL)
    for epoch in (0, 3, 3, 3, 3):
        bench.append(log, 3, leader_epoch=epoch)
    log.close()
    file = bench.disk.file(bench.path("leader-epoch-checkpoint"))
    file.truncate(0)
    file.write_at(content, 0)
    again = bench.open(SMALL)
    assert [again.end_offset_for_epoch(epoch) for epoch in (0, 3)] == [(0, 3), (3, 15)]
    assert again.recovery.damages


def test_epochs_of_a_sound_log_are_left_alone(bench: LogBench) -> None:
    """X4: an epoch without records included, which Kafka saves, too."""
    log = bench.open(SMALL)
    for epoch in (0, 3, 3, 8):
        bench.append(log, 3, leader_epoch=epoch)
    log.close()
    path = bench.path("leader-epoch-checkpoint")
    saved, _ = read_epochs(bench.disk, path)
    write_epochs(bench.disk, path, [*saved, (9, log.end_offset)])
    again = bench.open(SMALL)
    assert again.recovery.is_uneventful()
    assert again.latest_epoch == 9


@pytest.mark.parametrize("content", [None, b"damaged"])
def test_a_stop_leaves_a_snapshot_alone_that_says_what_it_would_say(
    bench: LogBench, content: bytes | None
) -> None:
    """A log that was led, and is followed again, is closed again, though no record has come."""
    filled(bench).close()
    log = bench.open(SMALL)
    path = bench.path(f"{log.end_offset:020}.snapshot")
    before = bench.disk.read(path)
    log.begin_epoch(7)
    log.truncate_to(log.end_offset)
    if content is not None:
        bench.disk.file(path).write_at(content, 0)
    changed: list[str] = []
    bench.disk.before_operation = lambda operation, where: (
        changed.append(operation) if where == path and operation in ("write", "truncate") else None
    )
    log.close()
    bench.disk.before_operation = None
    assert bool(changed) == (content is not None)
    assert bench.disk.read(path) == before
