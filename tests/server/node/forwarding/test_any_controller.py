"""R17: what a broker itself wants decided, at whichever broker the controller is."""

from typing import Any

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import BrokerId
from odradek.metadata.controller.requests import (
    AllocateProducerIds,
    Answer,
    CreateTopics,
    NewTopic,
    Refused,
    TopicOutcomes,
)
from odradek.server.node.coordinators.producer_ids import ProducerIds
from odradek.server.node.forwarding.any_controller import CREATION_TIMEOUT_MS
from odradek.testing.sim import SimNode, World
from odradek.testing.sim.client import SimRequest
from odradek.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest
from odradek.wire.messages.init_producer_id import InitProducerIdRequest
from odradek.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.server.node.forwarding.test_forwarding import (
    controller_of,
    lose_controller,
    open_requests,
    others_of,
)

SESSION_MS = 20_000


def wanted(node: SimNode, request: CreateTopics | AllocateProducerIds) -> list[Answer]:
    """Where the answer will be."""
    answers: list[Answer] = []
    node.core.any_controller.submit(request, answers.append)
    assert answers == [], "an event before the call returned"
    return answers


def wanted_in(world: World, node: SimNode, request: AllocateProducerIds) -> list[Answer]:
    """The answer, after a while."""
    answers = wanted(node, request)
    world.advance(1_000)
    return answers


# --- producer ids


def new_supply(node: SimNode) -> ProducerIds:
    """A supply of ids without a block."""
    core = node.core
    return ProducerIds(node.broker_id, lambda: core.controller.registered_epoch, core.any_controller)


def an_id(node: SimNode) -> SimRequest[Any]:
    """Ask for a producer id, as an idempotent producer does."""
    return node.send(InitProducerIdRequest(None, 60_000))


@pytest.mark.parametrize("broker_id", [1, 2, 3])
def test_every_broker_gives_out_producer_ids(broker_id: BrokerId) -> None:
    """R17."""
    world = World(brokers=3)
    node = world.nodes[broker_id]
    answers = [node.ask(InitProducerIdRequest(None, 60_000)) for _ in range(2)]
    assert [(one.error_code, one.producer_id) for one in answers] == [(0, 0), (0, 1)]


def test_each_broker_has_blocks_of_its_own() -> None:
    world = World(brokers=3)
    ids = [node.ask(InitProducerIdRequest(None, 60_000)).producer_id for node in world.nodes.values()]
    assert ids == [0, 1000, 2000]


def test_a_block_whose_answer_is_lost_is_left_out() -> None:
    world = World(brokers=3)
    node, controller = others_of(world)[0], controller_of(world)
    with controller.faults.drop("AllocateProducerIds", asker="brokers", times=1):
        sent = an_id(node)
        world.settle()
        assert sent.answers == []
    world.advance(100)
    assert (sent.answer.error_code, sent.answer.producer_id) == (0, 1000)


def test_a_producer_waits_for_the_next_controller() -> None:
    world = World(brokers=3)
    node, _ = lose_controller(world)
    sent = an_id(node)
    world.advance(1_000)
    assert sent.answers == []
    world.heal()
    world.settle()
    assert (sent.answer.error_code, sent.answer.producer_id) == (0, 0)


def test_without_a_controller_producers_retry_after_the_timeout() -> None:
    world = World(brokers=3)
    node, _ = lose_controller(world)
    sent = an_id(node)
    world.advance(node.core.settings.request_timeout_ms)
    assert sent.answer.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


@pytest.mark.parametrize("seed", range(1, 21))
def test_no_id_is_given_twice_while_controllers_are_killed(seed: int) -> None:
    """R17: brokers that start again take new blocks, and answers are lost with the brokers."""
    world = World(seed, brokers=3)
    sent: list[SimRequest[Any]] = []
    for _ in range(6):
        for node in world.nodes.values():
            sent += [an_id(node) for _ in range(3)]
            if node.is_serving:  # as if the block were used up
                node.core.producer_ids = new_supply(node)
        for _ in range(world.chance.below(60)):
            world.step()
        (killed,) = [node for node in world.nodes.values() if node.core.controller.is_active][:1]
        killed.kill()
        world.advance(500)
        world.node(killed.broker_id)
    world.advance(2 * SESSION_MS)
    given = [one.answers[0].producer_id for one in sent if one.answers and one.answers[0].error_code == 0]
    assert len(given) > 20
    assert len(set(given)) == len(given)
    assert open_requests(world) == [0, 0, 0]


