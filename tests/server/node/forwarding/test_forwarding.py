"""R17: any broker takes a request that only the controller may decide."""

from typing import Any

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import BrokerId
from odradek.server.node.forwarding.forwarding import ANSWER_GRACE_MS
from odradek.server.node.peers import PeerOutcome, PeerRequest
from odradek.testing.sim import SimNode, World
from odradek.testing.sim.client import SimRequest
from odradek.wire.headers import RequestHeader, encode_request_header
from odradek.wire.message import Message
from odradek.wire.messages.alter_configs import (
    AlterableConfig as ReplacingConfig,
)
from odradek.wire.messages.alter_configs import (
    AlterConfigsRequest,
)
from odradek.wire.messages.alter_configs import (
    AlterConfigsResource as ReplacedResource,
)
from odradek.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from odradek.wire.messages.elect_leaders import ElectLeadersRequest
from odradek.wire.messages.envelope import EnvelopeRequest, EnvelopeResponse
from odradek.wire.messages.fetch import FetchRequest
from odradek.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

TIMEOUT_MS = 5_000
SESSION_MS = 20_000
TOPIC, BROKER = 2, 4


def controller_of(world: World) -> SimNode:
    (found,) = [node for node in world.nodes.values() if node.is_alive and node.core.controller.is_active]
    return found


def others_of(world: World) -> list[SimNode]:
    """The brokers that live and are not the controller."""
    return [node for node in world.nodes.values() if node.is_alive and not node.core.controller.is_active]


def creation(name: str, timeout_ms: int = TIMEOUT_MS) -> CreateTopicsRequest:
    return CreateTopicsRequest([CreatableTopic(name, 2, 2)], timeout_ms=timeout_ms)


def errors(answer: Message) -> list[int]:
    """The errors of the answer's rows."""
    for rows in ("topics", "responses", "results"):
        found = getattr(answer, rows, None)
        if found is not None:
            return [row.error_code for row in found]
    raise AssertionError(f"an answer without rows: {answer}")


def topics_known(world: World) -> set[tuple[str, ...]]:
    """The names of the topics that the living brokers know; one element where they agree."""
    return {tuple(node.core.image.topics) for node in world.nodes.values() if node.is_alive}


def open_requests(world: World) -> list[int]:
    """How many requests each living broker has open."""
    return [len(node.core.forwarding) for node in world.nodes.values() if node.is_alive]


# --- every request at every broker


@pytest.mark.parametrize("broker_id", [1, 2, 3])
def test_every_broker_lets_the_controller_decide(broker_id: BrokerId) -> None:
    """R17 and R18: what was decided is in force where it was asked for."""
    world = World(brokers=3)
    node = world.nodes[broker_id]
    assert errors(node.ask(creation("flights"))) == [0]
    assert list(node.topic("flights").partitions) == [0, 1], (
        "what was decided is known where it was asked for"
    )
    more = CreatePartitionsRequest([CreatePartitionsTopic("flights", 3, None)], TIMEOUT_MS)
    assert errors(node.ask(more)) == [0]
    assert list(node.topic("flights").partitions) == [0, 1, 2]
    amendment = AlterConfigsResource(TOPIC, "flights", [AlterableConfig("segment.ms", 0, "1234")])
    assert errors(node.ask(IncrementalAlterConfigsRequest([amendment]))) == [0]
    assert node.core.topic_config("flights").segment_ms == 1234
    replaced = ReplacedResource(TOPIC, "flights", [ReplacingConfig("retention.ms", "4321")])
    assert errors(node.ask(AlterConfigsRequest([replaced]))) == [0]
    config = node.core.topic_config("flights")
    assert (config.retention_ms, config.segment_ms == 1234) == (4321, False)
    elected = node.ask(ElectLeadersRequest(0, None, timeout_ms=TIMEOUT_MS))
    assert (elected.error_code, [row.topic for row in elected.replica_election_results]) == (0, ["flights"])
    assert errors(
        node.ask(DeleteTopicsRequest(topics=[DeleteTopicState("flights")], timeout_ms=TIMEOUT_MS))
    ) == [0]
    assert node.core.image.topic("flights") is None
    assert topics_known(world) == {()}
    assert open_requests(world) == [0, 0, 0]


@pytest.mark.parametrize("version", range(2, 8))
def test_the_answer_is_in_the_version_of_the_request(version: int) -> None:
    world = World(brokers=2)
    (node,) = others_of(world)
    (row,) = node.ask(creation("flights"), version).topics
    assert (row.name, row.error_code) == ("flights", 0)


def test_the_settings_of_a_broker_are_changed_by_asking_it() -> None:
    """As where it is the controller: another broker's own settings are refused."""
    world = World(brokers=3)
    one, other = others_of(world)

    def altered(broker_id: int) -> list[int]:
        config = AlterableConfig("log.cleaner.threads", 0, "2")
        resource = AlterConfigsResource(BROKER, str(broker_id), [config])
        return errors(one.ask(IncrementalAlterConfigsRequest([resource])))

    assert altered(one.broker_id) == [0]
    assert one.core.settings.log_cleaner_threads == 2
    assert altered(other.broker_id) == [ErrorCode.INVALID_REQUEST]


