"""L3 L4 L6: an index is only a hint; a damaged one is made again, and the disk is not blamed for it."""

import errno
from dataclasses import replace
from struct import pack

import pytest

from odradek.base.errors import FileUnavailable, StorageFailure
from odradek.base.settings import TopicConfig
from odradek.records.header import iter_headers
from odradek.records.work import finish
from odradek.storage import Log, Origin
from odradek.storage.memory_files import Fault
from tests.storage.log_bench import LogBench

CONFIG = TopicConfig(segment_bytes=1000, index_interval_bytes=100, retention_ms=-1)
FIRST = "00000000000000000000"
BATCHES = 30
EVERY_OFFSET = list(range(3 * BATCHES))


def filled(bench: LogBench) -> Log:
    """Three records to a batch, two batches to an index entry, nine batches to a segment."""
    log: Log = bench.open(CONFIG)
    for number in range(BATCHES):
        bench.append(log, 3, timestamp_ms=1_000 + 10 * number)
    return log


def overwrite(bench: LogBench, name: str, position: int, data: bytes) -> None:
    bench.disk.file(bench.path(name)).write_at(data, position)


def first_read_at(log: Log, offset: int) -> int:
    """The base offset of the batch that a read of `offset` begins with."""
    read = log.read(offset, 1, log.end_position, at_least_one=True)
    return next(iter_headers(read.held_records))[1].base_offset


