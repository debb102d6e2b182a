"""Counts the partitions of a broker, and those that it leads by how many of their replicas are in sync.

Three replicas, `min.insync.replicas` 2:

    ISR of 3    fully replicated
    ISR of 2    under-replicated, at min ISR
    ISR of 1    under-replicated, under min ISR: acks=all is refused, HW does not move
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from odradek.base.execution import Steps
from odradek.replication.partition import Partition

COUNTED_PER_STEP: Final = 256
"""Of a microsecond each."""


@dataclass(slots=True)
class PartitionCounts:
    """One broker's numbers."""

    hosted: int = 0
    led: int = 0
    under_replicated: int = 0
    under_min_isr: int = 0
    at_min_isr: int = 0


def count_partitions(hosted: Iterable[Partition]) -> Steps[PartitionCounts]:
    """Returns the counts; each partition is counted as its step finds it."""
    counts = PartitionCounts()
    for partition in list(hosted):
        counts.hosted += 1
        if partition.leadership is not None:
            counts.led += 1
            counts.under_replicated += partition.is_under_replicated
            counts.under_min_isr += partition.is_under_min_isr
            counts.at_min_isr += partition.is_at_min_isr
        if counts.hosted % COUNTED_PER_STEP == 0:
            yield
    return counts
