"""One log: appending, offsets, high watermark, truncation, deletion, flushing."""

import errno
from uuid import UUID

import pytest

from odradek.base.errors import (
    ApiError,
    CorruptRecord,
    OffsetOutOfRange,
    RecordListTooLarge,
    RecordTooLarge,
    StorageFailure,
)
from odradek.base.settings import TopicConfig
from odradek.records.header import iter_headers
from odradek.records.work import finish
from odradek.storage import UNKNOWN_POSITION, Log, LogPosition, Origin
from odradek.storage.checkpoint import read_epochs
from odradek.storage.file_names import LEADER_EPOCHS
from odradek.storage.memory_files import Fault
from odradek.storage.positions import UNKNOWN_EPOCH_END
from tests.storage.log_bench import LogBench

SMALL = TopicConfig(segment_bytes=500, index_interval_bytes=100, retention_ms=-1)


def order_of(log: Log) -> list[int]:
    return [log.log_start_offset, log.last_stable.offset, log.high_watermark.offset, log.end_offset]


def test_gives_dense_offsets_and_its_epoch(bench: LogBench) -> None:
    log = bench.open()
    assert [bench.append(log, 3, leader_epoch=5), bench.append(log, 2, leader_epoch=5)] == [0, 3]
    read = log.read(0, 1 << 20, log.end_position, at_least_one=True)
    headers = [header for _, header in iter_headers(read.held_records)]
    assert [(header.base_offset, header.leader_epoch) for header in headers] == [(0, 5), (3, 5)]
    assert (log.end_offset, log.latest_epoch) == (5, 5)


def test_an_append_says_where_it_went(bench: LogBench) -> None:
    log = bench.open()
    bench.append(log, 2)
    data = bench.batch(3, timestamp_ms=[7, 9, 8])
    info = log.append_as_leader(data, 0, now_ms=bench.clock.wall_ms())
    assert (info.first_offset, info.last_offset, info.record_count) == (2, 4, 3)
    assert (info.max_timestamp, info.log_append_time_ms, info.size_bytes) == (9, -1, len(data))
    assert not info.duplicate
    assert not info.rolled


def test_log_append_time_is_given_to_every_record(bench: LogBench) -> None:
    log = bench.open(TopicConfig(message_timestamp_type="LogAppendTime"))
    now_ms = bench.clock.wall_ms()
    info = log.append_as_leader(bench.batch(3), 0, now_ms=now_ms)
    assert (info.log_append_time_ms, info.max_timestamp) == (now_ms, now_ms)
    found = finish(log.offset_for_timestamp(now_ms))
    assert found is not None
    assert (found.offset, found.timestamp_ms) == (0, now_ms)


def test_refuses_batches_that_are_too_large_and_writes_nothing(bench: LogBench) -> None:
    log = bench.open(TopicConfig(max_message_bytes=200, segment_bytes=150))
    with pytest.raises(RecordTooLarge):
        bench.append(log, [b"x" * 300])
    with pytest.raises(RecordListTooLarge):
        bench.append(log, [b"x" * 110])
    assert (log.end_offset, log.size_bytes) == (0, 0)


def test_refuses_corrupt_batches_and_writes_nothing(bench: LogBench) -> None:
    log = bench.open()
    data = bench.batch(3)
    data[-1] ^= 1
    with pytest.raises(CorruptRecord):
        log.append_as_leader(data, 0, now_ms=bench.clock.wall_ms())
    assert (log.end_offset, log.size_bytes) == (0, 0)


def test_a_follower_keeps_the_leaders_offsets_and_epochs(bench: LogBench) -> None:
    """X2: gaps left by compaction are right, going back is not."""
    log = bench.open()
    batches = bench.batch(2, base_offset=0, leader_epoch=1) + bench.batch(2, base_offset=10, leader_epoch=4)
    info = log.append_as_follower(batches + bench.batch(5)[:-3])
    assert (info.first_offset, info.last_offset, log.end_offset) == (0, 11, 12)
    assert log.end_offset_for_epoch(1) == (1, 10)
    with pytest.raises(CorruptRecord):
        log.append_as_follower(bench.batch(1, base_offset=11))
    assert log.end_offset == 12


