"""A transaction coordinator over a log in memory, partitions that take markers, a clock that tests move."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from odradek.base.clock import ManualClock
from odradek.base.error_codes import ErrorCode
from odradek.base.ids import Offset, ProducerId, TopicPartition
from odradek.base.settings import BrokerSettings
from odradek.coordinator.placement import partition_for
from odradek.coordinator.ports import WriteDone, Written
from odradek.coordinator.transactions import (
    NO_PRODUCER,
    Marker,
    Producer,
    TransactionCoordinator,
    TransactionVersion,
)
from odradek.coordinator.transactions.state import TransactionState
from odradek.coordinator.transactions.transaction import Transaction, TransactionRecord
from odradek.records.header import Buffer, read_header
from odradek.timer import Timer

PARTITION_COUNT = 3
TIMEOUT_MS = 60_000
ID = "payments"
T0, T1, T2 = (TopicPartition("t", index) for index in range(3))


class FakeStateLog:
    """`__transaction_state` in memory; its writes may fail, or wait until they are let go."""

    def __init__(self) -> None:
        self.batches: dict[TopicPartition, list[bytes]] = {}
        self.failure = ErrorCode.NONE
        self.is_held = False
        self.held: list[Callable[[], None]] = []

    def append(
        self, topic_partition: TopicPartition, batch: Buffer, *, timeout_ms: int, done: WriteDone
    ) -> None:
        if self.failure is not ErrorCode.NONE:
            done(Written(self.failure))
            return
        data = bytearray(batch)
        batches = self.batches.setdefault(topic_partition, [])
        data[:8] = len(batches).to_bytes(8, "big")
        batches.append(bytes(data))
        if self.is_held:
            self.held.append(lambda: done(Written(base_offset=len(batches) - 1)))
        else:
            done(Written(base_offset=len(batches) - 1))

    def bounds(self, topic_partition: TopicPartition) -> tuple[Offset, Offset] | None:
        return 0, len(self.batches.get(topic_partition, ()))

    def read(self, topic_partition: TopicPartition, start: Offset, max_bytes: int) -> Buffer:
        data = b"".join(self.batches[topic_partition][start:])
        return data[: max(max_bytes, read_header(data).size_bytes)]

    def let_go(self) -> None:
        held, self.held = self.held, []
        for done in held:
            done()


class FakePartitions:
    """A `MarkerWriter`: notes the markers; partitions may be gone, refuse, or take their time."""

    def __init__(self) -> None:
        self.markers: dict[TopicPartition, list[Marker]] = {}
        self.errors: dict[TopicPartition, ErrorCode] = {}
        self.gone: set[TopicPartition] = set()
        self.is_held = False
        self.held: list[Callable[[], None]] = []

    def is_gone(self, topic_partition: TopicPartition) -> bool:
        return topic_partition in self.gone

    def write_markers(
        self,
        marker: Marker,
        partitions: Sequence[TopicPartition],
        written: Callable[[Mapping[TopicPartition, ErrorCode]], None],
    ) -> None:
        outcome = {one: self.errors.get(one, ErrorCode.NONE) for one in partitions}
        for one, error in outcome.items():
            if error is ErrorCode.NONE:
                self.markers.setdefault(one, []).append(marker)
        if self.is_held:
            self.held.append(lambda: written(outcome))
        else:
            written(outcome)

    def let_go(self) -> None:
        held, self.held = self.held, []
        for done in held:
            done()


@dataclass
class Answers:
    """What a request was answered, so far."""

    given: list[tuple[ErrorCode, Producer]] = field(default_factory=list)

    def take(self, error: ErrorCode, producer: Producer = NO_PRODUCER) -> None:
        self.given.append((error, producer))

    @property
    def one(self) -> tuple[ErrorCode, Producer]:
        assert len(self.given) == 1, f"answered {len(self.given)} times"
        return self.given[0]

    @property
    def error(self) -> ErrorCode:
        return self.one[0]


class Bench:
    """One broker's transaction coordinator, which may crash and come back."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.log = FakeStateLog()
        self.partitions = FakePartitions()
        self.settings = BrokerSettings()
        self.last_producer_id: ProducerId = 6
        self.no_producer_ids: ErrorCode | None = None
        self.coordinator_epoch = 0
        self.start()

    def start(self) -> None:
        """Come up with what the log holds."""
        self.timer = Timer(self.clock)
        self.coordinator = TransactionCoordinator(
            lambda: self.settings,
            writer=self.log,
            reader=self.log,
            markers=self.partitions,
            take_producer_id=self._take_producer_id,
            partition_count=lambda: PARTITION_COUNT,
            clock=self.clock,
            timer=self.timer,
        )
        self.lead()

    def crash(self) -> None:
        """Lose all memory; what was on its way is answered by nobody."""
        for index in range(PARTITION_COUNT):
            self.coordinator.resign(index)
        self.log.held.clear()
        self.partitions.held.clear()
        self.start()

    def lead(self) -> None:
        self.coordinator_epoch += 1
        for index in range(PARTITION_COUNT):
            self.coordinator.lead(index, self.coordinator_epoch)
        while self.coordinator.load_next():
            pass

    def advance(self, by_ms: int) -> None:
        self.clock.advance(by_ms)
        self.timer.advance()

    def _take_producer_id(self, taken: Callable[[ProducerId | ErrorCode], None]) -> None:
        if self.no_producer_ids is not None:
            taken(self.no_producer_ids)
            return
        self.last_producer_id += 1
        taken(self.last_producer_id)

    # --- requests

    def init(
        self, expected: Producer = NO_PRODUCER, *, name: str = ID, timeout_ms: int = TIMEOUT_MS
    ) -> Answers:
        answers = Answers()
        self.coordinator.init_producer_id(name, expected, timeout_ms, answers.take)
        return answers

    def add(
        self,
        producer: Producer,
        *partitions: TopicPartition,
        name: str = ID,
        version: TransactionVersion = TransactionVersion.CLASSIC,
    ) -> Answers:
        answers = Answers()
        self.coordinator.add_partitions(name, producer, partitions, version, answers.take)
        return answers

    def end(
        self,
        producer: Producer,
        *,
        committed: bool,
        name: str = ID,
        version: TransactionVersion = TransactionVersion.CLASSIC,
    ) -> Answers:
        answers = Answers()
        self.coordinator.end(name, producer, committed=committed, version=version, answer=answers.take)
        return answers

    # --- what is known

    def transaction(self, name: str = ID) -> Transaction:
        found = self.coordinator.store.find(name)
        assert not isinstance(found, ErrorCode), found
        return found.transactions[name]

    def record(self, name: str = ID) -> TransactionRecord:
        return self.transaction(name).current

    def put(self, record: TransactionRecord, name: str = ID) -> Transaction:
        """A transactional id as it stands in the log already."""
        found = self.coordinator.store.find(name)
        assert not isinstance(found, ErrorCode), found
        transaction = found.transactions[name] = Transaction(name, record)
        return transaction

    def state_partition(self, name: str = ID) -> TopicPartition:
        return TopicPartition("__transaction_state", partition_for(name, PARTITION_COUNT))


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def new_bench() -> type[Bench]:
    return Bench


@pytest.fixture
def new_record() -> Callable[..., TransactionRecord]:
    """A record of producer 7 in epoch 3, with partitions where its state has some."""

    def make(state: TransactionState = TransactionState.EMPTY, **fields: Any) -> TransactionRecord:
        is_open = state in (
            TransactionState.ONGOING,
            TransactionState.PREPARE_COMMIT,
            TransactionState.PREPARE_ABORT,
        )
        given = {
            "producer_id": 7,
            "producer_epoch": 3,
            "timeout_ms": TIMEOUT_MS,
            "updated_ms": 1_700_000_000_000,
            "started_ms": 1_700_000_000_000 if is_open else -1,
            "partitions": frozenset({T0, T1}) if is_open else frozenset(),
            **fields,
        }
        return TransactionRecord(state=state, **given)

    return make
