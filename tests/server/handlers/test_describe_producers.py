"""DescribeProducers, against what Apache Kafka 4.1 answers to the same requests."""

from typing import Any

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.records.builder import BatchBuilder
from odradek.testing.sim import SimNode
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData


@pytest.fixture(autouse=True)
def flights(node: SimNode) -> None:
    node.ask(CreateTopicsRequest([CreatableTopic("flights", 2, 1)], timeout_ms=1000))


def describe(node: SimNode, topic: str, partition: int) -> Any:
    asked = DescribeProducersRequest([TopicRequest(topic, [partition])])
    (found,) = node.ask(asked).topics
    assert found.name == topic
    (described,) = found.partitions
    assert described.partition_index == partition
    return described


def test_a_partition_that_nobody_writes_to_has_none(node: SimNode) -> None:
    described = describe(node, "flights", 0)
    assert (described.error_code, described.error_message, described.active_producers) == (0, None, [])


def test_what_a_producer_wrote_last_is_told(node: SimNode) -> None:
    """KIP-664"""
    builder = BatchBuilder(producer_id=7, producer_epoch=2, base_sequence=0)
    for value in (b"a", b"b"):
        builder.append(node.clock.wall_ms(), None, value)
    part = PartitionProduceData(1, bytes(builder.build()))
    request = ProduceRequest(None, -1, 1000, [TopicProduceData("flights", partition_data=[part])])
    assert node.ask(request, 12).responses[0].partition_responses[0].error_code == 0
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