def test_a_refusal_of_the_controller_comes_back_with_its_words() -> None:
    world = World(brokers=2)
    (node,) = others_of(world)
    (row,) = node.ask(CreateTopicsRequest([CreatableTopic("x", 1, 3)], timeout_ms=TIMEOUT_MS)).topics
    at_controller = controller_of(world).ask(CreateTopicsRequest([CreatableTopic("x", 1, 3)]))
    assert row.error_code == ErrorCode.INVALID_REPLICATION_FACTOR
    assert row.error_message == at_controller.topics[0].error_message


# --- while the controller moves


def lose_controller(world: World) -> list[SimNode]:
    """Kill the controller; no other is elected before `World.heal`. Returns the others."""
    others = others_of(world)
    for node in others:
        world.cut_store(node.broker_id)
    controller_of(world).kill()
    world.settle()
    return others


def waiting_creation(world: World) -> tuple[SimNode, SimRequest[Any]]:
    """A request at a broker whose controller was killed a moment ago."""
    node, _ = lose_controller(world)
    sent = node.send(creation("flights", timeout_ms=2 * SESSION_MS))
    world.settle()
    assert (sent.answers, len(node.core.forwarding)) == ([], 1)
    return node, sent


@pytest.mark.parametrize("seed", range(1, 6))
def test_a_request_waits_for_the_next_controller(seed: int) -> None:
    """R17."""
    world = World(seed, brokers=3)
    _, sent = waiting_creation(world)
    world.advance(1_000)
    assert sent.answers == []
    world.heal()
    world.settle()
    assert errors(sent.answer) == [0]
    assert open_requests(world) == [0, 0]


def test_a_request_waits_no_longer_than_its_timeout() -> None:
    world = World(brokers=3)
    node, _ = lose_controller(world)
    sent = node.send(creation("flights", timeout_ms=300))
    world.advance(299)
    assert sent.answers == []
    world.advance(1)
    assert errors(sent.answer) == [ErrorCode.REQUEST_TIMED_OUT]
    world.heal()
    world.advance(SESSION_MS)
    assert topics_known(world) == {()}, "it was never sent"


def test_a_request_without_a_timeout_waits_for_the_setting() -> None:
    world = World(brokers=0)
    for broker_id in (1, 2, 3):
        world.node(broker_id, request_timeout_ms="700")
    node, _ = lose_controller(world)
    resource = AlterConfigsResource(TOPIC, "flights", [])
    sent = node.send(IncrementalAlterConfigsRequest([resource]))
    world.advance(699)
    assert sent.answers == []
    world.advance(1)
    assert errors(sent.answer) == [ErrorCode.REQUEST_TIMED_OUT]


def test_a_client_that_disconnects_ends_its_wait() -> None:
    world = World(brokers=3)
    node, sent = waiting_creation(world)
    sent.client.lose()
    world.settle()
    assert len(node.core.forwarding) == 0
    world.heal()
    world.advance(SESSION_MS)
    assert topics_known(world) == {()}


def test_a_broker_that_stops_answers_what_waits() -> None:
    world = World()
    for broker_id in (1, 2, 3):
        world.node(broker_id, controlled_shutdown_enable="false")
    node, sent = waiting_creation(world)
    node.begin_stop()
    world.settle()
    assert errors(sent.answer) == [ErrorCode.REQUEST_TIMED_OUT]


def test_a_request_at_a_controller_that_was_deposed_goes_to_the_next() -> None:
    """Its session has ended, and it does not know yet: it is told before it decides."""
    world = World(brokers=3)
    deposed = controller_of(world)
    world.expire_session(deposed.broker_id)
    sent = deposed.send(creation("flights"))
    world.settle()
    world.advance(1_000)
    assert errors(sent.answer) == [0]
    assert open_requests(world) == [0, 0, 0]


@pytest.mark.parametrize("seed", range(1, 6))
def test_two_controllers_decide_once(seed: int) -> None:
    """One is cut off from the store, and still takes itself for the controller."""
    world = World(seed, brokers=3)
    earlier = controller_of(world)
    world.cut_store(earlier.broker_id)
    for node in others_of(world):
        world.cut(earlier.broker_id, node.broker_id)
    world.expire_session(earlier.broker_id)
    world.settle()
    assert sum(node.core.controller.is_active for node in world.nodes.values()) == 2
    others = [node for node in world.nodes.values() if node is not earlier]
    sent = [node.send(creation(f"flights-{node.broker_id}")) for node in others]
    world.settle()
    assert [errors(one.answer) for one in sent] == [[0], [0]]
    in_hand = earlier.send(creation("in-hand", timeout_ms=SESSION_MS))
    world.settle()
    queued = earlier.send(creation("queued", timeout_ms=SESSION_MS), client_id="another")
    world.advance(1_000)
    assert in_hand.answers == queued.answers == [], "it cannot write what it decides"
    world.heal()
    world.advance(1_000)
    assert errors(in_hand.answer) == [ErrorCode.REQUEST_TIMED_OUT], "its write may have been executed"
    assert errors(queued.answer) == [0], "the other controller has decided it"
    (names,) = topics_known(world)
    assert sorted(names) == sorted(["queued", *(f"flights-{node.broker_id}" for node in others)])


