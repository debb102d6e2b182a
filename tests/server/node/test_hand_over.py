"""Brokers that stop in good order: their leaderships move first (ControlledShutdown, KIP-49, KIP-841)."""

from collections.abc import Sequence
from typing import Any

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import NO_BROKER, BrokerId, TopicPartition
from odradek.metadata import codec, paths
from odradek.metadata.codec import StateDocument
from odradek.server.node import stages
from odradek.server.node.forwarding.any_controller import SHUTDOWN_TIMEOUT_MS
from odradek.server.node.hand_over import State
from odradek.server.node.outgoing_orders import EVERYONE_MS_MAX
from odradek.server.node.peers import PeerRequest
from odradek.storage import file_names
from odradek.testing.sim import SimNode, SimRequest, World
from odradek.testing.sim.observer import Fault
from odradek.testing.sim.streams import Stream
from odradek.wire.message import Message
from odradek.wire.messages.controlled_shutdown import ControlledShutdownRequest, ControlledShutdownResponse
from odradek.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from odradek.wire.messages.produce import ProduceResponse
from tests.server.node.forwarding.test_forwarding import controller_of, others_of
from tests.server.node.test_replica_fetchers import ALL, LEADER, SESSION_MS, Cluster, P, code_of

pytestmark = pytest.mark.slow

MANY = 12
BACKOFF_MS = 5_000
"""`controlled.shutdown.retry.backoff.ms`."""


def create(world: World, name: str, replicas: Sequence[Sequence[BrokerId]], min_isr: int = 1) -> None:
    """A topic with a partition on each of these lists of brokers."""
    assignments = [CreatableReplicaAssignment(number, list(held)) for number, held in enumerate(replicas)]
    configs = [CreatableTopicConfig("min.insync.replicas", str(min_isr))]
    topic = CreatableTopic(name, -1, -1, assignments, configs)
    sent = controller_of(world).send(CreateTopicsRequest([topic], timeout_ms=5_000))
    world.advance(1_000)
    assert sent.answer.topics[0].error_code == ErrorCode.NONE


def stored(world: World, name: str) -> list[StateDocument]:
    """The states of a topic's partitions in the metadata store."""
    found: list[StateDocument] = []
    while (node := world.store.table.get(paths.partition_state(name, len(found)))) is not None:
        found.append(codec.decode_state(node.data))
    return found


def loaded(seed: int = 1, brokers: int = 3) -> World:
    """A cluster in which each broker leads a third of many partitions, which are on all brokers."""
    world = World(seed, brokers=brokers)
    ids = list(world.nodes)
    create(world, "many", [ids[first:] + ids[:first] for first in (n % len(ids) for n in range(MANY))])
    return world


