"""L6: from times to offsets."""

import pytest

from odradek.base.settings import TopicConfig
from odradek.records.work import finish
from tests.storage.log_bench import LogBench

SMALL = TopicConfig(segment_bytes=500, index_interval_bytes=100, retention_ms=-1)


@pytest.mark.parametrize("reopened", [False, True])
def test_finds_the_first_record_at_or_after_a_time(bench: LogBench, reopened: bool) -> None:
    """L6: through the time index, then inside the batch, in any segment."""
    log = bench.open(SMALL)
    for number in range(20):
        first = 1_000 + 30 * number
        bench.append(log, 3, timestamp_ms=[first, first + 10, first + 20])
    if reopened:
        log.close()
        log = bench.open(SMALL)
    assert log.describe()["segments"] > 2
    for record in range(60):
        time_ms = 1_000 + 10 * record
        for asked in (time_ms, time_ms - 9):
            assert finish(log.offset_for_timestamp(asked)) == (time_ms, record, 0), f"time {asked}"
    assert finish(log.offset_for_timestamp(0)) == (1_000, 0, 0)
    assert finish(log.offset_for_timestamp(1_591)) is None


def test_times_that_go_back_give_the_smallest_offset(bench: LogBench) -> None:
    """L6"""
    log = bench.open()
    for time_ms in (50, 90, 20, 80, 100, 10):
        bench.append(log, timestamp_ms=time_ms)
    assert finish(log.offset_for_timestamp(60)) == (90, 1, 0)
    assert finish(log.offset_for_timestamp(91)) == (100, 4, 0)


def test_the_largest_timestamp(bench: LogBench) -> None:
    """L6: -3."""
    log = bench.open(SMALL)
    assert finish(log.max_timestamp_offset()) is None
    for number in range(12):
        bench.append(log, 3, timestamp_ms=[100, 500 if number == 5 else 200, 300])
    assert finish(log.max_timestamp_offset()) == (500, 16, 0)


def test_what_lies_before_the_log_start_is_not_found(bench: LogBench) -> None:
    """L6"""
    log = bench.open()
    bench.append(log, 3, timestamp_ms=[10, 20, 30])
    bench.append(log, 3, timestamp_ms=[40, 50, 60])
    log.restore_high_watermark(6)
    log.delete_records_before(2)
    assert finish(log.offset_for_timestamp(5)) == (30, 2, 0)


def test_records_without_timestamps_are_never_found(bench: LogBench) -> None:
    log = bench.open()
    bench.append(log, 2, timestamp_ms=-1)
    assert finish(log.offset_for_timestamp(0)) is None
    assert finish(log.max_timestamp_offset()) is None


def test_lookup_after_truncation_sees_only_what_is_left(bench: LogBench) -> None:
    log = bench.open(SMALL)
    for number in range(20):
        bench.append(log, 3, timestamp_ms=1_000 + number)
    log.truncate_to(20)
    assert finish(log.offset_for_timestamp(1_006)) is None
    assert finish(log.offset_for_timestamp(1_005)) == (1_005, 15, 0)
    assert finish(log.max_timestamp_offset()) == (1_005, 15, 0)
