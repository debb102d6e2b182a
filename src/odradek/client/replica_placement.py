"""Chooses brokers for replicas that are to move, so that as few as possible do. Pure functions, without I/O.

`spread` puts partitions on given brokers. Brokers 1 to 4, and two partitions that were on 1, 2 and 3:

    what stays             0: 1 2 3    1: 2 3 1      replicas on these brokers stay where they are
    replicas even out      0: 1 2 4    1: 2 3 1      as long as one broker has two more than another
    so do first replicas   0: 1 2 4    1: 2 3 1      by another order alone, which copies nothing

Each topic is evened out by itself, and the totals only as far as every topic stays as even as it is: a topic
whose leaders are all on one broker is not made good by another topic with none there.

A replica that leaves hands its place in the order to the one that replaces it: so the preferred leaders of a
broker that is drained are spread like its replicas. Of the brokers that could take a replica, one in a rack
without a replica of the partition comes first, then the one with the fewest replicas (KIP-36), of the topic
and then of all.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from odradek.base.ids import BrokerId, TopicPartition

Replicas = tuple[BrokerId, ...]
Racks = Mapping[BrokerId, str | None]
"""The brokers that may be chosen, with their racks."""

_HOLE: Final = None
Places = list[BrokerId | None]


def spread(
    partitions: Mapping[TopicPartition, Replicas], racks: Racks, factor: int | None = None
) -> dict[TopicPartition, Replicas]:
    """The replicas of each partition on these brokers, evenly; `factor` is how many, or None for as many.

    No partition has more replicas than there are brokers.
    """
    kept = {named: _kept(replicas, racks, factor) for named, replicas in partitions.items()}
    board = _Board(racks, kept)
    filled = {named: board.filled(named, places) for named, places in kept.items()}
    return board.evened(filled)


def drained(
    partitions: Mapping[TopicPartition, Replicas],
    racks: Racks,
    broker: BrokerId,
    others: Mapping[TopicPartition, Replicas],
) -> dict[TopicPartition, Replicas]:
    """The replicas of each partition where that on `broker`, which is none of `racks`, is replaced.

    `others` are the replicas of the partitions that stay as they are: they count for who has few. For each
    partition there is a broker without a replica of it.
    """
    assert broker not in racks, f"broker {broker} could be chosen"
    holes: dict[TopicPartition, Places] = {
        named: [_HOLE if one == broker else one for one in replicas] for named, replicas in partitions.items()
    }
    board = _Board(racks, {**others, **holes})
    return {named: tuple(board.filled(named, places)) for named, places in holes.items()}


def _kept(replicas: Replicas, racks: Racks, factor: int | None) -> Places:
    """The replicas with a hole for each that is to be replaced; of too many, the holes go, then the last."""
    places: Places = [one if one in racks else _HOLE for one in replicas]
    wanted = len(replicas) if factor is None else factor
    assert wanted <= len(racks), f"{wanted} replicas on {len(racks)} brokers"
    while len(places) > wanted:
        places.pop(places.index(_HOLE) if _HOLE in places else -1)
    return places + [_HOLE] * (wanted - len(places))


class _Counts:
    """How many replicas each broker has, and how many of them are first: of one topic, or of all."""

    def __init__(self, brokers: Iterable[BrokerId]) -> None:
        self.held: Counter[BrokerId] = Counter(dict.fromkeys(sorted(brokers), 0))
        self.first: Counter[BrokerId] = Counter(self.held)


class _Board:
    """Who has which replicas, counted by topic and in all."""

    def __init__(self, racks: Racks, kept: Mapping[TopicPartition, Sequence[BrokerId | None]]) -> None:
        self._racks = racks
        self._all = _Counts(racks)
        self._topics: dict[str, _Counts] = {named.topic: _Counts(racks) for named in kept}
        for named, places in kept.items():
            for place, one in enumerate(places):
                if one is not None and one in racks:
                    self._count(named, one, place, 1)

    def filled(self, named: TopicPartition, places: Places) -> list[BrokerId]:
        """The places of a partition with a broker in each hole."""
        chosen = [one for one in places if one is not None]
        found: list[BrokerId] = []
        for place, one in enumerate(places):
            if one is None:
                one = self._best(named.topic, chosen, place)
                chosen.append(one)
                self._count(named, one, place, 1)
            found.append(one)
        return found

    def evened(self, partitions: Mapping[TopicPartition, list[BrokerId]]) -> dict[TopicPartition, Replicas]:
        """The partitions with replicas and first replicas moved until no broker has two more than another.

        As long as that is possible, of each topic and then of all: a partition is never on fewer racks than
        before.
        """
        self._even_replicas(partitions)
        self._even_first(partitions)
        return {named: tuple(replicas) for named, replicas in partitions.items()}

    def _best(self, topic: str, chosen: Sequence[BrokerId], place: int) -> BrokerId:
        used = {self._racks.get(one) for one in chosen}
        has_racks = None not in self._racks.values()
        of_topic, of_all = self._topics[topic], self._all

        def rank(one: BrokerId) -> tuple[bool, tuple[int, int], tuple[int, int], BrokerId]:
            is_repeated = has_racks and self._racks[one] in used
            held = of_topic.held[one], of_all.held[one]
            first = of_topic.first[one], of_all.first[one]
            return (is_repeated, held, first, one) if place else (is_repeated, first, held, one)

        return min((one for one in self._racks if one not in chosen), key=rank)

    # --- replicas

    def _even_replicas(self, partitions: Mapping[TopicPartition, list[BrokerId]]) -> None:
        """Move replicas while that evens out a topic, or all without a topic that gets less even.

        It ends: each move lowers the sum of the squares of the topics' counts, or keeps it and lowers that
        of the totals.
        """
        holders: dict[str, _Holders] = {topic: {one: {} for one in self._all.held} for topic in self._topics}
        for named, replicas in partitions.items():
            for one in replicas:
                holders[named.topic][one][named] = None
        has_moved = True
        while has_moved:
            has_moved = False
            for topic, held_of in holders.items():
                while (move := self._move_of(topic, held_of, partitions)) is not None:
                    self._carry_out(move, held_of, partitions)
                    has_moved = True
            while (move := self._move_of_all(holders, partitions)) is not None:
                self._carry_out(move, holders[move[0].topic], partitions)
                has_moved = True  # which may have made room in a rack

    def _move_of(
        self,
        topic: str,
        holders: "_Holders",
        partitions: Mapping[TopicPartition, list[BrokerId]],
    ) -> "_Move | None":
        """A replica of a topic that is to move from a broker with many of the topic."""
        for giver, taker in _uneven(self._topics[topic].held, self._all.held):
            if (found := self._movable(holders, giver, taker, partitions)) is not None:
                return found
        return None

    def _move_of_all(
        self, holders: Mapping[str, "_Holders"], partitions: Mapping[TopicPartition, list[BrokerId]]
    ) -> "_Move | None":
        """A replica that is to move from a broker with many in all, and with more of its topic."""
        for giver, taker in _uneven(self._all.held):
            for topic, held_of in holders.items():
                held = self._topics[topic].held
                if held[giver] > held[taker]:
                    found = self._movable(held_of, giver, taker, partitions)
                    if found is not None:
                        return found
        return None

    def _movable(
        self,
        holders: "_Holders",
        giver: BrokerId,
        taker: BrokerId,
        partitions: Mapping[TopicPartition, list[BrokerId]],
    ) -> "_Move | None":
        for named in holders[giver]:
            if named not in holders[taker] and not self._loses_rack(partitions[named], giver, taker):
                return named, giver, taker
        return None

    def _carry_out(
        self, move: "_Move", holders: "_Holders", partitions: Mapping[TopicPartition, list[BrokerId]]
    ) -> None:
        named, giver, taker = move
        replicas = partitions[named]
        place = replicas.index(giver)
        replicas[place] = taker
        self._count(named, giver, place, -1)
        self._count(named, taker, place, 1)
        del holders[giver][named]
        holders[taker][named] = None

    def _loses_rack(self, replicas: Sequence[BrokerId], giver: BrokerId, taker: BrokerId) -> bool:
        others = {self._racks[one] for one in replicas if one != giver}
        return self._racks[giver] not in others and self._racks[taker] in others

    # --- first replicas

    def _even_first(self, partitions: Mapping[TopicPartition, list[BrokerId]]) -> None:
        """Give partitions other first replicas: of each topic as evenly as can be, then of all."""
        led: dict[str, _Holders] = {topic: {one: {} for one in self._all.first} for topic in self._topics}
        for named, replicas in partitions.items():
            if replicas:
                led[named.topic][replicas[0]][named] = None
        for topic, led_of in led.items():
            while (chain := self._chain(self._topics[topic].first, [led_of], partitions)) is not None:
                self._reorder(chain, led, partitions)
        while (chain := self._chain(self._all.first, led.values(), partitions, True)) is not None:
            self._reorder(chain, led, partitions)

    def _chain(
        self,
        first: Mapping[BrokerId, int],
        led: Collection["_Holders"],
        partitions: Mapping[TopicPartition, list[BrokerId]],
        keeps_topics: bool = False,
    ) -> "list[_Move] | None":
        """Changes that take a first replica from a broker with many, and give one to a broker with few.

        Several if no partition is on both: 1 hands one over to 2, which hands another one over to 3. Without
        such a chain nothing is more even, since the cost is convex. With `keeps_topics` each change exchanges
        the counts of two brokers in its topic, so that the topic stays as even as it is.
        """
        for giver in sorted(first, key=lambda one: first[one], reverse=True):
            reached: dict[BrokerId, _Move | None] = {giver: None}
            for one in (queue := [giver]):
                for named in (named for led_of in led for named in led_of[one]):
                    of_topic = self._topics[named.topic].first
                    for other in partitions[named][1:]:
                        if other in reached or (keeps_topics and of_topic[one] <= of_topic[other]):
                            continue
                        reached[other] = named, one, other
                        queue.append(other)
                        if first[giver] - first[other] >= 2:
                            return _path(reached, other)
        return None

    def _reorder(
        self,
        chain: "list[_Move]",
        led: Mapping[str, "_Holders"],
        partitions: Mapping[TopicPartition, list[BrokerId]],
    ) -> None:
        for named, giver, taker in chain:
            replicas = partitions[named]
            place = replicas.index(taker)
            replicas[0], replicas[place] = taker, giver
            for counts in (self._topics[named.topic], self._all):
                counts.first[giver] -= 1
                counts.first[taker] += 1
            del led[named.topic][giver][named]
            led[named.topic][taker][named] = None

    def _count(self, named: TopicPartition, one: BrokerId, place: int, by: int) -> None:
        for counts in (self._topics[named.topic], self._all):
            counts.held[one] += by
            if place == 0:
                counts.first[one] += by


_Holders: TypeAlias = dict[BrokerId, dict[TopicPartition, None]]
"""The partitions of one topic that each broker has, or leads."""
_Move: TypeAlias = tuple[TopicPartition, BrokerId, BrokerId]
"""A partition, the broker that gives, and the one that takes."""


def _path(reached: Mapping[BrokerId, _Move | None], last: BrokerId) -> list[_Move]:
    """The changes that lead to the last broker."""
    found: list[_Move] = []
    while (move := reached[last]) is not None:
        found.append(move)
        last = move[1]
    return found


def _uneven(
    counts: Mapping[BrokerId, int], totals: Mapping[BrokerId, int] | None = None
) -> Iterable[tuple[BrokerId, BrokerId]]:
    """The pairs of brokers of which the first has at least two more than the second, the widest first.

    Of equal ones, those with many and with few in the totals come first.
    """
    ordered = sorted(counts, key=lambda one: (counts[one], totals[one] if totals is not None else 0))
    for giver in reversed(ordered):
        for taker in ordered:
            if counts[giver] - counts[taker] < 2:
                break
            yield giver, taker
