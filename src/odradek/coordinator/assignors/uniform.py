"""The `uniform` assignor: everyone gets as many partitions as everyone else, and as few as possible move.

Where all members subscribe to the same topics, the answer is plain: of p partitions each of m members gets
p // m, and p % m get one more. Members keep what they have up to that; who has more than p // m is
the first to get it, since that saves a move. What they give away is taken evenly from all that they have, and
what is free is dealt out in turn, so that the partitions of each topic are spread as well.

    5 partitions; a had 0 1 2 3, b had 4, c is new  →  a: 0 2    b: 4 1    c: 3

Members with different subscriptions are `leveling`'s.
"""

from collections.abc import Mapping, Sequence

from odradek.base.ids import TopicId
from odradek.coordinator.assignors.leveling import level
from odradek.coordinator.assignors.model import Assignment, Subscriber
from odradek.coordinator.assignors.placing import Holder, Placing


def assign(
    subscribers: Sequence[Subscriber], partition_counts: Mapping[TopicId, int]
) -> dict[str, Assignment]:
    """Everyone's share (KIP-848): within one of each other's, where they subscribe alike."""
    placing = Placing(subscribers, partition_counts)
    if len({holder.topics for holder in placing.holders}) <= 1:
        _share(placing)
    else:
        level(placing)
    return placing.assignments()


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
            free += _release(holder, holder.had_count - most)
        if most == quota:
            short.append(holder)
    # Extras that nobody kept go to the first in order of those without one.
    missing = [max(0, quota - holder.had_count) + (place < extras) for place, holder in enumerate(short)]
    free.sort()
    _deal(free, [(holder, count) for holder, count in zip(short, missing, strict=True) if count])


def _release(holder: Holder, count: int) -> list[int]:
    """Take that many partitions from a member, evenly from all that it has."""
    kept: list[int] = []
    released: list[int] = []
    for place, partition in enumerate(holder.kept):
        is_released = (place + 1) * count // len(holder.kept) > place * count // len(holder.kept)
        (released if is_released else kept).append(partition)
    holder.kept = kept
    return released


def _deal(partitions: list[int], room: list[tuple[Holder, int]]) -> None:
    """Deal partitions one to each in turn; there is room for exactly as many as there are."""
    dealt = iter(partitions)
    while room:
        for holder, _ in room:
            holder.new.append(next(dealt))
        room = [(holder, missing - 1) for holder, missing in room if missing > 1]
    assert next(dealt, None) is None, "more partitions than room"
