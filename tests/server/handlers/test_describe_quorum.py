"""DescribeQuorum: the controller as leader, the live brokers as voters."""

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.testing.sim import SimNode, World
from odradek.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    PartitionData,
    PartitionDataResponse,
    TopicData,
)


def asked(*topics: tuple[str, list[int]]) -> DescribeQuorumRequest:
    return DescribeQuorumRequest([TopicData(name, [PartitionData(one) for one in n]) for name, n in topics])


def quorum(node: SimNode, version: int = 2) -> PartitionDataResponse:
    answer = node.ask(asked(("__cluster_metadata", [0])), version)
    assert answer.error_code == ErrorCode.NONE
    (topic,) = answer.topics
    (found,) = topic.partitions
    assert (topic.topic_name, found.partition_index) == ("__cluster_metadata", 0)
    return found


@pytest.mark.parametrize("version", [0, 1, 2])
def test_every_broker_names_the_controller_and_the_voters(version: int) -> None:
    world = World(brokers=3)
    world.settle()
    controller = world.nodes[1].core.image.controller_id
    epoch = world.nodes[1].core.image.controller_epoch
    for node in world.nodes.values():
        found = quorum(node, version)
        assert (found.error_code, found.leader_id, found.leader_epoch) == (0, controller, epoch)
        assert [one.replica_id for one in found.current_voters] == [1, 2, 3]
        assert {one.log_end_offset for one in found.current_voters} == {found.high_watermark}
        assert found.observers == []


def test_the_next_controller_leads_under_a_higher_epoch() -> None:
    world = World(brokers=3)
    world.settle()
    before = quorum(world.nodes[2])
    world.kill(before.leader_id)
    world.advance(60_000)
    node = next(one for one in world.nodes.values() if one.is_alive)
    after = quorum(node)
    assert after.leader_id not in (before.leader_id, -1)
    assert after.leader_epoch > before.leader_epoch
    assert [one.replica_id for one in after.current_voters] == sorted({1, 2, 3} - {before.leader_id})


def test_the_addresses_are_those_of_the_listener(node: SimNode) -> None:
    answer = node.ask(asked(("__cluster_metadata", [0])), 2)
    listeners = [(one.node_id, [(each.name, each.port) for each in one.listeners]) for one in answer.nodes]
    assert listeners == [(0, [("PLAINTEXT", 9092)])]


@pytest.mark.parametrize(
    "topics",
    [
        [("x", [0])],
        [("__cluster_metadata", [1])],
        [("__cluster_metadata", [0, 1])],
        [("__cluster_metadata", [0]), ("x", [0])],
    ],
)
def test_other_partitions_are_unknown(node: SimNode, topics: list[tuple[str, list[int]]]) -> None:
    """As in Kafka: also the right one, beside others."""
    answer = node.ask(asked(*topics), 2)
    found = [(one.topic_name, [each.partition_index for each in one.partitions]) for one in answer.topics]
    assert found == topics
    codes = {each.error_code for one in answer.topics for each in one.partitions}
    assert codes == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


def test_nothing_asked_is_nothing_answered(node: SimNode) -> None:
    assert node.ask(asked(), 2).topics == []
    (empty,) = node.ask(asked(("__cluster_metadata", [])), 2).topics
    assert empty.partitions == []


def test_without_a_controller_the_client_asks_again() -> None:
    world = World(brokers=3)
    world.settle()
    controller = world.nodes[1].core.image.controller_id
    node = next(one for one in world.nodes.values() if one.broker_id != controller)
    world.cut_store(node.broker_id)
    world.advance(node.core.settings.store_session_timeout_ms)
    assert quorum(node).error_code == ErrorCode.LEADER_NOT_AVAILABLE
