"""Replicas that move to other brokers, under load and while brokers die: nodes, disks, the wire's bytes."""

from collections.abc import Sequence

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import NO_BROKER, BrokerId, TopicPartition
from odradek.metadata import codec, paths
from odradek.metadata.controller.requests import ConfigOperation
from odradek.metadata.resources import ResourceType
from odradek.records.builder import BatchBuilder
from odradek.storage.finding import FindingKind
from odradek.testing.sim import SimNode, SimRequest, World
from odradek.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from odradek.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from odradek.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from odradek.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from odradek.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from odradek.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from odradek.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

pytestmark = pytest.mark.slow

P = TopicPartition("orders", 0)
LAG_MAX_MS = 10_000
SESSION_MS = 30_000
ALL = -1
Row = tuple[list[BrokerId], list[BrokerId], list[BrokerId]]


class Moving:
    """Brokers, and the topic `orders` with one partition on brokers 1, 2 and 3."""

    def __init__(
        self, seed: int = 1, *, brokers: int = 5, replicas: Sequence[BrokerId] = (1, 2, 3), **settings: str
    ) -> None:
        self.world = World(seed)
        for broker_id in range(1, brokers + 1):
            self.world.node(broker_id, min_insync_replicas="2", **settings)
        topic = CreatableTopic("orders", -1, -1, [CreatableReplicaAssignment(0, list(replicas))])
        answer = self.any.ask(CreateTopicsRequest([topic], timeout_ms=5_000))
        assert answer.topics[0].error_code == ErrorCode.NONE
        self.world.advance(1_000)
        self.sent: list[tuple[bytes, SimRequest[ProduceResponse]]] = []

    @property
    def alive(self) -> list[SimNode]:
        return [node for node in self.world.nodes.values() if node.is_serving]

    @property
    def any(self) -> SimNode:
        """A broker that serves and is not the controller, so that it forwards."""
        return next(node for node in self.alive if not node.core.controller.is_active)

    @property
    def controller(self) -> SimNode:
        (found,) = [node for node in self.alive if node.core.controller.is_active]
        return found

    @property
    def leader(self) -> SimNode | None:
        leaders = [node for node in self.alive if node.core.replicas.current_leader(P)[0] == node.broker_id]
        return leaders[0] if len(leaders) == 1 else None

    def produce(self, count: int = 1) -> None:
        """A batch with acks=all to the leader, if there is one; it may not be acknowledged."""
        node = self.leader
        if node is None:
            return
        builder, value = BatchBuilder(), b"record %d;" % len(self.sent)
        for _ in range(count):
            builder.append(node.clock.wall_ms(), None, value)
        data = PartitionProduceData(0, bytes(builder.build()))
        topic = TopicProduceData("orders", partition_data=[data])
        self.sent.append((value, node.send(ProduceRequest(None, ALL, 60_000, [topic]), 9)))

    def alter(self, replicas: Sequence[BrokerId] | None, *, version: int = 1) -> ErrorCode:
        """Let the partition have these replicas, or give a move up; returns the partition's error."""
        target = None if replicas is None else list(replicas)
        topic = ReassignableTopic("orders", [ReassignablePartition(0, target)])
        answer = self.any.ask(AlterPartitionReassignmentsRequest(topics=[topic], timeout_ms=5_000), version)
        assert (answer.error_code, answer.error_message) == (ErrorCode.NONE, None)  # as Apache Kafka 4.3.1
        return ErrorCode(answer.responses[0].partitions[0].error_code)

    def configure(self, kind: ResourceType, name: str, setting: str, text: str) -> None:
        altered = AlterableConfig(setting, ConfigOperation.SET, text)
        asked = IncrementalAlterConfigsRequest([AlterConfigsResource(kind, name, [altered])])
        (result,) = self.any.ask(asked).responses
        assert result.error_code == ErrorCode.NONE, result.error_message

    def listed(self) -> Row | None:
        """What the controller lists of the partition, asked through another broker."""
        answer = self.any.ask(ListPartitionReassignmentsRequest())
        assert answer.error_code == ErrorCode.NONE
        if not answer.topics:
            return None
        (topic,) = answer.topics
        (one,) = topic.partitions
        assert (topic.name, one.partition_index) == P
        return one.replicas, one.adding_replicas, one.removing_replicas

    def stored(self) -> tuple[codec.TopicDocument, codec.StateDocument]:
        """The nodes of the topic and of the partition's state."""
        topic = self.world.store.table.get(paths.topic(P.topic))
        state = self.world.store.table.get(paths.partition_state(*P))
        assert topic is not None
        assert state is not None
        return codec.decode_topic(topic.data), codec.decode_state(state.data)

    def wait_until_moved(self, limit_ms: int = 120_000) -> None:
        for _ in range(0, limit_ms, 500):
            if not self.stored()[0].adding and not self.stored()[0].removing:
                return
            self.world.advance(500)
        raise AssertionError("not moved in time")

    def hosts(self) -> list[BrokerId]:
        """The brokers that have a log of the partition."""
        return [node.broker_id for node in self.alive if node.logs.get(P) is not None]

    def records(self, node: SimNode) -> bytes:
        log = node.log(*P)
        return bytes(log.read(0, 1 << 30, log.end_position, at_least_one=True).held_records)

    def check(self, replicas: Sequence[BrokerId]) -> None:
        """These brokers, and no others, have the partition, and each all records that were acknowledged."""
        self.world.advance(2_000)
        topic, state = self.stored()
        assert topic.assignment[0] == tuple(replicas)
        assert sorted(state.isr) == sorted(replicas)
        assert state.leader in replicas
        assert self.hosts() == sorted(replicas)
        for node in self.alive:
            known = node.core.image.partition(P)
            assert known is not None
            assert (known.replicas, known.leader) == (tuple(replicas), state.leader)
            if node.broker_id in replicas:
                held = self.records(node)
                lost = [value for value, request in self.sent if acknowledged(request) and value not in held]
                assert lost == [], f"broker {node.broker_id} lacks {lost}"


