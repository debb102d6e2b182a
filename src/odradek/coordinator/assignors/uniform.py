"""The `uniform` assignor: all members get equally many partitions, and as few as possible move.

If all members subscribe to the same topics, each of m members gets p // m of the p partitions, and p % m of
them get one more. A member keeps its first partitions up to its share. The extra ones go first to members
that have more than p // m, since that saves a move, then to the last members in order. Partitions without an
owner, then those that members give up, fill the members' shares in order. The results are Kafka's: `compat`
compares random histories.

    6 partitions; a had 0 1 2, b had 3 4 5, c is new  →  a: 0 1    b: 3 4    c: 2 5

Members with different subscriptions are assigned by `leveling`.
"""

from collections.abc import Mapping, Sequence

from odradek.base.execution import Pace, Steps
from odradek.base.ids import TopicId
from odradek.coordinator.assignors.leveling import level
from odradek.coordinator.assignors.model import Assignment, Subscriber
from odradek.coordinator.assignors.placing import Holder, Placing


def assign(
    subscribers: Sequence[Subscriber], partition_counts: Mapping[TopicId, int], pace: Pace
) -> Steps[dict[str, Assignment]]:
    """Returns all assignments (KIP-848); with equal subscriptions their sizes differ by one at most."""
    placing = yield from Placing.of(subscribers, partition_counts)
    if pace.is_over(placing.topic_count):
        yield
    yield from placing.keep(pace)
    if len({holder.topics for holder in placing.holders}) <= 1:
        if pace.is_over(placing.topic_count):
            yield
        _share(placing)
    else:
        yield from level(placing, pace)
    if pace.is_over(placing.topic_count):
        yield
    return (yield from placing.assignments(pace))


def _share(placing: Placing) -> None:
    if not placing.holders:
        return
    quota, extras = divmod(len(placing.topic_of), len(placing.holders))
    free = placing.free
    short: list[Holder] = []
    for holder in placing.holders:
        most = quota
        if extras and holder.had_count > quota:
            extras -= 1
            most += 1
        if holder.had_count > most:
            free += holder.kept[most:]
            holder.kept = holder.kept[:most]
        if most == quota:
            short.append(holder)
    # Extras that no member kept go to the last of those without one.
    first_with_extra = len(short) - extras
    dealt = 0
    for place, holder in enumerate(short):
        missing = max(0, quota - holder.had_count) + (place >= first_with_extra)
        holder.new += free[dealt : dealt + missing]
        dealt += missing
    assert dealt == len(free), "everything that is free finds its place"