def test_a_follower_never_appends_corrupt_data(bench: LogBench) -> None:
    """X5: also not the whole batches before the corrupt one."""
    log = bench.open()
    corrupt = bench.batch(2, base_offset=2)
    corrupt[-1] ^= 1
    with pytest.raises(CorruptRecord):
        log.append_as_follower(bench.batch(2) + corrupt)
    assert (log.end_offset, log.size_bytes) == (0, 0)


def test_a_follower_splits_what_does_not_fit_into_one_segment(bench: LogBench) -> None:
    """L2 X2"""
    log = bench.open(SMALL)
    batches = b"".join(bytes(bench.batch(3, base_offset=3 * number)) for number in range(20))
    info = log.append_as_follower(batches)
    assert (info.record_count, info.rolled, log.end_offset) == (60, True, 60)
    assert all(size <= 500 for name, size in bench.disk.list_directory(log.path) if name.endswith(".log"))


def test_high_watermark_moves_forward_only(bench: LogBench) -> None:
    """R11"""
    log = bench.open()
    for _ in range(3):
        bench.append(log, 2)
    assert log.high_watermark == LogPosition(0, 0, 0)
    middle = log.position_of(4)
    assert log.advance_high_watermark(middle)
    assert log.high_watermark == middle
    assert not log.advance_high_watermark(middle)
    assert not log.advance_high_watermark(log.position_of(2))
    assert log.advance_high_watermark(log.end_position)
    assert order_of(log) == [0, 6, 6, 6]


def test_high_watermark_moves_onto_the_segment_that_begins_at_it(bench: LogBench) -> None:
    """R11: it is a position, replaced also when the same offset now lies on a newer segment."""
    log = bench.open()
    bench.append(log)
    log.advance_high_watermark(log.end_position)
    assert log.roll() == 1
    assert log.high_watermark.segment_base_offset == 0
    assert log.advance_high_watermark(log.end_position)
    assert log.high_watermark == LogPosition(1, 1, 0)


def test_high_watermark_is_restored_within_the_log(bench: LogBench) -> None:
    """R12: clamped to [log start, LEO]."""
    log = bench.open()
    bench.append(log, 4)
    bench.append(log, 4)
    log.restore_high_watermark(100)
    assert log.high_watermark == log.end_position
    log.delete_records_before(4)
    log.restore_high_watermark(1)
    assert log.high_watermark.offset == 4


def test_positions_of_offsets(bench: LogBench) -> None:
    log = bench.open(SMALL)
    for _ in range(12):
        bench.append(log, 3)
    assert log.position_of(log.end_offset) == log.end_position
    for offset in range(log.end_offset):
        position = log.position_of(offset)
        read = log.read(offset, 1, log.end_position, at_least_one=True)
        assert position == read.position
        header = next(iter_headers(read.held_records))[1]
        assert header.base_offset <= offset <= header.last_offset
    for offset in (-1, log.end_offset + 1):
        with pytest.raises(OffsetOutOfRange):
            log.position_of(offset)
    assert UNKNOWN_POSITION.offset < 0


def test_truncates_to_whole_batches_over_segments(bench: LogBench) -> None:
    log = bench.open(SMALL)
    for _ in range(12):
        bench.append(log, 3)
    log.restore_high_watermark(30)
    assert not log.truncate_to(36)
    assert log.truncate_to(7)
    assert order_of(log) == [0, 6, 6, 6]
    assert log.read(6, 100, log.end_position, at_least_one=True).records == b""
    assert bench.append(log, 2) == 6
    log.close()
    again = bench.open()
    assert again.end_offset == 8


def test_truncates_fully_and_starts_elsewhere(bench: LogBench) -> None:
    log = bench.open(SMALL)
    for _ in range(12):
        bench.append(log, 3)
    log.truncate_fully_and_start_at(100)
    assert order_of(log) == [100, 100, 100, 100]
    assert log.latest_epoch == -1
    assert bench.append(log) == 100
    log.close()
    assert bench.open().log_start_offset == 100


