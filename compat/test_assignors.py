"""Random histories of consumer groups: after each change our uniform assignor answers as Kafka's does.

Kafka takes members and topics in the order of Java's hash tables, which is arbitrary. The names and ids here
are such that this order is also the natural one, so that the outcomes are equal and not merely alike.
"""

import random
from collections.abc import Iterator
from uuid import UUID

import pytest
from peers import JarsMissing

from compat.assignors import KafkaUniformAssignor
from odradek.base.execution import Pace, exhaust
from odradek.coordinator.assignors import ASSIGNORS, Assignment, Subscriber

pytestmark = pytest.mark.one_broker("compares assignors and starts no broker")

HISTORIES = 1_000
CHANGES = 6
NAMES = "abcdefghijklmno"
TOPICS = [UUID(int=number) for number in range(1, 9)]


@pytest.fixture(scope="module")
def kafka() -> Iterator[KafkaUniformAssignor]:
    """Kafka's assignor."""
    try:
        with KafkaUniformAssignor() as running:
            yield running
    except JarsMissing as missing:
        pytest.skip(str(missing))


class Group:
    """A group that changes by chance: members come, go and subscribe anew; topics come, go and grow."""

    def __init__(self, chance: random.Random, *, alike: bool) -> None:
        self._chance = chance
        self._alike = alike
        self.counts = {topic: chance.randint(1, 12) for topic in chance.sample(TOPICS, chance.randint(2, 8))}
        self._subscriptions: dict[str, frozenset[UUID]] = {}

    def change(self) -> None:
        """One event, or two before the next assignment."""
        for _ in range(self._chance.randint(1, 2)):
            self._happen()

    def _happen(self) -> None:
        chance, names = self._chance, self._subscriptions
        event = chance.random()
        if event < 0.5 or len(names) < 2:
            free = [name for name in NAMES if name not in names]
            for name in chance.sample(free, min(len(free), chance.randint(1, 5))):
                names[name] = self._some_topics()
        elif event < 0.75:
            del names[chance.choice(sorted(names))]
        elif event < 0.85:
            self.counts = {topic: count + chance.randint(0, 3) for topic, count in self.counts.items()}
        elif event < 0.93 or len(self.counts) < 2:
            names[chance.choice(sorted(names))] = self._some_topics()
        else:
            del self.counts[chance.choice(sorted(self.counts))]

    def members(self, held: dict[str, Assignment]) -> list[Subscriber]:
        """The members with what they have."""
        return [
            Subscriber(name, None, self._wanted(topics), held.get(name, {}))
            for name, topics in sorted(self._subscriptions.items())
        ]

    def _wanted(self, topics: frozenset[UUID]) -> frozenset[UUID]:
        there = frozenset(self.counts)
        return there if self._alike else topics & there or there

    def _some_topics(self) -> frozenset[UUID]:
        return frozenset(self._chance.sample(sorted(self.counts), self._chance.randint(1, len(self.counts))))


@pytest.mark.parametrize("alike", [True, False], ids=["homogeneous", "heterogeneous"])
def test_the_uniform_assignor_ends_where_kafka_s_does(kafka: KafkaUniformAssignor, alike: bool) -> None:
    for seed in range(HISTORIES):
        group = Group(random.Random(seed), alike=alike)
        held: dict[str, Assignment] = {}
        for change in range(CHANGES):
            group.change()
            members = group.members(held)
            theirs = kafka.assign(members, group.counts)
            answer = exhaust(ASSIGNORS["uniform"](members, group.counts, Pace()))
            ours = {name: dict(given) for name, given in answer.items()}
            assert ours == theirs, f"history {seed}, change {change}"
            held = theirs
