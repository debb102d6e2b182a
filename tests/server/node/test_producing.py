"""Produces on their way into the logs: when they are done at once, and what is held while they wait."""

import weakref
from collections.abc import Callable, Mapping
from functools import partial

import pytest

from odradek.base.buffers import Buffer
from odradek.base.error_codes import ErrorCode
from odradek.base.execution import ITEMS_PER_STEP
from odradek.base.ids import TopicPartition
from odradek.records.builder import BatchBuilder
from odradek.records.compression import Codec
from odradek.records.framing import DECOMPRESSED_HERE_BYTES_MAX
from odradek.replication.append import ACKS_ALL, ACKS_LEADER, ACKS_NONE
from odradek.replication.outcomes import AppendOutcomes
from odradek.server.edge.context import RequestContext, Response
from odradek.server.handlers import produce as handler
from odradek.server.node.coordinators.transaction_admission import Ability
from odradek.server.node.producing import LIGHT_BYTES_MAX, Produce, is_light
from odradek.testing.sim import SimNode
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest
from odradek.wire.messages.init_producer_id import InitProducerIdRequest
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.batches import BatchOf
from tests.server.nodes import NewNode
from tests.server.recording_client import RecordingClient


class Records(bytearray):
    """Bytes whose end can be noticed."""


class Bench:
    def __init__(self, new_node: NewNode, **settings: str) -> None:
        self.node: SimNode = new_node(transaction_state_log_num_partitions="1", **settings)
        topics = [CreatableTopic("t", 2, 1), CreatableTopic("wide", 3 * ITEMS_PER_STEP, 1)]
        self.node.ask(CreateTopicsRequest(topics, timeout_ms=1000))
        self.client = RecordingClient()
        self.later: list[AppendOutcomes] = []
        """What came in an event of its own."""

    def begin(
        self,
        entries: Mapping[TopicPartition, Buffer],
        *,
        acks: int = ACKS_LEADER,
        transactional_id: str | None = None,
    ) -> AppendOutcomes | None:
        return Produce(
            self.node.core,
            self.client,
            dict(entries),
            self.later.append,
            acks,
            1000,
            transactional_id,
            Ability.LEAVES_ADDING_TO_US,
            False,
        ).begin()


@pytest.fixture
def bench(new_node: NewNode) -> Bench:
    return Bench(new_node)


def heavy(producer_id: int = -1, producer_epoch: int = -1) -> bytes:
    """A batch that is decompressed on another thread; of a transaction where there is a producer."""
    is_transactional = producer_id >= 0
    builder = BatchBuilder(
        codec=Codec.GZIP,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=0 if is_transactional else -1,
        is_transactional=is_transactional,
    )
    builder.append(0, None, bytes(DECOMPRESSED_HERE_BYTES_MAX + 1))
    return bytes(builder.build())


def codes(outcomes: AppendOutcomes | None) -> set[ErrorCode]:
    assert outcomes is not None
    return {outcome.error_code for outcome in outcomes.values()}


T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def test_what_is_light_is_small_and_not_compressed(batch: BatchOf) -> None:
    small = batch(b"x" * 1000)
    assert is_light({T0: small, T1: small})
    assert not is_light({T0: batch(b"x", codec=Codec.GZIP)})
    assert not is_light({T0: batch(b"x" * LIGHT_BYTES_MAX)})
    assert is_light({T0: b"junk"})
    assert is_light({})


def test_a_light_produce_is_done_at_once(bench: Bench, batch: BatchOf) -> None:
    outcomes = bench.begin({T0: batch(b"a"), T1: b"junk"}, acks=ACKS_ALL)
    assert outcomes is not None
    assert [outcome.error_code for outcome in outcomes.values()] == [
        ErrorCode.NONE,
        ErrorCode.INVALID_RECORD,
    ]
    bench.node.settle()
    assert bench.later == []


def test_a_heavy_one_is_checked_in_later_turns_first(bench: Bench) -> None:
    assert bench.begin({T0: heavy()}) is None
    assert bench.node.log("t").end_offset == 0
    bench.node.settle()
    (outcomes,) = bench.later
    assert codes(outcomes) == {ErrorCode.NONE}
    assert bench.node.log("t").end_offset == 1


