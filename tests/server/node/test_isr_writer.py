"""ISRs in the metadata store: conditional writes, lost races and answers, announcements."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from odradek.base.clock import ManualClock
from odradek.base.error_codes import ErrorCode
from odradek.base.execution import exhaust
from odradek.base.ids import TopicPartition
from odradek.metadata import codec, paths
from odradek.metadata.image import PartitionImage
from odradek.metadata.memory import MemoryStore
from odradek.metadata.orders import LeaderAndIsr, LeaderAndIsrPartition
from odradek.metadata.store import Create, GetData, Multi, Operation, SetData
from odradek.replication.isr import IsrChange, StoredState
from odradek.server.node.isr_writer import PARTITIONS_PER_ANNOUNCEMENT, IsrWriter
from odradek.server.node.store_session import StoreSession
from odradek.testing.sim import SimNode, World
from odradek.timer import Timer
from odradek.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

NAMED = TopicPartition("t", 0)
STATE = paths.partition_state(*NAMED)
FULL = PartitionImage((1, 2, 3), (1, 2, 3), 1, leader_epoch=4)


def shrink(*, version: int = 0, epoch: int = 4) -> IsrChange:
    return IsrChange(NAMED, 1, epoch, (1, 2, 3), (1,), version)


class Bench:
    """A leader that notes its answers, with the state of one partition in the store."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.port = self.store.session()
        self.session = StoreSession(self.port, Timer(ManualClock()))
        self.answers: list[tuple[str, object]] = []
        self.due: list[TopicPartition] = []
        self.writer = IsrWriter(self.session, self, lambda: 7, lambda call: call())
        self.session.open()
        other = self.store.connect()
        for path in ("/brokers", "/brokers/topics", "/brokers/topics/t", "/brokers/topics/t/partitions"):
            other.submit(Create(path))
        for path in (f"{paths.partition(*NAMED)}", paths.ISR_CHANGES):
            other.submit(Create(path))
        other.submit(Create(STATE, codec.encode_state(FULL, 7)))
        self.other = other
        self.store.deliver()

    def on_written(self, change: IsrChange, state_version: int) -> None:
        self.answers.append(("written", state_version))

    def on_lost_race(self, change: IsrChange, stored: StoredState) -> None:
        self.answers.append(("lost race", stored))

    def on_failed(self, change: IsrChange) -> None:
        self.answers.append(("failed", change))

    def take_due_announcement(self) -> list[TopicPartition]:
        due, self.due = self.due, []
        return due

    def write(self, change: IsrChange) -> None:
        self.writer.write(change)
        assert self.answers == [], "no port calls back before it returns"
        self.store.deliver()

    def stored(self) -> codec.StateDocument:
        return codec.decode_state(self.store.table.snapshot()[STATE][0])

    def announced(self) -> list[list[TopicPartition]]:
        return [
            codec.decode_isr_change(data)
            for path, (data, _) in self.store.table.snapshot().items()
            if path.startswith(paths.ISR_CHANGE_PREFIX)
        ]


def test_an_isr_is_written_on_the_version_that_its_leader_knows() -> None:
    """R2: leader, epoch, ISR, and the controller under which it was decided."""
    bench = Bench()
    bench.write(shrink())
    assert bench.answers == [("written", 1)]
    assert bench.stored() == codec.StateDocument(1, 4, (1,), 7)


def test_a_lost_race_is_told_what_stands_in_the_store() -> None:
    """R2."""
    bench = Bench()
    bench.other.submit(SetData(STATE, codec.encode_state(PartitionImage((1, 2, 3), (2, 3), 2, 5), 8)))
    bench.write(shrink())
    assert bench.answers == [("lost race", StoredState(2, 5, 8, (2, 3), 1))]
    assert bench.stored().leader == 2


@pytest.mark.parametrize("executed", [True, False])
def test_after_a_lost_answer_the_store_says_what_was_done(executed: bool) -> None:
    bench = Bench()
    bench.port.lose_connection(executed=executed)
    bench.write(shrink())
    stored = StoredState(1, 4, 7, (1,) if executed else (1, 2, 3), 1 if executed else 0)
    assert bench.answers == [("lost race", stored)]


def test_a_partition_that_is_gone_keeps_its_isr_here() -> None:
    bench = Bench()
    change = IsrChange(TopicPartition("gone", 0), 1, 4, (1, 2), (1,), 0)
    bench.write(change)
    assert bench.answers == [("failed", change)]
    bench.writer.write(change)


