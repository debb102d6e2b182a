"""What the controller commands and what the disk does to a broker, without a loop."""

from typing import Any

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.testing.sim import SimNode
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.metadata import MetadataRequest
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.batches import BatchOf


@pytest.fixture(autouse=True)
def flights(node: SimNode) -> None:
    node.ask(CreateTopicsRequest([CreatableTopic("flights", 1, 1)], timeout_ms=1000))


def produce(node: SimNode, records: bytes) -> Any:
    data = [TopicProduceData("flights", partition_data=[PartitionProduceData(0, records)])]
    return node.ask(ProduceRequest(None, -1, 1000, data), 12).responses[0].partition_responses[0]


def test_a_broker_without_log_directories_stops(node: SimNode, batch: BatchOf) -> None:
    """R6: disk error → KAFKA_STORAGE_ERROR and that log directory goes offline (when it was the last one,
    the broker stops)."""
    assert produce(node, batch(b"a")).error_code == 0
    node.core.replicas.directory_failed("/data", "Input/output error")
    assert node.failures == ["the log directory /data is offline: Input/output error"]
    assert produce(node, batch(b"b")).error_code == ErrorCode.KAFKA_STORAGE_ERROR


def test_requests_are_counted_by_api(node: SimNode) -> None:
    assert MetadataRequest.API_KEY not in node.core.request_counts
    node.ask(MetadataRequest(topics=None))
    node.ask(MetadataRequest(topics=None))
    assert node.core.request_counts[MetadataRequest.API_KEY] == 2


def test_everything_that_waits_waits_in_a_purgatory_that_is_shown(node: SimNode) -> None:
    """D7; those of groups are there once a group is asked for."""
    own = {"Produce", "Fetch", "DeleteRecords", "Topic"}
    assert {purgatory.name for purgatory in node.core.purgatories()} == own
    assert list(node.core.groups.coordinator.describe()) == []
    groups = {"Rebalance", "Sync", "Heartbeat", "Member"}
    assert {purgatory.name for purgatory in node.core.purgatories()} == own | groups
