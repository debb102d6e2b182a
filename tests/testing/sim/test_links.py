"""Orders between the brokers of a world: as the wire's bytes, in order, through cuts, delays and losses."""

from collections.abc import Callable

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import BrokerId, TopicPartition
from odradek.server.node.outgoing_orders import RETRY_MS, TIMEOUT_MS
from odradek.server.node.peers import PeerRequest
from odradek.testing.sim import SimNode, World
from odradek.wire.headers import RequestHeader, decode_request_header, encode_request_header
from odradek.wire.message import Message
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from odradek.wire.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from odradek.wire.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from odradek.wire.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse
from tests.testing.sim.arrivals import Arrivals

Order = LeaderAndIsrRequest | StopReplicaRequest | UpdateMetadataRequest
ORDERS: dict[int, type[Message]] = {
    kind.API_KEY: kind for kind in (LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest)
}


def create(node: SimNode, name: str, replicas: int = 2, partitions: int = 1) -> None:
    """Ask for a topic, and let happen what needs no time."""
    request = CreateTopicsRequest([CreatableTopic(name, partitions, replicas)], timeout_ms=5_000)
    node.send(request)
    node.world.settle()


def orders(arrivals: Arrivals, at: BrokerId) -> list[Message]:
    """The orders that have arrived at a broker, decoded."""
    found: list[Message] = []
    for _, receiver, frame in arrivals.frames:
        header, position = decode_request_header(frame)
        if receiver == at and header.api_key in ORDERS:
            found.append(ORDERS[header.api_key].decode(frame, header.api_version, position))
    return found


def names(found: list[Message]) -> list[str]:
    return [type(order).__name__.removesuffix("Request") for order in found]


@pytest.mark.parametrize("brokers", [2, 3])
def test_orders_reach_the_other_brokers_as_bytes(brokers: int) -> None:
    world = World()
    arrivals = Arrivals(world)
    for broker_id in range(1, brokers + 1):
        world.node(broker_id)
    assert not orders(arrivals, 1), "its own orders need no network"
    arrivals.frames.clear()
    create(world.nodes[1], "t", replicas=brokers, partitions=3)
    for broker_id in range(2, brokers + 1):
        assert names(orders(arrivals, broker_id)) == ["LeaderAndIsr", "UpdateMetadata"]
        node = world.nodes[broker_id]
        assert len(node.core.image.topics["t"].partitions) == len(list(node.logs.logs())) == 3
    assert not orders(arrivals, 1), "its own orders need no network"


@pytest.mark.parametrize("seed", range(5))
def test_a_broker_that_joins_gets_update_metadata_first(seed: int) -> None:
    """R5a: it knows all brokers and topics before it leads."""
    world = World(seed, brokers=2)
    create(world.nodes[1], "t")
    world.kill(2)
    world.settle()
    arrivals = Arrivals(world)
    again = world.node(2)
    told = names(orders(arrivals, 2))
    assert told[0] == "UpdateMetadata"
    assert "LeaderAndIsr" in told
    assert set(again.core.image.brokers) == {1, 2}
    assert again.is_serving


def test_a_topic_is_deleted_on_every_broker() -> None:
    world = World(brokers=3)
    create(world.nodes[1], "t", replicas=3)
    world.nodes[1].send(DeleteTopicsRequest(topics=[DeleteTopicState("t")], timeout_ms=5_000))
    world.advance(1_000)
    for node in world.nodes.values():
        assert "t" not in node.core.image.topics
        assert not [log for log in node.logs.logs() if log.topic_partition.topic == "t"]
    create(world.nodes[1], "t", replicas=3)
    assert all("t" in node.core.image.topics for node in world.nodes.values())


# --- faults