# --- when the outcome is unknown


@pytest.mark.parametrize("seed", range(1, 6))
def test_a_lost_answer_is_a_timeout_and_nothing_is_decided_twice(seed: int) -> None:
    world = World(seed, brokers=3)
    node, controller = others_of(world)[0], controller_of(world)
    with controller.faults.drop("Envelope", when="before_answer", asker="brokers", times=1):
        sent = node.send(creation("flights"))
        world.settle()
    assert errors(sent.answer) == [ErrorCode.REQUEST_TIMED_OUT]
    world.advance(TIMEOUT_MS)
    assert list(node.topic("flights").partitions) == [0, 1], "it was made"
    assert errors(node.ask(creation("flights"))) == [ErrorCode.TOPIC_ALREADY_EXISTS]


def test_a_controller_that_cannot_be_reached_times_out() -> None:
    world = World(brokers=3)
    node, controller = others_of(world)[0], controller_of(world)
    assert errors(node.ask(creation("flights"))) == [0]
    world.cut(node.broker_id, controller.broker_id)
    sent = node.send(creation("flights-2", timeout_ms=300))
    world.advance(300 + ANSWER_GRACE_MS)
    assert errors(sent.answer) == [ErrorCode.REQUEST_TIMED_OUT]
    world.heal()
    assert errors(node.ask(creation("flights-3"))) == [0]
    assert open_requests(world) == [0, 0, 0]


@pytest.mark.parametrize("seed", range(1, 11))
def test_a_killed_controller_makes_each_topic_once_or_not_at_all(seed: int) -> None:
    world = World(seed, brokers=3)
    controller, nodes = controller_of(world), others_of(world)
    sent = {
        name: node.send(creation(name, timeout_ms=2 * SESSION_MS))
        for node in nodes
        for name in (f"{node.broker_id}-{number}" for number in range(4))
    }
    for _ in range(world.chance.below(150)):
        world.step()
    controller.kill()
    world.advance(3 * SESSION_MS)
    outcomes = {name: errors(one.answer)[0] for name, one in sent.items()}
    assert set(outcomes.values()) <= {0, ErrorCode.REQUEST_TIMED_OUT}, "none exists already"
    for name in [name for name, outcome in outcomes.items() if outcome == 0]:
        assert all(node.core.image.topic(name) for node in nodes)
    assert open_requests(world) == [0, 0]


def test_no_request_waits_behind_another_at_the_controller() -> None:
    """A creation may wait at the controller for the leaders of its partitions."""
    world = World(brokers=3)
    node, controller = others_of(world)[0], controller_of(world)
    with controller.faults.delay(2.0, "Envelope", asker="brokers", times=1):
        slow = node.send(creation("slow"))
        world.settle()
        quick = node.send(creation("quick"), client_id="another")
        world.settle()
        assert (slow.answers, errors(quick.answer)) == ([], [0])
        world.advance(2_000)
    assert errors(slow.answer) == [0]


# --- the envelope


def enveloped(request: Message, version: int) -> EnvelopeRequest:
    header = encode_request_header(RequestHeader(request.API_KEY, version, 7, "admin"))
    return EnvelopeRequest(b"".join(request.encode_parts(version, header)), b"", b"\x0a\0\0\1")


def opened(world: World, node: SimNode, request: EnvelopeRequest) -> EnvelopeResponse:
    """The answer that another broker gets from a broker."""
    asking = next(one for one in world.nodes.values() if one is not node)
    outcomes: list[PeerOutcome] = []
    world.links.peers(asking).send(PeerRequest(node.broker_id, request, 0, 1_000), outcomes.append)
    world.settle()
    (answer,) = outcomes
    assert isinstance(answer, EnvelopeResponse), answer
    return answer


def test_an_envelope_is_opened_at_the_controller_alone() -> None:
    world = World(brokers=2)
    request = enveloped(creation("flights"), 7)
    assert opened(world, others_of(world)[0], request).error_code == ErrorCode.NOT_CONTROLLER
    answer = opened(world, controller_of(world), request)
    assert (answer.error_code, (answer.response_data or b"")[:4]) == (0, b"\0\0\0\7")


def test_what_is_no_request_to_the_controller_is_refused() -> None:
    world = World(brokers=2)
    controller = controller_of(world)
    for request in (
        enveloped(FetchRequest(), 12),
        EnvelopeRequest(b"\0"),
        EnvelopeRequest(enveloped(creation("flights"), 7).request_data[:-4]),
    ):
        assert opened(world, controller, request).error_code == ErrorCode.INVALID_REQUEST


def test_clients_may_not_send_envelopes() -> None:
    world = World(brokers=1)
    answer = controller_of(world).ask(enveloped(creation("flights"), 7))
    assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
