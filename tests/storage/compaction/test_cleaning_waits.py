"""L5: what a compacted log waits for is said in words, and it is the condition that really holds it back."""

from dataclasses import replace

from odradek.storage.compaction.cleaning_waits import waits_for
from odradek.storage.compaction.selection import cleanable_part
from tests.storage.compaction.facts import Facts


def waiting(facts: Facts) -> str:
    return waits_for(facts.log, cleanable_part(facts.log, facts.clock.wall_ms()))


def settled(facts: Facts) -> str:
    facts.settle()
    return waiting(facts)


def test_for_the_active_segment(facts: Facts) -> None:
    """L5"""
    facts.write(("a", "1"))
    assert settled(facts) == "the active segment, from offset 0 on, to be rolled"


def test_for_an_open_transaction(facts: Facts) -> None:
    """L5"""
    facts.write(
        ("a", "1"), producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True, roll=True
    )
    assert settled(facts) == "the transaction to end that is open at offset 0"
    facts.end_transaction(1, committed=True)
    assert settled(facts) == "a cleaner"


def test_for_the_disk(facts: Facts) -> None:
    """L5"""
    facts.write(("a", "1"), roll=True)
    facts.log.restore_high_watermark(facts.log.end_offset)
    assert waiting(facts) == "the log to be flushed beyond offset 0"


def test_for_the_lag(facts: Facts) -> None:
    """L5: min.compaction.lag.ms"""
    facts.log.update_config(replace(facts.log.config, min_compaction_lag_ms=1_000))
    facts.write(("a", "1"), roll=True)
    assert settled(facts) == "records from offset 0 on to be older than min.compaction.lag.ms"
    facts.clock.advance(1_000)
    assert settled(facts) == "a cleaner"


def test_for_more_to_do(facts: Facts) -> None:
    """L5: min.cleanable.dirty.ratio"""
    facts.log.update_config(replace(facts.log.config, min_cleanable_dirty_ratio=0.5))
    facts.write(("a", "1"))
    facts.clean()
    facts.write(("b", "1"), roll=True)
    expected = "more dirty records: 0.50 of what may be cleaned is dirty, 0.50 is not passed"
    assert settled(facts) == expected
