"""Transactions over partitions of several leaders: markers, and who may write (KIP-98, KIP-890)."""

from collections.abc import Callable
from typing import Any

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.records.builder import BatchBuilder
from odradek.records.control import read_marker
from odradek.records.header import iter_headers
from odradek.testing.faults import Fault
from odradek.testing.sim import SimNode
from odradek.testing.sim.client import SimRequest
from odradek.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from odradek.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from odradek.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from odradek.wire.messages.describe_transactions import DescribeTransactionsRequest
from odradek.wire.messages.end_txn import EndTxnRequest
from odradek.wire.messages.init_producer_id import InitProducerIdRequest
from odradek.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from odradek.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tests.server.node.clusters import GROUP, TRANSACTION, Cluster

ID = "payments"
T = [TopicPartition("t", number) for number in range(3)]
CLASSIC, VERIFIED, V2 = 9, 11, 12
"""Versions of Produce: what the producer knows of transactions."""
COMMIT, ABORT = True, False
BUSY = {
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
}
"""What every client repeats its request after."""


class Producing:
    """A cluster with the topic t, whose three partitions have three leaders, and a producer of one id."""

    def __init__(self, version: int = V2, seed: int = 1) -> None:
        self.cluster = Cluster(seed)
        self.world = self.cluster.world
        self.cluster.create("t")
        assert len({self.leader(number).broker_id for number in range(3)}) == 3
        self.coordinator = self.cluster.coordinator(TRANSACTION, ID)
        self.version = version
        self.producer = 0, 0
        # The next sequence number, by partition.
        self.sequences = [0, 0, 0]
        self.init()

    @property
    def is_v2(self) -> bool:
        return self.version >= V2

    def leader(self, number: int) -> SimNode:
        """The leader of a partition of t."""
        return self.cluster.leader("t", number)

    @property
    def ours(self) -> int:
        """The partition that the coordinator leads."""
        return next(number for number in range(3) if self.leader(number) is self.coordinator)

    @property
    def others(self) -> list[int]:
        """The partitions that other brokers lead."""
        return [number for number in range(3) if number != self.ours]

    def until_done(self, node: SimNode, request: Any, version: int | None = None) -> Any:
        """Repeat a request until its error, if any, is one that clients do not retry."""
        answers: list[Any] = []

        def is_done() -> bool:
            answers.append(self.cluster.ask(node, request, version))
            return answers[-1].error_code not in BUSY

        self.cluster.wait(is_done)
        return answers[-1]

    def init(self) -> None:
        """Take the id."""
        answer = self.until_done(self.coordinator, InitProducerIdRequest(ID, 60_000))
        assert answer.error_code == 0
        self.producer = answer.producer_id, answer.producer_epoch
        self.sequences = [0, 0, 0]

    def add(self, *numbers: int) -> None:
        """Let the partitions be part of the transaction; a producer of transactions v2 asks for nothing."""
        if self.is_v2:
            return
        request = AddPartitionsToTxnRequest(ID, *self.producer, [AddPartitionsToTxnTopic("t", list(numbers))])

        def is_added() -> bool:
            (topic,) = self.cluster.ask(self.coordinator, request, 3).results_by_topic_v3_and_below
            codes = {row.partition_error_code for row in topic.results_by_partition}
            assert codes <= {0, *BUSY}
            return codes == {0}

        self.cluster.wait(is_added)

    def send(self, number: int, value: bytes = b"v") -> SimRequest[Any]:
        """Send a record to the leader of a partition."""
        records = batch(self.producer, self.sequences[number], value)
        data = PartitionProduceData(number, records)
        request = ProduceRequest(ID, -1, 5_000, [TopicProduceData("t", partition_data=[data])])
        return self.leader(number).send(request, self.version)

    def write(self, number: int, value: bytes = b"v") -> None:
        """Write a record, and repeat that as producers do."""
        self.add(number)

        def is_written() -> bool:
            sent = self.send(number, value)
            self.cluster.wait(lambda: bool(sent.answers))
            code = error_of(sent)
            assert code in BUSY | {ErrorCode.NONE}, code
            return code is ErrorCode.NONE

        self.cluster.wait(is_written)
        self.sequences[number] += 1

    def end(self, *, committed: bool) -> None:
        """Commit or abort; the markers follow."""
        request = EndTxnRequest(ID, *self.producer, committed)
        answer = self.until_done(self.coordinator, request, 5 if self.is_v2 else 3)
        assert answer.error_code == 0, ErrorCode(answer.error_code)
        if self.is_v2:
            self.producer = answer.producer_id, answer.producer_epoch
            self.sequences = [0, 0, 0]

    def state(self) -> str:
        """The state of the id, as its coordinator tells."""
        (found,) = self.cluster.ask(self.coordinator, DescribeTransactionsRequest([ID])).transaction_states
        return str(found.transaction_state) if found.error_code == 0 else ErrorCode(found.error_code).name

    def wait_for(self, state: str) -> int:
        return self.cluster.wait(lambda: self.state() == state)

    def markers(self, number: int) -> list[bool]:
        """The markers in the leader's log, True for each commit."""
        return markers_in(self.leader(number), T[number])

    def assert_nothing_is_open(self) -> None:
        """LSO is at the end of every log."""
        self.world.advance(1_000)
        for number in range(3):
            log = self.leader(number).log("t", number)
            assert log.last_stable.offset == log.high_watermark.offset == log.end_offset