def test_a_wide_one_is_appended_in_steps(bench: Bench, batch: BatchOf) -> None:
    wide = {TopicPartition("wide", number): batch(b"a") for number in range(3 * ITEMS_PER_STEP)}
    bench.node.short_clock = iter(range(0, 10**12, 1_000_000)).__next__  # a step is a slice
    assert bench.begin(wide) is None
    assert bench.node.log("wide", 3 * ITEMS_PER_STEP - 1).end_offset == 0
    bench.node.settle()
    (outcomes,) = bench.later
    assert (codes(outcomes), len(outcomes)) == ({ErrorCode.NONE}, 3 * ITEMS_PER_STEP)


def test_a_mistake_of_ours_in_a_wide_one_is_told_once(
    bench: Bench, batch: BatchOf, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def append_badly(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(type(bench.node.core.replicas), "write", append_badly)
    wide = {TopicPartition("wide", number): batch(b"a") for number in range(3 * ITEMS_PER_STEP)}
    assert bench.begin(wide) is None
    assert bench.later == []
    bench.node.settle()
    (outcomes,) = bench.later
    assert (codes(outcomes), set(outcomes)) == ({ErrorCode.UNKNOWN_SERVER_ERROR}, set(wide))
    assert [record.message for record in caplog.records] == [f"a produce to {len(wide)} partitions failed"]


def test_a_lost_connection_ends_the_check(bench: Bench) -> None:
    bench.begin({T0: heavy()})
    assert bench.client.abandon is not None
    bench.client.abandon()
    bench.node.settle()
    assert (bench.later, bench.node.log("t").end_offset) == ([], 0)


def test_with_acks_0_a_client_may_close_and_mean_it(bench: Bench) -> None:
    """What is checked on for those who are gone is counted until it is checked, and no longer."""
    records = heavy()
    bench.begin({T0: records}, acks=ACKS_NONE)
    assert bench.client.abandon is not None
    bench.client.abandon()
    assert bench.node.core.orphans.size_bytes == len(records)
    bench.node.settle()
    assert bench.node.core.orphans.size_bytes == 0
    assert bench.node.log("t").end_offset == 1


def test_what_waits_for_its_transaction_alone_is_no_orphan(bench: Bench) -> None:
    """Its check is over: nothing would take its bytes off the account again."""
    node = bench.node
    node.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=["id"]), 4)
    node.settle()
    given = node.ask(InitProducerIdRequest("id", 60_000))
    records = heavy(given.producer_id, given.producer_epoch)
    assert bench.begin({T0: records}, acks=ACKS_NONE, transactional_id="id") is None
    waiting: list[object] = []
    node.core.admission._coordinators = HeldCoordinator(waiting)
    node.settle()
    assert waiting
    assert bench.client.abandon is not None
    bench.client.abandon()
    assert node.core.orphans.size_bytes == 0


class HeldCoordinator:
    """Answers nobody."""

    def __init__(self, waiting: list[object]) -> None:
        self._waiting = waiting

    def add_partitions(self, *asked: object) -> None:
        self._waiting.append(asked)

    verify_partitions = add_partitions


@pytest.mark.parametrize("count", [1, 3 * ITEMS_PER_STEP])
def test_the_bytes_of_a_produce_are_not_kept_while_it_waits_for_acks(
    new_node: NewNode, batch: BatchOf, fake_client: RecordingClient, count: int
) -> None:
    """Thousands of connections may wait for acks, each with a request of a megabyte."""
    node = Bench(new_node, odradek_log_flush_before_ack="true").node
    answers: list[object] = []
    context = RequestContext(0, 12, 1, "test", fake_client)
    held = serve(node, context, batch, count, answers.append)
    while node.turns.waiting:
        node.turns.run_next()
    assert answers == []
    assert [records() for records in held] == [None] * count
    node.settle()
    assert len(answers) == 1


def serve(
    node: SimNode,
    context: RequestContext,
    batch: BatchOf,
    count: int,
    respond: Callable[[object], None],
) -> list["weakref.ref[Records]"]:
    """Have a produce handled whose request lives until it is answered, as the dispatcher's does."""
    topic = "t" if count == 1 else "wide"
    batches = [Records(batch(b"a")) for _ in range(count)]
    parts = [PartitionProduceData(number, records) for number, records in enumerate(batches)]
    request = ProduceRequest(None, ACKS_ALL, 1000, [TopicProduceData(topic, partition_data=parts)])

    def answer(request: ProduceRequest, response: Response | None) -> None:
        respond(response)

    def failed(error: Exception) -> None:
        raise error

    steps = handler.handle(node.core, context, request, partial(answer, request))
    if steps is not None:
        node.core.slices.run(steps, failed)
    return [weakref.ref(records) for records in batches]