def test_orders_held_by_a_cut_arrive_after_it_heals_each_once_and_in_order() -> None:
    world = World(brokers=2)
    arrivals = Arrivals(world)
    world.cut(1, 2)
    create(world.nodes[1], "t")
    create(world.nodes[1], "u")
    world.advance(TIMEOUT_MS // 2)
    assert orders(arrivals, 2) == []
    assert set(world.nodes[2].core.image.topics) == set()
    world.heal()
    world.settle()
    assert set(world.nodes[2].core.image.topics) == {"t", "u"}
    assert names(orders(arrivals, 2))[:4] == ["LeaderAndIsr", "UpdateMetadata"] * 2


def test_an_order_whose_time_ran_out_is_sent_again_until_the_link_heals() -> None:
    world = World(brokers=2)
    arrivals = Arrivals(world)
    world.cut(1, 2)
    create(world.nodes[1], "t")
    world.advance(3 * TIMEOUT_MS)
    assert orders(arrivals, 2) == []
    world.heal()
    world.advance(RETRY_MS)
    assert names(orders(arrivals, 2))[:2] == ["LeaderAndIsr", "UpdateMetadata"]
    assert set(world.nodes[2].core.image.topics) == {"t"}


def test_an_order_whose_answer_was_lost_is_obeyed_again_and_does_no_harm() -> None:
    """R5a: the second time its leader epoch is not above the current one."""
    world = World(brokers=2)
    arrivals = Arrivals(world)
    world.cut(2, 1, one_way=True)
    create(world.nodes[1], "t")
    assert names(orders(arrivals, 2)) == ["LeaderAndIsr"], "the next one waits for the answer"
    world.links.drop(1, 2)
    world.heal()
    world.advance(RETRY_MS)
    assert names(orders(arrivals, 2)) == ["LeaderAndIsr", "LeaderAndIsr", "UpdateMetadata"]
    partition = world.nodes[2].core.replicas.partition(TopicPartition("t", 0))
    assert partition is not None
    assert set(world.nodes[2].core.image.topics) == {"t"}


def test_on_a_slow_link_orders_take_their_time() -> None:
    world = World(brokers=2)
    world.links.slow(1, 2, 700)
    create(world.nodes[1], "t")
    world.advance(699)
    assert world.nodes[2].core.replicas.partition(TopicPartition("t", 0)) is None
    world.advance(1)
    assert world.nodes[2].core.replicas.partition(TopicPartition("t", 0)) is not None
    assert world.nodes[2].core.image.topics == {}
    world.advance(700)
    assert set(world.nodes[2].core.image.topics) == {"t"}


def test_a_cut_off_broker_holds_up_no_other() -> None:
    world = World(brokers=3)
    world.cut(1, 2)
    create(world.nodes[1], "t", replicas=3)
    assert set(world.nodes[3].core.image.topics) == {"t"}


def test_nothing_is_sent_to_a_broker_that_is_gone() -> None:
    world = World(brokers=2)
    world.cut(1, 2)
    create(world.nodes[1], "t")
    world.kill(2)
    world.settle()
    world.heal()
    arrivals = Arrivals(world)
    world.advance(10 * RETRY_MS)
    assert orders(arrivals, 2) == []
    assert not world.nodes[1].core.controller._orders.has_unanswered(2)


def test_a_broker_that_joins_again_learns_what_was_deleted_meanwhile() -> None:
    """Its image outlives its session; the order that told of the deletion went with its registration."""
    world = World(brokers=2)
    one, two = world.nodes[1], world.nodes[2]
    for name in ("t", "kept"):
        create(one, name, replicas=1)
    led_by_one = [topic.name for topic in one.core.image.live_topics() if topic.partitions[0].leader == 1]
    assert led_by_one, "one of them has no replica on broker 2"
    gone = led_by_one[0]
    world.cut(1, 2)
    one.send(DeleteTopicsRequest(topics=[DeleteTopicState(gone)], timeout_ms=5_000))
    world.settle()
    assert gone in two.core.image.topics
    two.session.expire()
    world.heal()
    world.advance(1_000)
    assert set(two.core.image.topics) == set(one.core.image.topics) == {"t", "kept"} - {gone}


# --- epochs


def test_a_stale_controllers_order_is_refused() -> None:
    """R5a: what a controller had sent before it died arrives after its successor's orders."""
    world = World(brokers=3)
    world.cut(1, 3)
    create(world.nodes[1], "t", replicas=3)
    world.kill(1)
    world.settle()
    third = world.nodes[3]
    epoch = third.core.image.controller_epoch
    assert epoch > 1
    before = describe(third)
    arrivals = Arrivals(world)
    world.heal()
    world.settle()
    (late,) = orders(arrivals, 3)
    assert isinstance(late, LeaderAndIsrRequest)
    assert late.controller_epoch < epoch
    assert describe(third) == before


def describe(node: SimNode) -> object:
    states = {
        partition.topic_partition: partition.leader_epoch for partition in node.core.replicas.partitions()
    }
    return states, node.core.image.controller_epoch, dict(node.core.image.topics)


def ask_as_broker(node: SimNode, request: Message, version: int) -> Callable[[], list[Message]]:
    """Send a request on a connection between brokers; returns what gives the answers."""
    outcomes: list[Message] = []
    asking = next(one for one in node.world.nodes.values() if one is not node)
    peers = node.world.links.peers(asking)
    peers.send(PeerRequest(node.broker_id, request, version, timeout_ms=1_000), outcomes.append)  # type: ignore[arg-type]
    return lambda: outcomes


def test_a_restarted_broker_refuses_orders_for_its_old_epoch() -> None:
    """R16: STALE_BROKER_EPOCH, and nothing changes (KIP-380)."""
    world = World(brokers=2)
    create(world.nodes[1], "t")
    old_epoch = world.nodes[2].core.broker_epoch
    world.kill(2)
    world.settle()
    again = world.node(2)
    assert old_epoch is not None
    assert again.core.broker_epoch is not None
    assert again.core.broker_epoch > old_epoch
    before = describe(again)
    for request, version in (
        (LeaderAndIsrRequest(1, controller_epoch=1, broker_epoch=old_epoch), 7),
        (StopReplicaRequest(1, controller_epoch=1, broker_epoch=old_epoch), 4),
        (UpdateMetadataRequest(1, controller_epoch=1, broker_epoch=old_epoch), 8),
    ):
        answers = ask_as_broker(again, request, version)
        world.settle()
        assert [one.error_code for one in answers()] == [ErrorCode.STALE_BROKER_EPOCH]  # type: ignore[attr-defined]
    assert describe(again) == before


@pytest.mark.parametrize(
    ("request_of", "version"), [(LeaderAndIsrRequest, 7), (StopReplicaRequest, 4), (UpdateMetadataRequest, 8)]
)
def test_a_client_may_not_order(request_of: Callable[..., Order], version: int) -> None:
    """The listener between brokers takes the same order that clients' listeners refuse."""
    world = World(brokers=2)
    two = world.nodes[2]
    order = request_of(controller_id=9, controller_epoch=99)
    before = describe(two)
    refused = two.ask(order, version)
    assert isinstance(refused, LeaderAndIsrResponse | StopReplicaResponse | UpdateMetadataResponse)
    assert refused.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert describe(two) == before
    answers = ask_as_broker(two, order, version)
    world.settle()
    assert [one.error_code for one in answers()] == [ErrorCode.NONE]  # type: ignore[attr-defined]


def test_a_version_of_an_order_that_is_not_served_closes_the_connection() -> None:
    world = World(brokers=2)
    header = encode_request_header(RequestHeader(UpdateMetadataRequest.API_KEY, 7, 1, "old"))
    closed: list[bool] = []

    class Connection:
        listener, peer_host, peer_port, client_id, queued_ns = "BROKERS", "elsewhere", 1, "", 0

        def close(self) -> None:
            closed.append(True)

    world.nodes[2].node.peer_dispatcher.dispatch(Connection(), header)  # type: ignore[arg-type]
    assert closed == [True]


def test_a_history_with_cuts_and_losses_is_the_same_for_the_same_seed() -> None:
    def history(seed: int) -> list[tuple[BrokerId, BrokerId, bytes]]:
        world = World(seed, brokers=3)
        arrivals = Arrivals(world)
        world.cut(1, 2)
        create(world.nodes[1], "t", replicas=3)
        world.links.drop(1, 3)
        world.heal()
        world.advance(1_000)
        return arrivals.frames

    assert history(5) == history(5)


def test_an_answer_to_a_dead_broker_reaches_nobody() -> None:
    world = World(brokers=2)
    two = world.nodes[2]
    outcomes: list[object] = []
    asked = PeerRequest(1, UpdateMetadataRequest(controller_epoch=1), 8, timeout_ms=100)
    two.node.life.surroundings.peers.send(asked, outcomes.append)
    world.kill(2)
    world.advance(1_000)
    assert outcomes == []


def test_both_kinds_of_answers_are_events_of_their_own() -> None:
    world = World(brokers=2)
    for broker_id, kind in ((2, LeaderAndIsrResponse), (2, UpdateMetadataResponse), (7, Exception)):
        order = LeaderAndIsrRequest() if kind is LeaderAndIsrResponse else UpdateMetadataRequest()
        outcomes: list[object] = []
        asked = PeerRequest(broker_id, order, order.VERSIONS.highest, timeout_ms=100)
        world.nodes[1].node.life.surroundings.peers.send(asked, outcomes.append)
        assert outcomes == [], "a port never calls back before it returns"
        world.settle()
        assert [isinstance(outcome, kind) for outcome in outcomes] == [True]