def unmarked(leader: SimNode) -> Fault:
    """Let no marker from another broker reach a leader."""
    return leader.faults.drop("WriteTxnMarkers", asker="brokers", when="before_request", times=1_000)


def markers_in(node: SimNode, topic_partition: TopicPartition) -> list[bool]:
    log = node.log(*topic_partition)
    batches = log.read(0, 1 << 20, log.end_position, at_least_one=True).held_records
    found = []
    for position, header in iter_headers(batches):
        marker = read_marker(batches, position) if header.is_control else None
        if marker is not None:
            found.append(marker.committed)
    return found


def batch(producer: tuple[int, int], sequence: int, value: bytes = b"v") -> bytes:
    builder = BatchBuilder(
        producer_id=producer[0], producer_epoch=producer[1], base_sequence=sequence, is_transactional=True
    )
    builder.append(1_700_000_000_000, None, value)
    return bytes(builder.build())


def error_of(sent: SimRequest[Any]) -> ErrorCode:
    """The error of the only partition of a produce."""
    (topic,) = sent.answer.responses
    return ErrorCode(topic.partition_responses[0].error_code)


# --- markers


@pytest.mark.parametrize("version", [CLASSIC, VERIFIED, V2])
@pytest.mark.parametrize("committed", [COMMIT, ABORT])
def test_a_transaction_ends_at_every_leader(version: int, committed: bool) -> None:
    producing = Producing(version)
    for _ in range(2):
        for number in range(3):
            producing.write(number)
        producing.end(committed=committed)
        producing.wait_for("CompleteCommit" if committed else "CompleteAbort")
    assert [producing.markers(number) for number in range(3)] == [[committed] * 2] * 3
    producing.assert_nothing_is_open()


@pytest.mark.parametrize("version", [CLASSIC, V2])
def test_a_marker_whose_answer_is_lost_is_written_again(version: int) -> None:
    """Which does no harm: the producer's next transaction begins when the last one is written."""
    producing = Producing(version)
    number = producing.others[0]
    producing.write(number)
    with producing.leader(number).faults.drop(
        "WriteTxnMarkers", asker="brokers", when="before_answer", times=1
    ):
        producing.end(committed=COMMIT)
        producing.wait_for("CompleteCommit")
    assert producing.markers(number) == [COMMIT, COMMIT]
    producing.write(number)
    producing.end(committed=ABORT)
    producing.wait_for("CompleteAbort")
    producing.assert_nothing_is_open()