def test_truncating_below_the_log_start_moves_it(bench: LogBench) -> None:
    log = bench.open()
    for _ in range(4):
        bench.append(log, 3)
    log.restore_high_watermark(12)
    log.delete_records_before(9)
    log.truncate_to(4)
    assert order_of(log) == [3, 3, 3, 3]


def test_truncation_forgets_epochs_that_began_behind_it(bench: LogBench) -> None:
    log = bench.open()
    for epoch in (0, 2, 5):
        bench.append(log, 2, leader_epoch=epoch)
    assert log.end_offset_for_epoch(5) == (5, 6)
    assert log.end_offset_for_epoch(4) == (2, 4)
    log.truncate_to(4)
    assert log.latest_epoch == 2
    assert log.end_offset_for_epoch(5) == UNKNOWN_EPOCH_END
    assert log.end_offset_for_epoch(2) == (2, 4)
    log.close()
    assert bench.open().latest_epoch == 2


def test_an_epoch_is_known_before_it_has_records(bench: LogBench) -> None:
    """R5b: and it is saved before its first record, not sooner."""
    log = bench.open()
    bench.append(log, 2)
    saved = bench.disk.read(bench.path(LEADER_EPOCHS))
    assert log.begin_epoch(3) == 2
    assert (log.latest_epoch, log.end_offset_for_epoch(0)) == (3, (0, 2))
    assert bench.disk.read(bench.path(LEADER_EPOCHS)) == saved
    bench.append(log, leader_epoch=3)
    assert read_epochs(bench.disk, bench.path(LEADER_EPOCHS))[0] == [(0, 0), (3, 2)]


def test_a_broker_that_ends_before_the_first_record_of_an_epoch_has_never_led_it(bench: LogBench) -> None:
    log = bench.open()
    bench.append(log, 2)
    log.begin_epoch(3)
    log.close()
    again = bench.open()
    assert again.recovery.lines() == []
    assert again.latest_epoch == 0
    assert again.begin_epoch(4) == 2


def test_an_epoch_that_cannot_be_saved_gets_no_record(bench: LogBench) -> None:
    """An epoch whose batches are in the log is in the file, also after a kill."""
    log = bench.open()
    bench.append(log, 2)
    log.begin_epoch(3)
    bench.disk.make_directory(f"{bench.path(LEADER_EPOCHS)}.tmp")  # where the next file is written first
    with pytest.raises(StorageFailure):
        bench.append(log, leader_epoch=3)
    assert log.end_offset == 2


def test_deletes_records_up_to_the_high_watermark(bench: LogBench) -> None:
    log = bench.open(SMALL)
    for _ in range(12):
        bench.append(log, 3)
    log.restore_high_watermark(20)
    with pytest.raises(OffsetOutOfRange):
        log.delete_records_before(21)
    assert log.delete_records_before(13) == 13
    assert log.delete_records_before(5) == 13
    with pytest.raises(OffsetOutOfRange):
        log.read(12, 100, log.end_position, at_least_one=True)
    assert log.read(13, 100, log.end_position, at_least_one=True).position.offset == 13
    assert log.delete_old_segments(bench.clock.wall_ms()) == 1
    assert log.log_start_offset == 13


def test_rolls_when_a_segment_is_full(bench: LogBench) -> None:
    """L2: the next batch would exceed segment.bytes."""
    log = bench.open(SMALL)
    size = len(bench.batch(3))
    fit = 500 // size
    infos = [
        log.append_as_leader(bench.batch(3), 0, now_ms=bench.clock.wall_ms()) for _ in range(2 * fit + 1)
    ]
    assert [number for number, info in enumerate(infos) if info.rolled] == [fit, 2 * fit]
    assert infos[fit].flush_due
    assert {f"{base:020d}.log" for base in (0, 3 * fit, 6 * fit)} <= set(bench.names())


