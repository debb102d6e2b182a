"""Connections of the simulation: frames and answers in steps, and answers that lie in files."""

import pytest

from odradek.net.server_connection import PIECE_BYTES
from odradek.records.builder import BatchBuilder
from odradek.testing.sim import SimConnection, SimNode, SimRequest, World
from odradek.testing.sim.client import CLIENT_HOST
from odradek.testing.sim.listener import CLIENTS
from odradek.wire.messages.api_versions import ApiVersionsRequest
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
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


def records_bytes(answer: FetchResponse) -> int:
    records = answer.responses[0].partitions[0].records
    assert records is not None
    return len(records)


def test_an_answer_that_lies_in_a_file_arrives_whole(node: SimNode) -> None:
    assert records_bytes(node.ask(fetch(), 12)) > RECORDS_BYTES


def test_an_answer_that_lies_in_a_file_arrives_in_pieces_between_which_others_are_served(
    node: SimNode,
) -> None:
    asked = node.send(fetch(), 12).arrive()
    steps = 0
    served_before = 0
    while not asked.answers:
        other = node.send(ApiVersionsRequest(), 0).arrive()
        assert node.world.step()
        steps += 1
        served_before += bool(other.client.stream.bytes_out)
    assert steps > RECORDS_BYTES // PIECE_BYTES
    assert served_before > RECORDS_BYTES // PIECE_BYTES


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


def test_what_a_node_wrote_before_it_was_killed_arrives_and_then_the_end(node: SimNode) -> None:
    on_its_way, answered = node.send(ApiVersionsRequest(), 0), node.send(ApiVersionsRequest(), 0).arrive()
    node.kill()
    node.settle()
    assert (len(on_its_way.answers), len(answered.answers)) == (0, 1)
    assert on_its_way.client.is_closed
    assert answered.client.is_closed


def test_of_what_a_machine_had_not_sent_some_is_lost_with_its_power() -> None:
    seen = set[int]()
    for seed in range(10):
        node = World(seed).node()
        connection = node.connect()
        sent = [node.send(ApiVersionsRequest(), 0, on=connection).arrive() for _ in range(4)]
        node.lose_power()
        node.settle()
        assert connection.is_closed
        arrived = [len(one.answers) for one in sent]
        assert arrived == sorted(arrived, reverse=True), "a prefix of them"
        seen.add(sum(arrived))
    assert len(seen) > 2


def parked_fetch(node: SimNode, connection: SimConnection | None = None) -> SimRequest[FetchResponse]:
    """A fetch that waits at the end of the log."""
    wanted = [FetchPartition(0, fetch_offset=RECORDS_BYTES >> 19, partition_max_bytes=1000)]
    request = FetchRequest(max_wait_ms=60_000, min_bytes=1, topics=[FetchTopic("t", partitions=wanted)])
    return node.send(request, 12, on=connection).arrive()


# --- the faults of links, for clients


def test_a_dropped_connection_ends_what_it_parked(node: SimNode) -> None:
    waiting = parked_fetch(node)
    assert node.core.replicas.purgatories.fetch.delayed == 1
    node.world.links.drop(CLIENT_HOST, node.broker_id)
    node.settle()
    assert node.core.replicas.purgatories.fetch.delayed == 0
    assert (waiting.answers, waiting.client.is_closed) == ([], True)


def test_the_end_of_a_client_that_sent_more_behind_a_parked_request_is_not_noticed(node: SimNode) -> None:
    """As on a socket: nothing is read meanwhile (`ConnectionTable.close_idle`)."""
    before = node.listeners.of(CLIENTS)
    connection = node.connect()
    parked_fetch(node, connection)
    node.send(ApiVersionsRequest(), 0, on=connection)
    node.settle()
    connection.close()
    node.settle()
    assert node.core.replicas.purgatories.fetch.delayed == 1
    node.advance(60_000)
    assert node.core.replicas.purgatories.fetch.delayed == 0
    assert node.listeners.of(CLIENTS) == before


@pytest.mark.parametrize("one_way", [False, True])
def test_what_a_cut_holds_goes_on_when_it_heals(node: SimNode, one_way: bool) -> None:
    node.world.cut(CLIENT_HOST, node.broker_id, one_way=one_way)
    asked = node.send(ApiVersionsRequest(), 0, on=node.connect())
    node.advance(10_000)
    assert (asked.answers, asked.client.stream.server_side) == ([], None)
    node.world.heal()
    node.settle()
    assert asked.answer.error_code == 0


def test_a_client_whose_way_back_is_cut_is_served_and_does_not_know(node: SimNode) -> None:
    node.world.cut(node.broker_id, CLIENT_HOST, one_way=True)
    data = [TopicProduceData("t", partition_data=[PartitionProduceData(0, batch(b"x"))])]
    (log,) = node.logs.logs()
    before = log.end_offset
    asked = node.send(ProduceRequest(None, -1, 30_000, data), 12)
    node.settle()
    assert (log.end_offset, asked.answers) == (before + 1, [])


def test_a_slow_link_takes_its_time_both_ways(node: SimNode) -> None:
    node.world.links.slow(CLIENT_HOST, node.broker_id, 300)
    node.world.links.slow(node.broker_id, CLIENT_HOST, 200)
    asked = node.send(ApiVersionsRequest(), 0)
    node.advance(499)
    assert asked.answers == []
    node.advance(1)
    assert asked.answer.error_code == 0


def test_an_isolated_broker_serves_nobody_until_it_heals() -> None:
    world = World()
    one, two = world.node(1), world.node(2)
    world.isolate(1)
    asked, other = one.send(ApiVersionsRequest(), 0), two.send(ApiVersionsRequest(), 0)
    world.settle()
    assert (len(asked.answers), len(other.answers)) == (0, 1)
    world.heal()
    world.settle()
    assert len(asked.answers) == 1


def test_a_client_on_another_host_is_another_place(node: SimNode) -> None:
    node.world.cut(CLIENT_HOST, node.broker_id)
    asked = node.send(ApiVersionsRequest(), 0, on=node.connect(host="10.0.0.2"))
    node.settle()
    assert asked.answer.error_code == 0


def test_a_client_that_takes_no_answers_is_not_served_further(node: SimNode) -> None:
    """The write buffer is bounded: the next request waits until the client takes what it was answered."""
    connection = node.connect()
    node.world.cut(node.broker_id, CLIENT_HOST, one_way=True)
    first, second = node.send(fetch(), 12, on=connection), node.send(fetch(), 12, on=connection)
    node.settle()
    assert connection.stream.bytes_out < 2 * RECORDS_BYTES, "the first is being sent, the second waits"
    (served,) = node.listeners.of(CLIENTS)[-1:]
    assert served.waiting_requests == 1
    node.world.heal()
    node.settle()
    assert records_bytes(first.answer) > RECORDS_BYTES
    assert second.answer.error_code == 0