@pytest.mark.parametrize("committed", [COMMIT, ABORT])
def test_the_next_coordinator_ends_what_was_decided(committed: bool) -> None:
    producing = Producing()
    number = producing.others[0]
    for each in range(3):
        producing.write(each)
    leader = producing.leader(number)
    with unmarked(leader):
        producing.end(committed=committed)
        producing.world.advance(500)
        assert producing.state() == ("PrepareCommit" if committed else "PrepareAbort")
        first = producing.coordinator
        first.kill()
        producing.coordinator = producing.cluster.coordinator(TRANSACTION, ID, but=first)
    producing.wait_for("CompleteCommit" if committed else "CompleteAbort")
    assert {marker for each in range(3) for marker in producing.markers(each)} == {committed}
    producing.assert_nothing_is_open()


def test_markers_follow_a_leader_that_moves() -> None:
    producing = Producing()
    number = producing.others[0]
    producing.write(number)
    leader = producing.leader(number)
    with unmarked(leader):
        producing.end(committed=COMMIT)
        producing.world.advance(500)
        leader.kill()
    producing.wait_for("CompleteCommit")
    assert producing.leader(number) is not leader
    assert producing.markers(number) == [COMMIT]
    producing.assert_nothing_is_open()


@pytest.mark.slow
@pytest.mark.parametrize("version", [CLASSIC, V2])
def test_a_marker_for_a_leader_that_is_cut_off_goes_to_the_next(version: int) -> None:
    """The first one ends with its connection, and does not end the producer's next transaction."""
    producing = Producing(version)
    cluster, world, number = producing.cluster, producing.world, producing.others[0]
    leader = producing.leader(number)
    producing.write(number)
    for other in cluster.serving:
        if other is not leader:
            world.cut(leader.broker_id, other.broker_id)
    world.cut_store(leader.broker_id)
    world.expire_session(leader.broker_id)
    producing.end(committed=COMMIT)
    producing.wait_for("CompleteCommit")
    following = world.nodes[producing.coordinator.topic("t").partitions[number].leader]
    assert markers_in(following, T[number]) == [COMMIT]
    world.heal()
    world.advance(1_000)
    cluster.wait(lambda: are_whole(producing))
    producing.write(number)
    world.advance(1_000)
    assert producing.markers(number) == [COMMIT]
    producing.end(committed=ABORT)
    producing.wait_for("CompleteAbort")
    producing.assert_nothing_is_open()


def test_one_leader_that_is_away_holds_back_no_other() -> None:
    producing = Producing()
    away, reached = producing.others
    for number in range(3):
        producing.write(number)
    leader = producing.leader(away)
    with unmarked(leader):
        producing.end(committed=COMMIT)
        producing.world.advance(1_000)
        assert [producing.markers(number) for number in (producing.ours, reached, away)] == [
            [COMMIT],
            [COMMIT],
            [],
        ]
    producing.wait_for("CompleteCommit")
    assert producing.markers(away) == [COMMIT]


def test_a_topic_that_is_deleted_meanwhile_needs_no_marker() -> None:
    producing = Producing()
    number = producing.others[0]
    producing.write(number)
    with unmarked(producing.leader(number)):
        producing.end(committed=COMMIT)
        producing.world.advance(500)
        deletion = DeleteTopicsRequest(topics=[DeleteTopicState("t")], timeout_ms=5_000)
        assert producing.cluster.ask(producing.coordinator, deletion).responses[0].error_code == 0
    producing.wait_for("CompleteCommit")


@pytest.mark.slow
def test_a_transaction_that_times_out_is_aborted_everywhere() -> None:
    producing = Producing(VERIFIED)
    for number in range(3):
        producing.write(number)
    producing.world.advance(75_000)
    assert producing.state() == "CompleteAbort"
    assert [producing.markers(number) for number in range(3)] == [[ABORT]] * 3
    producing.assert_nothing_is_open()


def abort_marker(producer: tuple[int, int], number: int, *, coordinator_epoch: int) -> WriteTxnMarkersRequest:
    """A marker that aborts, with transactions v2 if the request's version knows them."""
    topics = [WritableTxnMarkerTopic("t", [number])]
    return WriteTxnMarkersRequest(
        [WritableTxnMarker(*producer, ABORT, topics, coordinator_epoch, transaction_version=2)]
    )


