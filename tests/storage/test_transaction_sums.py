"""L1 L4: whatever happens to a `.txnindex`, no aborted record is shown to a read-committed reader."""

from collections.abc import Callable

import pytest

from odradek.base.settings import TopicConfig
from odradek.records.header import BatchHeader, iter_headers
from odradek.storage import Log, Origin
from odradek.storage.memory_files import MemoryFileSystem
from odradek.storage.producer_state import ProducerStates
from tests.storage.log_bench import LogBench

CONFIG = TopicConfig(segment_bytes=700, index_interval_bytes=100, retention_ms=-1)
SUMS = "transaction-index-checkpoint"


def end(log: Log, bench: LogBench, producer_id: int, *, committed: bool) -> None:
    marker = bench.marker(producer_id, committed=committed)
    log.append_as_leader(marker, 0, origin=Origin.COORDINATOR, now_ms=bench.clock.wall_ms())


def filled(bench: LogBench) -> Log:
    """Producer 7 commits and aborts in turn, producer 8 aborts what it began a segment earlier."""
    log: Log = bench.open(CONFIG)
    for number in range(12):
        for producer_id in (7, 8):
            bench.append(
                log,
                2,
                producer_id=producer_id,
                producer_epoch=0,
                base_sequence=2 * number,
                is_transactional=True,
            )
        end(log, bench, 7, committed=number % 2 == 0)
        if number % 5 == 4:
            end(log, bench, 8, committed=False)
    log.advance_high_watermark(log.end_position)
    return log


def aborted(log: Log) -> list[tuple[int, int, int]]:
    """Of every segment, each aborted transaction: producer, first offset, marker."""
    return [entry[:3] for segment in log.segments for entry in segment.transaction_index.entries()]


def committed_offsets(log: Log) -> list[int]:
    """What a read-committed consumer is shown, by the broker's answers alone."""
    shown: list[int] = []
    offset = 0
    while offset < log.last_stable.offset:
        read = log.read(offset, 300, log.last_stable, at_least_one=True, committed_only=True)
        gone = read.aborted_transactions or []
        for _, header in iter_headers(read.held_records):
            offset = header.next_offset
            hidden = any(
                one.producer_id == header.producer_id
                and one.first_offset <= header.base_offset <= one.last_offset
                for one in gone
            )
            if not header.is_control and not hidden:
                shown += range(header.base_offset, header.next_offset)
    return shown


def indexes(bench: LogBench) -> list[str]:
    return [name for name in bench.names() if name.endswith(".txnindex")]


DAMAGES: dict[str, Callable[[MemoryFileSystem, str], None]] = {
    "removed": lambda disk, path: disk.remove(path),
    "emptied": lambda disk, path: disk.file(path).truncate(0),
    "without its last entry": lambda disk, path: disk.file(path).truncate(len(disk.read(path)) - 34),
    "cut": lambda disk, path: disk.file(path).truncate(len(disk.read(path)) - 5),
    "one bit of the producer": lambda disk, path: flip(disk, path, 9),
    "one bit of the first offset": lambda disk, path: flip(disk, path, 17),
    "one bit of the marker": lambda disk, path: flip(disk, path, 25),
    "one bit of the LSO": lambda disk, path: flip(disk, path, 33),
    "one bit of the version": lambda disk, path: flip(disk, path, 1),
}


def flip(disk: MemoryFileSystem, path: str, position: int) -> None:
    byte = disk.read(path)[position]
    disk.file(path).write_at(bytes([byte ^ 0x10]), position)


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_index_is_made_again_from_the_batches(bench: LogBench, damage: str, clean: bool) -> None:
    """L1: no entry is lost, added or changed."""
    log = filled(bench)
    before, shown = aborted(log), committed_offsets(log)
    log.flush()
    if clean:
        log.close()
    names = indexes(bench)
    assert len(names) >= 4
    for name in names[:-1]:
        DAMAGES[damage](bench.disk, bench.path(name))
        log = bench.open(CONFIG, clean=clean, recovery_point=log.end_offset)
        log.advance_high_watermark(log.end_position)
        assert aborted(log) == before
        assert committed_offsets(log) == shown
        (line,) = map(str, log.recovery.damages)
        assert line.startswith(f"{bench.path(name)} is damaged (")
        assert line.endswith("was made again from the batches")
        if clean:
            log.close()
        assert bench.open(CONFIG, clean=clean, recovery_point=log.end_offset).recovery.damages == []


