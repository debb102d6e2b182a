"""The start and the stop of a node, stage by stage, and what is left when either is cut short."""

from typing import Any

import pytest

from odradek.base.errors import ApiError, SettingError
from odradek.metadata import codec, paths
from odradek.metadata.store import Create, SetData
from odradek.net.request_pipeline import ConnectionFailed, NotConnected
from odradek.records.builder import BatchBuilder
from odradek.server.node import stages
from odradek.server.node.peers import PeerRequest
from odradek.server.node.registration_wait import MARGIN_MS
from odradek.storage import file_names
from odradek.storage.finding import FindingKind
from odradek.testing.sim import SimNode, World
from odradek.testing.sim.client import CLIENT_HOST
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.wire.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse

START = [stages.ReadStore, stages.OpenLogs, stages.AdmitBrokers, stages.Join, stages.AdmitClients]
STOP = [
    stages.RefuseClients,
    stages.AwaitClients,
    stages.EndCompaction,
    stages.RefuseBrokers,
    stages.AwaitWork,
    stages.CloseLogs,
]
CLEAN_MARK = f"/data/{file_names.CLEAN_SHUTDOWN}"


def batch() -> bytes:
    builder = BatchBuilder()
    builder.append(1_700_000_000_000, None, b"value")
    return bytes(builder.build())


def produce(node: SimNode) -> int:
    data = [TopicProduceData("t", partition_data=[PartitionProduceData(0, batch())])]
    answer = node.ask(ProduceRequest(None, -1, 5_000, data), 12)
    (partition,) = answer.responses[0].partition_responses
    assert partition.error_code == 0
    offset: int = partition.base_offset
    return offset


def started(seed: int = 1) -> SimNode:
    """A broker with a topic and a record."""
    node = World(seed).node()
    node.ask(CreateTopicsRequest([CreatableTopic("t", 1, 1)], timeout_ms=5_000))
    assert produce(node) == 0
    return node


def fetch_at_the_end() -> FetchRequest:
    wanted = [FetchPartition(0, fetch_offset=1, partition_max_bytes=1000)]
    return FetchRequest(max_wait_ms=30_000, min_bytes=1, topics=[FetchTopic("t", partitions=wanted)])


def stages_of(node: SimNode) -> list[Any]:
    """The stages that a life goes through until it serves, or is over."""
    seen: list[Any] = []
    while node.stage is not None:
        if not seen or seen[-1] is not type(node.stage):
            seen.append(type(node.stage))
        assert node.world.step()
    return seen


def test_a_start_goes_through_its_stages() -> None:
    node = World().begin()
    assert stages_of(node) == START
    assert node.is_serving


def test_a_stop_goes_through_its_stages_and_leaves_the_mark() -> None:
    node = started()
    node.begin_stop()
    assert stages_of(node) == STOP
    assert node.is_over
    assert node.disk.exists(CLEAN_MARK)
    assert node.world.open_sessions() == []


def test_clients_are_not_let_in_before_the_broker_leads_what_it_leads() -> None:
    stopped = started()
    stopped.stop()
    node = stopped.world.begin()
    while not isinstance(node.stage, stages.AdmitClients):
        asked = node.send(fetch_at_the_end(), 12).arrive()
        asked.client.stream.reach_opener()
        assert asked.client.is_closed, "connection refused"
        assert node.world.step()
    node.settle()
    assert produce(node) == 1


def test_a_stop_answers_what_waits_with_what_there_is() -> None:
    node = started()
    parked = node.send(fetch_at_the_end(), 12)
    node.settle()
    assert parked.answers == []
    node.stop()
    assert parked.answer.responses[0].partitions[0].error_code == 0


def test_a_stop_does_not_wait_for_ever_for_a_client() -> None:
    """An answer whose bytes nobody takes."""
    node = started()
    asked = node.send(fetch_at_the_end(), 12).arrive()
    node.world.cut(node.broker_id, CLIENT_HOST, one_way=True)
    node.begin_stop()
    node.settle()
    assert isinstance(node.stage, stages.AwaitClients)
    node.advance(stages.DRAIN_MS_MAX)
    assert (node.is_over, asked.answers) == (True, [])
    node.world.heal()
    node.settle()
    assert (asked.answers, asked.client.is_closed) == ([], True)


def test_a_start_that_fails_undoes_what_it_did() -> None:
    """Somebody else is registered under this id."""
    stopped = started()
    world = stopped.world
    registration, _ = world.store.table.snapshot()[paths.broker(0)]
    stopped.stop()
    other = world.store.connect()
    other.submit(Create(paths.broker(0), registration, ephemeral=True))
    world.settle()
    node = world.begin()
    world.settle()
    assert isinstance(node.stage, stages.Join)
    world.advance(node.core.settings.broker_session_timeout_ms + MARGIN_MS)
    assert isinstance(node.start_error, ApiError)
    assert world.open_sessions() == [other.session_id]
    assert node.life.is_over
    other.close()
    assert produce(world.node()) == 1


def test_a_start_that_fails_to_let_clients_in_goes_through_the_stages_of_a_stop() -> None:
    """By then the node leads, its periodic work has begun, and groups and transactions are open."""
    stopped = started()
    stopped.stop()
    node = stopped.world.begin()
    while not isinstance(node.stage, stages.AdmitClients):
        assert node.world.step()
    assert not node.disk.exists(CLEAN_MARK)
    node.staging.fail(OSError("no more descriptors"))
    assert stages_of(node) == STOP
    assert isinstance(node.start_error, OSError)
    assert (node.is_over, node.world.open_sessions()) == (True, [])
    assert node.disk.exists(CLEAN_MARK)
    assert produce(node.started_again()) == 1


