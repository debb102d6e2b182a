"""How the leader of a classic group shares out partitions: the strategies that Kafka's clients know by name.

    range                 each topic is cut into ranges, the first members get the longer ones
    roundrobin            all partitions in turn to all members that want them
    sticky                members get what they had before, as far as shares stay even (KIP-54)
    cooperative-sticky    the same, without giving back first what they keep (KIP-429)

All members get an entry. Members are in the order of their static ids, then of their member ids.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Final, TypeAlias

from odradek.base.ids import TopicPartition


@dataclass(frozen=True, slots=True)
class Subscriber:
    """One member, as the JoinGroup answer describes it to the leader."""

    member: str
    instance: str | None
    topics: frozenset[str]
    owned: frozenset[TopicPartition] = frozenset()
    """The partitions that it still owns; with `sticky`, those that it had before it joined."""
    generation: int = -1
    """The generation in which it got them."""


Shares: TypeAlias = dict[str, list[TopicPartition]]
Counts: TypeAlias = Mapping[str, int]
"""Topic to its number of partitions; topics that do not exist are missing."""


def by_range(subscribers: Sequence[Subscriber], counts: Counts) -> Shares:
    """Ranges of each topic.

    A topic of 5 partitions, members a, b, c: a has 0 1, b has 2 3, c has 4.
    """
    shares: Shares = {one.member: [] for one in subscribers}
    for topic in sorted(counts):
        members = _wanting(subscribers, topic)
        start = 0
        for place, member in enumerate(members):
            length = counts[topic] // len(members) + (place < counts[topic] % len(members))
            shares[member] += [TopicPartition(topic, number) for number in range(start, start + length)]
            start += length
    return shares


def round_robin(subscribers: Sequence[Subscriber], counts: Counts) -> Shares:
    """All partitions in turn, leaving out members that have not subscribed to the topic."""
    shares: Shares = {one.member: [] for one in subscribers}
    turns = cycle(_in_order(subscribers))
    for partition in _partitions(subscribers, counts):
        taker = next(one for one in turns if partition.topic in one.topics)
        shares[taker.member].append(partition)
    return shares


def sticky(subscribers: Sequence[Subscriber], counts: Counts) -> Shares:
    """Even shares with few moves from what members had in earlier generations."""
    return {member: sorted(share) for member, share in _even_shares(subscribers, counts).items()}


def cooperative_sticky(subscribers: Sequence[Subscriber], counts: Counts) -> Shares:
    """Even shares with few moves; a partition that moves is left out until its owner has revoked it."""
    shares = _even_shares(subscribers, counts)
    holder = {partition: member for member, share in shares.items() for partition in share}
    for one in subscribers:
        for partition in one.owned:
            if holder.get(partition, one.member) != one.member:
                shares[holder[partition]].discard(partition)
    return {member: sorted(share) for member, share in shares.items()}


def _even_shares(subscribers: Sequence[Subscriber], counts: Counts) -> dict[str, set[TopicPartition]]:
    """What each member had, then what nobody had, then moves from long shares to short ones.

    No single move would make the shares more even.
    """
    wanting = {topic: _wanting(subscribers, topic) for topic in counts}
    shares: dict[str, set[TopicPartition]] = {one.member: set() for one in subscribers}
    holder: dict[TopicPartition, str] = {}
    # The member with the shortest share by topic; found again after each change.
    shortest: dict[str, str] = {}

    def give(partition: TopicPartition, member: str) -> None:
        if partition in holder:
            shares[holder[partition]].discard(partition)
        shares[member].add(partition)
        holder[partition] = member
        shortest.clear()

    def least(topic: str) -> str:
        if topic not in shortest:
            shortest[topic] = min(wanting[topic], key=lambda member: len(shares[member]))
        return shortest[topic]

    for partition, owner in _owners(subscribers).items():
        is_there = partition.partition < counts.get(partition.topic, 0)
        if is_there and owner in wanting[partition.topic]:
            give(partition, owner)
    for partition in _partitions(subscribers, counts):
        if partition not in holder:
            give(partition, least(partition.topic))
    members = [one.member for one in _in_order(subscribers)]

    def shorten_the_longest() -> bool:
        """Move partitions out of the longest share that can be shortened, while no other one is longer.

        A move out of a shorter share could make another one necessary.
        """
        for member in sorted(members, key=lambda member: -len(shares[member])):
            before = len(shares[member])
            for partition in sorted(shares[member]):
                taker = least(partition.topic)
                if len(shares[member]) > len(shares[taker]) + 1:
                    give(partition, taker)
                    if len(shares[member]) < max(map(len, shares.values())):
                        return True
            if len(shares[member]) < before:
                return True
        return False

    while shorten_the_longest():  # Each move makes the sum of the squares of all shares smaller.
        pass
    return shares


ASSIGNORS: Final[Mapping[str, Callable[[Sequence[Subscriber], Counts], Shares]]] = {
    "range": by_range,
    "cooperative-sticky": cooperative_sticky,
    "sticky": sticky,
    "roundrobin": round_robin,
}
"""By name, the preferred one first."""


def _in_order(subscribers: Sequence[Subscriber]) -> list[Subscriber]:
    return sorted(subscribers, key=lambda one: (one.instance is None, one.instance or "", one.member))


def _wanting(subscribers: Sequence[Subscriber], topic: str) -> list[str]:
    return [one.member for one in _in_order(subscribers) if topic in one.topics]


def _partitions(subscribers: Sequence[Subscriber], counts: Counts) -> list[TopicPartition]:
    """All partitions of the subscribed topics, in order."""
    wanted = {topic for one in subscribers for topic in one.topics} & counts.keys()
    return [TopicPartition(topic, number) for topic in sorted(wanted) for number in range(counts[topic])]


def _owners(subscribers: Sequence[Subscriber]) -> dict[TopicPartition, str]:
    """The owner of each partition; of several claims the one with the latest generation counts."""
    owners: dict[TopicPartition, Subscriber] = {}
    for one in _in_order(subscribers):
        for partition in sorted(one.owned):
            if partition not in owners or owners[partition].generation < one.generation:
                owners[partition] = one
    return {partition: one.member for partition, one in owners.items()}
