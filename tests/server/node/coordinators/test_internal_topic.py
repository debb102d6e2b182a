"""Internal topics: where they are made, with how many replicas, and what if they cannot be made."""

from collections.abc import Callable

import pytest

from odradek.base.clock import ManualClock
from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Steps, exhaust
from odradek.base.ids import BrokerId
from odradek.metadata.controller.requests import Answer, Refused
from odradek.metadata.image import BrokerImage, ClusterImage
from odradek.server.node.coordinators.internal_topic import InternalTopic, InternalTopicSpec, TopicMaking
from odradek.testing.sim import SimNode, World
from odradek.timer import Purgatory, Timer
from odradek.wire.messages.find_coordinator import Coordinator, FindCoordinatorRequest
from tests.server.node.forwarding.test_forwarding import controller_of, others_of
from tests.server.nodes import NewNode

TOPICS = ("__consumer_offsets", "__transaction_state")


def test_a_refused_internal_topic_is_logged_once(new_node: NewNode, caplog: pytest.LogCaptureFixture) -> None:
    node = new_node(offsets_topic_segment_bytes="1000")  # less than segment.bytes allows
    for _ in range(3):
        (found,) = node.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"])).coordinators
        assert found.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    (said,) = [record.getMessage() for record in caplog.records if "cannot be made" in record.getMessage()]
    assert said.startswith("__consumer_offsets cannot be made: "), said
    assert "segment.bytes" in said, "the setting that is to be changed"


class SlowController:
    """It answers when the test does."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[Answer], None]] = []

    def submit(self, request: object, answered: Callable[[Answer], None]) -> None:
        self.waiting.append(answered)


def test_the_controller_is_asked_once_for_all_that_wait_and_again_after_a_refusal() -> None:
    controller, clock = SlowController(), ManualClock()
    image = ClusterImage(brokers={1: BrokerImage(1, ())})
    making = TopicMaking(image, controller, Purgatory("Topic", Timer(clock)), clock, exhaust, lambda: 1)
    topic = InternalTopic(
        making, InternalTopicSpec("__consumer_offsets", 3, 1, "offsets.topic.replication.factor", {})
    )
    answers: list[BrokerId | ErrorCode] = []
    assert [topic.find(key, answers.append) for key in ("a", "b")] == [None, None]

    (answered,) = controller.waiting
    answered(Refused(ErrorCode.NOT_CONTROLLER, "no"))
    assert answers == [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 2

    assert topic.find("c", answers.append) is None
    assert len(controller.waiting) == 2


def test_requests_that_waited_are_answered_in_steps() -> None:
    """One FindCoordinator may ask for very many keys, of 32 KB each, while the topic is made."""
    slow, clock = SlowController(), ManualClock()
    begun: list[Steps[None]] = []
    purgatory = Purgatory[str]("Topic", Timer(clock))
    image = ClusterImage(brokers={1: BrokerImage(1, ())})
    making = TopicMaking(image, slow, purgatory, clock, begun.append, lambda: 1)
    topic = InternalTopic(
        making, InternalTopicSpec("__consumer_offsets", 3, 1, "offsets.topic.replication.factor", {})
    )
    answers: list[BrokerId | ErrorCode] = []
    assert [topic.find(key, answers.append) for key in ("a", "b", "c")] == [None] * 3

    (answered,) = slow.waiting
    answered(Refused(ErrorCode.NOT_CONTROLLER, "no"))
    (steps,) = begun
    assert answers == [], "nothing is done before the first step"
    next(steps)
    assert len(answers) == 1
    exhaust(steps)
    assert answers == [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 3


def coordinators(node: SimNode) -> list[Coordinator]:
    """The coordinators of a group and of a transactional id, as a broker tells."""
    found: list[Coordinator] = []
    for key_type in (0, 1):
        found += node.ask(FindCoordinatorRequest(key_type=key_type, coordinator_keys=["k"])).coordinators
    return found


def replica_counts(node: SimNode) -> list[set[int]]:
    return [{len(state.replicas) for state in node.topic(name).partitions.values()} for name in TOPICS]


@pytest.mark.parametrize("broker_id", [1, 2, 3])
def test_every_broker_makes_internal_topics(broker_id: int) -> None:
    world = World(brokers=3)
    node = world.nodes[broker_id]
    assert [one.error_code for one in coordinators(node)] == [0, 0]
    assert replica_counts(node) == [{3}, {3}]
    told = [[one.node_id for one in coordinators(node)] for node in world.nodes.values()]
    assert told[0] == told[1] == told[2]


@pytest.mark.parametrize("seed", range(3))
def test_brokers_that_make_an_internal_topic_at_once_all_wait_for_it(
    seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    world = World(brokers=3, seed=seed)
    request = FindCoordinatorRequest(key_type=0, coordinator_keys=["k"])
    asked = [node.send(request) for node in world.nodes.values()]
    world.settle()
    found = [one.answer.coordinators[0] for one in asked]
    assert [one.error_code for one in found] == [0, 0, 0]
    assert len({one.node_id for one in found}) == 1
    assert "cannot be made" not in caplog.text


def test_internal_topics_wait_until_enough_brokers_live(caplog: pytest.LogCaptureFixture) -> None:
    """R17; with fewer replicas they would stay as they are when the third broker lives again."""
    world = World(brokers=3)
    stopped, asked = others_of(world)
    world.stop(stopped.broker_id)
    missing = ErrorCode.COORDINATOR_NOT_AVAILABLE
    for node in (asked, controller_of(world)):
        assert [one.error_code for one in coordinators(node)] == [missing, missing]
    assert not set(TOPICS) & set(asked.core.image.topics)
    refusal = (
        "__consumer_offsets cannot be made: offsets.topic.replication.factor asks for 3 replicas,"
        " and 2 brokers live"
    )
    assert refusal in caplog.text
    (told,) = asked.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"])).coordinators
    assert told.error_message == refusal
    world.node(stopped.broker_id)
    assert [one.error_code for one in coordinators(asked)] == [0, 0]
    assert replica_counts(asked) == [{3}, {3}]


def test_a_setting_says_how_many_replicas_internal_topics_have() -> None:
    world = World(brokers=0)
    factors = {"offsets_topic_replication_factor": "2", "transaction_state_log_replication_factor": "1"}
    for broker_id in (1, 2, 3):
        world.node(broker_id, **factors)
    (asked, stopped) = others_of(world)
    world.stop(stopped.broker_id)
    assert [one.error_code for one in coordinators(asked)] == [0, 0]
    assert replica_counts(asked) == [{2}, {1}]


@pytest.mark.parametrize("brokers", [1, 2])
def test_a_small_cluster_has_as_many_replicas_as_brokers(brokers: int) -> None:
    world = World(brokers=brokers)
    node = world.nodes[1]
    assert [one.error_code for one in coordinators(node)] == [0, 0]
    assert replica_counts(node) == [{brokers}, {brokers}]
