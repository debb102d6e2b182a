"""L5: which log is cleaned, and how far."""

from dataclasses import replace

import pytest

from odradek.storage.compaction.selection import Cleanable, choose, cleanable_part
from tests.storage.compaction.facts import Facts


def part_of(facts: Facts) -> Cleanable:
    facts.settle()
    return cleanable_part(facts.log, facts.clock.wall_ms())


def test_the_part_ends_before_the_active_segment(facts: Facts) -> None:
    """L5"""
    facts.write(("a", "1"), roll=True)
    facts.write(("b", "1"), roll=True)
    facts.write(("c", "1"))
    part = part_of(facts)
    assert ([s.base_offset for s in part.segments], part.end_offset, part.first_dirty_offset) == (
        [0, 1],
        2,
        0,
    )


def test_the_part_ends_below_the_last_stable_offset(facts: Facts) -> None:
    """L5"""
    facts.write(("a", "1"), roll=True)
    facts.write(("b", "1"))
    facts.write(
        ("c", "1"), producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True, roll=True
    )
    assert part_of(facts).end_offset == 1
    facts.end_transaction(1, committed=True)
    assert part_of(facts).end_offset == 3


def test_the_part_ends_below_what_a_power_cut_could_take_away(facts: Facts) -> None:
    """L5: else the earlier record of a key would be gone, and the later one too."""
    facts.write(("a", "1"), roll=True)
    facts.settle()
    facts.write(("a", "2"), roll=True)
    facts.log.restore_high_watermark(facts.log.end_offset)
    assert cleanable_part(facts.log, facts.clock.wall_ms()).end_offset == 1


def test_the_part_ends_before_what_is_younger_than_the_lag(facts: Facts) -> None:
    """L5: min.compaction.lag.ms"""
    facts.log.update_config(replace(facts.log.config, min_compaction_lag_ms=1_000))
    facts.write(("a", "1"), roll=True)
    facts.clock.advance(500)
    facts.write(("b", "1"), roll=True)
    assert part_of(facts).end_offset == 0
    facts.clock.advance(500)
    assert part_of(facts).end_offset == 1
    facts.clock.advance(500)
    assert part_of(facts).end_offset == 2


def test_a_log_is_due_above_its_dirty_ratio(facts: Facts) -> None:
    """L5: min.cleanable.dirty.ratio"""
    facts.log.update_config(replace(facts.log.config, min_cleanable_dirty_ratio=0.5))
    facts.write(("a", "1"))
    assert facts.clean().end_offset == 1
    facts.write(("b", "1"), roll=True)
    assert part_of(facts).dirty_ratio == pytest.approx(0.5)
    assert choose([facts.log], facts.clock.wall_ms()) is None
    facts.write(("c", "1"), roll=True)
    facts.settle()
    chosen = choose([facts.log], facts.clock.wall_ms())
    assert chosen is not None
    assert chosen[1].dirty_ratio == pytest.approx(2 / 3)


def test_a_log_is_due_when_a_dirty_record_is_too_old(facts: Facts) -> None:
    """L5: max.compaction.lag.ms"""
    config = replace(facts.log.config, min_cleanable_dirty_ratio=1.0, max_compaction_lag_ms=1_000)
    facts.log.update_config(config)
    facts.write(("a", "1"), roll=True)
    facts.settle()
    facts.clock.advance(1_000)
    assert choose([facts.log], facts.clock.wall_ms()) is None
    facts.clock.advance(1)
    assert choose([facts.log], facts.clock.wall_ms()) is not None


def test_a_segment_is_over_before_its_records_are_overdue(facts: Facts) -> None:
    """L2, L5: or they could never be cleaned in time."""
    facts.log.update_config(replace(facts.log.config, max_compaction_lag_ms=1_000))
    facts.write(("a", "1"))
    facts.clock.advance(1_001)
    facts.write(("a", "2"))
    assert facts.bases() == [0, 1]


def test_a_log_that_is_not_compacted_is_never_chosen(facts: Facts) -> None:
    """L5"""
    facts.write(("a", "1"), roll=True)
    facts.settle()
    facts.log.update_config(replace(facts.log.config, cleanup_policy=frozenset({"delete"})))
    assert choose([facts.log], facts.clock.wall_ms()) is None
    facts.log.update_config(replace(facts.log.config, cleanup_policy=frozenset({"delete", "compact"})))
    assert choose([facts.log], facts.clock.wall_ms()) is not None


def test_a_truncation_makes_dirty_what_is_written_in_its_place(facts: Facts) -> None:
    """L5"""
    facts.write(("a", "1"), ("a", "2"))
    facts.clean()
    facts.log.truncate_to(1)
    assert facts.log.end_offset == 1 or facts.log.end_offset == 0
    assert facts.log.cleaned_offset == facts.log.end_offset
    facts.write(("a", "3"), ("b", "1"))
    facts.clean()
    assert facts.facts() == {
        facts.log.end_offset - 2: ("a", "3"),
        facts.log.end_offset - 1: ("b", "1"),
    }


@pytest.mark.parametrize("written_down", [-1, 1, 99])
def test_a_checkpoint_outside_the_log_counts_as_none(facts: Facts, written_down: int) -> None:
    """L5"""
    facts.write(("a", "1"), roll=True)
    facts.write(("a", "1"), roll=True)
    facts.settle()
    facts.log.delete_records_before(2)
    facts.log.mark_cleaned(written_down)
    assert cleanable_part(facts.log, 0).first_dirty_offset == 2