@pytest.mark.parametrize("change", ["removed", "emptied", "other numbers", "no numbers"])
def test_the_sums_themselves_may_be_lost(bench: LogBench, change: str) -> None:
    """L1: then the batches are read; as in a directory that comes from Kafka."""
    log = filled(bench)
    before = aborted(log)
    log.close()
    path = bench.path(SUMS)
    whole = bench.disk.read(path)
    if change == "removed":
        bench.disk.remove(path)
    else:
        bench.disk.file(path).truncate(0)
        other = whole.replace(b" 1 ", b" 2 ")
        content = {"emptied": b"", "other numbers": other, "no numbers": b"0\n1\na b c\n"}
        bench.disk.file(path).write_at(content[change], 0)
    log = bench.open(CONFIG)
    assert aborted(log) == before
    assert bench.disk.read(path) == whole
    assert not any("txnindex" in str(damage) for damage in log.recovery.damages)


def test_a_log_of_kafkas_whose_index_is_gone_is_read_once(bench: LogBench) -> None:
    """L1: its producers have seen markers, so that an index may be missing."""
    log = filled(bench)
    before = aborted(log)
    log.close()
    for name in [SUMS, *indexes(bench)]:
        bench.disk.remove(bench.path(name))
    log = bench.open(CONFIG)
    assert aborted(log) == before
    log.close()
    assert bench.open(CONFIG).recovery.damages == []


def test_logs_without_transactions_have_no_such_file_and_read_nothing_for_it(bench: LogBench) -> None:
    log = bench.open(CONFIG)
    for _ in range(20):
        bench.append(log, 3)
    log.close()
    assert SUMS not in bench.names()


def test_only_what_is_in_doubt_is_read(bench: LogBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """L4: opening a log with many segments costs what its indexes cost, not what its batches do."""
    filled(bench).close()
    replayed: list[BatchHeader] = []
    apply = ProducerStates.apply

    def counted(self: ProducerStates, header: BatchHeader) -> None:
        replayed.append(header)
        apply(self, header)

    monkeypatch.setattr(ProducerStates, "apply", counted)
    bench.open(CONFIG).close()
    assert replayed == []
    bench.disk.remove(bench.path(indexes(bench)[1]))
    bench.open(CONFIG)
    assert 0 < len(replayed) <= 8


def test_truncation_keeps_the_sums_up_to_date(bench: LogBench) -> None:
    log = filled(bench)
    log.truncate_to(log.end_offset // 2)
    log.flush()
    log.close()
    again = bench.open(CONFIG)
    assert again.recovery.is_uneventful()
    bench.disk.remove(bench.path(indexes(bench)[0]))
    assert len(bench.open(CONFIG).recovery.damages) == 1


def test_batches_that_are_damaged_too_end_the_log(bench: LogBench) -> None:
    """L4: better an end that is told than an abort that is not."""
    log = filled(bench)
    log.close()
    name = indexes(bench)[0]
    bench.disk.remove(bench.path(name))
    bench.disk.file(bench.path(name[:20] + ".log")).write_at(b"\x07", 16)
    again = bench.open(CONFIG)
    assert again.end_offset == int(name[:20])
    assert again.recovery.cuts


def test_a_second_verification_begins_with_no_epoch(bench: LogBench) -> None:
    """L4: a damaged batch that an index's making meets behind what was verified ends the log there."""
    log = filled(bench)
    first, *_, last = log.segments
    for _ in range(6):
        bench.append(log, 2, leader_epoch=1)
    damaged = list(iter_headers(bytes(bench.disk.read(first.file.path))))[1]
    at, header = damaged
    bench.disk.file(first.file.path).write_at(bytes(8), at + 8)
    bench.disk.remove(first.transaction_index.path)
    again = bench.open(CONFIG, clean=False, recovery_point=last.base_offset)
    assert again.end_offset == header.base_offset
    assert [cut.position for cut in again.recovery.cuts if cut.position] == [at]
