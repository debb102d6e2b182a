"""The transaction coordinator: handles the requests of transactional producers (KIP-98, KIP-360, KIP-890).

It finds the transactional id, calls the module that decides, stores the record, and answers when every
in-sync replica has it.

    init_producer_id    initializing → stored → the producer       or: fence → stored → markers, come again
    add_partitions      membership   → stored → NONE
    end                 ending       → stored → the answer, and marker_delivery → stored
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple, TypeAlias

from odradek.base.clock import Clock
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import LogError
from odradek.base.execution import COUNTED_PER_STEP, Later, RunSteps, Steps, stepwise
from odradek.base.ids import NO_PRODUCER_ID, LeaderEpoch, ProducerId, TopicPartition
from odradek.base.settings import BrokerSettings
from odradek.coordinator.ports import PartitionReader, PartitionWriter
from odradek.coordinator.runtime.answers import HeldAnswer
from odradek.coordinator.runtime.bounds import Bound
from odradek.coordinator.runtime.trampoline import Trampoline
from odradek.coordinator.transactions import ending, initializing, transaction_partitions
from odradek.coordinator.transactions.loading import load
from odradek.coordinator.transactions.marker_delivery import MarkerDelivery
from odradek.coordinator.transactions.ports import MarkerWriter, TakeProducerId
from odradek.coordinator.transactions.state import Event, TransactionState, outcome_of
from odradek.coordinator.transactions.state_records import build_batch_in_steps
from odradek.coordinator.transactions.state_store import (
    StatePartition,
    StateStore,
    WriteMarkers,
    error_for_producers,
)
from odradek.coordinator.transactions.transaction import (
    NO_PRODUCER,
    Producer,
    Transaction,
    TransactionRecord,
    TransactionVersion,
    Unmarked,
    unmarked_in_steps,
)
from odradek.timer import Timer

_log = logging.getLogger(__name__)


class ProducerAnswer(NamedTuple):
    """The answer to InitProducerId and EndTxn."""

    error: ErrorCode
    producer: Producer = NO_PRODUCER
    """The producer from now on; NO_PRODUCER with an error."""


RespondWithProducer: TypeAlias = Callable[[ProducerAnswer], None]
_Decide: TypeAlias = Callable[[Transaction, int], TransactionRecord | ErrorCode]
"""Takes the time in ms; returns the record to store, or the error if there is none to store."""
Errors: TypeAlias = Mapping[TopicPartition, ErrorCode]

LOOKED_AT_PER_STEP: Final = 200
"""Transactional ids that are looked at in one step."""
_FIRST_EPOCH: Final = 0
ATTEMPTS_MAX: Final = 3
"""How often a large record is made in steps before it is made in the step that stores it."""


class _Made(NamedTuple):
    """A record that was decided on and encoded before the step that stores it."""

    before: TransactionRecord
    """What was current then: while it is, the decision holds."""
    record: TransactionRecord
    batch: bytearray
    unmarked: Unmarked


class TransactionCoordinator:
    """All transactional ids of the partitions of `__transaction_state` led here; owned by one thread."""

    def __init__(
        self,
        settings: Callable[[], BrokerSettings],
        *,
        writer: PartitionWriter,
        reader: PartitionReader,
        markers: MarkerWriter,
        take_producer_id: TakeProducerId,
        partition_count: Callable[[], int],
        clock: Clock,
        timer: Timer,
        run_steps: RunSteps,
    ) -> None:
        """`settings` gives those in force; `partition_count` that of `__transaction_state`."""
        self._settings = settings
        self._reader = reader
        self._take_producer_id = take_producer_id
        self._clock = clock
        self._run_steps = run_steps
        self._trampoline = Trampoline()
        self._bound = Bound(
            "odradek.transactional.ids.max",
            "transactional ids",
            lambda: settings().odradek_transactional_ids_max,
            clock,
        )
        delivery = MarkerDelivery(markers, clock, timer, self._trampoline)
        self.store = StateStore(writer, clock, partition_count, self._trampoline, delivery.begin)
        """What is known, for listings."""

    # --- leadership

    def lead(self, index: int, coordinator_epoch: LeaderEpoch) -> None:
        """This broker leads a partition of `__transaction_state` in this epoch: load it, in slices.

        Where it has led the partition until now, the transactions go on: the log has all of them.
        """

        def begin() -> None:
            if not self.store.continues(index, coordinator_epoch):
                self._run_steps(self._load(self.store.lead(index, coordinator_epoch)))

        self._trampoline.run(begin)

    def _load(self, partition: StatePartition) -> Steps[None]:
        """Read a partition; one that cannot be read is not served, as one of `__consumer_offsets`.

        Of a producer whose last record is missing nothing is known: not whether its transaction was to be
        committed or aborted, and not which epoch fences its predecessors.
        """
        try:
            yield from load(partition, self._reader)
        except LogError as error:
            named = partition.topic_partition
            _log.error("%s is not served: its transactions cannot be loaded: %s", named, error)
            if partition.is_led:
                self.resign(named.partition)

    def resign(self, index: int) -> None:
        """It does not any more."""
        self._trampoline.run(lambda: self.store.resign(index))

    def resign_lost(self) -> None:
        """Called when a log directory went offline: resign from the partitions in it."""
        for partition in self.store.led():
            if self._reader.bounds(partition.topic_partition) is None:
                self.resign(partition.topic_partition.partition)

    # --- requests

    def init_producer_id(
        self, transactional_id: str, expected: Producer, timeout_ms: int, respond: RespondWithProducer
    ) -> None:
        """The producer of an id from now on; `expected` is who the asker was, or NO_PRODUCER.

        INVALID_REQUEST, INVALID_TRANSACTION_TIMEOUT, PRODUCER_FENCED, CONCURRENT_TRANSACTIONS (also when a
        transaction was open: it is being aborted), POLICY_VIOLATION when there are too many ids, and what
        `StateStore.find` and the log say.
        """

        def needs_producer_id() -> bool | ErrorCode:
            if not transactional_id:
                return ErrorCode.INVALID_REQUEST
            if not 0 < timeout_ms <= self._settings().transaction_max_timeout_ms:
                return ErrorCode.INVALID_TRANSACTION_TIMEOUT
            found = self.store.find(transactional_id)
            if isinstance(found, ErrorCode):
                return found
            transaction = found.transactions.get(transactional_id)
            return transaction is None or transaction.current.is_epoch_exhausted

        def initialize(taken: ProducerId) -> None:
            self._initialize(transactional_id, expected, timeout_ms, taken, respond)

        self._with_producer_id(needs_producer_id, initialize, respond)

    def _with_producer_id(
        self,
        is_needed: Callable[[], bool | ErrorCode],
        then: Callable[[ProducerId], None],
        respond: RespondWithProducer,
    ) -> None:
        """Take a step that may need a new producer id, which may take time; else it gets NO_PRODUCER_ID."""

        def go_on(taken: ProducerId | ErrorCode) -> None:
            if isinstance(taken, ErrorCode):
                self._refuse(respond, taken)
            else:
                then(taken)

        def step() -> None:
            needed = is_needed()
            if isinstance(needed, ErrorCode):
                self._refuse(respond, needed)
                return
            taken: ProducerId | ErrorCode | None = NO_PRODUCER_ID
            if needed:
                taken = self._take_producer_id(lambda late: self._trampoline.run(lambda: go_on(late)))
            if taken is not None:
                go_on(taken)

        self._trampoline.run(step)

    def _initialize(
        self,
        transactional_id: str,
        expected: Producer,
        timeout_ms: int,
        new_producer_id: ProducerId,
        respond: RespondWithProducer,
    ) -> None:
        found = self.store.find(transactional_id)
        if isinstance(found, ErrorCode):
            self._refuse(respond, found)
            return
        now_ms = self._clock.wall_ms()
        transaction = found.transactions.get(transactional_id)
        if transaction is None:
            if self._bound.refusal(self.store.id_count, transactional_id) is not None:
                self._refuse(respond, ErrorCode.POLICY_VIOLATION)
                return
            first = initializing.first_record(new_producer_id, timeout_ms, now_ms)
            transaction = Transaction(transactional_id, first)
        decided = initializing.initialize(
            transaction, expected, timeout_ms=timeout_ms, new_producer_id=new_producer_id, now_ms=now_ms
        )
        if isinstance(decided, ErrorCode):
            self._refuse(respond, decided, found)
            return
        answer = ProducerAnswer(ErrorCode.NONE, decided.producer)
        if decided.is_prepared:
            answer = ProducerAnswer(ErrorCode.CONCURRENT_TRANSACTIONS)
        self._store(found, transactional_id, decided, _for_producer(respond, answer))

    def add_partitions(
        self,
        transactional_id: str,
        producer: Producer,
        partitions: Iterable[TopicPartition],
        version: TransactionVersion,
        later: Later[ErrorCode],
    ) -> ErrorCode | None:
        """Let partitions be part of the producer's transaction, which begins with the first.

        NONE, INVALID_REQUEST, and what `transaction_partitions.add_partitions`, `StateStore.find` and the
        log say.
        """
        return self._add(transactional_id, producer, frozenset(partitions), version, None, later)

    def add_many_partitions(
        self,
        transactional_id: str,
        producer: Producer,
        partitions: Iterable[TopicPartition],
        version: TransactionVersion,
        later: Later[ErrorCode],
    ) -> Steps[ErrorCode | None]:
        """`add_partitions` of very many: what is stored is made in steps, before the one that stores it.

        It is made again if the transaction has changed meanwhile, up to ATTEMPTS_MAX times.
        """
        added: set[TopicPartition] = set()
        yield from stepwise(partitions, added.add, COUNTED_PER_STEP)
        frozen = frozenset(added)

        def decide(transaction: Transaction, now_ms: int) -> TransactionRecord | ErrorCode:
            return transaction_partitions.add_partitions(
                transaction, producer, frozen, version=version, now_ms=now_ms
            )

        made = yield from self._make(transactional_id, decide)
        return self._add(transactional_id, producer, frozen, version, made, later)

    def _make(self, transactional_id: str, decide: _Decide) -> "Steps[_Made | None]":
        """A decision, and the batch that stores it, in steps; None where there is nothing to store."""
        made: _Made | None = None
        for _ in range(ATTEMPTS_MAX):
            found = self._find(transactional_id)
            if isinstance(found, ErrorCode):
                break
            transaction, now_ms = found[1], self._clock.wall_ms()
            before = transaction.current
            decided = decide(transaction, now_ms)
            if isinstance(decided, ErrorCode):
                break
            yield
            batch = yield from build_batch_in_steps(transactional_id, decided, now_ms)
            made = _Made(before, decided, batch, (yield from unmarked_in_steps(decided)))
            yield
            if transaction.current is before:
                break
        return made

    def _add(
        self,
        transactional_id: str,
        producer: Producer,
        added: frozenset[TopicPartition],
        version: TransactionVersion,
        made: "_Made | None",
        later: Later[ErrorCode],
    ) -> ErrorCode | None:
        def step(respond: Callable[[ErrorCode], None]) -> None:
            found = self._find(transactional_id)
            if isinstance(found, ErrorCode):
                self._trampoline.answer(_for_error(respond, found))
                return
            partition, transaction = found
            if made is not None and transaction.current is made.before:
                answer = _for_error(respond, ErrorCode.NONE)
                self._store(partition, transactional_id, made.record, answer, made)
                return
            decided = transaction_partitions.add_partitions(
                transaction, producer, added, version=version, now_ms=self._clock.wall_ms()
            )
            if isinstance(decided, ErrorCode):
                partition.log.answer(_for_error(respond, decided))
            else:
                self._store(partition, transactional_id, decided, _for_error(respond, ErrorCode.NONE))

        return self._trampoline.ask(step, later)

    def verify_partitions(
        self,
        transactional_id: str,
        producer: Producer,
        partitions: Iterable[TopicPartition],
        later: Later[Errors],
    ) -> Errors | None:
        """Tell whether each partition is in the producer's transaction; see `transaction_partitions`."""
        asked = tuple(partitions)

        def refused(error: ErrorCode) -> Errors:
            return dict.fromkeys(asked, error_for_producers(error))

        def step(respond: Callable[[Errors], None]) -> None:
            found = self._find(transactional_id)
            if isinstance(found, ErrorCode):
                self._trampoline.answer(HeldAnswer(respond, dict.fromkeys(asked, found), refused))
                return
            partition, transaction = found
            verified = transaction_partitions.verify_partitions(transaction, producer, asked)
            partition.log.answer(HeldAnswer(respond, verified, refused))

        return self._trampoline.ask(step, later)

    def end(
        self,
        transactional_id: str,
        producer: Producer,
        *,
        committed: bool,
        version: TransactionVersion,
        respond: RespondWithProducer,
        made: "_Made | None" = None,
    ) -> None:
        """Commit or abort; answered once the decision is replicated, the markers follow.

        The answer's producer is the one of the next transaction, where `version` is V2. INVALID_REQUEST, and
        what `ending.end`, `StateStore.find` and the log say.
        """

        def needs_producer_id() -> bool | ErrorCode:
            found = self._find(transactional_id)
            if isinstance(found, ErrorCode):
                return found
            return version is TransactionVersion.V2 and found[1].current.is_epoch_exhausted

        def end(taken: ProducerId) -> None:
            self._end(transactional_id, producer, committed, version, taken, made, respond)

        self._with_producer_id(needs_producer_id, end, respond)

    def is_wide(self, transactional_id: str) -> bool:
        """Whether an open transaction has so many partitions that its end is made in steps."""
        found = self._find(transactional_id)
        return not isinstance(found, ErrorCode) and len(found[1].current.partitions) > COUNTED_PER_STEP

    def end_in_steps(
        self,
        transactional_id: str,
        producer: Producer,
        *,
        committed: bool,
        version: TransactionVersion,
        respond: RespondWithProducer,
    ) -> Steps[None]:
        """`end` of a wide transaction: its record is made in steps, before the one that stores it."""

        def decide(transaction: Transaction, now_ms: int) -> TransactionRecord | ErrorCode:
            if version is TransactionVersion.V2 and transaction.current.is_epoch_exhausted:
                return ErrorCode.NONE  # its record has a producer id that is not taken yet
            return ending.end(
                transaction,
                producer,
                committed=committed,
                version=version,
                new_producer_id=NO_PRODUCER_ID,
                now_ms=now_ms,
            )

        made = yield from self._make(transactional_id, decide)
        self.end(transactional_id, producer, committed=committed, version=version, respond=respond, made=made)

    def _end(
        self,
        transactional_id: str,
        producer: Producer,
        committed: bool,
        version: TransactionVersion,
        new_producer_id: ProducerId,
        made: "_Made | None",
        respond: RespondWithProducer,
    ) -> None:
        found = self._find(transactional_id)
        if isinstance(found, ErrorCode):
            self._refuse(respond, found)
            return
        partition, transaction = found
        if made is not None and transaction.current is made.before:
            answer = _for_producer(respond, ProducerAnswer(ErrorCode.NONE, _next_producer(made.record)))
            self._store(partition, transactional_id, made.record, answer, made)
            return
        decided = ending.end(
            transaction,
            producer,
            committed=committed,
            version=version,
            new_producer_id=new_producer_id,
            now_ms=self._clock.wall_ms(),
        )
        if isinstance(decided, TransactionRecord):
            answer = _for_producer(respond, ProducerAnswer(ErrorCode.NONE, _next_producer(decided)))
            self._store(partition, transactional_id, decided, answer)
        elif decided is ErrorCode.NONE:  # it has ended that way already
            again = ProducerAnswer(ErrorCode.NONE, transaction.current.producer)
            partition.log.answer(_for_producer(respond, again))
        else:
            self._refuse(respond, decided, partition)

    def _store(
        self,
        partition: StatePartition,
        transactional_id: str,
        record: TransactionRecord,
        answer: HeldAnswer[ProducerAnswer] | HeldAnswer[ErrorCode] | None,
        made: _Made | None = None,
    ) -> None:
        """Store a record; when it is replicated, answer, and write the markers of one that is prepared."""
        batch, unmarked = (None, None) if made is None else (made.batch, made.unmarked)
        error = partition.store(transactional_id, record, batch, unmarked)
        if answer is not None:
            if error is ErrorCode.NONE:
                partition.log.answer(answer)
            else:
                self._trampoline.answer(answer, error)
        if error is ErrorCode.NONE and record.is_prepared:
            partition.log.carry_out(WriteMarkers(partition, partition.transactions[transactional_id]))

    def _refuse(
        self, respond: RespondWithProducer, code: ErrorCode, partition: StatePartition | None = None
    ) -> None:
        """Refuse a request; where that was decided on what a partition holds, when it is replicated."""
        answer = _for_producer(respond, ProducerAnswer(code))
        if partition is None:
            self._trampoline.answer(answer)
        else:
            partition.log.answer(answer)

    def _find(self, transactional_id: str) -> tuple[StatePartition, Transaction] | ErrorCode:
        if not transactional_id:
            return ErrorCode.INVALID_REQUEST
        found = self.store.find(transactional_id)
        if isinstance(found, ErrorCode):
            return found
        transaction = found.transactions.get(transactional_id)
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING if transaction is None else (found, transaction)

    # --- what time does

    def abort_timed_out(self) -> None:
        """Abort the transactions that are older than their timeouts, and fence their producers, in slices.

        Every `transaction.abort.timed.out.transaction.cleanup.interval.ms`.
        """
        self._run_steps(self._look_at_all(self._abort_if_late))

    def remove_expired(self) -> None:
        """Forget the ids that have not been used for `transactional.id.expiration.ms`, in slices.

        Every `transaction.remove.expired.transaction.cleanup.interval.ms`.
        """
        self._run_steps(self._look_at_all(self._remove_if_expired))

    def _look_at_all(self, look: Callable[[StatePartition, Transaction], bool]) -> Steps[None]:
        """Call `look` for every transactional id, in steps; it returns whether it wrote something."""
        for count, (partition, transaction) in enumerate(self.store.transactions(), 1):
            is_known = partition.transactions.get(transaction.transactional_id) is transaction
            if (partition.is_led and is_known and look(partition, transaction)) or (
                count % LOOKED_AT_PER_STEP == 0
            ):
                yield

    def _abort_if_late(self, partition: StatePartition, transaction: Transaction) -> bool:
        record, age_ms = transaction.current, self._clock.monotonic_ms() - transaction.open_since_ms
        if record.state is not TransactionState.ONGOING or age_ms <= record.timeout_ms:
            return False
        fenced = ending.fence(record, Event.TIME_OUT, now_ms=self._clock.wall_ms())
        self._trampoline.run(lambda: self._store(partition, transaction.transactional_id, fenced, None))
        return True

    def _remove_if_expired(self, partition: StatePartition, transaction: Transaction) -> bool:
        record, now_ms = transaction.current, self._clock.wall_ms()
        used_since_ms = now_ms - self._settings().transactional_id_expiration_ms
        is_unused = outcome_of(record.state, Event.EXPIRE) is TransactionState.DEAD
        if not is_unused or record.updated_ms > used_since_ms:
            return False
        self._trampoline.run(lambda: _ignore(partition.store(transaction.transactional_id, None)))
        return True


def _for_producer(respond: RespondWithProducer, answer: ProducerAnswer) -> HeldAnswer[ProducerAnswer]:
    return HeldAnswer(respond, answer, lambda error: ProducerAnswer(error_for_producers(error)))


def _for_error(respond: Callable[[ErrorCode], None], error: ErrorCode) -> HeldAnswer[ErrorCode]:
    return HeldAnswer(respond, error, error_for_producers)


def _next_producer(prepared: TransactionRecord) -> Producer:
    """The producer when the prepared transaction has ended."""
    if prepared.next_producer_id == NO_PRODUCER_ID:
        return prepared.producer
    return Producer(prepared.next_producer_id, _FIRST_EPOCH)


def _ignore(error: ErrorCode) -> None:
    """What could not be written now is written the next time."""
