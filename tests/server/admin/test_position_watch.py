"""When a group's members have a position in all that they were assigned, by what brokers have seen."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import pytest

from odradek.base.ids import BrokerId, TopicPartition
from odradek.client.core.operation import Operation, Pause
from odradek.client.core.requests import ToCoordinator
from odradek.client.group_description import GroupDescription, MemberDescription
from odradek.server.admin import position_watch
from odradek.server.admin.position_watch import Ask, PositionWatch
from odradek.server.faults.fetch_watches import FetchWatches

T = TypeVar("T")

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class Asked:
    """A broker that watches fetches."""

    def __init__(self) -> None:
        self.watches = FetchWatches()

    def ask(self, document: Mapping[str, Any]) -> Any:
        match document["fault"]:
            case "watch_fetches":
                return {"id": self.watches.begin()}
            case "watched_fetches":
                return self.watches.fetched(document["id"])
            case _:
                assert document["fault"] == "end_watch"
                return {"removed": self.watches.end(document["id"])}


@dataclass
class Scene:
    """A group of one cluster of two brokers, as its coordinator describes it."""

    state: str = "Stable"
    members: dict[str, list[TopicPartition]] = field(default_factory=dict)
    """What each client id has."""
    brokers: dict[BrokerId, Asked] = field(default_factory=lambda: {1: Asked(), 2: Asked()})

    def describe(self, group: str) -> GroupDescription:
        members = [
            MemberDescription(f"{client}-id", None, client, "/10.0.0.7", "classic", partitions)
            for client, partitions in self.members.items()
        ]
        return GroupDescription(group, "classic", self.state, "range", members)

    def asks(self) -> dict[BrokerId, Ask]:
        return {one: broker.ask for one, broker in self.brokers.items()}

    def fetch(self, broker_id: BrokerId, client: str, *partitions: TopicPartition) -> None:
        self.brokers[broker_id].watches.note(client, "10.0.0.7", partitions)


@pytest.fixture
def scene() -> Scene:
    return Scene(members={"reader-1": [T0], "reader-2": [T1]})


def looks(scene: Scene, watch: PositionWatch) -> Callable[[], tuple[bool, str]]:
    class Described:
        """An admin client that is only asked to describe the group."""

        def carry_out(self, operation: Operation[T]) -> T:
            asked = next(operation)
            assert not isinstance(asked, Pause)
            assert [send.to for send in asked] == [ToCoordinator("g")]
            operation.close()
            return cast(T, scene.describe("g"))

    admin = Described()

    def look() -> tuple[bool, str]:
        seen = watch.look(admin)
        return seen.found is not None, seen.words

    return look


def test_each_partition_must_be_fetched_by_the_client_that_has_it(scene: Scene) -> None:
    with PositionWatch("g", 2, scene.asks) as watch:
        look = looks(scene, watch)
        assert look() == (
            False,
            "not fetched by group g: t-0 by reader-1 on 10.0.0.7, t-1 by reader-2 on 10.0.0.7",
        )
        scene.fetch(1, "reader-1", T0, T1)  # reader-1 has no t-1
        scene.fetch(2, "stranger", T1)
        assert look() == (False, "not fetched by group g: t-1 by reader-2 on 10.0.0.7")
        scene.fetch(2, "reader-2", T1)
        assert look()[0]
    assert [len(one.watches) for one in scene.brokers.values()] == [0, 0]


def test_what_was_fetched_before_an_assignment_does_not_count(scene: Scene) -> None:
    with PositionWatch("g", None, scene.asks) as watch:
        look = looks(scene, watch)
        look()
        scene.fetch(1, "reader-1", T0)
        scene.fetch(1, "reader-2", T0, T1)
        scene.members = {"reader-1": [T1], "reader-2": [T0]}
        assert not look()[0]
        scene.fetch(1, "reader-1", T1)
        scene.state = "PreparingRebalance"
        assert look() == (False, "group g is PreparingRebalance with 2 members")
        scene.state = "Stable"
        scene.fetch(1, "reader-2", T0)
        assert look()[1].startswith("not fetched by group g: t-0")  # these came before it was at rest again
        scene.fetch(1, "reader-1", T1)
        scene.fetch(1, "reader-2", T0)
        assert look()[0]


def test_a_broker_that_comes_or_goes_begins_the_watches_anew(scene: Scene) -> None:
    with PositionWatch("g", None, scene.asks) as watch:
        look = looks(scene, watch)
        look()
        scene.fetch(1, "reader-1", T0)
        del scene.brokers[1]
        assert not look()[0]
        scene.fetch(2, "reader-1", T0)
        scene.fetch(2, "reader-2", T1)
        assert look()[0]


def test_only_partitions_that_count_are_waited_for(scene: Scene) -> None:
    with PositionWatch("g", None, scene.asks, lambda one: one == T1) as watch:
        look = looks(scene, watch)
        assert not look()[0]
        scene.fetch(2, "reader-2", T1)
        assert look()[0]


def test_of_many_partitions_a_few_are_named(scene: Scene) -> None:
    scene.members = {"r": [TopicPartition("t", number) for number in range(position_watch.NAMED_MAX + 2)]}
    with PositionWatch("g", None, scene.asks) as watch:
        assert looks(scene, watch)()[1].endswith("t-4 by r on 10.0.0.7 and 2 more")