def marked(producing: Producing, request: WriteTxnMarkersRequest, number: int, version: int) -> ErrorCode:
    answer = producing.cluster.ask(producing.leader(number), request, version)
    return ErrorCode(answer.markers[0].topics[0].partitions[0].error_code)


def test_a_marker_of_an_earlier_coordinator_is_refused() -> None:
    producing = Producing()
    number = producing.others[0]
    producing.write(number)
    producing.end(committed=COMMIT)
    producing.wait_for("CompleteCommit")
    late = abort_marker(producing.producer, number, coordinator_epoch=-1)
    assert marked(producing, late, number, 2) is ErrorCode.TRANSACTION_COORDINATOR_FENCED


def test_a_late_marker_does_not_end_the_next_transaction() -> None:
    """KIP-1228: with transactions v2 the next transaction has the epoch that the marker carried."""
    producing = Producing()
    number = producing.others[0]
    producing.write(number)
    producing.end(committed=COMMIT)
    producing.wait_for("CompleteCommit")
    late = abort_marker(producing.producer, number, coordinator_epoch=100)
    assert marked(producing, late, number, 2) is ErrorCode.NONE, "nothing is open: it has been written before"
    producing.write(number)
    assert marked(producing, late, number, 2) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert marked(producing, late, number, 1) is ErrorCode.NONE, "that of an administrator, or a classic one"


@pytest.mark.parametrize(("version", "error"), [(V2, ErrorCode.PRODUCER_FENCED), (CLASSIC, ErrorCode.NONE)])
def test_a_delayed_end_meets_the_next_transaction(version: int, error: ErrorCode) -> None:
    """KIP-890, Jepsen's report on Bufstream: a repeated EndTxn that was long on its way.

    With transactions v2 its epoch is that of the transaction it means. A classic one looks like the end of
    the transaction that is open now, as with Kafka: half of that is committed.
    """
    producing = Producing(version)
    first, second = producing.others
    producing.write(first)
    late = EndTxnRequest(ID, *producing.producer, COMMIT)
    producing.end(committed=COMMIT)
    producing.wait_for("CompleteCommit")
    producing.write(first)
    answer = producing.until_done(producing.coordinator, late, 5 if producing.is_v2 else 3)
    assert answer.error_code == error
    if not producing.is_v2:
        producing.wait_for("CompleteCommit")
        assert producing.markers(first) == [True, True]
        return
    assert producing.state() == "Ongoing"
    producing.write(second)
    producing.end(committed=False)
    producing.wait_for("CompleteAbort")
    assert (producing.markers(first), producing.markers(second)) == ([True, False], [False])
    producing.assert_nothing_is_open()


# --- who may write


@pytest.mark.parametrize(
    ("version", "error"),
    [(CLASSIC, ErrorCode.INVALID_TXN_STATE), (VERIFIED, ErrorCode.TRANSACTION_ABORTABLE)],
)
def test_every_leader_verifies_at_the_coordinator(version: int, error: ErrorCode) -> None:
    producing = Producing(version)
    for number in range(3):
        producing.cluster.wait(lambda number=number: settled_error(producing, number) is error)  # type: ignore[misc]
        assert producing.leader(number).log("t", number).end_offset == 0


def settled_error(producing: Producing, number: int) -> ErrorCode:
    sent = producing.send(number)
    producing.cluster.wait(lambda: bool(sent.answers))
    return error_of(sent)


def test_without_the_coordinator_producers_retry() -> None:
    producing = Producing()
    number = producing.others[0]
    leader = producing.leader(number)
    producing.coordinator.kill()
    sent = producing.send(number)
    producing.cluster.wait(lambda: bool(sent.answers))
    assert error_of(sent) is ErrorCode.NOT_ENOUGH_REPLICAS
    producing.coordinator = producing.cluster.coordinator(TRANSACTION, ID, but=producing.coordinator)
    producing.write(number)
    assert producing.leader(number) is leader
    producing.end(committed=COMMIT)
    producing.wait_for("CompleteCommit")
    producing.assert_nothing_is_open()


