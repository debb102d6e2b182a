"""L5: the moment in which the old segments go and the new one comes."""

from dataclasses import replace
from uuid import UUID

import pytest

from odradek.base.chance import SeededChance
from odradek.base.errors import StorageFailure
from odradek.base.settings import BrokerSettings, TopicConfig
from odradek.records.header import iter_headers
from odradek.storage import Log, LogManager
from odradek.storage.cleaned_segment import CleanedSegment
from odradek.storage.compaction.cleaning import clean
from odradek.storage.compaction.selection import cleanable_part, job_for
from odradek.storage.memory_files import Fault, MemoryFileSystem
from tests.storage.compaction.facts import COMPACTED, DIRECTORY, PARTITION, Facts


def prepared(facts: Facts) -> CleanedSegment:
    """Three segments, cleaned into one that nobody has swapped in yet."""
    for number in range(3):
        facts.write(("k", str(number)), ("j", str(number)), roll=True)
    facts.settle()
    job = job_for(facts.log, cleanable_part(facts.log, 0), now_ms=0, map_bytes_max=1 << 16)
    ready: list[CleanedSegment] = []
    clean(job, facts.disk, ready.append)
    (segment,) = ready
    return segment


def test_offsets_and_bounds_stay_what_they_were(facts: Facts) -> None:
    """L5"""
    segment = prepared(facts)
    facts.log.restore_high_watermark(6)
    before = (facts.log.log_start_offset, facts.log.high_watermark.offset, facts.log.end_position)
    assert facts.log.swap_in(segment, facts.log.truncations)
    assert (facts.log.log_start_offset, facts.log.high_watermark.offset, facts.log.end_position) == before
    assert facts.log.high_watermark.segment_base_offset == 6
    assert facts.facts() == {4: ("k", "2"), 5: ("j", "2")}


def test_a_high_watermark_at_the_end_of_a_replaced_segment_moves_on(facts: Facts) -> None:
    """L5, R11: its byte position would lie behind what is there now."""
    facts.write(("k", "1"), ("k", "2"))
    facts.log.restore_high_watermark(2)
    assert facts.log.high_watermark.segment_base_offset == 0
    facts.clean()
    assert facts.log.high_watermark == facts.log.last_stable == facts.log.end_position


def test_what_a_reader_holds_stays_true(facts: Facts) -> None:
    """L5: bytes read before, and files opened before by a reader outside."""
    segment = prepared(facts)
    read = facts.log.read(0, 1 << 20, facts.log.high_watermark, at_least_one=True)
    outside = facts.disk.file(next(iter(facts.log.segments)).file.path)
    size_bytes = outside.size_bytes()
    facts.log.swap_in(segment, facts.log.truncations)
    assert len(list(iter_headers(read.held_records))) == 1
    assert outside.read_at(size_bytes, 0) == read.records


def test_the_old_files_wait_for_their_delay(facts: Facts) -> None:
    """L5"""
    segment = prepared(facts)
    facts.log.swap_in(segment, facts.log.truncations)
    deleted = [name for name in facts.names() if name.endswith(".log.deleted")]
    assert len(deleted) == 3
    assert [name for name in facts.names() if name.endswith((".cleaned", ".swap"))] == []
    facts.clock.advance(facts.log.config.file_delete_delay_ms)
    for remove in facts.log.place.removals.take_due():
        remove()
    assert not any(name.endswith(".deleted") for name in facts.names())


def test_a_log_that_was_shortened_meanwhile_is_left_alone(facts: Facts) -> None:
    """L5: `compact,delete` together."""
    segment = prepared(facts)
    facts.log.update_config(
        replace(facts.log.config, cleanup_policy=frozenset({"compact", "delete"}), retention_bytes=1)
    )
    assert facts.log.delete_old_segments(facts.clock.wall_ms()) > 0
    names = facts.names()
    assert not facts.log.swap_in(segment, facts.log.truncations)
    assert facts.names() == names


def test_a_log_that_was_truncated_meanwhile_is_left_alone(facts: Facts) -> None:
    """L5: also when segments of the same size have come since."""
    segment = prepared(facts)
    truncations = facts.log.truncations
    facts.log.truncate_to(4)
    facts.write(("x", "2"), ("y", "2"), roll=True)
    assert [(s.base_offset, s.size_bytes) for s in facts.log.segments][:3] == list(segment.replaced)
    assert not facts.log.swap_in(segment, truncations)
    assert facts.facts()[4] == ("x", "2")


