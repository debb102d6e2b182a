"""Who is woken when, and how much of it happens in one turn."""

from odradek.base.execution import Steps, exhaust
from odradek.base.ids import TopicPartition
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
