"""Who is woken when, and how much of it happens in one turn."""

import pytest

from odradek.base.execution import Steps, exhaust
from odradek.base.ids import TopicPartition
from odradek.replication.delayed_produce import DelayedProduce
from odradek.replication.purgatories import WOKEN_AT_ONCE
from odradek.timer.purgatory import TRIED_PER_STEP
from tests.replication.replica_bench import ReplicaBench

p1 = TopicPartition("flights", 1)


def test_the_many_produces_of_one_partition_are_answered_a_few_in_each_step(bench: ReplicaBench) -> None:
    """R14: what one follower's fetch completes does not hold the loop, whatever it is."""
    bench.order(p1, isr=(1, 2))
    produces = [bench.produce(p1) for _ in range(WOKEN_AT_ONCE + 1)]
    taken: list[Steps[None]] = []
    bench.run_steps = taken.append
    bench.follow(2, {p1: len(produces)}, max_wait_ms=0)
    (steps,) = taken
    next(steps)
    assert [one.is_answered for one in produces].count(True) == TRIED_PER_STEP
    exhaust(steps)
    assert all(one.is_answered for one in produces)


def test_produces_fetches_and_deletions_wait_apart(bench: ReplicaBench) -> None:
    """D9: each in a purgatory of its own, with its own setting."""
    purgatories = bench.manager.purgatories
    assert [one.name for one in purgatories.all()] == ["Produce", "Fetch", "DeleteRecords"]
    bench.order(p1, isr=(1, 2))
    bench.produce(p1, acks=1)
    bench.follow(2, {p1: 1}, max_wait_ms=0)
    bench.produce(p1)
    bench.consume({p1: 1})
    bench.delete_records({p1: 1})
    assert [one.delayed for one in purgatories.all()] == [1, 1, 1]


def test_where_nobody_waits_no_turn_is_asked_for(bench: ReplicaBench) -> None:
    """R14: an append to a partition without readers costs a look."""
    bench.order(p1)
    bench.manager.purgatories.wake_soon(p1)
    assert not bench.turns


def test_a_rise_of_hw_between_is_not_lost_among_mere_appends(bench: ReplicaBench) -> None:
    """R7, R14: what a later turn wakes is the most that was asked for until then."""
    bench.order(p1, isr=(1, 2))
    produce = bench.produce(p1)
    bench.consume({p1: 0}, min_bytes=1 << 20)
    purgatories = bench.manager.purgatories
    purgatories.wake_soon(p1, readers_only=True)
    bench.partition(p1).note_fetch(2, bench.log(p1).end_position, 0, bench.clock.monotonic_ms())
    assert bench.partition(p1).raise_high_watermark(bench.clock.monotonic_ms())
    purgatories.wake_soon(p1)
    purgatories.wake_soon(p1, readers_only=True)
    assert len(bench.turns) == 1
    bench.run_turns()
    assert produce.is_answered


def test_an_append_that_leaves_hw_where_it_is_does_not_look_at_produces(
    bench: ReplicaBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R7: nothing can have changed for them; the fetches that read to the log end are woken."""
    bench.order(p1, isr=(1, 2))
    bench.produce(p1)
    follower, tries = bench.follow(2, {p1: 1}, min_bytes=1), []

    def counted(operation: DelayedProduce) -> bool:
        tries.append(operation)
        return False

    bench.produce(p1)
    monkeypatch.setattr(DelayedProduce, "try_complete", counted)
    bench.produce(p1, acks=1)
    assert follower.is_answered
    assert tries == []
