"""Brokers that replicate: three nodes, their controller, the wire's bytes, and what befalls them."""

import logging
from collections.abc import Sequence

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import BrokerId, TopicPartition
from odradek.metadata.image import BrokerConfigChanged
from odradek.records.builder import BatchBuilder
from odradek.replication.fetcher import NoteKind, State
from odradek.server.node.replica_fetchers import ReplicaFetchers
from odradek.testing.sim import SimNode, SimRequest, World
from odradek.wire.headers import decode_request_header
from odradek.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from odradek.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from odradek.wire.messages.fetch import FetchRequest
from odradek.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from tests.testing.sim.arrivals import Arrivals

P = TopicPartition("orders", 0)
BROKERS = (1, 2, 3)
LAG_MAX_MS = 10_000
SESSION_MS = 30_000
ALL, LEADER = -1, 1


class Cluster:
    """Three brokers and the topic `orders`, whose one partition is on all of them, led by broker 1."""

    def __init__(
        self, seed: int = 1, partitions: int = 1, replicas: Sequence[BrokerId] = BROKERS, **settings: str
    ) -> None:
        self.world = World(seed)
        self._arrivals = Arrivals(self.world)
        for broker_id in BROKERS:
            self.world.node(broker_id, **settings)
        assignments = [CreatableReplicaAssignment(number, list(replicas)) for number in range(partitions)]
        topic = CreatableTopic("orders", -1, -1, assignments)
        answer = self.controller.ask(CreateTopicsRequest([topic], timeout_ms=5_000))
        assert answer.topics[0].error_code == ErrorCode.NONE
        self.world.advance(1_000)
        self.written = 0

    def __getitem__(self, broker_id: BrokerId) -> SimNode:
        return self.world.nodes[broker_id]

    def fetches(self) -> list[tuple[BrokerId, FetchRequest]]:
        """All that have arrived at leaders, each with its sender."""
        found = []
        for sender, _, frame in self._arrivals.frames:
            header, position = decode_request_header(frame)
            if header.api_key == FetchRequest.API_KEY:
                found.append((sender, FetchRequest.decode(frame, header.api_version, position)))
        return found

    @property
    def alive(self) -> list[SimNode]:
        return [node for node in self.world.nodes.values() if node.is_alive]

    @property
    def controller(self) -> SimNode:
        (found,) = [node for node in self.alive if node.core.controller.is_active]
        return found

    @property
    def leader(self) -> SimNode:
        (found,) = [node for node in self.alive if node.core.replicas.current_leader(P)[0] == node.broker_id]
        return found

    def fetchers(self, broker_id: BrokerId) -> ReplicaFetchers:
        return self[broker_id].core.fetchers

    def produce(
        self,
        count: int = 1,
        acks: int = ALL,
        at: SimNode | None = None,
        partition: int = 0,
        topic: str = "orders",
    ) -> SimRequest[ProduceResponse]:
        """One batch of `count` records, unlike all others, to the leader."""
        node = at or self.leader
        builder = BatchBuilder()
        for _ in range(count):
            self.written += 1
            builder.append(node.clock.wall_ms(), None, b"record %d;" % self.written)
        data = [
            TopicProduceData(topic, partition_data=[PartitionProduceData(partition, bytes(builder.build()))])
        ]
        return node.send(ProduceRequest(None, acks, 60_000, data), 9)

    def ends(self, partition: int = 0) -> list[int]:
        return [node.log("orders", partition).end_offset for node in self.alive]

    def high_watermarks(self) -> list[int]:
        return [node.log("orders").high_watermark.offset for node in self.alive]

    def isr(self) -> tuple[BrokerId, ...]:
        partition = self.leader.core.replicas.partition(P)
        assert partition is not None
        assert partition.leadership is not None
        return tuple(sorted(partition.leadership.isr))

    def check_logs(self, partition: int = 0) -> None:
        """Byte for byte, below the smallest HW."""
        logs = [node.log("orders", partition) for node in self.alive]
        common = min(log.high_watermark.offset for log in logs)
        contents = {
            log.read(0, 1 << 30, log.position_of(common), at_least_one=True).held_records for log in logs
        }
        assert common > 0
        assert len(contents) == 1


def code_of(sent: SimRequest[ProduceResponse]) -> ErrorCode:
    (topic,) = sent.answer.responses
    return ErrorCode(topic.partition_responses[0].error_code)


@pytest.mark.parametrize("seed", range(4))
def test_a_produce_is_acknowledged_when_the_followers_have_it(seed: int) -> None:
    """R5c, R10, R11, X1, X2: HW rises by their next fetches, and reaches them with the answers."""
    cluster = Cluster(seed)
    assert cluster.isr() == BROKERS
    sent = cluster.produce(3)
    cluster.world.settle()
    assert code_of(sent) is ErrorCode.NONE
    assert cluster.ends() == [3, 3, 3]
    assert cluster.leader.log("orders").high_watermark.offset == 3
    cluster.world.advance(1_000)
    assert cluster.high_watermarks() == [3, 3, 3]
    cluster.check_logs()


