"""DescribeProducers, against what Apache Kafka 4.1 answers to the same requests."""

from typing import Any

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.records.builder import BatchBuilder
from odradek.testing.sim import SimNode, World
from odradek.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from odradek.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData


@pytest.fixture
def node(node: SimNode) -> SimNode:
    """A broker with a topic of two partitions."""
    node.ask(CreateTopicsRequest([CreatableTopic("flights", 2, 1)], timeout_ms=1000))
    return node


def describe(node: SimNode, topic: str, partition: int) -> Any:
    asked = DescribeProducersRequest([TopicRequest(topic, [partition])])
    (found,) = node.ask(asked).topics
    assert found.name == topic
    (described,) = found.partitions
    assert described.partition_index == partition
    return described


def produce(node: SimNode, partition: int) -> None:
    """Two records of an idempotent producer."""
    builder = BatchBuilder(producer_id=7, producer_epoch=2, base_sequence=0)
    for value in (b"a", b"b"):
        builder.append(node.clock.wall_ms(), None, value)
    part = PartitionProduceData(partition, bytes(builder.build()))
    request = ProduceRequest(None, -1, 1000, [TopicProduceData("flights", partition_data=[part])])
    assert node.ask(request, 12).responses[0].partition_responses[0].error_code == 0


def test_a_partition_that_nobody_writes_to_has_none(node: SimNode) -> None:
    described = describe(node, "flights", 0)
    assert (described.error_code, described.error_message, described.active_producers) == (0, None, [])


def test_what_a_producer_wrote_last_is_told(node: SimNode) -> None:
    """KIP-664"""
    produce(node, 1)
    (producer,) = describe(node, "flights", 1).active_producers
    assert (producer.producer_id, producer.producer_epoch, producer.last_sequence) == (7, 2, 1)
    assert producer.last_timestamp == node.clock.wall_ms()
    assert (producer.coordinator_epoch, producer.current_txn_start_offset) == (-1, -1)


@pytest.mark.parametrize(
    ("topic", "partition", "code"),
    [
        ("flights", 9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("flights", -1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("no", 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("a/b", 0, ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("", 0, ErrorCode.INVALID_TOPIC_EXCEPTION),
    ],
)
def test_a_partition_that_is_not_here_is_refused(
    node: SimNode, topic: str, partition: int, code: ErrorCode
) -> None:
    described = describe(node, topic, partition)
    assert (described.error_code, described.active_producers) == (code, [])


def test_a_follower_answers_from_its_own_log() -> None:
    """KIP-664: as Apache Kafka does; a broker without a replica refuses."""
    world = World(brokers=3)
    topic = CreatableTopic("flights", -1, -1, [CreatableReplicaAssignment(0, [2, 3])])
    (controller,) = [one for one in world.nodes.values() if one.core.controller.is_active]
    created = controller.send(CreateTopicsRequest([topic], timeout_ms=1_000))
    world.advance(1_000)
    assert created.answer.topics[0].error_code == 0
    produce(world.nodes[2], 0)
    world.advance(1_000)
    led, followed = (describe(world.nodes[broker_id], "flights", 0) for broker_id in (2, 3))
    assert [producer.producer_id for producer in led.active_producers] == [7]
    assert followed == led
    elsewhere = describe(world.nodes[1], "flights", 0)
    assert elsewhere.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert elsewhere.active_producers == []
