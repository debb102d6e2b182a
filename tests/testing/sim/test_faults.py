"""The faults of a simulated node: for requests of clients and of brokers, for connections, for its disk."""

from typing import Any

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import FaultRefused
from odradek.base.ids import TopicPartition
from odradek.metadata.store import Multi
from odradek.records.builder import BatchBuilder
from odradek.server.faults.documents import FaultRequests, Reach
from odradek.server.node.outgoing_orders import RETRY_MS
from odradek.testing.deadline import WaitTimeout
from odradek.testing.sim import SimNode, SimRequest, World
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.leader_and_isr import LeaderAndIsrRequest
from odradek.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)


def produce(node: SimNode) -> SimRequest[ProduceResponse]:
    builder = BatchBuilder()
    builder.append(1_700_000_000_000, None, b"value")
    data = [TopicProduceData("t", partition_data=[PartitionProduceData(0, bytes(builder.build()))])]
    return node.send(ProduceRequest(None, -1, 30_000, data), 12)


def code_of(answer: Any) -> int:
    code: int = answer.responses[0].partition_responses[0].error_code
    return code


def with_topic(world: World, replicas: int = 1) -> SimNode:
    node = next(iter(world.nodes.values()))
    node.send(CreateTopicsRequest([CreatableTopic("t", 1, replicas)], timeout_ms=5_000))
    world.settle()
    return node


@pytest.fixture
def node() -> SimNode:
    return with_topic(World(brokers=1))


def test_an_error_is_answered_so_many_times(node: SimNode) -> None:
    fault = node.faults.error("Produce", "NOT_LEADER_OR_FOLLOWER", times=2)
    codes = []
    for _ in range(3):
        sent = produce(node)
        node.settle()
        codes.append(code_of(sent.answer))
    assert codes == [ErrorCode.NOT_LEADER_OR_FOLLOWER] * 2 + [0]
    assert (fault.hits, node.log("t").end_offset) == (2, 1)


@pytest.mark.parametrize(
    ("when", "written"), [("before_request", 0), ("before_answer", 1), ("after_answer", 1)]
)
def test_a_connection_is_dropped(node: SimNode, when: Any, written: int) -> None:
    node.faults.drop("Produce", when=when, times=1)
    sent = produce(node)
    node.settle()
    assert (node.log("t").end_offset, sent.client.is_closed) == (written, True)
    assert len(sent.answers) == (when == "after_answer")


def test_an_answer_is_late_and_the_test_can_wait_for_the_fault_in_the_worlds_time(node: SimNode) -> None:
    fault = node.faults.delay(0.5, "Produce")
    with pytest.raises(WaitTimeout, match="0 of 1 requests after 2 s"):
        fault.wait_hit(timeout=2.0)
    sent = produce(node)
    fault.wait_hit()
    assert sent.answers == []
    node.advance(500)
    assert code_of(sent.answer) == 0


def test_connections_of_clients_are_refused_and_dropped(node: SimNode) -> None:
    kept, other = node.connect(), node.connect()
    for connection in (kept, other):
        node.send(ProduceRequest(None, -1, 5_000, []), 12, on=connection)
    node.settle()
    open_now = len(node.listeners.of("PLAINTEXT"))
    with node.faults.refuse_connections():
        refused = node.send(ProduceRequest(None, -1, 5_000, []), 12, on=node.connect())
        node.settle()
        assert (refused.client.is_closed, kept.is_closed) == (True, False)
    assert node.faults.drop_connections() == open_now
    node.settle()
    assert kept.is_closed
    assert other.is_closed


# --- requests of brokers


