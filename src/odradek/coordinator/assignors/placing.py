"""Partitions as plain numbers, and members with their partitions: the input of the uniform assignor.

A UUID costs a Python call whenever it is hashed or compared, and there may be ten thousand partitions. So
topics are numbered in the order of their ids, and partitions one after the other through all topics:

    topic  a: 3 partitions   b: 2        number   0 1 2 3 4
                                         is       a a a b b

Most members of a large group keep all their partitions when another one joins: nothing is computed for them,
and they get the same assignment object as before.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, chain, repeat
from typing import Final

from odradek.base.execution import COUNTED_PER_STEP, Pace, Steps, ordered
from odradek.base.ids import TopicId
from odradek.coordinator.assignors.model import Assignment, Subscriber, by_number, in_order


class Holder:
    """One member while partitions are dealt out."""

    __slots__ = ("_kept", "had", "had_count", "is_as_before", "new", "place", "subscriber", "topics")

    def __init__(self, place: int, subscriber: Subscriber, topics: frozenset[int]) -> None:
        self.place: Final = place  # in the members' order
        self.subscriber: Final = subscriber
        self.topics: Final = topics  # those subscribed to that exist, by number
        # What of its target it may keep, by the number of the topic's first partition.
        self.had: Final[dict[int, frozenset[int]]] = {}
        self.had_count = 0
        self.is_as_before = True  # whether `kept` is all of its target
        self.new: list[int] = []  # partitions that it had not
        self._kept: list[int] | None = None

    @property
    def kept(self) -> list[int]:
        """Partitions that it had before, rising; all that it may keep unless set otherwise."""
        if self._kept is None:
            self._kept = sorted(first + one for first, parts in self.had.items() for one in parts)
        return self._kept

    @kept.setter
    def kept(self, kept: list[int]) -> None:
        self.is_as_before = self.is_as_before and len(kept) == self.had_count
        self._kept = kept


class Placing:
    """All partitions that members may get, and all members with those that they may keep.

    `holders` are in the members' order. A partition in the targets of two members stays with the first.
    """

    __slots__ = ("_counts", "_first", "_number", "_topics", "free", "holders", "topic_of")

    def __init__(
        self,
        subscribers: Sequence[Subscriber],
        number: Mapping[TopicId, int],
        counts: list[int],
        numbered: Mapping[frozenset[TopicId], frozenset[int]],
    ) -> None:
        """`number` has the topics that there are, in order; `numbered` the subscriptions by these numbers."""
        self._topics = list(number)
        self._number = number
        self._counts = counts
        self._first = list(accumulate(counts, initial=0))
        # The topic's number of each partition.
        self.topic_of = list(chain.from_iterable(map(repeat, range(len(self._topics)), counts)))
        self.holders = [
            Holder(place, one, numbered[one.topics]) for place, one in enumerate(in_order(subscribers))
        ]
        self.free: list[int] = []
        """The partitions that no member keeps, rising; known after `keep`."""

    @classmethod
    def of(
        cls, subscribers: Sequence[Subscriber], partition_counts: Mapping[TopicId, int]
    ) -> Steps["Placing"]:
        """Number the topics that members may get, in steps."""
        # Subscriptions are few and shared by many: each is numbered once.
        subscriptions = list(dict.fromkeys(one.topics for one in subscribers))
        there: list[TopicId] = []
        pace = Pace(COUNTED_PER_STEP)
        for topic in frozenset[TopicId]().union(*subscriptions):
            if partition_counts.get(topic, 0) > 0:
                there.append(topic)
            if pace.is_over():
                yield
        topics = yield from ordered(there, by_number)
        number: dict[TopicId, int] = {}
        counts: list[int] = []
        for topic in topics:
            number[topic] = len(counts)
            counts.append(partition_counts[topic])
            if pace.is_over():
                yield
        numbered: dict[frozenset[TopicId], frozenset[int]] = {}
        for subscription in subscriptions:
            numbers: list[int] = []
            for topic in subscription:
                if topic in number:
                    numbers.append(number[topic])
                if pace.is_over():
                    yield
            numbered[subscription] = frozenset(numbers)
        return cls(subscribers, number, counts, numbered)

    def keep(self, pace: Pace) -> Steps[None]:
        """Let the members keep what they may of their targets."""
        taken: list[set[int]] = [set() for _ in self._topics]
        for holder in self.holders:
            self._keep(holder, taken)
            if pace.is_over(1 + len(holder.subscriber.target)):
                yield
        self.free = [
            first + partition
            for first, count, gone in zip(self._first, self._counts, taken, strict=False)
            if len(gone) < count
            for partition in range(count)
            if partition not in gone
        ]

    @property
    def topic_count(self) -> int:
        """How many topics there are to deal out."""
        return len(self._topics)

    def assignments(self, pace: Pace) -> Steps[dict[str, Assignment]]:
        """What everyone holds now, by member id."""
        assignments: dict[str, Assignment] = {}
        for holder in self.holders:
            found = self._assignment(holder)
            assignments[holder.subscriber.member_id] = found
            if pace.is_over(1 if found is holder.subscriber.target else 1 + 2 * len(found)):
                yield
        return assignments

    def _keep(self, holder: Holder, taken: list[set[int]]) -> None:
        for topic_id, partitions in holder.subscriber.target.items():
            topic = self._number.get(topic_id)
            may_keep: frozenset[int] = frozenset()
            if topic is not None and topic in holder.topics:
                may_keep = _free_ones(partitions, self._counts[topic], taken[topic])
            if not may_keep or len(may_keep) < len(partitions):
                holder.is_as_before = False
            if may_keep:
                assert topic is not None
                taken[topic] |= may_keep
                holder.had[self._first[topic]] = may_keep
                holder.had_count += len(may_keep)

    def _assignment(self, holder: Holder) -> Assignment:
        if holder.is_as_before and not holder.new:
            return holder.subscriber.target
        by_topic: dict[int, list[int]] = {}
        for partition in (*holder.kept, *holder.new):
            by_topic.setdefault(self.topic_of[partition], []).append(partition)
        return {self._topics[topic]: self._numbers(topic, found) for topic, found in sorted(by_topic.items())}

    def _numbers(self, topic: int, partitions: Iterable[int]) -> frozenset[int]:
        first = self._first[topic]
        return frozenset([partition - first for partition in partitions])


def _free_ones(partitions: frozenset[int], count: int, taken: set[int]) -> frozenset[int]:
    """Those that there are and that no member has yet: in nearly all cases the very set."""
    if partitions and min(partitions) >= 0 and max(partitions) < count and taken.isdisjoint(partitions):
        return partitions
    return frozenset(one for one in partitions if 0 <= one < count and one not in taken)
