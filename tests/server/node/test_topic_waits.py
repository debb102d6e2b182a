"""G3 against an image that the test changes."""

from collections.abc import Set
from uuid import UUID

import pytest

from odradek.base.clock import ManualClock
from odradek.base.ids import NO_BROKER
from odradek.metadata.image import ClusterImage, PartitionChanged, PartitionImage, TopicCreated, TopicDeleted
from odradek.server.node.topic_waits import DelayedCreatePartitions, DelayedCreateTopics, DelayedDeleteTopics
from odradek.timer import Purgatory, Timer

FLIGHTS, TRAINS = UUID(int=1), UUID(int=2)
LED = PartitionImage((0,), (0,), 0)
LEADERLESS = PartitionImage((0,), (0,), NO_BROKER)


class Bench:
    def __init__(self) -> None:
        self.image = ClusterImage()
        self.timer = Timer(ManualClock())
        self.purgatory: Purgatory[str] = Purgatory("Topic", self.timer)
        self.late: list[Set[str]] = []

    def create(self, **topics: UUID) -> DelayedCreateTopics:
        operation = DelayedCreateTopics(1000, self.image, topics, self.late.append)
        assert operation.park(self.purgatory, list(topics)) is None
        return operation

    def change(self, change: TopicCreated | PartitionChanged | TopicDeleted, topic: str) -> None:
        self.image.apply(change)
        self.purgatory.check_and_complete(topic)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_a_creation_waits_for_the_last_leader_of_the_last_topic(bench: Bench) -> None:
    """G3"""
    operation = bench.create(flights=FLIGHTS, trains=TRAINS)
    bench.change(TopicCreated("flights", FLIGHTS, {0: LED, 1: LEADERLESS}), "flights")
    bench.change(TopicCreated("trains", TRAINS, {0: LED}), "trains")
    assert bench.late == []
    assert operation.waits_for() == "a leader for every partition of flights"
    bench.change(PartitionChanged("flights", 1, LED), "flights")
    assert bench.late == [set()]


def test_what_is_done_already_is_returned_and_calls_nobody(bench: Bench) -> None:
    """G3; nothing calls back before it returns."""
    bench.image.apply(TopicCreated("flights", FLIGHTS, {0: LED}))
    operation = DelayedCreateTopics(1000, bench.image, {"flights": FLIGHTS}, bench.late.append)
    assert operation.park(bench.purgatory, ["flights"]) == set()
    assert bench.late == []


def test_a_topic_of_the_same_name_and_another_id_is_not_the_one(bench: Bench) -> None:
    bench.create(flights=FLIGHTS)
    bench.change(TopicCreated("flights", TRAINS, {0: LED}), "flights")
    assert bench.late == []


def test_at_the_deadline_the_open_topics_are_late(bench: Bench) -> None:
    """G3: at the timeout with REQUEST_TIMED_OUT (the topic still comes)."""
    bench.create(flights=FLIGHTS, trains=TRAINS)
    bench.change(TopicCreated("trains", TRAINS, {0: LED}), "trains")
    assert isinstance(bench.timer.clock, ManualClock)
    bench.timer.clock.advance(1001)
    bench.timer.advance()
    assert bench.late == [{"flights"}]


def test_growth_waits_for_the_leaders_of_as_many_partitions_as_asked_for(bench: Bench) -> None:
    """G3"""
    bench.image.apply(TopicCreated("flights", FLIGHTS, {0: LED}))
    operation = DelayedCreatePartitions(1000, bench.image, {"flights": 2}, bench.late.append)
    assert operation.park(bench.purgatory, ["flights"]) is None
    assert operation.waits_for() == "a leader for every new partition of flights"
    bench.change(PartitionChanged("flights", 1, LEADERLESS), "flights")
    assert bench.late == []
    bench.change(PartitionChanged("flights", 1, LED), "flights")
    assert bench.late == [set()]


def test_a_deletion_waits_until_nothing_is_known_of_the_topic(bench: Bench) -> None:
    """G3"""
    bench.image.apply(TopicCreated("flights", FLIGHTS, {0: LED}))
    deleting = {"flights"}
    operation = DelayedDeleteTopics(
        1000, bench.image, {"flights": FLIGHTS}, bench.late.append, deleting.__contains__
    )
    assert operation.park(bench.purgatory, ["flights"]) is None
    assert operation.waits_for() == "the last partition of flights to be gone"
    bench.change(TopicDeleted("flights"), "flights")
    assert bench.late == [], "its replicas are still there, and its name is taken"
    deleting.clear()
    bench.purgatory.check_and_complete("flights")
    assert bench.late == [set()]


def test_many_topics_made_one_after_another_cost_one_look_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """G3; a look at every open topic for each one made would be 20,000 looks here."""
    bench, looks = Bench(), 0
    look = DelayedCreateTopics._is_done

    def counted(operation: DelayedCreateTopics, name: str, goal: UUID) -> bool:
        nonlocal looks
        looks += 1
        return look(operation, name, goal)

    monkeypatch.setattr(DelayedCreateTopics, "_is_done", counted)
    names = {f"t{number}": UUID(int=number) for number in range(200)}
    bench.create(**names)
    for name, topic_id in names.items():
        bench.change(TopicCreated(name, topic_id, {0: LED}), name)
    assert bench.late == [set()]
    assert looks <= 4 * len(names)


def test_a_person_is_told_of_a_few_topics_and_how_many_more(bench: Bench) -> None:
    operation = bench.create(**{f"t{number}": UUID(int=number) for number in range(12)})
    assert operation.waits_for().endswith("t8, t9 and 2 more")