def test_the_next_cleaning_clears_away_what_came_to_nothing(facts: Facts) -> None:
    """L5"""
    prepared(facts)
    assert any(name.endswith(".cleaned") for name in facts.names())
    facts.clean()
    assert not any(name.endswith(".cleaned") for name in facts.names())
    assert facts.facts() == {4: ("k", "2"), 5: ("j", "2")}


def test_a_disk_that_refuses_goes_offline_and_the_next_start_finishes(facts: Facts) -> None:
    """L5, L7"""
    segment = prepared(facts)
    facts.disk.inject(Fault("rename", 5, path_part=".log.swap"))
    with pytest.raises(StorageFailure):
        facts.log.swap_in(segment, facts.log.truncations)
    facts.log = facts.opened()
    facts.settle()
    assert facts.facts() == {4: ("k", "2"), 5: ("j", "2")}
    assert facts.bases() == [0, 6]


def started(facts: Facts, config: TopicConfig | None = None) -> LogManager:
    """All logs on the disk, as a broker opens them."""
    return LogManager.open(
        BrokerSettings(log_dirs=("/data",)),
        cluster_id="c",
        file_system=facts.disk,
        clock=facts.clock,
        chance=SeededChance(0),
        config_of=lambda topic: TopicConfig(retention_ms=-1) if config is None else config,
    )


def with_gap(facts: Facts, *checkpoints: tuple[str, int]) -> Log:
    """The log of a compacted topic with a gap in front of offset 2, opened as after a power cut."""
    for number in range(3):
        facts.write(("k", str(number)), roll=True)
    facts.log.update_config(replace(facts.log.config, segment_bytes=200))
    facts.clean()
    assert facts.bases() == [0, 2, 3], "of the first segment nothing is left"
    facts.disk.file("/data/meta.properties", create=True).write_at(b"version=1\n", 0)
    for name, offset in checkpoints:
        facts.disk.file(f"/data/{name}", create=True).write_at(b"0\n1\nfacts 0 %d\n" % offset, 0)
    log = started(facts).get(facts.log.topic_partition)
    assert log is not None
    assert not log.recovery.clean
    return log


@pytest.mark.parametrize("recovery_point", [None, 0, 2, 3])
def test_gaps_are_no_loss_where_a_log_was_compacted_once(facts: Facts, recovery_point: int | None) -> None:
    """L4, L5: its policy may be another by now."""
    points = [] if recovery_point is None else [("recovery-point-offset-checkpoint", recovery_point)]
    log = with_gap(facts, ("cleaner-offset-checkpoint", 3), *points)
    assert log.recovery.cuts == []
    log.restore_high_watermark(log.end_offset)
    facts.log = log
    assert facts.facts() == {2: ("k", "2")}


def test_a_gap_above_the_recovery_point_is_a_loss_in_a_compacted_log_too(facts: Facts) -> None:
    """L4, L5: only what was on disk has been compacted; a power cut took these records."""
    log = with_gap(facts, ("cleaner-offset-checkpoint", 1), ("recovery-point-offset-checkpoint", 1))
    assert log.end_offset == 0
    assert log.recovery.records_lost_from == 0
    assert [cut.reason for cut in log.recovery.cuts] == ["the offsets from 0 on are missing"]


def test_before_the_first_recovery_points_a_gap_is_a_loss_too() -> None:
    """L4, L5: nothing was compacted yet when a broker's first power cut takes a closed segment."""
    facts = Facts()
    facts.disk = MemoryFileSystem(now_ms=facts.clock.wall_ms)
    facts.disk.make_directory("/data")
    facts.log = started(facts, COMPACTED).create(PARTITION, UUID(int=1))
    for number in range(3):
        facts.write(("k", str(number)), roll=True)
    facts.disk.kill()
    facts.disk.remove(f"{DIRECTORY}/{1:020}.log")
    log = started(facts, COMPACTED).get(PARTITION)
    assert log is not None
    assert (log.end_offset, log.recovery.records_lost_from) == (1, 1)
