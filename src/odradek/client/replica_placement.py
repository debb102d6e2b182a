"""Chooses brokers for replicas that are to move, so that as few as possible do. Pure functions, without I/O.

`spread` puts partitions on given brokers. Brokers 1 to 4, and two partitions that were on 1, 2 and 3:

    what stays             0: 1 2 3    1: 2 3 1      replicas on these brokers stay where they are
    replicas even out      0: 1 2 4    1: 2 3 1      as long as one broker has two more than another
    so do first replicas   0: 1 2 4    1: 2 3 1      by another order alone, which copies nothing

A replica that leaves hands its place in the order to the one that replaces it: so the preferred leaders of a
broker that is drained are spread like its replicas. Of the brokers that could take a replica, one in a rack
without a replica of the partition comes first, then the one with the fewest replicas (KIP-36).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

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
    board = _Board(racks, kept.values())
    filled = {named: board.filled(places) for named, places in kept.items()}
    return board.evened(filled)


def drained(
    partitions: Mapping[TopicPartition, Replicas], racks: Racks, broker: BrokerId, others: Iterable[Replicas]
) -> dict[TopicPartition, Replicas]:
    """The replicas of each partition where that on `broker`, which is none of `racks`, is replaced.

    `others` are the replicas of the partitions that stay as they are: they count for who has few. For each
    partition there is a broker without a replica of it.
    """
    assert broker not in racks, f"broker {broker} could be chosen"
    holes: dict[TopicPartition, Places] = {
        named: [_HOLE if one == broker else one for one in replicas] for named, replicas in partitions.items()
    }
    board = _Board(racks, [*holes.values(), *map(list, others)])
    return {named: tuple(board.filled(places)) for named, places in holes.items()}


def _kept(replicas: Replicas, racks: Racks, factor: int | None) -> Places:
    """The replicas with a hole for each that is to be replaced; of too many, the holes go, then the last."""
    places: Places = [one if one in racks else _HOLE for one in replicas]
    wanted = len(replicas) if factor is None else factor
    assert wanted <= len(racks), f"{wanted} replicas on {len(racks)} brokers"
    while len(places) > wanted:
        places.pop(places.index(_HOLE) if _HOLE in places else -1)
    return places + [_HOLE] * (wanted - len(places))


class _Board:
    """How many replicas each broker has, and how many of them are first."""

    def __init__(self, racks: Racks, kept: Iterable[Sequence[BrokerId | None]]) -> None:
        self._racks = racks
        self._held: Counter[BrokerId] = Counter(dict.fromkeys(sorted(racks), 0))
        self._first: Counter[BrokerId] = Counter(dict.fromkeys(sorted(racks), 0))
        for places in kept:
            for place, one in enumerate(places):
                if one is not None and one in racks:
                    self._count(one, place, 1)

    def filled(self, places: Places) -> list[BrokerId]:
        """The places with a broker in each hole."""
        chosen = [one for one in places if one is not None]
        found: list[BrokerId] = []
        for place, one in enumerate(places):
            if one is None:
                one = self._best(chosen, place)
                chosen.append(one)
                self._count(one, place, 1)
            found.append(one)
        return found

    def evened(self, partitions: Mapping[TopicPartition, list[BrokerId]]) -> dict[TopicPartition, Replicas]:
        """The partitions with replicas and first replicas moved until no broker has two more than another.

        As long as that is possible: a partition is never on fewer racks than before.
        """
        holders: dict[BrokerId, dict[TopicPartition, None]] = {one: {} for one in self._held}
        for named, replicas in partitions.items():
            for one in replicas:
                holders[one][named] = None
        while (move := self._move(partitions, holders)) is not None:
            named, giver, taker = move
            replicas = partitions[named]
            place = replicas.index(giver)
            replicas[place] = taker
            self._count(giver, place, -1)
            self._count(taker, place, 1)
            del holders[giver][named]
            holders[taker][named] = None
        while (move := self._swap(partitions, holders)) is not None:
            named, giver, taker = move
            replicas = partitions[named]
            place = replicas.index(taker)
            replicas[0], replicas[place] = taker, giver
            self._first[giver] -= 1
            self._first[taker] += 1
        return {named: tuple(replicas) for named, replicas in partitions.items()}

    def _best(self, chosen: Sequence[BrokerId], place: int) -> BrokerId:
        used = {self._racks.get(one) for one in chosen}
        has_racks = None not in self._racks.values()

        def rank(one: BrokerId) -> tuple[bool, int, int, int]:
            is_repeated = has_racks and self._racks[one] in used
            counts = self._held[one], self._first[one]
            return (is_repeated, *(counts if place else counts[::-1]), one)

        return min((one for one in self._racks if one not in chosen), key=rank)

    def _move(
        self,
        partitions: Mapping[TopicPartition, list[BrokerId]],
        holders: Mapping[BrokerId, Mapping[TopicPartition, None]],
    ) -> tuple[TopicPartition, BrokerId, BrokerId] | None:
        """A replica that is to move from a broker with many to one with few."""
        for giver, taker in _uneven(self._held):
            for named in holders[giver]:
                if named not in holders[taker] and not self._loses_rack(partitions[named], giver, taker):
                    return named, giver, taker
        return None

    def _swap(
        self,
        partitions: Mapping[TopicPartition, list[BrokerId]],
        holders: Mapping[BrokerId, Mapping[TopicPartition, None]],
    ) -> tuple[TopicPartition, BrokerId, BrokerId] | None:
        """A partition whose first replica is to be on a broker that is first of few."""
        for giver, taker in _uneven(self._first):
            for named in holders[giver]:
                if partitions[named][0] == giver and named in holders[taker]:
                    return named, giver, taker
        return None

    def _loses_rack(self, replicas: Sequence[BrokerId], giver: BrokerId, taker: BrokerId) -> bool:
        others = {self._racks[one] for one in replicas if one != giver}
        return self._racks[giver] not in others and self._racks[taker] in others

    def _count(self, one: BrokerId, place: int, by: int) -> None:
        self._held[one] += by
        if place == 0:
            self._first[one] += by


def _uneven(counts: Mapping[BrokerId, int]) -> Iterable[tuple[BrokerId, BrokerId]]:
    """The pairs of brokers of which the first has at least two more than the second, the widest first."""
    ordered = sorted(counts, key=lambda one: counts[one])
    for giver in reversed(ordered):
        for taker in ordered:
            if counts[giver] - counts[taker] < 2:
                break
            yield giver, taker