def test_nothing_is_acknowledged_while_a_member_of_the_isr_does_not_fetch() -> None:
    """R7, R10."""
    cluster = Cluster()
    cluster.world.cut(1, 3)
    sent = cluster.produce()
    cluster.world.advance(2_000)
    assert not sent.answers
    assert cluster.leader.log("orders").high_watermark.offset == 0
    cluster.world.heal()
    cluster.world.advance(2_000)
    assert code_of(sent) is ErrorCode.NONE
    assert cluster.isr() == BROKERS


def test_a_follower_that_dies_leaves_the_isr_and_comes_back_when_it_has_all() -> None:
    """R2, R3, X1, X4."""
    cluster = Cluster()
    cluster.produce(2)
    cluster.world.advance(1_000)
    cluster.world.kill(3)
    sent = cluster.produce(4)
    cluster.world.advance(2 * LAG_MAX_MS)
    assert code_of(sent) is ErrorCode.NONE
    assert 3 not in cluster.isr()
    cluster.world.node(3)
    cluster.world.advance(5_000)
    assert cluster.ends() == [6, 6, 6]
    assert cluster.isr() == BROKERS
    cluster.check_logs()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_leader_that_dies_is_cut_to_what_its_successor_has_and_follows_it(seed: int) -> None:
    """X4, X6, KIP-101: what only it had was never acknowledged to all."""
    cluster = Cluster(seed)
    cluster.produce(2)
    cluster.world.advance(1_000)
    for follower in (2, 3):
        cluster.world.cut(1, follower)
        cluster.world.links.drop(follower, 1)
    lost = cluster.produce(5, LEADER)
    cluster.world.settle()
    assert code_of(lost) is ErrorCode.NONE
    assert cluster.ends() == [7, 2, 2]
    cluster.world.kill(1)
    cluster.world.heal()
    cluster.world.advance(SESSION_MS)
    assert cluster.leader.broker_id != 1
    sent = cluster.produce(1)
    cluster.world.advance(2 * LAG_MAX_MS)
    assert code_of(sent) is ErrorCode.NONE
    cluster.world.node(1)
    cluster.world.advance(5_000)
    assert cluster.fetchers(1).noted[NoteKind.TRUNCATED] == 1
    assert cluster.ends() == [3, 3, 3]
    assert cluster.isr() == BROKERS
    cluster.check_logs()


def test_followers_of_a_dead_leader_follow_the_next_one() -> None:
    """R5c."""
    cluster = Cluster()
    cluster.world.kill(1)
    cluster.world.advance(SESSION_MS)
    leader = cluster.leader.broker_id
    (follower,) = {2, 3} - {leader}
    (fetcher,) = cluster.fetchers(follower).manager.fetchers()
    assert fetcher.source == leader
    assert list(cluster.fetchers(leader).manager.fetchers()) == []
    sent = cluster.produce()
    cluster.world.settle()
    assert code_of(sent) is ErrorCode.NONE
    assert cluster.ends() == [1, 1]