@pytest.mark.parametrize("version", [CLASSIC, V2])
def test_a_marker_between_verification_and_append_keeps_the_record_out(version: int) -> None:
    """KIP-890: it would be in no transaction, and nothing would ever end it."""
    producing = Producing(version)
    number = producing.others[0]
    leader = producing.leader(number)
    producing.add(number)
    producing.world.links.slow(producing.coordinator.broker_id, leader.broker_id, 500)
    sent = producing.send(number)
    producing.world.advance(100)
    assert sent.answers == [], "the coordinator's answer is on its way"
    aborts = abort_marker(producing.producer, number, coordinator_epoch=100)
    leader.send(aborts, 1)
    producing.world.settle()
    assert (producing.markers(number), sent.answers) == ([ABORT], [])
    producing.world.links.heal()
    producing.cluster.wait(lambda: bool(sent.answers))
    assert error_of(sent) is ErrorCode.NOT_ENOUGH_REPLICAS
    assert leader.log("t", number).end_offset == 1, "the marker alone"


def test_producers_of_many_ids_are_verified_together() -> None:
    """While one question is on its way, the others wait, and go out as one request."""
    producing = Producing(VERIFIED)
    number = producing.others[0]
    leader, coordinator = producing.leader(number), producing.coordinator
    names = [f"id-{one}" for one in range(60)]
    topic = coordinator.core.transactions.topic
    names = [name for name in names if topic.coordinator_of(name) == coordinator.broker_id][:8]
    producing.world.links.slow(coordinator.broker_id, leader.broker_id, 200)
    sent = []
    for name in names:
        data = PartitionProduceData(number, batch((99, 0), 0))
        request = ProduceRequest(name, -1, 5_000, [TopicProduceData("t", partition_data=[data])])
        sent.append(leader.send(request, VERIFIED))
    before = coordinator.core.request_counts.get(24, 0)
    producing.cluster.wait(lambda: all(one.answers for one in sent))
    assert {error_of(one) for one in sent} == {ErrorCode.INVALID_PRODUCER_ID_MAPPING}
    assert coordinator.core.request_counts[24] - before == 2


@pytest.mark.slow
def test_what_a_coordinator_that_is_cut_off_decides_has_not_happened() -> None:
    """R19: the decision is on no other replica, so no marker is written, and the next coordinator decides."""
    producing = Producing(VERIFIED)
    cluster, world, first = producing.cluster, producing.world, producing.coordinator
    for number in range(3):
        producing.write(number)
    for other in cluster.serving:
        if other is not first:
            world.cut(first.broker_id, other.broker_id)
    decided = first.send(EndTxnRequest(ID, *producing.producer, COMMIT), 3)
    world.advance(40_000)
    assert decided.answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert [markers_in(first, one) for one in T] == [[], [], []]
    world.cut_store(first.broker_id)
    world.expire_session(first.broker_id)
    producing.coordinator = cluster.coordinator(TRANSACTION, ID, but=first)
    producing.end(committed=ABORT)
    producing.wait_for("CompleteAbort")
    world.heal()
    world.advance(40_000)
    assert [markers_in(node, one) for node in cluster.serving for one in T] == [[ABORT]] * 9
    answer = cluster.ask(first, EndTxnRequest(ID, *producing.producer, COMMIT), 3)
    assert answer.error_code == ErrorCode.NOT_COORDINATOR
    producing.assert_nothing_is_open()


# --- offsets


@pytest.mark.parametrize("version", [CLASSIC, V2])
@pytest.mark.parametrize("committed", [COMMIT, ABORT])
def test_offsets_are_committed_at_a_coordinator_elsewhere(version: int, committed: bool) -> None:
    producing = Producing(version)
    cluster = producing.cluster
    group_id, node = group_elsewhere(cluster, producing.coordinator)
    if version == CLASSIC:
        added = AddOffsetsToTxnRequest(ID, *producing.producer, group_id)
        assert producing.until_done(producing.coordinator, added).error_code == 0
    topics = [TxnOffsetCommitRequestTopic("t", partitions=[TxnOffsetCommitRequestPartition(0, 7)])]
    request = TxnOffsetCommitRequest(ID, group_id, *producing.producer, topics=topics)

    def is_committed() -> bool:
        answer = cluster.ask(node, request, 5 if producing.is_v2 else 3)
        code = ErrorCode(answer.topics[0].partitions[0].error_code)
        assert code in BUSY | {ErrorCode.NONE}, code
        return code is ErrorCode.NONE

    cluster.wait(is_committed)
    assert committed_offset(cluster, node, group_id) == -1
    producing.end(committed=committed)
    producing.wait_for("CompleteCommit" if committed else "CompleteAbort")
    assert committed_offset(cluster, node, group_id) == (7 if committed else -1)


