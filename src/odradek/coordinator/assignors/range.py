"""The `range` assignor: each topic is cut into ranges, and the members get them in their order.

Topics with equal sizes and subscribers are cut alike: the member that reads partition 3 of one also reads
partition 3 of the other, as joins need (co-partitioning). The first members get the ranges longer by one.
Not sticky, like Kafka's: only the members' order decides.

    t0 and t1 of 5 partitions, members a, b, c  →  a: 0 1    b: 2 3    c: 4    of both
"""

from collections.abc import Mapping, Sequence

from odradek.base.execution import Pace, Steps
from odradek.base.ids import TopicId
from odradek.coordinator.assignors.model import Assignment, Subscriber, in_order


def assign(
    subscribers: Sequence[Subscriber], partition_counts: Mapping[TopicId, int], pace: Pace
) -> Steps[dict[str, Assignment]]:
    """Everyone's ranges (KIP-848, KIP-54)."""
    ordered = in_order(subscribers)
    assigned: dict[str, dict[TopicId, frozenset[int]]] = {one.member_id: {} for one in ordered}
    readers: dict[TopicId, list[str]] = {}
    for one in ordered:
        for topic in one.topics:
            readers.setdefault(topic, []).append(one.member_id)
        if pace.is_over(len(one.topics)):
            yield
    # Ranges are cut once for each pair of sizes; topics of the same pair share the very sets.
    cuts: dict[tuple[int, int], list[frozenset[int]]] = {}
    for topic, members in readers.items():
        size = partition_counts.get(topic, 0), len(members)
        if size not in cuts:
            cuts[size] = _ranges(*size)
        for member, partitions in zip(members, cuts[size], strict=False):
            assigned[member][topic] = partitions
        if pace.is_over(len(members)):
            yield
    return dict(assigned)


def _ranges(partition_count: int, member_count: int) -> list[frozenset[int]]:
    """The ranges that are not empty, longer ones first."""
    length, longer = divmod(partition_count, member_count)
    ranges = []
    start = 0
    for place in range(min(member_count, partition_count)):
        end = start + length + (place < longer)
        ranges.append(frozenset(range(start, end)))
        start = end
    return ranges
