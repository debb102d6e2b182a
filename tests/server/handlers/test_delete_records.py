"""DeleteRecords, against what Apache Kafka 4.1 answers to the same requests."""

from typing import Any

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.server.handlers.delete_records import NAMED_PER_STEP
from odradek.testing.sim import CountedTime, SimNode
from odradek.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from odradek.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.batches import BatchOf

ALL_COMMITTED = -1


def create(node: SimNode, name: str, **settings: str) -> None:
    configs = [CreatableTopicConfig(key.replace("_", "."), value) for key, value in settings.items()]
    node.ask(CreateTopicsRequest([CreatableTopic(name, 2, 1, configs=configs)], timeout_ms=1000))


@pytest.fixture(autouse=True)
def flights(node: SimNode, batch: BatchOf) -> None:
    """Three records in flights-0."""
    create(node, "flights")
    part = PartitionProduceData(0, batch(b"a", b"b", b"c"))
    node.ask(ProduceRequest(None, 1, 1000, [TopicProduceData("flights", partition_data=[part])]), 12)


def delete(
    node: SimNode, topic: str, *parts: tuple[int, int], **more: Any
) -> dict[int, tuple[ErrorCode, int]]:
    """Per partition: its error and its low watermark."""
    partitions = [DeleteRecordsPartition(*part) for part in parts]
    answer = node.ask(DeleteRecordsRequest([DeleteRecordsTopic(topic, partitions)], 1000), **more)
    (found,) = answer.topics
    assert found.name == topic
    return {
        part.partition_index: (ErrorCode(part.error_code), part.low_watermark) for part in found.partitions
    }


def test_what_lies_before_the_offset_is_gone(node: SimNode) -> None:
    assert delete(node, "flights", (0, 1)) == {0: (ErrorCode.NONE, 1)}
    assert node.log("flights").log_start_offset == 1
    assert delete(node, "flights", (0, 0)) == {0: (ErrorCode.NONE, 1)}, "what is gone stays gone"


def test_minus_1_deletes_all_that_is_committed(node: SimNode) -> None:
    assert delete(node, "flights", (0, ALL_COMMITTED)) == {0: (ErrorCode.NONE, 3)}


def test_each_partition_has_its_own_answer(node: SimNode) -> None:
    assert delete(node, "flights", (0, 2), (1, 5), (9, 0)) == {
        0: (ErrorCode.NONE, 2),
        1: (ErrorCode.OFFSET_OUT_OF_RANGE, -1),
        9: (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1),
    }


@pytest.mark.parametrize("offset", [4, -2])
def test_an_offset_that_is_not_there_is_refused(node: SimNode, offset: int) -> None:
    assert delete(node, "flights", (0, offset)) == {0: (ErrorCode.OFFSET_OUT_OF_RANGE, -1)}


@pytest.mark.parametrize("topic", ["no", "a/b", "__consumer_offsets"])
def test_an_unknown_topic_is_unknown(node: SimNode, topic: str) -> None:
    assert delete(node, topic, (0, 0)) == {0: (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)}


def test_topics_that_are_only_compacted_keep_their_records(node: SimNode) -> None:
    create(node, "latest", cleanup_policy="compact")
    create(node, "recent", cleanup_policy="compact,delete")
    assert delete(node, "latest", (0, 0)) == {0: (ErrorCode.POLICY_VIOLATION, -1)}
    assert delete(node, "recent", (0, 0)) == {0: (ErrorCode.NONE, 0)}


@pytest.mark.parametrize("client_id", ["test", "__admin_client"])
def test_internal_topics_are_refused_whoever_asks(node: SimNode, client_id: str) -> None:
    create(node, "__consumer_offsets")
    answer = delete(node, "__consumer_offsets", (0, 0), client_id=client_id)
    assert answer == {0: (ErrorCode.INVALID_TOPIC_EXCEPTION, -1)}


def test_a_name_that_is_repeated_very_often_holds_the_loop_no_longer_than_others(node: SimNode) -> None:
    node.short_clock = CountedTime()
    named = [DeleteRecordsPartition(0, 1) for _ in range(1000)]
    node.send(DeleteRecordsRequest([DeleteRecordsTopic("flights", named)], 1000), 2)
    steps = 0
    while node.log("flights").log_start_offset == 0:
        assert node.world.step()
        steps += 1
    assert steps > 1000 // NAMED_PER_STEP
