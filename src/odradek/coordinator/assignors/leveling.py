"""Sharing partitions out among members who do not all subscribe to the same topics.

Nobody's load (its number of partitions) can then be fixed beforehand. The answer is level when no partition,
and no chain of partitions, could pass from one member to another whose load is less by two or more:

    a reads x   b reads x and y   c reads y;   a: x0 x1 x2   b: y0   c: y1
    a gives x2 to b: loads 2 2 1. Level.

Three steps, of which the last two only lower the sum of the squared loads, and so end:

1. What is free goes to the subscriber with the least load, topics with the fewest subscribers first.
2. Who has least takes from those who have most among the members with a topic that it reads, one partition at
   a time. Nearly everything is done then.
3. Chains, found by breadth-first search from who has least: c takes y0 from b, who takes x2 from a.

A member gives away what is new to it before what it had, and what was moved in vain is swapped back at last.
"""

from collections import deque
from heapq import heapify, heappop, heappush, heapreplace
from typing import Final, NamedTuple

from odradek.coordinator.assignors.placing import Placing


class _Link(NamedTuple):
    """In a search: whom a member would give to, and a partition of which topic."""

    receiver: int
    topic: int


def level(placing: Placing) -> None:
    """Share out what is free, and move what must move for the loads to be level."""
    shares = _Shares(placing)
    shares.place(placing.free)
    while shares.take_directly():
        pass
    while shares.take_by_a_chain():
        pass
    shares.hand_back()


class _Shares:
    """Members by their place, topics by their number."""

    def __init__(self, placing: Placing) -> None:
        self._holders: Final = placing.holders
        self._topic_of: Final = placing.topic_of
        self._topics: Final = [sorted(holder.topics) for holder in placing.holders]
        # Who reads a topic, by place.
        self._readers: Final[list[list[int]]] = [[] for _ in range(placing.topic_count)]
        for holder in placing.holders:
            for topic in holder.topics:
                self._readers[topic].append(holder.place)
        self._load: Final = [holder.had_count for holder in placing.holders]
        # By topic, who holds partitions of it, and which: those that it had, then those new to it.
        self._held: Final[list[dict[int, list[int]]]] = [{} for _ in range(placing.topic_count)]
        for holder in placing.holders:
            for partition in holder.kept:
                self._held[self._topic_of[partition]].setdefault(holder.place, []).append(partition)

    def place(self, free: list[int]) -> None:
        """Give each free partition to the subscriber with the least load."""
        by_topic: dict[int, list[int]] = {}
        for partition in free:
            by_topic.setdefault(self._topic_of[partition], []).append(partition)
        for topic in sorted(by_topic, key=lambda one: (len(self._readers[one]), one)):
            lightest = [(self._load[place], place) for place in self._readers[topic]]
            heapify(lightest)
            for partition in by_topic[topic]:
                load, place = lightest[0]
                self._held[topic].setdefault(place, []).append(partition)
                self._load[place] = load + 1
                heapreplace(lightest, (load + 1, place))

    def take_directly(self) -> bool:
        """Let who has least take from who has most of a topic that it reads; whether anything moved."""
        # The heaviest holder of each topic on top; entries whose load is no longer so are put right when met.
        heaviest: list[list[tuple[int, int]]] = []
        for holders in self._held:
            heap = [(-self._load[place], place) for place in holders]
            heapify(heap)
            heaviest.append(heap)
        waiting = [(load, place) for place, load in enumerate(self._load)]
        heapify(waiting)
        # How many members have each load; nobody's rises to the greatest, so that only falls.
        greatest = max(self._load)
        numbers = [0] * (greatest + 1)
        for load in self._load:
            numbers[load] += 1
        moved = False
        while waiting:
            load, receiver = heappop(waiting)
            if load != self._load[receiver]:
                heappush(waiting, (self._load[receiver], receiver))
                continue
            while not numbers[greatest]:
                greatest -= 1
            giver, topic = self._giver(heaviest, receiver, greatest)
            if self._load[giver] < load + 2:
                continue
            for place, change in ((giver, -1), (receiver, 1)):
                numbers[self._load[place]] -= 1
                numbers[self._load[place] + change] += 1
            self._move(giver, receiver, topic)
            heappush(heaviest[topic], (-self._load[receiver], receiver))
            heappush(waiting, (load + 1, receiver))
            moved = True
        return moved

    def take_by_a_chain(self) -> bool:
        """Move along one chain from a member to one whose load is less by two or more; whether there was one.

        What a search from a member with little reached holds at most one more than it, and reaches nothing
        else: later searches, from members with more, need not go there again.
        """
        seen_members = [False] * len(self._holders)
        seen_topics = [False] * len(self._held)
        for start in sorted(range(len(self._holders)), key=lambda place: (self._load[place], place)):
            if seen_members[start]:
                continue
            seen_members[start] = True
            links: dict[int, _Link] = {}
            queue = deque([start])
            while queue:
                receiver = queue.popleft()
                for topic in self._topics[receiver]:
                    if seen_topics[topic]:
                        continue
                    seen_topics[topic] = True
                    for giver in sorted(self._held[topic]):
                        if seen_members[giver]:
                            continue
                        seen_members[giver] = True
                        links[giver] = _Link(receiver, topic)
                        if self._load[giver] >= self._load[start] + 2:
                            self._follow(giver, links)
                            return True
                        queue.append(giver)
        return False

    def hand_back(self) -> None:
        """Write into the members what they hold now, after the swaps that save moves.

        Where a gave b what it had, and got what it had not and b reads too, both keep their own.
        """
        home = {partition: holder.place for holder in self._holders for partition in holder.kept}
        now: dict[int, int] = {}
        new: list[set[int]] = [set() for _ in self._holders]
        for holders in self._held:
            for place, partitions in holders.items():
                for partition in partitions:
                    now[partition] = place
                    if home.get(partition) != place:
                        new[place].add(partition)
        for partition, owner in home.items():
            holder = now[partition]
            if holder == owner:
                continue
            topics = self._holders[holder].topics
            swapped = min((one for one in new[owner] if self._topic_of[one] in topics), default=None)
            if swapped is None:
                continue
            now[partition], now[swapped] = owner, holder
            new[owner].remove(swapped)
            new[holder].remove(partition)
            if home.get(swapped) != holder:
                new[holder].add(swapped)
        for one in self._holders:
            one.kept = [partition for partition in one.kept if now[partition] == one.place]
            one.new = sorted(new[one.place])

    def _giver(self, heaviest: list[list[tuple[int, int]]], receiver: int, greatest: int) -> tuple[int, int]:
        """Who has most of those that hold a topic of the receiver's, and that topic; itself if nobody."""
        giver, found, most = receiver, -1, -1
        for topic in self._topics[receiver]:
            heap = heaviest[topic]
            while heap:
                negative_load, place = heap[0]
                if place not in self._held[topic]:
                    heappop(heap)
                elif -negative_load != self._load[place]:
                    heapreplace(heap, (-self._load[place], place))
                else:
                    if -negative_load > most:
                        giver, found, most = place, topic, -negative_load
                    break
            if most == greatest:
                break
        return giver, found

    def _follow(self, giver: int, links: dict[int, _Link]) -> None:
        while giver in links:
            receiver, topic = links[giver]
            self._move(giver, receiver, topic)
            giver = receiver

    def _move(self, giver: int, receiver: int, topic: int) -> None:
        held = self._held[topic]
        partition = held[giver].pop()
        if not held[giver]:
            del held[giver]
        held.setdefault(receiver, []).append(partition)
        self._load[giver] -= 1
        self._load[receiver] += 1