def test_rolls_when_a_segment_is_old_less_jitter(bench: LogBench) -> None:
    """L2: by the timestamps of the records, or without any by the clock."""
    log = bench.open(TopicConfig(segment_ms=1000))
    bench.append(log, timestamp_ms=5_000)
    bench.append(log, timestamp_ms=6_000)
    assert log.describe()["segments"] == 1
    bench.append(log, timestamp_ms=6_001)
    assert log.describe()["segments"] == 2
    bench.append(log, timestamp_ms=5_500)
    assert log.describe()["segments"] == 2


def test_rolls_by_the_clock_when_records_have_no_timestamps(bench: LogBench) -> None:
    """L2"""
    log = bench.open(TopicConfig(segment_ms=1000))
    bench.append(log, timestamp_ms=-1)
    bench.append(log, timestamp_ms=-1)
    bench.clock.advance(1001)
    bench.append(log, timestamp_ms=-1)
    assert log.describe()["segments"] == 2


def test_jitter_makes_logs_roll_earlier(bench: LogBench) -> None:
    """L2"""
    log = bench.open(TopicConfig(segment_ms=1000, segment_jitter_ms=1000))
    bench.append(log, timestamp_ms=5_000)
    jitter_ms = log._parts.roll_jitter_ms
    assert 0 < jitter_ms < 1000, "this seed draws a jitter"
    bench.append(log, timestamp_ms=6_000 - jitter_ms)
    assert log.describe()["segments"] == 1
    bench.append(log, timestamp_ms=6_001 - jitter_ms)
    assert log.describe()["segments"] == 2


def test_rolls_when_an_index_is_full(bench: LogBench) -> None:
    """L2"""
    log = bench.open(TopicConfig(segment_index_bytes=24, index_interval_bytes=0))
    for number in range(8):
        bench.append(log, timestamp_ms=1_000 + number)
    assert log.describe()["segments"] > 1


def test_rolls_when_an_offset_does_not_fit_in_32_bits(bench: LogBench) -> None:
    """L2"""
    log = bench.open()
    log.append_as_follower(bench.batch(1))
    far = (1 << 31) + 5
    log.append_as_follower(bench.batch(2, base_offset=far))
    assert log.describe()["segments"] == 2
    assert log.read(far, 1000, log.end_position, at_least_one=True).position == LogPosition(far, far, 0)


def test_an_empty_active_segment_is_not_rolled(bench: LogBench) -> None:
    log = bench.open()
    assert log.roll() == 0
    bench.append(log)
    assert log.roll() == 1
    assert log.roll() == 1


def test_flushes_as_an_effect(bench: LogBench) -> None:
    """L7: nothing is called flushed before the disk has said so."""
    log = bench.open(TopicConfig(flush_messages=3))
    data = bench.batch(2)
    assert not log.append_as_leader(bytes(data), 0, now_ms=bench.clock.wall_ms()).flush_due
    assert log.append_as_leader(bytes(data), 0, now_ms=bench.clock.wall_ms()).flush_due
    flush = log.pending_flush()
    assert flush is not None
    bench.append(log, 1)
    assert log.flushed_offset == 0
    flush.run()
    log.mark_flushed(flush)
    assert (log.flushed_offset, log.end_offset) == (4, 5)
    log.flush()
    assert log.pending_flush() is None
    bench.disk.crash()
    assert bench.open(clean=False).end_offset == 5


def test_what_is_flushed_survives_a_power_cut_over_segments(bench: LogBench) -> None:
    log = bench.open(SMALL)
    for _ in range(12):
        bench.append(log, 3)
    log.flush()
    for _ in range(3):
        bench.append(log, 3)
    bench.disk.crash()
    assert bench.open(clean=False, recovery_point=36).end_offset == 36


def test_a_flush_overtaken_by_a_truncation_counts_for_nothing(bench: LogBench) -> None:
    log = bench.open()
    bench.append(log, 3)
    bench.append(log, 3)
    flush = log.pending_flush()
    assert flush is not None
    flush.run()
    log.truncate_to(3)
    bench.append(log, 3)
    assert log.flushed_offset == 3, "the cut is on disk before the append (X6)"
    log.mark_flushed(flush)
    assert log.flushed_offset == 3