def test_a_session_that_ends_leaves_no_write_open() -> None:
    bench = Bench()
    change = shrink()
    bench.writer.write(change)
    bench.port.expire()
    bench.store.deliver()
    assert bench.answers == [("failed", change)]
    bench.answers.clear()
    bench.write(shrink())
    assert bench.answers == [("written", 1)]


def test_the_writes_of_two_leader_epochs_do_not_wait_for_each_other() -> None:
    """R2: the answer of the earlier one may still be to come."""
    bench = Bench()
    bench.writer.write(shrink())
    bench.write(shrink(epoch=5))
    assert bench.answers == [("written", 1), ("lost race", StoredState(1, 4, 7, (1,), 1))]


def test_a_session_that_ends_is_told_of_writes_that_say_the_same() -> None:
    """A partition of a topic that was deleted and made again has the epochs that it had."""
    bench = Bench()
    changes = [shrink(), shrink()]
    for change in changes:
        bench.writer.write(change)
    bench.port.expire()
    bench.store.deliver()
    assert [told for _, told in bench.answers] == changes


def test_changes_are_announced_when_they_are_due() -> None:
    """R4."""
    bench = Bench()
    bench.writer.announce()
    bench.store.deliver()
    assert bench.announced() == []
    bench.due = [NAMED, TopicPartition("u", 3)]
    bench.writer.announce()
    bench.store.deliver()
    assert bench.announced() == [[NAMED, TopicPartition("u", 3)]]


def test_very_many_changes_are_announced_in_several_nodes() -> None:
    bench = Bench()
    bench.due = [TopicPartition("t", number) for number in range(PARTITIONS_PER_ANNOUNCEMENT + 1)]
    bench.writer.announce()
    bench.store.deliver()
    assert [len(part) for part in bench.announced()] == [PARTITIONS_PER_ANNOUNCEMENT, 1]


def lose_the_answer(bench: Bench) -> None:
    bench.port.lose_connection(executed=False)


def end_the_session(bench: Bench) -> None:
    bench.port.expire()


@pytest.mark.parametrize("fault", [lose_the_answer, end_the_session])
def test_an_announcement_that_failed_is_made_in_the_next_round(fault: Callable[[Bench], None]) -> None:
    bench = Bench()
    bench.due = [NAMED]
    if fault is lose_the_answer:
        fault(bench)
        bench.writer.announce()
    else:
        bench.writer.announce()
        fault(bench)
    bench.store.deliver()
    bench.due = [TopicPartition("u", 0)]
    bench.writer.announce()
    bench.store.deliver()
    assert {named for part in bench.announced() for named in part} == {NAMED, TopicPartition("u", 0)}
    assert bench.announced()[-1] == [NAMED, TopicPartition("u", 0)]


# --- whole brokers


def produce(node: SimNode, batch: bytes, acks: int) -> list[int]:
    """Error codes so far."""
    data = [TopicProduceData("t", partition_data=[PartitionProduceData(0, batch)])]
    sent = node.send(ProduceRequest(None, acks, 30_000, data), 12)
    node.settle()
    return [one.responses[0].partition_responses[0].error_code for one in sent.answers]


def begin_epoch(node: SimNode, epoch: int) -> None:
    """The controller gives the partition's leader another leader epoch."""
    topic = node.core.image.topics["t"]
    state = replace(topic.partitions[0], leader_epoch=epoch)
    order = LeaderAndIsr(
        node.core.image.controller_id,
        node.core.image.controller_epoch,
        node.core.controller.registered_epoch,
        (LeaderAndIsrPartition(NAMED, topic.topic_id, state, is_new=False),),
        (),
    )
    changes = node.core.replicas.become_leader_or_follower(order)
    assert list(changes.partition_errors.values()) in ([], [ErrorCode.NONE])