def test_a_broker_that_registered_again_asks_with_its_new_epoch() -> None:
    world = World(brokers=3)
    node = others_of(world)[0]
    before = node.core.controller.registered_epoch
    world.expire_session(node.broker_id)
    world.settle()
    assert node.core.controller.registered_epoch > before
    sent = an_id(node)
    world.advance(1_000)
    assert (sent.answer.error_code, sent.answer.producer_id) == (0, 0)
    (refused,) = wanted_in(world, node, AllocateProducerIds(node.broker_id, before))
    assert isinstance(refused, Refused)
    assert refused.error is ErrorCode.STALE_BROKER_EPOCH


def test_clients_get_no_blocks() -> None:
    world = World(brokers=1)
    answer = controller_of(world).ask(AllocateProducerIdsRequest(1))
    assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


# --- topics


def test_topics_are_made_with_their_ids_wherever_they_are_wanted() -> None:
    world = World(brokers=3)
    for node in world.nodes.values():
        name = f"wanted-at-{node.broker_id}"
        topic = NewTopic(name, 2, 3, configs=(("segment.ms", "1234"),))
        answers = wanted(node, CreateTopics((topic,)))
        world.settle()
        (answer,) = answers
        assert isinstance(answer, TopicOutcomes), answer
        (outcome,) = answer.topics
        known = node.topic(name)
        assert (outcome.name, outcome.error, outcome.topic_id) == (name, ErrorCode.NONE, known.topic_id)
        assert len(known.partitions) == 2
        assert node.core.topic_config(name).segment_ms == 1234


def test_a_topic_that_cannot_be_made_is_refused_in_the_controllers_words() -> None:
    world = World(brokers=2)
    answers = [wanted(node, CreateTopics((NewTopic("x", 1, 3),))) for node in world.nodes.values()]
    world.settle()
    outcomes = {
        (one.topics[0].error, one.topics[0].message) for (one,) in answers if isinstance(one, TopicOutcomes)
    }
    ((error, message),) = outcomes
    assert error is ErrorCode.INVALID_REPLICATION_FACTOR
    assert message


def test_without_a_controller_a_creation_is_refused_after_a_while() -> None:
    world = World(brokers=3)
    node, _ = lose_controller(world)
    answers = wanted(node, CreateTopics((NewTopic("flights"),)))
    world.advance(CREATION_TIMEOUT_MS - 1)
    assert answers == []
    world.advance(1)
    (answer,) = answers
    assert isinstance(answer, Refused)
    assert answer.error is ErrorCode.REQUEST_TIMED_OUT


@pytest.mark.parametrize("broker_id", [1, 2, 3])
def test_metadata_makes_topics_at_every_broker(broker_id: BrokerId) -> None:
    world = World(brokers=3)
    node = world.nodes[broker_id]
    request = MetadataRequest([MetadataRequestTopic(name="flights")], allow_auto_topic_creation=True)
    (topic,) = node.ask(request).topics
    assert (topic.error_code, [row.error_code for row in topic.partitions]) == (0, [0])


def test_metadata_says_to_retry_when_there_is_no_controller() -> None:
    world = World(brokers=3)
    node, _ = lose_controller(world)
    request = MetadataRequest([MetadataRequestTopic(name="flights")], allow_auto_topic_creation=True)
    sent = node.send(request)
    world.advance(CREATION_TIMEOUT_MS)
    (topic,) = sent.answer.topics
    assert topic.error_code == ErrorCode.LEADER_NOT_AVAILABLE