def acknowledged(request: SimRequest[ProduceResponse]) -> bool:
    if not request.answers:
        return False
    return request.answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE


@pytest.mark.parametrize("seed", range(3))
def test_replicas_move_to_other_brokers_and_nothing_is_lost(seed: int) -> None:
    """R17: through a broker that forwards. The leader's own broker is among those that give theirs up."""
    moving = Moving(seed)
    for _ in range(20):
        moving.produce(5)
    moving.world.advance(1_000)
    assert moving.alter([4, 5, 3]) is ErrorCode.NONE
    for _ in range(20):
        moving.produce(5)
        moving.world.advance(50)
    moving.wait_until_moved()
    assert moving.listed() is None
    moving.check([4, 5, 3])
    moving.produce()
    moving.world.advance(1_000)
    moving.check([4, 5, 3])
    assert acknowledged(moving.sent[-1][1])


def test_a_move_under_way_is_listed_and_stored_as_kafka_has_it() -> None:
    moving = Moving()
    moving.world.isolate(4)
    assert moving.alter([3, 4]) is ErrorCode.NONE
    moving.world.advance(1_000)
    assert moving.listed() == ([3, 4, 1, 2], [4], [1, 2])
    topic, state = moving.stored()
    assert (topic.assignment, topic.adding, topic.removing) == ({0: (3, 4, 1, 2)}, {0: (4,)}, {0: (1, 2)})
    assert state.isr == (1, 2, 3)
    named = ListPartitionReassignmentsTopics("orders", [0, 7]), ListPartitionReassignmentsTopics("none", [0])
    answer = moving.any.ask(ListPartitionReassignmentsRequest(topics=list(named)))
    assert [(topic.name, len(topic.partitions)) for topic in answer.topics] == [("orders", 1)]
    assert answer.error_message is None
    others = [ListPartitionReassignmentsTopics("orders", [1])]
    assert moving.any.ask(ListPartitionReassignmentsRequest(topics=others)).topics == []
    moving.world.heal()
    moving.wait_until_moved()
    moving.check([3, 4])


