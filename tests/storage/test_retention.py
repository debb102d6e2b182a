"""L5 without compaction: time, size, log start offset."""

from odradek.base.settings import TopicConfig
from odradek.storage import Log
from odradek.storage.retention import BELOW_START, BY_AGE, BY_SIZE, Retired
from tests.storage.log_bench import LogBench

DAY_MS = 24 * 3_600_000


def bases(bench: LogBench) -> list[int]:
    return [int(name[:20]) for name in bench.names() if name.endswith(".log")]


def segmented(bench: LogBench, config: TopicConfig, ages_days: list[int]) -> Log:
    """A log with one segment of one batch for each age, all of it below HW."""
    log: Log = bench.open(config)
    now_ms = bench.clock.wall_ms()
    for age in ages_days:
        log.roll()
        bench.append(log, 2, timestamp_ms=now_ms - age * DAY_MS)
    log.restore_high_watermark(log.end_offset)
    return log


def test_drops_what_is_too_old(bench: LogBench) -> None:
    """L5"""
    log = segmented(bench, TopicConfig(retention_ms=7 * DAY_MS), [9, 8, 6, 1])
    assert log.delete_old_segments(bench.clock.wall_ms()) == 2
    assert (bases(bench), log.log_start_offset) == ([4, 6], 4)
    assert log.delete_old_segments(bench.clock.wall_ms()) == 0


def test_stops_at_the_first_that_is_young_enough(bench: LogBench) -> None:
    """L5"""
    log = segmented(bench, TopicConfig(retention_ms=7 * DAY_MS), [9, 1, 9, 1])
    assert log.delete_old_segments(bench.clock.wall_ms()) == 1


def test_drops_the_active_segment_too_once_it_is_too_old(bench: LogBench) -> None:
    """L5: a new one is begun first."""
    log = segmented(bench, TopicConfig(retention_ms=7 * DAY_MS), [9, 8])
    assert log.delete_old_segments(bench.clock.wall_ms()) == 2
    assert (bases(bench), log.log_start_offset, log.end_offset) == ([4], 4, 4)
    assert log.high_watermark == log.end_position
    assert bench.append(log) == 4


def test_records_without_timestamps_age_with_their_file(bench: LogBench) -> None:
    """L5"""
    log = bench.open(TopicConfig(retention_ms=1_000))
    bench.append(log, timestamp_ms=-1)
    log.restore_high_watermark(1)
    assert log.delete_old_segments(bench.clock.wall_ms() + 1_000) == 0
    assert log.delete_old_segments(bench.clock.wall_ms() + 1_001) == 1


def test_drops_as_many_as_leave_enough_bytes(bench: LogBench) -> None:
    """L5"""
    size = len(bench.batch(2))
    log = segmented(bench, TopicConfig(retention_ms=-1, retention_bytes=2 * size + 1), [0, 0, 0, 0])
    assert log.delete_old_segments(bench.clock.wall_ms()) == 1
    assert bases(bench) == [2, 4, 6]


def test_drops_what_lies_before_the_log_start_whatever_the_policy(bench: LogBench) -> None:
    """L5"""
    log = segmented(bench, TopicConfig(retention_ms=-1), [9, 9, 9])
    compact = frozenset({"compact"})
    log.update_config(TopicConfig(cleanup_policy=compact, retention_ms=1, retention_bytes=1))
    assert log.delete_old_segments(bench.clock.wall_ms()) == 0
    log.delete_records_before(3)
    assert log.delete_old_segments(bench.clock.wall_ms()) == 1
    assert (bases(bench), log.log_start_offset) == ([2, 4], 3)


def test_keeps_what_is_above_the_high_watermark(bench: LogBench) -> None:
    """L5"""
    log = segmented(bench, TopicConfig(retention_ms=DAY_MS), [9, 9, 9])
    log.restore_high_watermark(3)
    assert log.delete_old_segments(bench.clock.wall_ms()) == 1
    assert log.log_start_offset == 2


def test_dropped_files_wait_for_their_delay(bench: LogBench) -> None:
    config = TopicConfig(retention_ms=DAY_MS, file_delete_delay_ms=60_000)
    log = segmented(bench, config, [9, 0])
    log.delete_old_segments(bench.clock.wall_ms())
    waiting = [name for name in bench.names() if name.endswith(".deleted")]
    assert "00000000000000000000.log.deleted" in waiting
    removals = log.place.removals
    bench.clock.advance(59_999)
    assert removals.take_due() == []
    bench.clock.advance(1)
    for remove in removals.take_due():
        remove()
    assert not any(name.endswith(".deleted") for name in bench.names())
    assert len(removals) == 0


def test_the_log_start_survives(bench: LogBench) -> None:
    log = segmented(bench, TopicConfig(retention_ms=7 * DAY_MS), [9, 8, 6, 1])
    log.delete_old_segments(bench.clock.wall_ms())
    log.close()
    again = bench.open()
    assert (again.log_start_offset, again.end_offset) == (4, 8)
    assert not any(name.endswith(".deleted") for name in bench.names())


def test_a_negative_size_is_no_limit(bench: LogBench) -> None:
    """L5: as in Kafka, whichever negative number it is; it once was a reason to drop everything."""
    log = segmented(bench, TopicConfig(retention_ms=-1, retention_bytes=-5), [9, 8, 6, 1])
    assert log.delete_old_segments(bench.clock.wall_ms()) == 0


def test_what_went_is_told_with_the_reason(bench: LogBench) -> None:
    """L5"""
    log = segmented(bench, TopicConfig(retention_ms=7 * DAY_MS), [9, 8, 6, 1])
    sizes = {path.base_offset: path.size_bytes for path in log._segments}
    retired = log.retire(bench.clock.wall_ms())
    assert retired == Retired(log.topic_partition, 2, 0, 4, sizes[0] + sizes[2], (BY_AGE,))
    assert log.retire(bench.clock.wall_ms()) is None


def test_each_reason_is_told_once(bench: LogBench) -> None:
    """L5"""
    log = segmented(bench, TopicConfig(retention_ms=7 * DAY_MS), [1, 9, 9, 1])
    log.advance_log_start(2)
    retired = log.retire(bench.clock.wall_ms())
    assert retired is not None
    assert (retired.segments, retired.reasons) == (3, (BELOW_START, BY_AGE))
    log.update_config(TopicConfig(retention_bytes=0))
    retired = log.retire(bench.clock.wall_ms())
    assert retired is not None
    assert (retired.first_offset, retired.end_offset, retired.reasons) == (6, 8, (BY_SIZE,))