def delays_in(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    found = [
        (record.levelname, record.getMessage())
        for record in caplog.records
        if record.name == "odradek.server.node.replica_fetchers"
    ]
    caplog.clear()
    return found


@pytest.mark.parametrize("seed", range(4))
def test_an_ordinary_hand_over_is_no_reason_to_warn(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    """A clean stop and a start move all leaderships; what is delayed by that ends by itself."""
    caplog.set_level(logging.INFO)
    cluster = Cluster(seed, partitions=20)
    cluster.produce(5)
    cluster.world.advance(1_000)
    for broker_id in BROKERS:
        cluster[broker_id].stop()
        cluster.world.node(broker_id)
        cluster.world.advance(5_000)
    assert [one for one in delays_in(caplog) if one[0] != "INFO"] == []
    assert cluster.isr() == BROKERS


def test_a_leader_that_does_not_answer_is_a_warning_once_it_has_lasted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    cluster = Cluster()
    cluster.world.cut(1, 3)
    cluster.world.links.drop(3, 1)
    cluster.world.advance(70_000)  # twice `replica.socket.timeout.ms`
    (warned,) = delays_in(caplog)
    assert warned[0] == "WARNING"
    assert warned[1].startswith("what is fetched from broker 1, delayed for ")
    cluster.world.heal()
    cluster.world.advance(5_000)
    (ended,) = delays_in(caplog)
    assert ended[0] == "INFO"
    assert ended[1].startswith("broker 1 answers fetches again after ")


def test_a_deleted_topic_is_fetched_no_more() -> None:
    """R5d."""
    cluster = Cluster()
    cluster.controller.send(DeleteTopicsRequest(topics=[DeleteTopicState("orders")], timeout_ms=5_000))
    cluster.world.advance(2_000)
    assert [len(cluster.fetchers(broker_id).manager) for broker_id in BROKERS] == [0, 0, 0]


def test_a_log_directory_that_fails_is_fetched_into_no_more() -> None:
    """X5, L7, R6: the others of the broker go on."""
    world = World()
    for broker_id in (1, 2):
        world.node(broker_id, log_dirs="/data,/more")
    topic = CreatableTopic(
        "orders", -1, -1, [CreatableReplicaAssignment(number, [1, 2]) for number in range(4)]
    )
    world.nodes[1].ask(CreateTopicsRequest([topic], timeout_ms=5_000))
    world.advance(1_000)
    node = world.nodes[2]
    failing = [log.topic_partition for log in node.logs.logs() if log.directory == "/more"]
    assert 0 < len(failing) < 4
    node.core.replicas.directory_failed("/more", "gone")
    world.advance(1_000)
    manager = node.core.fetchers.manager
    assert len(manager) == 4 - len(failing)
    assert manager.count(State.FETCHING) == len(manager)


def test_a_fetcher_shares_no_connection_with_the_orders() -> None:
    """X1: a fetch that waits at the leader holds back no order."""
    cluster = Cluster()
    cluster.world.settle()
    topic = CreatableTopic("other", -1, -1, [CreatableReplicaAssignment(0, list(BROKERS))])
    before_ms = cluster.world.clock.monotonic_ms()
    made = cluster.controller.ask(CreateTopicsRequest([topic], timeout_ms=5_000))
    assert made.topics[0].error_code == ErrorCode.NONE
    assert cluster.world.clock.monotonic_ms() == before_ms


def test_a_fetch_says_who_fetches_under_which_registration() -> None:
    """R9, R16, KIP-903."""
    cluster = Cluster()
    assert {sender for sender, _ in cluster.fetches()} == {2, 3}
    for sender, fetch in cluster.fetches():
        state = fetch.replica_state
        assert state is not None
        assert (state.replica_id, state.replica_epoch) == (sender, cluster[sender].core.broker_epoch)
        assert (fetch.max_bytes, fetch.min_bytes) == (10_485_760, 1)


def test_an_idle_fetch_names_nothing_and_waits_at_the_leader() -> None:
    """X1: `replica.fetch.wait.max.ms`, and a session."""
    cluster = Cluster(partitions=20)
    cluster.world.advance(5_000)
    before = len(cluster.fetches())
    cluster.world.advance(5_000)
    idle = [fetch for _, fetch in cluster.fetches()[before:]]
    assert len(idle) == 2 * 5_000 // 500
    assert all(fetch.session_id and not fetch.topics for fetch in idle)


def test_limits_of_a_fetch_are_settings() -> None:
    """X1."""
    cluster = Cluster(
        replica_fetch_wait_max_ms="200",
        replica_fetch_min_bytes="7",
        replica_fetch_max_bytes="1000",
        replica_fetch_response_max_bytes="5000",
    )
    _, fetch = cluster.fetches()[0]
    assert (fetch.max_wait_ms, fetch.min_bytes, fetch.max_bytes) == (200, 7, 5000)
    assert fetch.topics[0].partitions[0].partition_max_bytes == 1000


def test_a_leader_that_does_not_answer_is_asked_again() -> None:
    """X1: after `replica.socket.timeout.ms` and the backoff."""
    cluster = Cluster(replica_socket_timeout_ms="3000", replica_fetch_backoff_ms="700")
    cluster.world.cut(1, 2, one_way=True)
    cluster.world.advance(3_500)
    (fetcher,) = cluster.fetchers(2).manager.fetchers()
    assert "did not answer within 3 s (fetch)" in fetcher.unreachable_because
    (told,) = cluster.fetchers(2).describe()["fetchers"]
    assert told["unreachable_because"] == fetcher.unreachable_because
    cluster.world.heal()
    cluster.world.advance(1_000)
    assert fetcher.unreachable_because == ""
    sent = cluster.produce()
    cluster.world.settle()
    assert code_of(sent) is ErrorCode.NONE


def test_the_number_of_fetchers_may_change_while_they_run() -> None:
    """X1: `num.replica.fetchers`."""
    cluster = Cluster(partitions=6)
    for wanted in (3, 1):
        for node in cluster.alive:
            node.core.settings_in_force.apply(
                BrokerConfigChanged(None, {"num.replica.fetchers": str(wanted)})
            )
        cluster.world.advance(3_000)
        for broker_id in (2, 3):
            fetchers = list(cluster.fetchers(broker_id).manager.fetchers())
            assert sorted(fetcher.number for fetcher in fetchers) == list(range(wanted))
    for number in range(6):
        sent = cluster.produce(partition=number)
        cluster.world.settle()
        assert code_of(sent) is ErrorCode.NONE
        assert cluster.ends(number) == [1, 1, 1]


@pytest.mark.slow
def test_a_broker_that_stops_asks_and_applies_nothing_more() -> None:
    cluster = Cluster()
    stopping = cluster[3]
    stopping.begin_stop()
    cluster.produce(acks=LEADER, at=cluster[1])
    cluster.world.advance(5_000)
    assert stopping.is_over
    assert stopping.core.fetchers.is_closed
    again = cluster.world.node(3)
    cluster.world.advance(5_000)
    assert not [one for one in again.findings if "recover" in str(one).lower()]
    assert cluster.ends() == [1, 1, 1]