def test_a_leader_epoch_that_begins_while_an_isr_is_written_can_change_the_isr(
    batch: Callable[..., bytes],
) -> None:
    """R2: whatever becomes of the earlier epoch's write, HW and acks=all go on."""
    world = World(2)
    nodes = [world.node(1), world.node(2)]
    nodes[0].ask(CreateTopicsRequest([CreatableTopic("t", 1, 2)], timeout_ms=5_000))
    world.settle()
    (leader,) = (node for node in nodes if node.core.image.topics["t"].partitions[0].leader == node.broker_id)
    for node in nodes:
        node.core.fetchers.close()
    assert produce(leader, batch(b"a"), acks=1) == [ErrorCode.NONE]
    maintenance, partition = leader.core.replicas.isr_maintenance, leader.core.replicas.partition(NAMED)
    assert partition is not None
    for epoch in (1, 2):
        world.clock.advance(40_000)  # and nothing of the store comes meanwhile
        exhaust(maintenance.expire())
        assert partition.leadership is not None
        assert partition.leadership.pending is not None
        if epoch == 1:
            begin_epoch(leader, partition.leader_epoch + 1)
    world.advance(60_000)
    assert partition.leadership is not None
    assert partition.leadership.isr == (leader.broker_id,)
    assert codec.decode_state(world.store.table.snapshot()[STATE][0]).isr == (leader.broker_id,)
    assert produce(leader, batch(b"b"), acks=-1) == [ErrorCode.NONE]


@pytest.mark.parametrize("lost", [None, True, False])
def test_a_leader_whose_follower_does_not_fetch_leads_alone_and_everybody_learns_it(
    lost: bool | None, batch: Callable[..., bytes]
) -> None:
    """R2, R4: memory, store, announcement, images; whether the answer of the write was lost or not."""
    world = World(2)
    one, two = world.node(1), world.node(2)
    one.ask(CreateTopicsRequest([CreatableTopic("t", 1, 2)], timeout_ms=5_000))
    world.settle()
    leader = next(
        node for node in (one, two) if node.core.image.topics["t"].partitions[0].leader == node.broker_id
    )
    for node in (one, two):
        node.core.fetchers.close()

    def is_isr_write(operation: Operation) -> bool:
        return isinstance(operation, SetData) and operation.path == STATE

    if lost is not None:
        leader.session.lose_answer(is_isr_write, executed=lost)
    assert produce(leader, batch(b"a"), acks=1) == [ErrorCode.NONE]
    world.advance(40_000)
    assert codec.decode_state(world.store.table.snapshot()[STATE][0]).isr == (leader.broker_id,)
    for node in (one, two):
        assert node.core.image.topics["t"].partitions[0].isr == (leader.broker_id,)
    assert leader.core.replicas.meters.isr_shrinks == 1
    assert world.store.table.child_names(paths.ISR_CHANGES) == (), "the controller has read them"
    assert produce(leader, batch(b"b"), acks=-1) == [ErrorCode.NONE]


@pytest.mark.slow
def test_the_isrs_of_a_follower_that_is_gone_shrink_by_few_requests(batch: Callable[..., bytes]) -> None:
    """R2: 150 partitions, of whose states another writer has changed one meanwhile."""
    partitions = 150
    world = World(3)
    one, two = world.node(1), world.node(2)
    assignments = [CreatableReplicaAssignment(number, [1, 2]) for number in range(partitions)]
    one.ask(CreateTopicsRequest([CreatableTopic("t", -1, -1, assignments)], timeout_ms=5_000))
    world.settle()
    two.core.fetchers.close()
    data = [PartitionProduceData(number, batch(b"a")) for number in range(partitions)]
    one.send(ProduceRequest(None, 1, 30_000, [TopicProduceData("t", partition_data=data)]), 12)
    world.settle()
    world.clock.advance(11_000)  # longer than `replica.lag.time.max.ms`
    path = paths.partition_state("t", 77)
    world.store.connect().submit(SetData(path, world.store.table.snapshot()[path][0]))
    submitted: list[Operation] = []
    submit = one.session.submit

    def noted(operation: Operation) -> int:
        submitted.append(operation)
        return submit(operation)

    one.session.submit = noted  # type: ignore[method-assign]
    exhaust(one.core.replicas.isr_maintenance.expire())
    world.settle()
    leaderships = [one.core.replicas.partition(TopicPartition("t", number)) for number in range(partitions)]
    shrunk = [found.leadership.isr for found in leaderships if found and found.leadership]
    assert [number for number, isr in enumerate(shrunk) if isr != (1,)] == [77]
    multis = [operation for operation in submitted if isinstance(operation, Multi)]
    assert sum(isinstance(multi.operations[0], SetData) for multi in multis) == 2, (
        "others are the controller's"
    )
    assert sum(isinstance(operation, SetData) for operation in submitted) in (50, 100), "the batch with 77"
    assert sum(isinstance(operation, GetData) for operation in submitted) == 1