def group_elsewhere(cluster: Cluster, but: SimNode) -> tuple[str, SimNode]:
    """A group whose coordinator is another broker, and that broker."""
    for number in range(20):
        node = cluster.coordinator(GROUP, f"g{number}")
        if node is not but:
            return f"g{number}", node
    raise AssertionError("one broker coordinates everything")


def committed_offset(cluster: Cluster, node: SimNode, group_id: str) -> int:
    topics = [OffsetFetchRequestTopics("t", partition_indexes=[0])]
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id, topics=topics)])
    (group,) = cluster.ask(node, request, 8).groups
    offset: int = group.topics[0].partitions[0].committed_offset
    return offset


# --- whatever happens


@pytest.mark.slow
@pytest.mark.parametrize("version", [CLASSIC, V2])
@pytest.mark.parametrize("seed", range(1, 11))
def test_transactions_are_whole_whatever_happens(seed: int, version: int) -> None:
    """All replicas have the same end of each transaction, and nothing stays open."""
    producing = Producing(version, seed)
    world, cluster = producing.world, producing.cluster
    decided: list[bool] = []
    for _ in range(4):
        for number in range(3):
            producing.write(number)
        committed = bool(world.chance.below(2))
        decided.append(committed)
        request = EndTxnRequest(ID, *producing.producer, committed)
        producing.coordinator.send(request, 5 if producing.is_v2 else 3)  # its answer may be lost
        for _ in range(world.chance.below(80)):
            world.step()
        suffer(cluster)
        world.advance(world.chance.below(15_000))
        recover(cluster)
        producing.coordinator = cluster.coordinator(TRANSACTION, ID)
        producing.end(committed=committed)
        producing.wait_for("CompleteCommit" if committed else "CompleteAbort")
        cluster.wait(lambda: are_whole(producing))
    producing.assert_nothing_is_open()
    for node in world.nodes.values():
        for number in range(3):
            assert without_repeats(markers_in(node, T[number])) == without_repeats(decided)


def suffer(cluster: Cluster) -> None:
    """Let one broker die, stand still, or be cut off from another one or from its session."""
    world = cluster.world
    broker_id = 1 + world.chance.below(3)
    other_id = 1 + broker_id % 3
    mishaps: list[Callable[[], None]] = [
        lambda: world.kill(broker_id),
        lambda: world.lose_power(broker_id),
        lambda: world.pause(broker_id),
        lambda: world.cut(broker_id, other_id),
        lambda: world.cut(broker_id, other_id, one_way=True),
        lambda: world.links.slow(broker_id, other_id, 300),
        lambda: world.links.drop(broker_id, other_id),
        lambda: world.expire_session(broker_id),
    ]
    mishaps[world.chance.below(len(mishaps))]()


def recover(cluster: Cluster) -> None:
    """End what was suffered."""
    world = cluster.world
    world.heal()
    for node in list(world.nodes.values()):
        if node.is_paused:
            world.resume(node.broker_id)
        elif not node.is_alive:
            begun = world.begin(node.broker_id, **node.given_settings)
            cluster.wait(lambda begun=begun: begun.is_serving)  # type: ignore[misc]


def are_whole(producing: Producing) -> bool:
    """Whether every partition has all its replicas in sync."""
    states = producing.cluster.serving[0].topic("t").partitions.values()
    return all(len(state.isr) == 3 for state in states)


def without_repeats(markers: list[bool]) -> list[bool]:
    """Without the markers that repeat the one before, as after a lost answer."""
    return [one for at, one in enumerate(markers) if at == 0 or markers[at - 1] != one]