class Leaders:
    """Looks after every step whether the partitions of `many` have leaders, in the store and at brokers."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._version = -1
        self.seen_without = 0
        """How often a partition had no live leader in its ISR."""
        world.observer = self

    def on_step(self) -> None:
        table = self._world.store.table
        if table.writes == self._version:
            return
        self._version = table.writes
        registered = {one for one in self._world.nodes if table.get(paths.broker(one)) is not None}
        for state in stored(self._world, "many"):
            if state.leader not in registered or state.leader not in state.isr:
                self.seen_without += 1

    def on_fault(self, fault: Fault) -> None:
        """Nothing is looked at."""

    def on_delivered(self, stream: Stream, data: bytes, *, to_server: bool) -> None:
        """Nothing is looked at."""

    def on_ended(self, stream: Stream, reason: str) -> None:
        """Nothing is looked at."""


def known(node: SimNode, name: str = "many") -> list[BrokerId]:
    """The leaders that a broker knows."""
    return [state.leader for state in node.topic(name).partitions.values()]


def led(node: SimNode) -> int:
    """How many partitions of `many` a broker leads in its memory."""
    names = [TopicPartition("many", number) for number in range(MANY)]
    return sum(node.core.replicas.current_leader(named)[0] == node.broker_id for named in names)


# --- with other replicas in sync


@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize("place", ["controller", "other"])
def test_no_partition_is_without_a_leader_when_a_broker_stops(seed: int, place: str) -> None:
    """KIP-49: before the session ends, every partition is led by another broker, which knows that."""
    world = loaded(seed)
    node = controller_of(world) if place == "controller" else others_of(world)[0]
    staying = [one for one in world.nodes.values() if one is not node]
    leaders = Leaders(world)
    node.begin_stop()
    while isinstance(node.stage, stages.HandOver):
        assert world.step()
    assert (led(node), sum(map(led, staying))) == (0, MANY)
    assert node.session.session_id in world.open_sessions()
    assert {state.leader for state in stored(world, "many")} == {one.broker_id for one in staying}
    assert all(node.broker_id not in state.isr for state in stored(world, "many"))
    world.settle()
    assert node.is_over
    assert leaders.seen_without == 0
    for one in staying:
        assert known(one) == [state.leader for state in stored(world, "many")]


def test_without_a_controlled_shutdown_partitions_wait_for_the_end_of_the_session() -> None:
    """What the test above compares with: `controlled.shutdown.enable` is false."""
    world = World()
    for broker_id in (1, 2, 3):
        world.node(broker_id, controlled_shutdown_enable="false")
    create(world, "many", [(1, 2, 3), (2, 3, 1), (3, 1, 2)])
    leaders = Leaders(world)
    node = others_of(world)[0]
    node.begin_stop()
    assert isinstance(node.stage, stages.RefuseClients)
    world.advance(stages.DRAIN_MS_MAX)
    assert node.is_over
    assert leaders.seen_without > 0


@pytest.mark.parametrize("steps", [0, 1, 2, 4, 8])
def test_a_broker_that_is_stopping_joins_no_isr(steps: int) -> None:
    """R16, KIP-841: as a follower out of sync that is catching up, with fetches on their way."""
    cluster = Cluster(seed=steps + 1)
    stopping = cluster[3]
    stopping.kill()
    cluster.world.advance(SESSION_MS)
    cluster.produce(20, LEADER)
    cluster.world.begin(3)
    stopping = cluster[3]
    while not stopping.is_serving:
        assert cluster.world.step()
    for _ in range(steps):
        assert cluster.world.step()
    assert 3 not in cluster.isr()
    stopping.begin_stop()
    while isinstance(stopping.stage, stages.HandOver):
        assert cluster.world.step()
    assert cluster.isr() == (1, 2)
    while stopping.is_alive:
        assert cluster.world.step()
        assert cluster.isr() == (1, 2)


@pytest.mark.parametrize("seed", range(1, 9))
def test_a_parked_produce_is_answered_and_nothing_acknowledged_is_lost(seed: int) -> None:
    """P3: acks=all waits for the followers; the next leader has what was acknowledged."""
    cluster = Cluster(seed)
    world = cluster.world
    acknowledged = 0
    sent = list[SimRequest[ProduceResponse]]()
    for _ in range(3):
        sent.append(cluster.produce(2, ALL, cluster[1]))
        for _ in range(world.chance.below(40)):
            world.step()
    cluster[1].begin_stop()
    while isinstance(cluster[1].stage, stages.HandOver):
        if world.chance.below(20) == 0:
            sent.append(cluster.produce(2, ALL, cluster[1]))
        assert world.step()
    world.settle()
    codes = [code_of(one) for one in sent if one.answers]
    assert set(codes) <= {ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER}
    assert all(one.answers or one.client.is_closed for one in sent), "none waits for its timeout"
    acknowledged = 2 * codes.count(ErrorCode.NONE)
    assert cluster[1].is_over
    again = cluster.produce(1, ALL)
    world.advance(1_000)
    assert code_of(again) is ErrorCode.NONE
    assert cluster.leader.log("orders").high_watermark.offset >= acknowledged + 1
    world.node(1)
    world.advance(SESSION_MS)
    assert cluster.isr() == (1, 2, 3)
    cluster.check_logs()


def test_what_a_stopped_replica_had_is_there_when_its_broker_starts_again() -> None:
    """R12: StopReplica does not take the high watermark out of the checkpoint."""
    cluster = Cluster()
    for _ in range(5):
        cluster.produce(2)
        cluster.world.advance(1_000)
    cluster.world.stop(1)
    again = cluster.world.begin(1)
    while not again.has_opened:
        cluster.world.step()
    assert again.logs.checkpointed_high_watermark(P) == 10
    assert not again.findings


def test_two_brokers_that_stop_at_once_leave_all_to_the_third() -> None:
    world = loaded()
    leaders = Leaders(world)
    stopping = others_of(world)
    for node in stopping:
        node.begin_stop()
    world.settle()
    assert [node.is_over for node in stopping] == [True, True]
    (third,) = [node for node in world.nodes.values() if node.is_alive]
    assert (led(third), leaders.seen_without) == (MANY, 0)


def test_the_last_broker_does_not_wait() -> None:
    world = loaded()
    for node in list(world.nodes.values()):
        node.begin_stop()
        world.settle()
    assert not any(node.is_alive for node in world.nodes.values())
    assert world.clock.monotonic_ms() < BACKOFF_MS


def test_a_broker_alone_asks_nobody() -> None:
    node = World().node()
    create(node.world, "many", [(0,)])
    assert not node.core.hand_over.is_needed
    node.begin_stop()
    assert isinstance(node.stage, stages.RefuseClients)


# --- with nobody to lead, or nobody to ask


@pytest.mark.parametrize("min_isr", [1, 2])
def test_what_no_other_replica_can_lead_stays_and_the_broker_stops_anyway(
    min_isr: int, caplog: pytest.LogCaptureFixture
) -> None:
    """As Apache Kafka 3.9: three attempts, `controlled.shutdown.retry.backoff.ms` between them."""
    world = World(brokers=3)
    controller = controller_of(world)
    gone, stopping = others_of(world)
    create(world, "many", [(stopping.broker_id, gone.broker_id)], min_isr)
    gone.kill()
    world.advance(SESSION_MS)
    caplog.clear()
    stopping.begin_stop()
    world.advance(2 * BACKOFF_MS - 1)
    assert stopping.core.hand_over.state is State.RESTING
    assert [state.leader for state in stored(world, "many")] == [stopping.broker_id]
    world.advance(1)
    assert stopping.is_over
    assert "stops although not all its leaderships have moved: no other replica in sync can lead many-0" in (
        caplog.text
    )
    assert controller.topic("many").partitions[0].leader == NO_BROKER


def test_nobody_is_waited_for_when_all_brokers_stop(caplog: pytest.LogCaptureFixture) -> None:
    """The replica in sync has stopped for good: there is one attempt, and no backoff."""
    world = World(brokers=3)
    gone, stopping = others_of(world)
    create(world, "many", [(stopping.broker_id, gone.broker_id)])
    world.all_stop = True
    gone.begin_stop()
    world.settle()
    assert gone.is_over
    stopping.begin_stop()
    world.settle()
    assert stopping.is_over
    assert "stops although not all its leaderships have moved" in caplog.text


def test_a_replica_that_comes_back_meanwhile_leads() -> None:
    world = World(brokers=3)
    gone, stopping = others_of(world)
    create(world, "many", [(stopping.broker_id, gone.broker_id)], 2)
    gone.kill()
    world.advance(SESSION_MS)
    stopping.begin_stop()
    world.settle()
    world.node(gone.broker_id)
    world.advance(2 * BACKOFF_MS)
    assert stopping.is_over
    assert [(state.leader, state.isr) for state in stored(world, "many")] == [
        (gone.broker_id, (gone.broker_id,))
    ]


def test_a_stop_without_a_way_to_the_controller_ends_in_time() -> None:
    world = loaded()
    node = others_of(world)[0]
    world.isolate(node.broker_id)
    node.begin_stop()
    attempts = node.core.settings.controlled_shutdown_max_retries
    world.advance(attempts * SHUTDOWN_TIMEOUT_MS + (attempts - 1) * BACKOFF_MS - 1)
    assert isinstance(node.stage, stages.HandOver)
    world.advance(1 + stages.DRAIN_MS_MAX)
    assert node.is_over


def test_a_controller_that_cannot_write_does_not_wait_for_ever() -> None:
    """It is the controller that stops, and the store does not answer."""
    world = loaded()
    node = controller_of(world)
    world.cut_store(node.broker_id)
    node.begin_stop()
    world.advance(SHUTDOWN_TIMEOUT_MS - 1)
    assert isinstance(node.stage, stages.HandOver)
    world.advance(1)
    assert not isinstance(node.stage, stages.HandOver)
    world.heal()
    world.advance(stages.DRAIN_MS_MAX)
    assert node.is_over


@pytest.mark.parametrize("place", ["controller", "other"])
def test_without_the_metadata_store_there_is_one_attempt(
    place: str, caplog: pytest.LogCaptureFixture
) -> None:
    """ZooKeeper is away, and its sessions do not end: a second attempt would wait as long."""
    world = loaded()
    node = controller_of(world) if place == "controller" else others_of(world)[0]
    for broker_id in world.nodes:
        world.cut_store(broker_id)
    node.begin_stop()
    world.advance(SHUTDOWN_TIMEOUT_MS)
    assert not isinstance(node.stage, stages.HandOver)
    assert node.core.hand_over.state is State.ENDED
    led_here = [n for n, leader in enumerate(known(node)) if leader == node.broker_id]
    names = ", ".join(f"many-{number}" for number in led_here)
    said = "stops with its leaderships: it has no connection to the metadata store; there is no answer"
    assert f"{said}; led here: {names}\n" in caplog.text
    assert led(node) == MANY // 3


def test_a_broker_that_alone_has_lost_the_store_hands_over(caplog: pytest.LogCaptureFixture) -> None:
    """The controller has the store: the one attempt succeeds."""
    world = loaded()
    node = others_of(world)[0]
    world.cut_store(node.broker_id)
    node.begin_stop()
    world.settle()
    assert (led(node), node.core.hand_over.state) == (0, State.ENDED)
    assert "stops with its leaderships" not in caplog.text


@pytest.mark.parametrize("place", ["controller", "other"])
def test_a_hand_over_ends_with_the_session(place: str, caplog: pytest.LogCaptureFixture) -> None:
    """The metadata store is away for the session timeout: nobody can move a leadership."""
    world = loaded()
    node = controller_of(world) if place == "controller" else others_of(world)[0]
    for broker_id in world.nodes:
        world.cut_store(broker_id)
    node.begin_stop()
    world.advance(SHUTDOWN_TIMEOUT_MS // 2)
    assert isinstance(node.stage, stages.HandOver)
    world.expire_session(node.broker_id)
    node.session.is_cut = False  # its own side finds that the session has run out
    while isinstance(node.stage, stages.HandOver):
        assert world.step()
    assert "stops with its leaderships: its session with the metadata store ended" in caplog.text
    world.advance(stages.DRAIN_MS_MAX)
    assert node.is_over
    assert node.core.hand_over.state is State.ENDED


def test_without_a_session_nothing_is_handed_over() -> None:
    """The controller does not know a broker whose session has ended: the others lead already."""
    world = loaded()
    node = others_of(world)[0]
    world.cut_store(node.broker_id)
    world.expire_session(node.broker_id)
    world.links.isolate(node.broker_id)
    node.session.is_cut = False  # it hears that its session has ended, and cannot open another one
    while node.core.controller.is_registered:
        assert world.step()
    assert not node.core.hand_over.is_needed


@pytest.mark.parametrize("seed", range(1, 6))
def test_the_next_controller_moves_what_the_first_could_not(seed: int) -> None:
    world = loaded(seed)
    controller, (node, third) = controller_of(world), others_of(world)
    node.begin_stop()
    for _ in range(world.chance.below(60)):
        if isinstance(node.stage, stages.HandOver):
            world.step()
    controller.kill()
    world.advance(SESSION_MS)
    assert node.is_over
    assert led(third) == MANY
    assert [state.isr for state in stored(world, "many")] == [(third.broker_id,)] * MANY


def test_a_broker_that_does_not_obey_holds_a_stop_up_for_a_while_only() -> None:
    """The controller answers without it."""
    world = loaded()
    node, other = others_of(world)
    world.pause(other.broker_id)
    node.begin_stop()
    world.advance(EVERYONE_MS_MAX - 1)
    assert isinstance(node.stage, stages.HandOver)
    world.advance(1)
    assert node.is_over


def test_a_stop_killed_at_any_step_leaves_leaders() -> None:
    for seed in range(1, 300, 50):
        world = loaded(seed)
        node = others_of(world)[0]
        node.begin_stop()
        for _ in range(seed):
            if node.is_alive:
                world.step()
        if node.is_alive:
            node.kill()
        world.advance(SESSION_MS)
        assert sum(led(one) for one in world.nodes.values() if one.is_alive) == MANY
        world.node(node.broker_id)
        world.advance(SESSION_MS)
        assert all(len(state.isr) == 3 for state in stored(world, "many"))


# --- what the controller does meanwhile


def test_new_partitions_are_not_led_by_a_broker_that_is_stopping() -> None:
    """KIP-841: nor is it in their ISR."""
    world = loaded()
    node = others_of(world)[0]
    world.pause(others_of(world)[1].broker_id)  # its orders are not obeyed: the stop waits
    node.begin_stop()
    while not controller_of(world).core.controller.controlled.stopping:  # type: ignore[union-attr]
        assert world.step()
    ids = [node.broker_id, *(one for one in world.nodes if one != node.broker_id)]
    topics = [
        CreatableTopic("given", -1, -1, [CreatableReplicaAssignment(0, ids)]),
        CreatableTopic("drawn", 9, 2),
    ]
    controller_of(world).send(CreateTopicsRequest(topics, timeout_ms=5_000))
    world.settle()
    assert isinstance(node.stage, stages.HandOver)
    (given,) = stored(world, "given")
    assert (given.leader, given.isr) == (ids[1], tuple(ids[1:]))
    assert {state.isr for state in stored(world, "drawn")} == {(ids[1], ids[2]), (ids[2], ids[1])}


# --- the request


def ask(node: SimNode, of: SimNode, request: ControlledShutdownRequest) -> Message:
    """Let a broker ask another one."""
    outcomes: list[Any] = []
    peers = of.node.life.surroundings.peers
    peers.send(PeerRequest(node.broker_id, request, 3, timeout_ms=30_000), outcomes.append)
    of.world.settle()
    (outcome,) = outcomes
    assert isinstance(outcome, ControlledShutdownResponse), outcome
    return outcome


def test_the_request_is_for_brokers_that_the_controller_knows_by_their_epoch() -> None:
    world = loaded()
    controller, (node, other) = controller_of(world), others_of(world)
    epoch = node.core.controller.registered_epoch
    for asked, broker_epoch, code in (
        (other, epoch, ErrorCode.NOT_CONTROLLER),
        (controller, epoch - 1, ErrorCode.STALE_BROKER_EPOCH),
        (controller, -1, ErrorCode.STALE_BROKER_EPOCH),
    ):
        answer = ask(asked, node, ControlledShutdownRequest(node.broker_id, broker_epoch))
        assert (answer.error_code, answer.remaining_partitions) == (code, [])  # type: ignore[attr-defined]
    assert known(controller).count(node.broker_id) == MANY // 3
    unknown = ask(controller, node, ControlledShutdownRequest(17, epoch))
    assert unknown.error_code == ErrorCode.BROKER_NOT_AVAILABLE  # type: ignore[attr-defined]


def test_the_answer_names_what_remains() -> None:
    world = World(brokers=3)
    controller, (node, gone) = controller_of(world), others_of(world)
    both = (node.broker_id, gone.broker_id)
    create(world, "many", [both, both, (node.broker_id, controller.broker_id)])
    create(world, "alone", [(node.broker_id,)])
    gone.kill()
    world.advance(SESSION_MS)
    epoch = node.core.controller.registered_epoch
    answer: Any = ask(controller, node, ControlledShutdownRequest(node.broker_id, epoch))
    rows = [(row.topic_name, row.partition_index) for row in answer.remaining_partitions]
    assert (answer.error_code, rows) == (0, [("many", 0), ("many", 1)])
    assert [state.leader for state in stored(world, "alone")] == [node.broker_id], "as in Apache Kafka"


def test_clients_may_not_stop_brokers() -> None:
    world = World(brokers=2)
    controller = controller_of(world)
    epoch = controller.core.controller.registered_epoch
    answer = controller.ask(ControlledShutdownRequest(controller.broker_id, epoch))
    assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert controller.core.controller.controlled.stopping == {}  # type: ignore[union-attr]


def test_the_clean_mark_is_left_after_a_hand_over() -> None:
    world = loaded()
    node = others_of(world)[0]
    world.stop(node.broker_id)
    assert node.disk.exists(f"/data/{file_names.CLEAN_SHUTDOWN}")
    again = world.node(node.broker_id)
    world.advance(SESSION_MS)
    assert not again.findings
    assert all(len(state.isr) == 3 for state in stored(world, "many"))
