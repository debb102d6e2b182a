"""Counts the topics and partitions of a controller's cluster, and the partitions that are not as wanted.

    offline         no live leader: nothing of it can be read or written
    not preferred   led by another broker than the first of its replicas, or by none

A topic that is being deleted is not counted.
"""

from dataclasses import dataclass
from typing import Final

from odradek.base.execution import Steps
from odradek.metadata.image import ClusterImage

COUNTED_PER_STEP: Final = 500
"""Topics and partitions, of half a microsecond each."""


@dataclass(slots=True)
class ClusterCounts:
    """One cluster's numbers."""

    topics: int = 0
    partitions: int = 0
    offline_partitions: int = 0
    not_preferred_leaders: int = 0


def count_cluster(image: ClusterImage) -> Steps[ClusterCounts]:
    """Returns the counts; the image may change between two steps, and is counted as each step finds it."""
    counts = ClusterCounts()
    left = COUNTED_PER_STEP
    for name in list(image.topics):
        topic = image.topic(name)
        if topic is None:
            continue
        counts.topics += 1
        left -= 1
        for partition in list(topic.partitions.values()):
            counts.partitions += 1
            counts.offline_partitions += partition.leader not in image.brokers
            counts.not_preferred_leaders += partition.leader != partition.preferred_leader
            left -= 1
            if left <= 0:
                left = COUNTED_PER_STEP
                yield
    return counts
