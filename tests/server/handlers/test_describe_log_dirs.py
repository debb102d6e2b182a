"""DescribeLogDirs, against what Apache Kafka 4.1 answers to the same requests."""

import errno
from typing import Any

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.storage.memory_files import Fault
from odradek.testing.sim import SimNode
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.batches import BatchOf
from tests.server.nodes import NewNode


def create(node: SimNode, batch: BatchOf) -> None:
    """One record in flights-0, none in flights-1."""
    node.ask(CreateTopicsRequest([CreatableTopic("flights", 2, 1)], timeout_ms=1000))
    part = PartitionProduceData(0, batch(b"a"))
    node.ask(ProduceRequest(None, 1, 1000, [TopicProduceData("flights", partition_data=[part])]), 12)


@pytest.fixture(autouse=True)
def flights(node: SimNode, batch: BatchOf) -> None:
    create(node, batch)


def sizes(node: SimNode, *topics: DescribableLogDirTopic, **more: Any) -> dict[tuple[str, int], int]:
    (directory,) = node.ask(DescribeLogDirsRequest(list(topics)), **more).results
    return {
        (topic.name, part.partition_index): part.partition_size
        for topic in directory.topics
        for part in topic.partitions
    }


def test_null_asks_for_all_partitions(node: SimNode, batch: BatchOf) -> None:
    (directory,) = node.ask(DescribeLogDirsRequest(None)).results
    assert (directory.error_code, directory.log_dir) == (0, "/data")
    (topic,) = directory.topics
    assert [(part.partition_index, part.partition_size) for part in topic.partitions] == [
        (0, len(batch(b"a"))),
        (1, 0),
    ]
    assert not any(part.is_future_key or part.offset_lag for part in topic.partitions)


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_only_what_is_asked_for_and_there_is_shown(node: SimNode, version: int) -> None:
    asked = DescribableLogDirTopic("flights", [1, 9]), DescribableLogDirTopic("no", [0])
    assert sizes(node, *asked, version=version) == {("flights", 1): 0}
    assert sizes(node, version=version) == {}
    assert sizes(node, DescribableLogDirTopic("flights", []), version=version) == {}


def test_the_space_of_the_disk_is_shown(node: SimNode) -> None:
    """KIP-827"""
    node.disk.space_bytes = 1_000_000
    (directory,) = node.ask(DescribeLogDirsRequest([])).results
    assert (directory.total_bytes, directory.usable_bytes) == (1_000_000, node.disk.space("/data")[1])


def test_an_offline_directory_says_so_and_shows_nothing(new_node: NewNode, batch: BatchOf) -> None:
    node = new_node(log_dirs="/data,/more")
    create(node, batch)
    node.logs.directories[0].fail("broken")
    broken, whole = node.ask(DescribeLogDirsRequest(None)).results
    assert (broken.log_dir, broken.error_code) == ("/data", ErrorCode.KAFKA_STORAGE_ERROR)
    assert (broken.topics, broken.total_bytes, broken.usable_bytes) == ([], -1, -1)
    assert (whole.log_dir, whole.error_code, len(whole.topics)) == ("/more", 0, 1)


def test_a_disk_that_cannot_be_asked_shows_nothing(node: SimNode) -> None:
    node.disk.inject(Fault("space", errno.EIO))
    (directory,) = node.ask(DescribeLogDirsRequest(None)).results
    assert (directory.error_code, directory.topics) == (ErrorCode.KAFKA_STORAGE_ERROR, [])