def test_a_rule_for_brokers_meets_orders_and_no_client() -> None:
    """The controller sends what was refused or lost again, until it is obeyed."""
    world = World(brokers=2)
    two = world.nodes[2]
    fault = two.faults.drop("LeaderAndIsr", when="before_answer", times=2, asker="brokers")
    with_topic(world, replicas=2)
    refused = two.send(LeaderAndIsrRequest(), 7)
    world.settle()
    assert (fault.hits, refused.answer.error_code) == (1, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    assert two.core.replicas.partition(TopicPartition("t", 0)) is not None, "it was obeyed"
    assert two.core.image.topics == {}, "and the controller does not know"
    world.advance(2 * RETRY_MS)
    assert (fault.hits, set(two.core.image.topics)) == (2, {"t"})


def test_a_rule_for_clients_meets_no_order() -> None:
    world = World(brokers=2)
    fault = world.nodes[2].faults.drop("LeaderAndIsr")
    with_topic(world, replicas=2)
    assert (fault.hits, set(world.nodes[2].core.image.topics)) == (0, {"t"})


def test_an_error_for_brokers_is_that_of_the_apis_answer() -> None:
    world = World(brokers=2)
    two = world.nodes[2]
    fault = two.faults.error("LeaderAndIsr", "STALE_BROKER_EPOCH", times=1, asker="brokers")
    with_topic(world, replicas=2)
    assert fault.hits == 1
    assert two.core.replicas.partition(TopicPartition("t", 0)) is None
    assert two.faults.rules()[0]["from"] == "brokers"


def test_where_no_broker_asks_there_is_no_rule_for_brokers(node: SimNode) -> None:
    alone = FaultRequests(Reach(node.node, None, lambda is_refusing: None, lambda: 0))
    with pytest.raises(FaultRefused, match="no other broker sends requests to this one"):
        alone.carry_out({"fault": "drop", "from": "brokers"})
    with pytest.raises(FaultRefused, match="from is one of clients, brokers"):
        alone.carry_out({"fault": "drop", "from": "nobody"})


# --- its disk


def test_a_full_disk_refuses_what_needs_room(node: SimNode) -> None:
    """R6: KAFKA_STORAGE_ERROR, and the log directory goes offline; with the last one the broker ends."""
    node.faults.full_disk()
    sent = produce(node)
    node.settle()
    assert code_of(sent.answer) == ErrorCode.KAFKA_STORAGE_ERROR
    assert len(node.failures) == 1
    assert "No space left" in node.failures[0]


def test_a_slow_disk_lets_flushes_wait_and_nothing_else() -> None:
    world = World()
    node = world.node(1, odradek_log_flush_before_ack="true")
    with_topic(world)
    node.faults.slow_disk(0.3)
    sent = produce(node)
    node.advance(299)
    assert (sent.answers, node.log("t").end_offset) == ([], 1)
    node.advance(1)
    assert code_of(sent.answer) == 0


def test_a_broker_with_a_slow_disk_stops_cleanly() -> None:
    world = World(brokers=1)
    node = with_topic(world)
    node.faults.slow_disk(0.3)
    world.stop(1)
    assert world.node(1).findings == []


# --- what happens to a life


def test_a_broker_whose_session_expired_joins_anew() -> None:
    world = World(brokers=2)
    epoch = world.nodes[2].core.broker_epoch
    world.expire_session(2)
    world.advance(1_000)
    assert world.nodes[2].core.broker_epoch != epoch
    assert set(world.nodes[1].core.image.brokers) == {1, 2}


# --- the metadata store


def test_a_broker_cut_off_from_the_store_goes_on_serving_and_decides_nothing() -> None:
    world = World(brokers=1)
    node = with_topic(world)
    world.cut_store(1)
    made = node.send(CreateTopicsRequest([CreatableTopic("u", 1, 1)], timeout_ms=60_000))
    sent = produce(node)
    world.advance(10_000)
    assert (code_of(sent.answer), made.answers) == (0, [])
    world.heal()
    world.advance(1_000)
    assert made.answer.topics[0].error_code == 0


def test_a_session_that_expired_behind_a_cut_is_known_when_it_heals() -> None:
    """R16: by then another broker is the controller; the old one joins anew under an epoch of its own."""
    world = World(brokers=2)
    one, two = world.nodes[1], world.nodes[2]
    epoch = one.core.broker_epoch
    world.cut_store(1)
    world.expire_session(1)
    world.advance(5_000)
    assert (one.core.controller.is_active, two.core.controller.is_active) == (True, True), "it does not know"
    assert set(two.core.image.brokers) == {2}
    world.heal()
    world.advance(5_000)
    assert (one.core.controller.is_active, two.core.controller.is_active) == (False, True)
    assert set(two.core.image.brokers) == {1, 2}
    assert one.core.broker_epoch != epoch


@pytest.mark.parametrize("executed", [True, False])
def test_a_topic_is_made_once_also_when_the_store_lost_the_answer(executed: bool) -> None:
    world = World(brokers=1)
    node = world.nodes[1]
    world.lose_store_answer(1, executed=executed, of=lambda operation: isinstance(operation, Multi))
    made = node.send(CreateTopicsRequest([CreatableTopic("t", 1, 1)], timeout_ms=5_000))
    world.advance(10_000)
    assert made.answer.topics[0].error_code == ErrorCode.NONE, "it has found out what was done"
    assert set(node.core.image.topics) == {"t"}
    again = node.ask(CreateTopicsRequest([CreatableTopic("t", 1, 1)], timeout_ms=5_000))
    assert again.topics[0].error_code == ErrorCode.TOPIC_ALREADY_EXISTS
    assert set(node.core.image.topics) == {"t"}


# --- a machine's clock


def test_a_wall_clock_that_is_set_moves_the_times_of_records_and_no_deadline() -> None:
    world = World(brokers=2)
    one, two = world.nodes[1], world.nodes[2]
    before_ms = one.clock.wall_ms()
    world.jump_clock(1, -3_600_000)
    assert one.clock.wall_ms() == before_ms - 3_600_000
    assert two.clock.wall_ms() == before_ms
    fault = one.faults.delay(0.5, "Produce")
    with_topic(world)
    sent = produce(one)
    world.advance(499)
    assert (fault.hits, sent.answers) == (1, [])
    world.jump_clock(1, 7_200_000)
    world.settle()
    assert sent.answers == []
    world.advance(1)
    assert len(sent.answers) == 1


def test_a_machines_clock_outlives_the_broker() -> None:
    world = World(brokers=1)
    world.jump_clock(1, 60_000)
    world.kill(1)
    again = world.node(1)
    assert again.clock.wall_ms() == world.clock.wall_ms() + 60_000


# --- power


@pytest.mark.slow
def test_what_was_flushed_and_acknowledged_survives_a_power_cut_at_any_operation_of_the_disk() -> None:
    """L4, R12: whatever prefix of the renames, and of the writes, the disk has kept."""
    cuts = 0
    for seed in range(1, 40):
        world = World(seed)
        node = world.node(1, odradek_log_flush_before_ack="true")
        with_topic(world)
        acknowledged = 0
        node.lose_power_within(3 * seed)
        for _ in range(10):
            if node.is_alive:
                sent = produce(node)
                world.advance(3_000)
                acknowledged += len(sent.answers)
        if node.is_over:
            cuts += 1
            again = world.node(1, odradek_log_flush_before_ack="true")
            assert again.log("t").end_offset >= acknowledged, f"seed {seed}"
    assert cuts > 10