def test_more_and_fewer_replicas() -> None:
    moving = Moving()
    moving.produce(3)
    assert moving.alter([1, 2, 3, 4, 5]) is ErrorCode.NONE
    moving.wait_until_moved()
    moving.check([1, 2, 3, 4, 5])
    assert moving.alter([5]) is ErrorCode.NONE
    moving.wait_until_moved()
    moving.check([5])


def test_a_move_that_is_given_up_leaves_what_was_there() -> None:
    moving = Moving()
    moving.produce(3)
    moving.world.isolate(5)
    assert moving.alter([4, 5]) is ErrorCode.NONE
    moving.world.advance(5_000)
    assert 4 in moving.stored()[1].isr, "one of the two has arrived"
    moving.world.heal()
    moving.world.cut(5, 1)
    moving.world.settle()
    assert moving.alter(None) is ErrorCode.NONE
    moving.world.heal()
    moving.world.advance(5_000)
    moving.check([1, 2, 3])
    assert moving.alter(None) is ErrorCode.NO_REASSIGNMENT_IN_PROGRESS


def test_a_move_is_replaced_by_another() -> None:
    """The replica that only the first one added is deleted."""
    moving = Moving()
    moving.produce(3)
    moving.world.cut(1, 4)
    assert moving.alter([4, 2, 3]) is ErrorCode.NONE
    moving.world.advance(2_000)
    assert moving.alter([5, 2, 3]) is ErrorCode.NONE
    moving.world.heal()
    moving.wait_until_moved()
    moving.check([5, 2, 3])


@pytest.mark.parametrize("seed", range(3))
def test_the_next_controller_goes_on(seed: int) -> None:
    moving = Moving(seed, brokers=6)
    moving.produce(3)
    moving.world.cut(1, 5)
    assert moving.alter([5, 2, 3]) is ErrorCode.NONE
    moving.world.advance(1_000)
    gone = moving.controller.broker_id
    moving.world.kill(gone)
    moving.world.heal()
    moving.world.advance(SESSION_MS)
    assert moving.controller.broker_id != gone
    moving.wait_until_moved()
    moving.world.node(gone)
    moving.world.advance(SESSION_MS)
    moving.check([5, 2, 3])


def test_a_replica_is_deleted_although_the_controller_dies_before_it_said_so() -> None:
    """The next controller's first news say that broker 1 has no replica any more."""
    moving = Moving(brokers=5)
    moving.produce(3)
    controller = moving.controller.broker_id
    gives_up = next(one for one in (1, 2, 3) if one != controller)
    staying = [one for one in (1, 2, 3) if one != gives_up]
    moving.world.cut(controller, gives_up)
    request = AlterPartitionReassignmentsRequest(
        topics=[ReassignableTopic("orders", [ReassignablePartition(0, staying)])]
    )
    moving.controller.send(request)
    moving.world.advance(1_000)
    assert moving.stored()[0].assignment[0] == tuple(staying)
    assert gives_up in moving.hosts()
    moving.world.kill(controller)
    moving.world.heal()
    moving.world.advance(SESSION_MS)
    assert gives_up not in moving.hosts()


def test_a_broker_that_dies_on_the_way_holds_the_move_up_until_it_is_back() -> None:
    moving = Moving()
    moving.produce(3)
    moving.world.cut(1, 4)
    assert moving.alter([4, 2, 3]) is ErrorCode.NONE
    moving.world.kill(4)
    moving.world.heal()
    moving.world.advance(2 * SESSION_MS)
    assert moving.listed() == ([4, 2, 3, 1], [4], [1])
    moving.produce(3)
    moving.world.node(4)
    moving.wait_until_moved()
    moving.check([4, 2, 3])


def logs_of_orders(node: SimNode) -> list[str]:
    return [name for name, _ in node.disk.list_directory("/data") if name.startswith("orders-0")]


def moved_while_dead() -> Moving:
    """Broker 1 was killed, and broker 4 has its replica."""
    moving = Moving()
    moving.produce(3)
    moving.world.kill(1)
    moving.world.advance(SESSION_MS)
    assert moving.alter([4, 2, 3]) is ErrorCode.NONE
    moving.wait_until_moved()
    return moving


