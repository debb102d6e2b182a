"""Sharing partitions out among members who do not all subscribe to the same topics, as Kafka 4.3 does.

    a reads x   b reads x and y;   x has 6 partitions, y 2
    x: a 0 2 4, b 1 3 5     y: b 0 1                          loads 3 and 5
    x again: b gives 5 to a                                   loads 4 and 4

Two steps:

1. Free partitions are dealt out topic by topic, the topic with the most partitions per subscriber first. The
   subscribers with the least load get one each in turn; others take part once their load is the least, too.
2. Topic by topic, in the same order, the subscribers with the most load give to those with the least, until
   no two differ by more than one. This repeats until nothing moves (at most `ROUNDS_MAX` times).

The order among equals decides which member gets a partition. It is Kafka's order: `compat` compares the
results with Kafka's over random histories of groups.
"""

from bisect import insort
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Final

from odradek.base.execution import Pace, Steps
from odradek.coordinator.assignors.placing import Placing

ROUNDS_MAX: Final = 16


def level(placing: Placing, pace: Pace) -> Steps[None]:
    """Assign the free partitions, and move others until the loads are even."""
    shares = _Shares(placing, pace)
    yield from shares.read(placing)
    yield from shares.place(placing.free)
    for _ in range(ROUNDS_MAX):
        if not (yield from shares.balance()):
            break
    yield from shares.hand_back()


class _Shares:
    """Loads and partitions while leveling; members by their place, topics by their number."""

    def __init__(self, placing: Placing, pace: Pace) -> None:
        self._pace: Final = pace
        self._holders: Final = placing.holders
        self._topic_of: Final = placing.topic_of
        self._load: Final = [holder.had_count for holder in placing.holders]
        # The members that read a topic, by place.
        self._readers: Final[list[list[int]]] = [[] for _ in range(placing.topic_count)]
        # By topic, the members that hold partitions of it, and which, rising.
        self._held: Final[list[dict[int, list[int]]]] = [{} for _ in range(placing.topic_count)]
        # The topics in the order in which they are dealt out and balanced.
        self._order: list[int] = []

    def read(self, placing: Placing) -> Steps[None]:
        """Note who reads and who holds what."""
        for holder in placing.holders:
            for topic in holder.topics:
                self._readers[topic].append(holder.place)
            for partition in holder.kept:
                self._held[self._topic_of[partition]].setdefault(holder.place, []).append(partition)
            if self._pace.is_over(len(holder.topics) + len(holder.kept)):
                yield
        counts = [0] * placing.topic_count
        for topic in placing.topic_of:
            counts[topic] += 1
        self._order = sorted(
            range(placing.topic_count),
            key=lambda topic: (
                -Fraction(counts[topic], len(self._readers[topic])),
                len(self._readers[topic]),
                topic,
            ),
        )

    def place(self, free: list[int]) -> Steps[None]:
        """Deal out the partitions that no member holds."""
        by_topic: dict[int, list[int]] = {}
        for partition in free:
            by_topic.setdefault(self._topic_of[partition], []).append(partition)
        for topic in self._order:
            takers = _least_loaded(self._by_load(topic), self._load)
            for partition, taker in zip(by_topic.get(topic, ()), takers, strict=False):
                insort(self._held[topic].setdefault(taker, []), partition)
                self._load[taker] += 1
            if self._pace.is_over(len(self._readers[topic]) + len(by_topic.get(topic, ()))):
                yield

    def balance(self) -> Steps[bool]:
        """Balance each topic once; returns whether anything moved."""
        moved = False
        for topic in self._order:
            if self._is_uneven(topic):
                moved |= self._balance_topic(topic)
            if self._pace.is_over(len(self._readers[topic])):
                yield
        return moved

    def hand_back(self) -> Steps[None]:
        """Copy the result into the members."""
        now: list[set[int]] = [set() for _ in self._holders]
        for holders in self._held:
            for place, partitions in holders.items():
                now[place].update(partitions)
        for holder in self._holders:
            mine = now[holder.place]
            holder.new = sorted(mine.difference(holder.kept))
            holder.kept = [partition for partition in holder.kept if partition in mine]
            if self._pace.is_over(len(mine)):
                yield

    def _is_uneven(self, topic: int) -> bool:
        load = self._load
        heaviest = max((load[place] for place, held in self._held[topic].items() if held), default=0)
        return heaviest - min(load[place] for place in self._readers[topic]) > 1

    def _balance_topic(self, topic: int) -> bool:
        held, load = self._held[topic], self._load
        order = self._by_load(topic)
        takers = _least_loaded(order, load)
        # Looked up before the next giver, since the search for that one swaps places in `order`.
        taker = next(takers)
        moved = False
        for giver in _most_loaded(order, load, held):
            if load[giver] - load[taker] < 2:
                break
            insort(held.setdefault(taker, []), held[giver].pop())
            load[giver] -= 1
            load[taker] += 1
            moved = True
            taker = next(takers)
        return moved

    def _by_load(self, topic: int) -> list[int]:
        return sorted(self._readers[topic], key=self._load.__getitem__)


def _least_loaded(order: list[int], load: list[int]) -> Iterator[int]:
    """The next members to take, without end: the least loaded in turn; the caller raises their load."""
    reach = 1
    while True:
        while reach < len(order) and load[order[reach]] <= load[order[0]]:
            reach += 1
        for position in range(reach):
            yield order[position]


def _most_loaded(order: list[int], load: list[int], held: Mapping[int, list[int]]) -> Iterator[int]:
    """The next members to give: those with the most load in turn, from the end of `order`.

    The caller lowers each one's load. Members that hold nothing are swapped to the end and passed over from
    then on.
    """
    start = end = len(order)
    while end:
        start = min(start, end - 1)
        while start and load[order[start - 1]] >= load[order[end - 1]]:
            start -= 1
        position = end - 1
        while start <= position and start < end:
            giver = order[position]
            if held.get(giver):
                yield giver
            else:
                end -= 1
                order[position], order[end] = order[end], giver
            position -= 1
