"""Partitions as plain numbers, and members with what they hold: what the uniform assignor works on.

A UUID costs a Python call whenever it is hashed or compared, and there may be ten thousand partitions. So
topics are numbered in the order of their ids, and partitions one after the other through all topics:

    topic  a: 3 partitions   b: 2        number   0 1 2 3 4
                                         is       a a a b b
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Final

from odradek.base.ids import TopicId
from odradek.coordinator.assignors.model import Assignment, Subscriber, in_order


class Holder:
    """One member while partitions are dealt out."""

    __slots__ = ("kept", "new", "place", "subscriber", "topics")

    def __init__(self, place: int, subscriber: Subscriber, topics: frozenset[int]) -> None:
        self.place: Final = place  # in the members' order
        self.subscriber: Final = subscriber
        self.topics: Final = topics  # those subscribed to that exist, by number
        self.kept: list[int] = []  # partitions that it had before, rising
        self.new: list[int] = []  # partitions that it had not


class Placing:
    """All partitions that somebody may get, and all members with those that they may keep.

    `holders` are in the members' order. `free` are the partitions that nobody keeps, rising.
    A partition in the targets of two members stays with the first.
    """

    __slots__ = ("_counts", "_first", "_number", "_topics", "free", "holders", "topic_of")

    def __init__(self, subscribers: Sequence[Subscriber], partition_counts: Mapping[TopicId, int]) -> None:
        wanted = frozenset[TopicId]().union(*(one.topics for one in subscribers))
        self._topics = sorted(topic for topic in wanted if partition_counts.get(topic, 0) > 0)
        self._number = {topic: number for number, topic in enumerate(self._topics)}
        self._counts = [partition_counts[topic] for topic in self._topics]
        self._first = list(accumulate(self._counts, initial=0))
        # The topic's number of each partition.
        self.topic_of = [topic for topic, count in enumerate(self._counts) for _ in range(count)]
        # Subscriptions are few and shared by many: each is numbered once.
        numbered = {
            topics: frozenset(self._number[topic] for topic in topics if topic in self._number)
            for topics in {one.topics for one in subscribers}
        }
        self.holders = [
            Holder(place, one, numbered[one.topics]) for place, one in enumerate(in_order(subscribers))
        ]
        taken = bytearray(len(self.topic_of))
        for holder in self.holders:
            self._keep(holder, taken)
        self.free = [partition for partition, is_taken in enumerate(taken) if not is_taken]

    @property
    def topic_count(self) -> int:
        """How many topics there are to deal out."""
        return len(self._topics)

    def assignments(self) -> dict[str, Assignment]:
        """What everyone holds now, by member id."""
        return {holder.subscriber.member_id: self._assignment(holder) for holder in self.holders}

    def _keep(self, holder: Holder, taken: bytearray) -> None:
        for topic_id, partitions in holder.subscriber.target.items():
            topic = self._number.get(topic_id)
            if topic is None or topic not in holder.topics:
                continue
            first, count = self._first[topic], self._counts[topic]
            for partition in partitions:
                if 0 <= partition < count and not taken[first + partition]:
                    taken[first + partition] = True
                    holder.kept.append(first + partition)
        holder.kept.sort()

    def _assignment(self, holder: Holder) -> Assignment:
        by_topic: dict[int, list[int]] = {}
        for partition in (*holder.kept, *holder.new):
            by_topic.setdefault(self.topic_of[partition], []).append(partition)
        return {self._topics[topic]: self._numbers(topic, found) for topic, found in sorted(by_topic.items())}

    def _numbers(self, topic: int, partitions: Iterable[int]) -> frozenset[int]:
        first = self._first[topic]
        return frozenset(partition - first for partition in partitions)