def test_a_flush_is_due_after_flush_ms(bench: LogBench) -> None:
    log = bench.open(TopicConfig(flush_ms=1000))
    assert not log.is_flush_due(bench.clock.monotonic_ms() + 5000), "there is nothing to flush"
    bench.append(log)
    assert not log.is_flush_due(bench.clock.monotonic_ms() + 999)
    assert log.is_flush_due(bench.clock.monotonic_ms() + 1000)


def test_a_failed_fsync_takes_the_directory_offline_for_good(bench: LogBench) -> None:
    """L7: and it is not tried again."""
    log = bench.open()
    bench.append(log)
    bench.disk.inject(Fault("sync", errno.EIO))
    with pytest.raises(StorageFailure, match="the log directory /data is offline"):
        log.flush()
    assert log.flushed_offset == 0
    for call in (log.flush, lambda: bench.append(log), log.roll):
        with pytest.raises(StorageFailure):
            call()


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
def test_a_failed_write_leaves_only_what_is_whole(bench: LogBench, error: int) -> None:
    """R6: KAFKA_STORAGE_ERROR, and the torn bytes are cut off again."""
    log = bench.open()
    bench.append(log, 3)
    size = log.size_bytes
    bench.disk.inject(Fault("write", error, path_part=".log"))
    with pytest.raises(StorageFailure):
        bench.append(log, 3)
    assert (log.end_offset, log.size_bytes) == (3, size)
    assert len(bench.disk.read(bench.path("00000000000000000000.log"))) == size
    again = bench.open(clean=False)
    assert (again.end_offset, again.recovery.cuts) == (3, [])


def append_until_refused(bench: LogBench, log: Log) -> int:
    while log.end_offset < 200:
        acknowledged: int = log.end_offset
        try:
            bench.append(log, 2, leader_epoch=acknowledged // 20)
        except StorageFailure:
            return acknowledged
    pytest.fail("the disk is full and nothing was refused")


def test_every_write_may_find_the_disk_full(bench: LogBench) -> None:
    """R6 L4: whichever write it is, everything acknowledged is there afterwards and nothing else."""
    for after in range(40):
        bench.disk.remove("/data/orders-0")
        bench.disk.faults.clear()
        log = bench.open(SMALL)
        bench.disk.inject(Fault("write", errno.ENOSPC, after=after, times=-1))
        acknowledged = append_until_refused(bench, log)
        bench.disk.faults.clear()
        again = bench.open(SMALL, clean=False)
        assert again.end_offset in (acknowledged, log.end_offset), f"after {after} writes"
        assert again.recovery.cuts == []


def test_a_read_only_disk_stops_appends_and_says_why(bench: LogBench) -> None:
    log = bench.open()
    bench.append(log)
    bench.disk.read_only = True
    with pytest.raises(StorageFailure, match="Read-only"):
        bench.append(log)


def test_keeps_the_topics_id(bench: LogBench) -> None:
    log = bench.open()
    assert log.topic_id is None
    log.set_topic_id(UUID(int=7))
    log.set_topic_id(UUID(int=7))
    with pytest.raises(ApiError):
        log.set_topic_id(UUID(int=8))
    log.close()
    assert bench.open().topic_id == UUID(int=7)


def test_goes_on_under_other_settings(bench: LogBench) -> None:
    log = bench.open()
    log.update_config(TopicConfig(max_message_bytes=100))
    with pytest.raises(RecordTooLarge):
        bench.append(log, [b"x" * 200])
    assert log.append_as_leader(bench.batch(1), 0, origin=Origin.COORDINATOR, now_ms=0).first_offset == 0


def test_a_log_without_end_offsets_describes_itself(bench: LogBench) -> None:
    log = bench.open()
    bench.append(log, 3)
    described = log.describe()
    assert described["end_offset"] == 3
    assert described["high_watermark"] == 0
    assert described["size_bytes"] == log.size_bytes > 0