def test_a_dead_brokers_replica_is_replaced_and_its_log_removed_when_it_is_back() -> None:
    """As the order to delete it would have done, if the broker had lived."""
    moving = moved_while_dead()
    back = moving.world.node(1)
    (finding,) = [one for one in back.findings if one.kind is FindingKind.REPLICAS_MOVED]
    assert finding.sentence == (
        "while this broker was away, the replicas of orders-0 in /data were moved to other brokers, which are"
        " all in sync: the logs here are removed"
    )
    moving.world.advance(SESSION_MS)
    moving.check([4, 2, 3])
    moving.world.advance(120_000)
    assert logs_of_orders(back) == []


def test_the_log_of_a_replica_that_was_moved_stays_while_others_may_lack_records() -> None:
    moving = moved_while_dead()
    moving.world.kill(4)
    moving.world.advance(SESSION_MS + LAG_MAX_MS)
    back = moving.world.node(1)
    (finding,) = [one for one in back.findings if one.kind is FindingKind.STRAYS_SET_ASIDE]
    assert "orders-0 in /data were moved to other brokers, which may not have all" in finding.sentence
    (name,) = logs_of_orders(back)
    assert name.endswith("-stray")
    moving.world.node(4)
    moving.world.advance(SESSION_MS)
    moving.check([4, 2, 3])
    again = back.restarted()
    (finding,) = [one for one in again.findings if one.kind is FindingKind.STRAYS_LEFT]
    assert f"logs whose replicas other brokers have: {name};" in finding.sentence


def test_a_topic_is_deleted_while_it_moves() -> None:
    moving = Moving()
    moving.world.cut(1, 4)
    assert moving.alter([4, 2, 3]) is ErrorCode.NONE
    moving.world.heal()
    moving.any.ask(DeleteTopicsRequest(topics=[DeleteTopicState("orders")], timeout_ms=5_000))
    moving.world.advance(5_000)
    assert moving.world.store.table.get(paths.topic("orders")) is None
    assert moving.hosts() == []
    assert moving.listed() is None


def test_a_topic_gets_no_partitions_while_it_moves() -> None:
    moving = Moving()
    moving.world.isolate(4)
    assert moving.alter([4, 2, 3]) is ErrorCode.NONE
    request = CreatePartitionsRequest([CreatePartitionsTopic("orders", 2, None)], timeout_ms=5_000)
    assert moving.any.ask(request).results[0].error_code == ErrorCode.REASSIGNMENT_IN_PROGRESS
    moving.world.heal()
    moving.wait_until_moved()
    assert moving.any.ask(request).results[0].error_code == ErrorCode.NONE


@pytest.mark.parametrize(
    ("replicas", "error"),
    [
        pytest.param([], ErrorCode.INVALID_REPLICA_ASSIGNMENT, id="none"),
        pytest.param([1, 1], ErrorCode.INVALID_REPLICA_ASSIGNMENT, id="one twice"),
        pytest.param([-1, 1, 2], ErrorCode.INVALID_REPLICA_ASSIGNMENT, id="below 0"),
        pytest.param([1, 2, 9], ErrorCode.INVALID_REPLICA_ASSIGNMENT, id="no such broker"),
        pytest.param(None, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, id="nothing to give up"),
        pytest.param([1, 2, 3], ErrorCode.NONE, id="what it has"),
    ],
)
def test_what_cannot_be_is_refused(replicas: list[int] | None, error: ErrorCode) -> None:
    moving = Moving(brokers=3)
    before = moving.stored()
    assert moving.alter(replicas) is error
    assert moving.alter(replicas, version=0) is error
    assert moving.stored() == before


def test_another_number_of_replicas_may_be_forbidden() -> None:
    """KIP-860. While it moves, those that it had count."""
    moving = Moving()
    moving.world.isolate(4)
    for replicas, error in (
        ([1, 2], ErrorCode.INVALID_REPLICATION_FACTOR),
        ([1, 2, 4], ErrorCode.NONE),
        ([1, 2, 4, 5], ErrorCode.INVALID_REPLICATION_FACTOR),
        ([1, 2, 5], ErrorCode.NONE),
    ):
        topic = ReassignableTopic("orders", [ReassignablePartition(0, replicas)])
        request = AlterPartitionReassignmentsRequest(
            allow_replication_factor_change=False, topics=[topic], timeout_ms=5_000
        )
        answer = moving.controller.ask(request, 1)
        assert not answer.allow_replication_factor_change
        assert answer.responses[0].partitions[0].error_code == error


