"""A transaction coordinator over a log in memory, partitions that take markers, a clock that tests move."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from odradek.base.clock import ManualClock
from odradek.base.error_codes import ErrorCode
from odradek.base.execution import deliver
from odradek.base.ids import ProducerId, TopicPartition
from odradek.base.settings import BrokerSettings
from odradek.coordinator.placement import partition_for
from odradek.coordinator.runtime.memory_log import MemoryLog
from odradek.coordinator.transactions import (
    NO_PRODUCER,
    Marker,
    Producer,
    TransactionCoordinator,
    TransactionVersion,
)
from odradek.coordinator.transactions.state import TransactionState
from odradek.coordinator.transactions.transaction import Transaction, TransactionRecord
from odradek.coordinator.transactions.transaction_coordinator import ProducerAnswer
from odradek.testing.sim.clocks import MachineClock
from odradek.timer import Timer

PARTITION_COUNT = 3
TIMEOUT_MS = 60_000
ID = "payments"
T0, T1, T2 = (TopicPartition("t", index) for index in range(3))


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
        is_wanted: Callable[[], bool],
        written: Callable[[Mapping[TopicPartition, ErrorCode]], None],
    ) -> Mapping[TopicPartition, ErrorCode]:
        outcome = {one: self.errors.get(one, ErrorCode.NONE) for one in partitions}
        outcome |= dict.fromkeys(self.gone & outcome.keys(), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        for one, error in outcome.items():
            if error is ErrorCode.NONE:
                self.markers.setdefault(one, []).append(marker)
        if self.is_held:
            self.held.append(lambda: written(outcome))
            return {}
        return outcome

    def let_go(self) -> None:
        held, self.held = self.held, []
        for done in held:
            done()


@dataclass
class Answers:
    """What a request was answered, so far."""

    given: list[ProducerAnswer] = field(default_factory=list)

    def take(self, answer: ProducerAnswer) -> None:
        self.given.append(answer)

    def take_error(self, error: ErrorCode) -> None:
        self.given.append(ProducerAnswer(error))

    @property
    def one(self) -> ProducerAnswer:
        assert len(self.given) == 1, f"answered {len(self.given)} times"
        return self.given[0]

    @property
    def error(self) -> ErrorCode:
        return self.one.error


class TransactionBench:
    """One broker's transaction coordinator, which may crash and come back."""

    def __init__(self) -> None:
        self.clock = MachineClock(ManualClock())
        self.log = MemoryLog()
        self.partitions = FakePartitions()
        self.settings = BrokerSettings()
        self.last_producer_id: ProducerId = 6
        self.no_producer_ids: ErrorCode | None = None
        self.are_producer_ids_slow = False
        self.late_producer_ids: list[Callable[[], None]] = []
        self.coordinator_epoch = 0
        self.works: list[Iterator[None]] = []
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
            run_steps=self._run_steps,
        )
        self.lead()

    def crash(self) -> None:
        """Lose all memory; what is not replicated is there still."""
        for index in range(PARTITION_COUNT):
            self.coordinator.resign(index)
        self.partitions.held.clear()
        self.start()

    def fail_over(self) -> None:
        """Let another broker lead for a moment, which has only what was replicated; then this one again."""
        self.log.fail_over()
        self.crash()

    def lead(self) -> None:
        self.coordinator_epoch += 1
        for index in range(PARTITION_COUNT):
            self.coordinator.lead(index, self.coordinator_epoch)
        self.run()

    def lead_again(self, topic_partition: TopicPartition) -> None:
        """Lose a partition and lead it again; it is not loaded yet."""
        self.coordinator_epoch += 1
        self.coordinator.resign(topic_partition.partition)
        self.coordinator.lead(topic_partition.partition, self.coordinator_epoch)

    def run(self) -> None:
        """Do all work that is done in slices."""
        while self.works:
            for _ in self.works.pop(0):
                pass

    def _run_steps(self, work: Iterator[None]) -> None:
        self.works.append(work)

    def abort_timed_out(self) -> int:
        """How many transactions that ended."""
        before = self._records()
        self.coordinator.abort_timed_out()
        self.run()
        return sum(record != before[name] for name, record in self._records().items())

    def remove_expired(self) -> int:
        """How many ids were forgotten."""
        before = self._records()
        self.coordinator.remove_expired()
        self.run()
        return len(before) - len(self._records())

    def _records(self) -> dict[str, TransactionRecord]:
        return {one.transactional_id: one.current for _, one in self.coordinator.store.transactions()}

    def advance(self, by_ms: int) -> None:
        self.clock.advance(by_ms)
        self.timer.advance()

    def _take_producer_id(
        self, taken: Callable[[ProducerId | ErrorCode], None]
    ) -> ProducerId | ErrorCode | None:
        if self.no_producer_ids is not None:
            return self.no_producer_ids
        self.last_producer_id += 1
        if self.are_producer_ids_slow:
            late = self.last_producer_id
            self.late_producer_ids.append(lambda: taken(late))
            return None
        return self.last_producer_id

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
        error = self.coordinator.add_partitions(name, producer, partitions, version, answers.take_error)
        deliver(error, answers.take_error)
        return answers

    def add_many(self, producer: Producer, *partitions: TopicPartition) -> tuple[Iterator[None], Answers]:
        """The steps that add very many, and where the answer arrives."""
        answers = Answers()

        def add() -> Iterator[None]:
            error = yield from self.coordinator.add_many_partitions(
                ID, producer, partitions, TransactionVersion.CLASSIC, answers.take_error
            )
            deliver(error, answers.take_error)

        return add(), answers

    def end(
        self,
        producer: Producer,
        *,
        committed: bool,
        name: str = ID,
        version: TransactionVersion = TransactionVersion.CLASSIC,
    ) -> Answers:
        answers = Answers()
        self.coordinator.end(name, producer, committed=committed, version=version, respond=answers.take)
        return answers

    def end_wide(
        self, producer: Producer, version: TransactionVersion = TransactionVersion.CLASSIC
    ) -> tuple[Iterator[None], Answers]:
        """The steps that commit a wide transaction, and where the answer arrives."""
        answers = Answers()
        assert self.coordinator.is_wide(ID)
        steps = self.coordinator.end_in_steps(
            ID, producer, committed=True, version=version, respond=answers.take
        )
        return steps, answers

    def verify(
        self, producer: Producer, *partitions: TopicPartition, name: str = ID
    ) -> Mapping[TopicPartition, ErrorCode] | None:
        """None while it is not answered."""
        answers: list[Mapping[TopicPartition, ErrorCode]] = []
        errors = self.coordinator.verify_partitions(name, producer, partitions, answers.append)
        deliver(errors, answers.append)
        return answers[0] if answers else None

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
        found.apply(name, record)
        return found.transactions[name]

    def state_partition(self, name: str = ID) -> TopicPartition:
        return TopicPartition("__transaction_state", partition_for(name, PARTITION_COUNT))


def new_record(state: TransactionState = TransactionState.EMPTY) -> TransactionRecord:
    """A record of producer 7 in epoch 3, with partitions where its state has some."""
    is_open = state in (
        TransactionState.ONGOING,
        TransactionState.PREPARE_COMMIT,
        TransactionState.PREPARE_ABORT,
    )
    return TransactionRecord(
        producer_id=7,
        producer_epoch=3,
        timeout_ms=TIMEOUT_MS,
        updated_ms=1_700_000_000_000,
        started_ms=1_700_000_000_000 if is_open else -1,
        partitions=frozenset({T0, T1}) if is_open else frozenset(),
        state=state,
    )
