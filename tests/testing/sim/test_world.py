"""Two and three brokers in one process, by one call each, without sockets."""

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.testing.sim import SimNode, World
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.metadata import MetadataRequest


def topics_known(node: SimNode) -> set[str]:
    answer = node.ask(MetadataRequest(topics=None))
    return {topic.name for topic in answer.topics if topic.error_code == ErrorCode.NONE}


def create(node: SimNode, name: str, replicas: int) -> int:
    request = CreateTopicsRequest([CreatableTopic(name, 3, replicas)], timeout_ms=5_000)
    code: int = node.ask(request).topics[0].error_code
    return code


@pytest.mark.parametrize("count", [1, 2, 3])
def test_brokers_of_one_world_are_one_cluster(count: int) -> None:
    world = World()
    nodes = [world.node(broker_id) for broker_id in range(1, count + 1)]
    assert [node.core.controller.is_active for node in nodes] == [True] + [False] * (count - 1)
    assert create(nodes[0], "t", replicas=count) == ErrorCode.NONE
    world.settle()
    for node in nodes:
        assert list(node.core.image.brokers) == list(range(1, count + 1))
        assert topics_known(node) == {"t"}
        assert len(list(node.logs.logs())) == 3


def test_another_broker_takes_over_from_a_controller_that_was_killed() -> None:
    world = World()
    first, second, third = (world.node(broker_id) for broker_id in (1, 2, 3))
    assert create(first, "t", replicas=3) == ErrorCode.NONE
    world.settle()
    world.kill(1)
    world.settle()
    assert [node.core.controller.is_active for node in (second, third)].count(True) == 1
    for node in (second, third):
        assert list(node.core.image.brokers) == [2, 3]
        states = node.core.image.topics["t"].partitions.values()
        assert all(state.leader in (2, 3) for state in states)


def test_a_broker_comes_back_on_its_disk() -> None:
    world = World()
    world.node(1)
    second = world.node(2)
    assert create(world.nodes[1], "t", replicas=1) == ErrorCode.NONE
    kept = len(list(second.logs.logs()))
    world.kill(2)
    world.settle()
    again = world.node(2)
    assert again is not second
    assert list(world.nodes[1].core.image.brokers) == [1, 2]
    assert len(list(again.logs.logs())) == kept
    assert topics_known(again) == topics_known(world.nodes[1]) == {"t"}


def history(seed: int) -> list[object]:
    world = World(seed)
    nodes = [world.node(broker_id) for broker_id in (1, 2, 3)]
    for number, node in enumerate(nodes):
        node.send(CreateTopicsRequest([CreatableTopic(f"t{number}", 2, 2)], timeout_ms=5_000))
    told: list[object] = []
    while steps := world.steps():
        told.append(len(steps))
        world.step()
    told.append(world.store.table.snapshot())
    return told


def test_a_seed_is_one_history() -> None:
    assert history(5) == history(5)


def test_another_seed_is_another_history() -> None:
    assert history(5) != history(6)
