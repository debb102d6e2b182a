"""Reading a log directory from outside, beside a living broker."""

import fcntl
from pathlib import Path

import pytest

from odradek.base.errors import CorruptRecord
from odradek.base.ids import TopicPartition
from odradek.base.settings import TopicConfig
from odradek.storage import Log, Origin
from odradek.storage.os_files import OsFileSystem
from odradek.storage.reading import PartitionFiles, is_in_use, topic_partitions
from tests.storage.log_bench import LogBench

SMALL = TopicConfig(segment_bytes=500, index_interval_bytes=100, retention_ms=-1)
PATH = "/data/orders-0"


def filled(bench: LogBench) -> Log:
    log = bench.open(SMALL)
    for _ in range(10):
        bench.append(log, 3)
    return log


def test_sees_what_is_written_and_changes_nothing(bench: LogBench) -> None:
    filled(bench)
    bench.disk.read_only = True
    files = PartitionFiles(PATH, bench.disk)
    assert topic_partitions("/data", bench.disk) == [TopicPartition("orders", 0)]
    assert [segment.base_offset for segment in files.segments()] == [0, 12, 24]
    assert [header.base_offset for _, header, _ in files.batches()] == list(range(0, 30, 3))
    assert (files.start_offset(), files.end_offset(), files.high_watermark()) == (0, 30, 0)


def test_reads_a_range(bench: LogBench) -> None:
    filled(bench)
    files = PartitionFiles(PATH, bench.disk)
    assert [header.base_offset for _, header, _ in files.batches(13, 20)] == [12, 15, 18]
    assert list(files.batches(30)) == []


def test_a_batch_that_is_being_written_ends_the_log(bench: LogBench) -> None:
    log = filled(bench)
    file = bench.disk.file(log.path + "/00000000000000000024.log")
    whole = file.size_bytes()
    for tail in (b"\0\0", bytes(bench.batch(3))[:70], bytes(100)):
        file.write_at(tail, whole)
        files = PartitionFiles(PATH, bench.disk)
        assert files.end_offset() == 30
        assert len(list(files.batches())) == 10
        file.truncate(whole)


def test_damage_elsewhere_is_an_error(bench: LogBench) -> None:
    log = filled(bench)
    bench.disk.file(log.path + "/00000000000000000000.log").write_at(b"?", 70)
    files = PartitionFiles(PATH, bench.disk)
    with pytest.raises(CorruptRecord):
        list(files.batches())
    assert len(list(files.batches(verify=False))) == 10


def test_shows_indexes_snapshots_epochs_and_aborts(bench: LogBench) -> None:
    log = bench.open(SMALL)
    now_ms = bench.clock.wall_ms()
    for sequence in range(8):
        bench.append(
            log,
            1,
            timestamp_ms=now_ms + sequence,
            producer_id=7,
            producer_epoch=0,
            base_sequence=sequence,
            is_transactional=True,
        )
    log.append_as_leader(
        bench.marker(7, committed=False), 0, origin=Origin.COORDINATOR, now_ms=bench.clock.wall_ms()
    )
    log.close()
    files = PartitionFiles(PATH, bench.disk)
    last = files.segments()[-1].base_offset
    assert [producer.producer_id for producer in files.producers(log.end_offset)] == [7]
    assert [aborted.first_offset for aborted in files.aborted_transactions(last)] == [0]
    assert files.offset_index(0)
    assert files.time_index(0)[-1].timestamp_ms > 0


def test_a_directory_is_in_use_as_long_as_it_is_locked(tmp_path: Path) -> None:
    assert not is_in_use(str(tmp_path))
    lock = OsFileSystem().lock(str(tmp_path / ".lock"))
    assert lock is not None
    assert is_in_use(str(tmp_path))
    lock.release()
    assert not is_in_use(str(tmp_path)) or not hasattr(fcntl, "F_OFD_GETLK")