def assert_reads_everything(log: Log) -> None:
    assert [first_read_at(log, offset) for offset in EVERY_OFFSET] == [3 * (o // 3) for o in EVERY_OFFSET]
    for number in range(BATCHES):
        found = finish(log.offset_for_timestamp(1_000 + 10 * number - 3))
        assert found is not None
        assert found.offset == 3 * number


DAMAGES = {
    "negative": pack(">ii", 5, -8),
    "huge": pack(">ii", 5, 2**31 - 1),
    "inside another batch": pack(">ii", 5, 150),
    "of a later batch": pack(">ii", 5, 412),
    "of a later offset": pack(">ii", 500, 206),
    "negative offset": pack(">ii", -7, 206),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("entry", [0, 1, 3])
@pytest.mark.parametrize("is_open", [True, False])
def test_a_damaged_offset_index_entry_is_made_again(
    bench: LogBench, damage: str, entry: int, is_open: bool
) -> None:
    """L3: an entry that names no batch is found out when it is used, and the directory stays online."""
    log = filled(bench)
    if not is_open:
        log.close()
    overwrite(bench, f"{FIRST}.index", 8 * entry, DAMAGES[damage])
    if not is_open:
        log = bench.open(CONFIG)
    assert_reads_everything(log)
    assert log.place.failure is None
    if damage in ("negative", "huge", "of a later batch"):
        repairs = log.recovery.rebuilt_indexes + log.place.take_repairs()
        assert len(repairs) == 1
        assert f"the indexes of {bench.path(FIRST)}.log were made again" in repairs[0]


@pytest.mark.parametrize("timestamp_ms", [-5, 1_001, 2**62])
@pytest.mark.parametrize("relative", [-1, 0, 5, 11, 2**31 - 1])
@pytest.mark.parametrize("entry", [0, 1, 3])
def test_a_damaged_time_index_entry_hides_no_record(
    bench: LogBench, timestamp_ms: int, relative: int, entry: int
) -> None:
    """L6: a time index that promises too much would pass records by."""
    log = filled(bench)
    log.close()
    overwrite(bench, f"{FIRST}.timeindex", 12 * entry, pack(">qi", timestamp_ms, relative))
    log = bench.open(CONFIG)
    assert_reads_everything(log)
    assert log.place.failure is None


@pytest.mark.parametrize("size", [0, 12, 24])
@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_an_index_that_was_cut_hides_nothing(bench: LogBench, size: int, suffix: str) -> None:
    """L5 L6: the last entry of a time index is the age of its segment, which retention goes by."""
    filled(bench).close()
    bench.disk.file(bench.path(FIRST + suffix)).truncate(size)
    log = bench.open(CONFIG)
    assert_reads_everything(log)
    assert next(iter(log.segments)).newest == (1_080, 26)
    assert (len(log.recovery.rebuilt_indexes) == 1) == (size == 0 or suffix == ".timeindex" or size == 12)


def test_a_damaged_age_does_not_make_retention_delete_a_segment(bench: LogBench) -> None:
    """L5"""
    config = TopicConfig(segment_bytes=1000, index_interval_bytes=100, retention_ms=1_000)
    filled(bench).close()
    time_index = bench.path(f"{FIRST}.timeindex")
    end = bench.disk.file(time_index).size_bytes()
    overwrite(bench, f"{FIRST}.timeindex", end - 12, pack(">qi", 3, 26))
    log = bench.open(config)
    log.advance_high_watermark(log.end_position)
    assert log.delete_old_segments(2_000) == 0


def test_an_index_of_the_active_segment_that_ends_behind_the_log_can_be_appended_to(bench: LogBench) -> None:
    """L3"""
    log = filled(bench)
    log.close()
    active = max(name for name in bench.names() if name.endswith(".index"))
    end = bench.disk.file(bench.path(active)).size_bytes()
    position = bench.disk.read(bench.path(active))[end - 4 :]
    overwrite(bench, active, end - 8, pack(">i", 70_000) + position)
    log = bench.open(CONFIG)
    for _ in range(10):
        bench.append(log, 3, timestamp_ms=9_000)
    assert_reads_everything(log)


def test_aborted_transactions_are_bounded_by_an_entry_that_holds(bench: LogBench) -> None:
    """L3: an entry with a low offset behind what was read must not hide an abort from its reader."""
    log = bench.open(CONFIG)
    for number in range(6):
        bench.append(log, 3, timestamp_ms=1_000 + 10 * number)
    first = bench.append(log, 1, producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True)
    for number in range(6, 12):
        bench.append(log, 3, timestamp_ms=1_000 + 10 * number)
    marker = bench.marker(7, committed=False)
    log.append_as_leader(marker, 0, origin=Origin.COORDINATOR, now_ms=2_000)
    log.advance_high_watermark(log.end_position)
    log.close()
    index = bench.path(f"{FIRST}.index")
    for entry in range(bench.disk.file(index).size_bytes() // 8):
        whole = bench.disk.read(index)
        overwrite(bench, f"{FIRST}.index", 8 * entry, pack(">i", 1))
        log = bench.open(CONFIG)
        log.advance_high_watermark(log.end_position)
        read = log.read(0, 800, log.last_stable, at_least_one=True, committed_only=True)
        assert [aborted.first_offset for aborted in read.aborted_transactions or []] == [first], entry
        bench.disk.file(index).write_at(whole, 0)


def test_batches_that_are_damaged_do_not_make_the_index_again_and_again(bench: LogBench) -> None:
    log = filled(bench)
    overwrite(bench, f"{FIRST}.log", 5 * 103 + 16, b"\x07")
    log.close()
    log = bench.open(CONFIG)
    reads: list[str] = []
    bench.disk.before_operation = lambda operation, path: reads.append(path)
    counts = []
    for _ in range(3):
        reads.clear()
        with pytest.raises(Exception, match="no batch of format v2"):
            log.read(16, 100, log.end_position, at_least_one=True)
        counts.append(len(reads))
    assert counts[1] == counts[2] <= 4
    assert log.place.failure is None


@pytest.mark.parametrize("error", [errno.ENOENT, errno.EMFILE, errno.EACCES, errno.EINVAL])
def test_a_file_that_cannot_be_opened_is_not_a_failing_disk(bench: LogBench, error: int) -> None:
    """L7: only errors of the device take the directory offline."""
    log = filled(bench)
    bench.disk.inject(Fault("read", error, path_part=".log"))
    with pytest.raises(FileUnavailable, match=FIRST):
        log.read(1, 100, log.end_position, at_least_one=True)
    assert log.place.failure is None
    assert first_read_at(log, 1) == 0


@pytest.mark.parametrize("error", [errno.EIO, errno.ENXIO, errno.EROFS])
def test_an_error_of_the_device_takes_the_directory_offline(bench: LogBench, error: int) -> None:
    """L7"""
    log = filled(bench)
    bench.disk.inject(Fault("read", error, path_part=".log"))
    with pytest.raises(StorageFailure):
        log.read(1, 100, log.end_position, at_least_one=True)
    assert log.place.failure is not None


@pytest.mark.parametrize("left_bytes", [0, 5 * 103, 5 * 103 + 30, 6 * 103 - 1])
@pytest.mark.parametrize("is_remembered", [True, False])
def test_a_file_that_was_cut_while_it_is_open_is_a_failing_disk(
    bench: LogBench, left_bytes: int, is_remembered: bool
) -> None:
    """L7: nothing is appended behind the hole, and no reader is told that there is nothing."""
    log = filled(bench)
    segment = next(iter(log.segments))
    if not is_remembered:
        segment._recent.clear()
    bench.disk.file(bench.path(f"{FIRST}.log")).truncate(left_bytes)
    with pytest.raises(StorageFailure, match=f"the file has lost {9 * 103 - left_bytes} of {9 * 103} bytes"):
        log.read(15, 103, log.end_position, at_least_one=True)
    assert log.place.failure is not None
    with pytest.raises(StorageFailure):
        bench.append(log, 1)


def test_of_a_file_that_was_cut_no_slice_is_made(bench: LogBench) -> None:
    """L7: the bytes are missed before the answer names their number."""
    log: Log = bench.open(replace(CONFIG, segment_bytes=100_000))
    for _ in range(100):
        bench.append(log, 3)
    bench.disk.file(bench.path(f"{FIRST}.log")).truncate(9_000)
    read = log.read(0, 8_000, log.end_position, at_least_one=True, held_bytes_max=0)
    assert len(read.records) == 8_000
    with pytest.raises(StorageFailure, match="the file has lost"):
        log.read(0, 10_000, log.end_position, at_least_one=True, held_bytes_max=0)
