"""The first records of a new topic, whose leader and followers get the controller's orders in any order."""

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import BrokerId, TopicPartition
from odradek.replication.fetcher import NoteKind
from odradek.testing.sim import World
from odradek.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.replication.replica_bench import batch_of

P = TopicPartition("orders", 0)
BROKERS = (1, 2, 3)
CONTROLLER: BrokerId = 1
SOON_MS = 200


def first_produce(world: World, leader: BrokerId) -> ErrorCode | None:
    """Make the topic, and produce with acks=all as soon as the leader leads; None: no answer in SOON_MS."""
    replicas = [leader, *(other for other in BROKERS if other != leader)]
    topic = CreatableTopic("orders", -1, -1, [CreatableReplicaAssignment(0, replicas)])
    world.nodes[CONTROLLER].send(CreateTopicsRequest([topic], timeout_ms=5_000))
    node = world.nodes[leader]
    while (partition := node.core.replicas.partition(P)) is None or partition.leadership is None:
        assert world.step()
    data = [TopicProduceData("orders", partition_data=[PartitionProduceData(0, batch_of(100, 0))])]
    sent = node.send(ProduceRequest(None, -1, 60_000, data), 9)
    world.advance(SOON_MS)
    if not sent.answers:
        return None
    (answered,) = sent.answer.responses
    return ErrorCode(answered.partition_responses[0].error_code)


@pytest.mark.parametrize("seed", range(8))
def test_followers_fetch_a_topic_that_its_leader_knows_from_its_orders_only(seed: int) -> None:
    """X1: the controller's broker leads, and hosts the partition before its image has the topic."""
    world = World(seed, brokers=3)
    assert first_produce(world, CONTROLLER) is ErrorCode.NONE
    noted = [world.nodes[broker_id].core.fetchers.noted[NoteKind.DELAYED] for broker_id in BROKERS]
    assert noted == [0, 0, 0]


@pytest.mark.parametrize("leader", [2, 3])
@pytest.mark.parametrize("seed", range(10))
def test_the_first_produce_to_a_topic_does_not_wait_for_the_backoff(seed: int, leader: BrokerId) -> None:
    """X5: a follower's LeaderAndIsr may arrive before the leader's."""
    assert first_produce(World(seed, brokers=3), leader) is ErrorCode.NONE
