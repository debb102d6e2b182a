"""Connections of the simulation: frames and answers in steps, and answers that lie in files."""

import pytest

from odradek.records.builder import BatchBuilder
from odradek.testing.sim import SimNode, World
from odradek.wire.messages.api_versions import ApiVersionsRequest
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

RECORDS_BYTES = 3 << 20


def batch(value: bytes) -> bytes:
    builder = BatchBuilder()
    builder.append(1_700_000_000_000, None, value)
    return bytes(builder.build())


@pytest.fixture
def node() -> SimNode:
    """A broker with 3 MB in one partition."""
    node = World().node()
    node.ask(CreateTopicsRequest([CreatableTopic("t", 1, 1)], timeout_ms=5_000))
    for _ in range(RECORDS_BYTES >> 19):
        data = [TopicProduceData("t", partition_data=[PartitionProduceData(0, batch(bytes(1 << 19)))])]
        node.ask(ProduceRequest(None, -1, 30_000, data), 12)
    return node


def fetch() -> FetchRequest:
    wanted = [FetchPartition(0, partition_max_bytes=100 << 20)]
    return FetchRequest(
        max_wait_ms=0, min_bytes=1, max_bytes=100 << 20, topics=[FetchTopic("t", partitions=wanted)]
    )


def test_an_answer_that_lies_in_a_file_arrives_whole(node: SimNode) -> None:
    (topic,) = node.ask(fetch(), 12).responses
    assert len(topic.partitions[0].records) > RECORDS_BYTES


def test_an_answer_that_lies_in_a_file_arrives_in_pieces_between_which_others_are_served(
    node: SimNode,
) -> None:
    asked = node.send(fetch(), 12).arrive()
    steps = 0
    while not asked.answers:
        (step,) = asked.client.steps()
        step()
        steps += 1
    assert steps > RECORDS_BYTES // (512 * 1024)


def test_what_is_cut_off_the_log_while_it_is_sent_ends_the_connection(node: SimNode) -> None:
    asked = node.send(fetch(), 12).arrive()
    (log,) = node.logs.logs()
    log.truncate_to(1)
    node.settle()
    assert (asked.answers, asked.client.is_closed) == ([], True)


def test_requests_of_one_connection_are_served_one_after_another(node: SimNode) -> None:
    connection = node.connect()
    at_the_end = [FetchPartition(0, fetch_offset=RECORDS_BYTES >> 19, partition_max_bytes=1000)]
    parked = FetchRequest(max_wait_ms=500, min_bytes=1, topics=[FetchTopic("t", partitions=at_the_end)])
    first, second = node.send(parked, 12, on=connection), node.send(ApiVersionsRequest(), 0, on=connection)
    node.settle()
    assert (first.answers, second.answers) == ([], [])
    node.advance(500)
    assert first.answer.error_code == second.answer.error_code == 0


def test_a_node_that_died_takes_no_frame_and_gives_no_answer(node: SimNode) -> None:
    on_its_way, answered = node.send(ApiVersionsRequest(), 3), node.send(ApiVersionsRequest(), 3).arrive()
    node.kill()
    node.settle()
    assert (on_its_way.answers, answered.answers) == ([], [])
