"""What a world holds, read from outside."""

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import NO_BROKER, TopicPartition
from odradek.records.builder import BatchBuilder
from odradek.testing.sim import World
from odradek.testing.sim.stored import StoredCluster, batches, content_of
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

P = TopicPartition("t", 0)


def with_topic(brokers: int) -> World:
    world = World(brokers=brokers)
    world.nodes[1].send(CreateTopicsRequest([CreatableTopic("t", 1, brokers)], timeout_ms=5_000))
    world.settle()
    return world


def test_the_store_names_controller_brokers_topics_and_leaders() -> None:
    world = with_topic(2)
    stored = StoredCluster(world)
    assert stored.controller() in stored.registered() == [1, 2]
    assert sorted(stored.partitions()[P]) == [1, 2]
    state = stored.state(P)
    assert state is not None
    leader = stored.leader(P)
    assert leader is world.nodes[state.leader]
    version = stored.version
    leader.kill()
    world.settle()
    assert stored.version > version
    assert stored.registered() == [3 - leader.broker_id]
    assert stored.leader(P) is world.nodes[3 - leader.broker_id]


def test_nobody_is_the_controller_of_a_cluster_without_brokers() -> None:
    world = World(brokers=1)
    world.kill(1)
    world.settle()
    assert StoredCluster(world).controller() == NO_BROKER


def test_a_topic_whose_deletion_has_begun_is_named_with_all_topics_only() -> None:
    world = with_topic(2)
    stored = StoredCluster(world)
    world.cut(1, 2)
    world.nodes[stored.controller()].send(
        DeleteTopicsRequest(topics=[DeleteTopicState("t")], timeout_ms=5_000)
    )
    world.settle()
    assert stored.under_deletion() == ("t",)
    assert (list(stored.all_topics()), list(stored.topics())) == (["t"], [])
    world.heal()
    world.advance(1_000)
    assert (stored.under_deletion(), list(stored.all_topics())) == ((), [])


def test_batches_from_the_one_with_an_offset_to_the_end_of_another() -> None:
    node = with_topic(1).nodes[1]
    sent = []
    for number in range(3):
        builder = BatchBuilder()
        for value in range(2):
            builder.append(node.clock.wall_ms(), None, b"%d %d" % (number, value))
        data = PartitionProduceData(0, bytes(builder.build()))
        answer = node.ask(
            ProduceRequest(None, 1, 1_000, [TopicProduceData("t", node.topic("t").topic_id, [data])])
        )
        assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE
        sent.append(b"%d 1" % number)
    log = node.log("t")
    content = content_of(log, 6)
    assert content == b"".join(batches(log, 0, 6))
    assert [text in content for text in sent] == [True, True, True]
    (one,) = batches(log, 3, 4)
    assert one in content
    assert sent[1] in one
    assert sent[2] not in one
