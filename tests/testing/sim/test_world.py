"""Two and three brokers in one process, by one call, without sockets."""

from functools import partial

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.testing.sim import SimNode, World
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.metadata import MetadataRequest


def topics_known(node: SimNode) -> set[str]:
    answer = node.ask(MetadataRequest(topics=None))
    return {topic.name for topic in answer.topics if topic.error_code == ErrorCode.NONE and topic.name}


def create(node: SimNode, name: str, replicas: int) -> int:
    request = CreateTopicsRequest([CreatableTopic(name, 3, replicas)], timeout_ms=5_000)
    code: int = node.ask(request).topics[0].error_code
    return code


@pytest.mark.parametrize("count", [1, 2, 3])
def test_brokers_of_one_world_are_one_cluster(count: int) -> None:
    world = World(brokers=count)
    nodes = list(world.nodes.values())
    assert all(node.is_serving for node in nodes)
    assert [node.core.controller.is_active for node in nodes] == [True] + [False] * (count - 1)
    assert create(nodes[0], "t", replicas=count) == ErrorCode.NONE
    world.settle()
    for node in nodes:
        assert list(node.core.image.brokers) == list(range(1, count + 1))
        assert topics_known(node) == {"t"}
        assert len(list(node.logs.logs())) == 3


def test_another_broker_takes_over_from_a_controller_that_was_killed() -> None:
    world = World(brokers=3)
    first, second, third = world.nodes.values()
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
    world = World(brokers=2)
    second = world.nodes[2]
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
    world = World(seed, brokers=3)
    for number, node in enumerate(world.nodes.values()):
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


def test_long_work_is_cut_into_slices_between_which_others_are_served() -> None:
    """A topic of many partitions is on its way while another client asks."""
    seen = set[int]()
    for seed in range(5):
        node = World(seed).node(1)
        wide = node.send(CreateTopicsRequest([CreatableTopic("t", 100, 1)], timeout_ms=5_000)).arrive()
        while not wide.answers:
            node.send(MetadataRequest(topics=None)).arrive()
            seen.add(len(list(node.logs.logs())))
            assert node.world.step()
    assert seen > {0, 100}, "logs are made in more than one turn"


def test_slices_are_as_long_as_the_seed_says() -> None:
    def turns(seed: int) -> int:
        node = World(seed).node(1)
        node.send(CreateTopicsRequest([CreatableTopic("t", 100, 1)], timeout_ms=5_000))
        return node.world.settle()

    assert len({turns(seed) for seed in range(8)}) > 2


def test_timers_due_at_one_time_fire_in_the_order_that_the_seed_says() -> None:
    def first(seed: int) -> int:
        world = World(seed)
        fired: list[int] = []
        for broker_id in (1, 2):
            schedule = world.node(broker_id).node.schedule
            schedule.every(100_000, "task", partial(fired.append, broker_id), delay_ms=50)
        world.advance(50)
        assert len(fired) == 2
        return fired[0]

    assert {first(seed) for seed in range(10)} == {1, 2}


def test_a_life_may_end_between_any_two_operations_of_its_disk() -> None:
    ends = set[bool]()
    for operations in range(0, 300, 20):
        node = World(operations).node(1)
        node.kill_within(operations)
        made = node.send(CreateTopicsRequest([CreatableTopic("t", 4, 1)], timeout_ms=5_000))
        node.settle()
        assert made.answers or node.is_over
        ends.add(bool(made.answers))
        if node.is_over:
            again = node.world.node(1)
            node.world.advance(1_000)
            assert len(list(again.logs.logs())) in (0, 4)
    assert ends == {True, False}