@pytest.mark.slow
def test_a_start_killed_at_any_step_leaves_what_the_next_one_can_start_from() -> None:
    for seed in range(1, 1000):
        world = World(seed)
        node = world.begin()
        for _ in range(2 * seed):
            if node.stage is not None:
                world.step()
        if node.stage is None:
            break
        node.kill()
        assert world.node().is_serving
        assert len(world.open_sessions()) == 1
    assert seed > 10, "each stage takes several steps"


def test_a_stop_killed_at_any_step_keeps_what_was_acknowledged() -> None:
    for seed in range(1, 1000):
        node = started(seed)
        node.begin_stop()
        for _ in range(seed):
            if node.is_alive:
                node.world.step()
        if node.is_over:
            break
        node.kill()
        assert produce(node.world.node()) == 1
    assert seed > 5, "a stop takes several steps"


@pytest.mark.parametrize("operations", range(0, 40, 5))
def test_a_stop_killed_between_two_operations_of_the_disk_is_not_clean_before_its_mark(
    operations: int,
) -> None:
    node = started()
    node.kill_within(operations)
    node.begin_stop()
    node.settle()
    assert node.is_over
    is_marked = node.disk.exists(CLEAN_MARK)
    again = node.world.node()
    is_unclean = any(finding.kind is FindingKind.UNCLEAN_STOP for finding in again.findings)
    assert is_unclean is not is_marked
    assert produce(again) == 1


def test_a_node_that_dies_in_what_it_does_between_two_stages_does_not_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node = started()
    monkeypatch.setattr(node.node, "let_go", node.kill)
    node.begin_stop()
    node.settle()
    assert (node.is_over, node.stage, node.disk.exists(CLEAN_MARK)) == (True, None, False)
    assert produce(node.world.node()) == 1


def test_what_a_start_finds_is_one_report() -> None:
    node = started()
    node.kill()
    again = node.started_again()
    (finding,) = again.findings
    assert finding.kind is FindingKind.UNCLEAN_STOP
    assert str(finding) == "/data was not stopped cleanly, its logs were verified"


# --- brokers


def ask_as_broker(node: SimNode) -> list[object]:
    """Broker 1 sends an order to the node; what becomes of it."""
    outcomes: list[object] = []
    order = PeerRequest(node.broker_id, UpdateMetadataRequest(controller_id=1), 8, timeout_ms=30_000)
    node.world.nodes[1].node.life.surroundings.peers.send(order, outcomes.append)
    return outcomes


def test_a_broker_that_stops_answers_brokers_until_it_closes_its_logs() -> None:
    """Clients are refused first; followers fetch and orders are obeyed until nothing is at work."""
    world = World(brokers=2)
    node = world.nodes[2]
    asked = node.send(fetch_at_the_end(), 12).arrive()
    world.cut(2, CLIENT_HOST, one_way=True)  # its answer is not taken, so it is waited for
    node.begin_stop()
    world.settle()
    assert isinstance(node.stage, stages.AwaitClients)
    outcomes, refused = ask_as_broker(node), node.send(fetch_at_the_end(), 12, on=node.connect(host="else"))
    world.settle()
    assert [type(outcome) for outcome in outcomes] == [UpdateMetadataResponse]
    assert refused.client.is_closed
    world.advance(stages.DRAIN_MS_MAX)
    assert (node.is_over, asked.answers) == (True, [])
    outcomes = ask_as_broker(node)
    world.settle()
    assert [type(outcome) for outcome in outcomes] == [NotConnected]


@pytest.mark.slow
def test_an_order_on_its_way_when_a_broker_stops_is_answered_or_fails() -> None:
    """R5a: the controller learns which of both, and nothing of it keeps the broker from stopping cleanly."""
    seen = set[type[object]]()
    for seed in range(1, 60):
        world = World(seed, brokers=2)
        node = world.nodes[2]
        node.begin_stop()
        while isinstance(node.stage, stages.HandOver):
            world.step()
        outcomes = ask_as_broker(node)
        world.advance(60_000)
        assert node.is_over
        assert node.disk.exists(CLEAN_MARK)
        (outcome,) = outcomes
        seen.add(type(outcome))
    assert seen == {UpdateMetadataResponse, ConnectionFailed}


def test_a_start_names_the_stored_settings_that_it_does_not_accept() -> None:
    """It does not start, as Kafka: a default in their place could remove records that are to be kept."""
    stopped = started()
    world = stopped.world
    stopped.stop()
    other = world.store.connect()
    texts = {"segment.bytes": "12", "retention.ms": "1000", "no.such.setting": "x"}
    other.submit(SetData(paths.topic_config("t"), codec.encode_config(texts)))
    world.settle()
    node = world.begin()
    assert stages_of(node) == [stages.ReadStore], "no log is touched"
    assert isinstance(node.start_error, SettingError)
    assert str(node.start_error) == (
        "the metadata store has settings that this version does not accept: topic t: segment.bytes must be at"
        " least 1048576, not 12. Start the version of odradek that stored them, and change or delete them"
        " there"
    )