def test_a_topic_or_partition_that_is_not_there() -> None:
    moving = Moving(brokers=3)
    topics = [
        ReassignableTopic("none", [ReassignablePartition(0, [1])]),
        ReassignableTopic("orders", [ReassignablePartition(4, [1]), ReassignablePartition(4, None)]),
    ]
    answer = moving.any.ask(AlterPartitionReassignmentsRequest(topics=topics, timeout_ms=5_000))
    errors = [[one.error_code for one in topic.partitions] for topic in answer.responses]
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert errors == [[unknown], [unknown, unknown]]


@pytest.mark.parametrize("seed", range(12))
def test_under_load_with_brokers_that_die_nothing_acknowledged_is_lost(seed: int) -> None:
    """One broker at a time is away; moves begin, are replaced and given up meanwhile."""
    moving = Moving(seed, brokers=5)
    chance, away = moving.world.chance, NO_BROKER
    targets = ([4, 5, 3], [1, 2, 3], [5, 1], [2, 4, 5, 1], [3, 4, 5], None)
    for _ in range(12):
        for _ in range(8):
            moving.produce(2)
            moving.world.advance(50 + chance.below(400))
        if away != NO_BROKER:
            moving.world.node(away)
            away = NO_BROKER
        elif chance.below(2):
            away = 1 + chance.below(5)
            moving.world.kill(away)
        moving.world.advance(chance.below(SESSION_MS + LAG_MAX_MS))
        if len([node for node in moving.alive if node.core.controller.is_active]) == 1:
            moving.alter(targets[chance.below(len(targets))])
    if away != NO_BROKER:
        moving.world.node(away)
    moving.world.advance(SESSION_MS)
    last = [3, 5, 1]
    assert moving.alter(last) is ErrorCode.NONE
    moving.wait_until_moved()
    moving.world.advance(SESSION_MS)
    moving.check(last)
    assert sum(acknowledged(request) for _, request in moving.sent) > len(moving.sent) // 2


@pytest.mark.parametrize("sides", [("leader",), ("follower",), ("leader", "follower")], ids="+".join)
def test_a_throttled_move_takes_its_time_and_clients_go_on(sides: tuple[str, ...]) -> None:
    """F8, KIP-73: as `cluster reassign --throttle` and Kafka's tool set it; a raised rate counts at once."""
    rate = 1_000
    moving = Moving(replica_fetch_max_bytes="1")  # one batch in each answer, so that the rate is kept closely
    for _ in range(20):
        moving.produce(60)
        moving.world.advance(20)
    held = {"leader": "0:1,0:2,0:3", "follower": "0:4"}
    for side in sides:
        moving.configure(ResourceType.TOPIC, "orders", f"{side}.replication.throttled.replicas", held[side])
        moving.configure(ResourceType.BROKER, "", f"{side}.replication.throttled.rate", str(rate))
    whole_bytes = moving.world.nodes[1].log(*P).size_bytes
    start_ms = moving.world.clock.monotonic_ms()
    assert moving.alter([4, 2, 3]) is ErrorCode.NONE
    copied = moving.world.nodes[4].log
    while moving.world.clock.monotonic_ms() < start_ms + 5_000:
        moving.world.advance(500)
        seconds = (moving.world.clock.monotonic_ms() - start_ms) / 1_000
        assert copied(*P).size_bytes <= rate * max(seconds, 1) + 3 * whole_bytes // 20
        moving.produce()
        moving.world.advance(100)
        assert acknowledged(moving.sent[-1][1]), "the followers in sync are not slowed down"
    assert rate < copied(*P).size_bytes < whole_bytes
    assert moving.listed() is not None
    for side in sides:
        moving.configure(ResourceType.BROKER, "", f"{side}.replication.throttled.rate", str(1 << 40))
    moving.world.advance(5_000)
    assert moving.listed() is None
    moving.check([4, 2, 3])
