"""How the partitions of a broker are counted by their ISRs."""

from dataclasses import replace

import pytest

from odradek.base.execution import exhaust
from odradek.base.ids import TopicPartition
from odradek.replication.partition_counts import COUNTED_PER_STEP, PartitionCounts, count_partitions
from tests.replication.replica_bench import ReplicaBench


def counts_of(bench: ReplicaBench) -> PartitionCounts:
    return exhaust(count_partitions(bench.manager.partitions()))


@pytest.mark.parametrize(
    ("replicas", "isr", "under_replicated", "under_min", "at_min"),
    [
        ((1, 2, 3), (1, 2, 3), 0, 0, 0),
        ((1, 2, 3), (1, 2), 1, 0, 1),
        ((1, 2, 3), (1,), 1, 1, 0),
        ((1,), (1,), 0, 0, 1),
    ],
)
def test_a_led_partition_is_counted_by_its_isr(
    bench: ReplicaBench,
    replicas: tuple[int, ...],
    isr: tuple[int, ...],
    under_replicated: int,
    under_min: int,
    at_min: int,
) -> None:
    """P3, R7: min ISR is 2, but never more than the replicas."""
    bench.set_config(replace(bench.config, min_insync_replicas=2))
    bench.order(TopicPartition("orders", 0), replicas=replicas, isr=isr)
    assert counts_of(bench) == PartitionCounts(1, 1, under_replicated, under_min, at_min)


@pytest.mark.parametrize(("isr", "under_replicated"), [((1, 2), 0), ((1, 2, 3), 0), ((1, 3), 1), ((1,), 1)])
def test_a_replica_that_a_reassignment_brings_is_not_missed(
    bench: ReplicaBench, isr: tuple[int, ...], under_replicated: int
) -> None:
    """As Kafka counts: a move is no trouble, unless a replica is missing that was there before it."""
    bench.order(TopicPartition("orders", 0), replicas=(3, 1, 2), isr=isr, adding=(3,))
    assert counts_of(bench).under_replicated == under_replicated


def test_a_followed_partition_is_counted_by_its_leader(bench: ReplicaBench) -> None:
    bench.order(TopicPartition("orders", 0), leader=2, replicas=(1, 2, 3), isr=(2,))
    assert counts_of(bench) == PartitionCounts(hosted=1)


def test_many_partitions_are_counted_in_steps(bench: ReplicaBench) -> None:
    """One that is stopped between two steps is no harm."""
    for number in range(2 * COUNTED_PER_STEP + 1):
        bench.order(TopicPartition("orders", number), isr=(1, 2))
    work = count_partitions(bench.manager.partitions())
    next(work)
    bench.stop(TopicPartition("orders", 0))
    next(work)
    assert exhaust(work).led == 2 * COUNTED_PER_STEP + 1
