"""The transaction coordinator: what the producers of transactional ids may ask (KIP-98, KIP-360, KIP-890).

Law: it finds the transactional id, lets the decision be made elsewhere, has the record stored, and only then
answers. It keeps the order of one id's requests by refusing what comes while a record is on its way.

    init_producer_id    initializing → stored → the producer       or: fence → stored → markers, come again
    add_partitions      membership   → stored → NONE
    end                 ending       → stored → the answer, then marker_delivery → stored
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final, TypeAlias

from odradek.base.clock import Clock
from odradek.base.error_codes import ErrorCode
from odradek.base.ids import NO_PRODUCER_ID, LeaderEpoch, ProducerId, TopicPartition
from odradek.base.settings import BrokerSettings
from odradek.coordinator.ports import PartitionReader, PartitionWriter
from odradek.coordinator.transactions import ending, initializing, membership
from odradek.coordinator.transactions.loading import Loading
from odradek.coordinator.transactions.marker_delivery import MarkerDelivery
from odradek.coordinator.transactions.ports import MarkerWriter, TakeProducerId
from odradek.coordinator.transactions.state import Event, TransactionState, outcome_of
from odradek.coordinator.transactions.state_store import StatePartition, StateStore
from odradek.coordinator.transactions.transaction import (
    NO_PRODUCER,
    Producer,
    Transaction,
    TransactionRecord,
    TransactionVersion,
)
from odradek.timer import Timer

ProducerAnswer: TypeAlias = Callable[[ErrorCode, Producer], None]
"""Called once; the producer is NO_PRODUCER with an error."""
ErrorAnswer: TypeAlias = Callable[[ErrorCode], None]

_FIRST_EPOCH: Final = 0


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
    ) -> None:
        """`settings` gives those in force; `partition_count` that of `__transaction_state`."""
        self._settings = settings
        self._reader = reader
        self._take_producer_id = take_producer_id
        self._clock = clock
        self.store = StateStore(writer, clock, partition_count)
        """What is known, for listings."""
        self._delivery = MarkerDelivery(self.store, markers, clock, timer)
        self._loadings: deque[Loading] = deque()
        """Partitions that are not loaded yet, the next one first."""

    # --- leadership

    def lead(self, index: int, coordinator_epoch: LeaderEpoch) -> None:
        """This broker leads a partition of `__transaction_state` now: load it, by `load_next`."""
        loading = Loading(self.store.lead(index, coordinator_epoch), self._reader)
        if not loading.partition.is_loaded:
            self._loadings.append(loading)

    def resign(self, index: int) -> None:
        """It does not any more."""
        self.store.resign(index)

    def load_next(self) -> bool:
        """Load for about a millisecond; whether there is more. Raises OdradekError for what cannot be read.

        Such a partition stays COORDINATOR_LOAD_IN_PROGRESS.
        """
        if self._loadings:
            loading = self._loadings[0]
            try:
                is_done = loading.step()
            except BaseException:
                self._loadings.popleft()
                raise
            if is_done:
                self._loadings.popleft()
                self._resume(loading.partition)
        return bool(self._loadings)

    def _resume(self, partition: StatePartition) -> None:
        """End what was decided before this broker led the partition."""
        for transaction in tuple(partition.transactions.values()):
            if transaction.current.is_prepared:
                self._delivery.deliver(partition, transaction)

    # --- requests

    def init_producer_id(
        self, transactional_id: str, expected: Producer, timeout_ms: int, answer: ProducerAnswer
    ) -> None:
        """The producer of an id from now on; `expected` is who the asker was, or NO_PRODUCER.

        INVALID_REQUEST, INVALID_TRANSACTION_TIMEOUT, PRODUCER_FENCED, CONCURRENT_TRANSACTIONS (also when a
        transaction was open: it is being aborted), and what `StateStore.find` and `write` say.
        """
        if not transactional_id:
            answer(ErrorCode.INVALID_REQUEST, NO_PRODUCER)
            return
        if not 0 < timeout_ms <= self._settings().transaction_max_timeout_ms:
            answer(ErrorCode.INVALID_TRANSACTION_TIMEOUT, NO_PRODUCER)
            return
        found = self.store.find(transactional_id)
        if isinstance(found, ErrorCode):
            answer(found, NO_PRODUCER)
            return
        transaction = found.transactions.get(transactional_id)

        def with_producer_id(taken: ProducerId | ErrorCode) -> None:
            if isinstance(taken, ErrorCode):
                answer(taken, NO_PRODUCER)
            else:
                self._initialize(transactional_id, expected, timeout_ms, taken, answer)

        if transaction is None or transaction.current.is_epoch_exhausted:
            self._take_producer_id(with_producer_id)
        else:
            with_producer_id(NO_PRODUCER_ID)

    def _initialize(
        self,
        transactional_id: str,
        expected: Producer,
        timeout_ms: int,
        new_producer_id: ProducerId,
        answer: ProducerAnswer,
    ) -> None:
        found = self.store.find(transactional_id)
        if isinstance(found, ErrorCode):
            answer(found, NO_PRODUCER)
            return
        now_ms = self._clock.wall_ms()
        transaction = found.transactions.get(transactional_id)
        if transaction is None:
            first = initializing.first_record(new_producer_id, timeout_ms, now_ms)
            transaction = found.transactions[transactional_id] = Transaction(transactional_id, first)
        decided = initializing.initialize(
            transaction, expected, timeout_ms=timeout_ms, new_producer_id=new_producer_id, now_ms=now_ms
        )
        if isinstance(decided, ErrorCode):
            answer(decided, NO_PRODUCER)
        elif decided.is_prepared:

            def fenced(error: ErrorCode) -> None:
                answer(
                    error if error is not ErrorCode.NONE else ErrorCode.CONCURRENT_TRANSACTIONS, NO_PRODUCER
                )

            self._prepare(found, transaction, decided, fenced)
        else:
            producer = decided.producer

            def written(error: ErrorCode) -> None:
                answer(error, producer if error is ErrorCode.NONE else NO_PRODUCER)

            self.store.write(found, transaction, decided, written)

    def add_partitions(
        self,
        transactional_id: str,
        producer: Producer,
        partitions: Iterable[TopicPartition],
        version: TransactionVersion,
        answer: ErrorAnswer,
    ) -> None:
        """Let partitions be part of the producer's transaction, which begins with the first.

        INVALID_REQUEST, and what `membership.add_partitions`, `StateStore.find` and `write` say.
        """
        found = self._find(transactional_id)
        if isinstance(found, ErrorCode):
            answer(found)
            return
        partition, transaction = found
        decided = membership.add_partitions(
            transaction, producer, frozenset(partitions), version=version, now_ms=self._clock.wall_ms()
        )
        if isinstance(decided, ErrorCode):
            answer(decided)
        else:
            self.store.write(partition, transaction, decided, answer)

    def verify_partitions(
        self, transactional_id: str, producer: Producer, partitions: Iterable[TopicPartition]
    ) -> Mapping[TopicPartition, ErrorCode]:
        """Whether each partition is in the producer's transaction; see `membership.verify_partitions`."""
        found = self._find(transactional_id)
        if isinstance(found, ErrorCode):
            return dict.fromkeys(partitions, found)
        return membership.verify_partitions(found[1], producer, partitions)

    def end(
        self,
        transactional_id: str,
        producer: Producer,
        *,
        committed: bool,
        version: TransactionVersion,
        answer: ProducerAnswer,
    ) -> None:
        """Commit or abort; answered once it is decided, the markers follow.

        The answer's producer is the one of the next transaction, where `version` is V2. INVALID_REQUEST, and
        what `ending.end`, `StateStore.find` and `write` say.
        """
        found = self._find(transactional_id)
        if isinstance(found, ErrorCode):
            answer(found, NO_PRODUCER)
            return

        def with_producer_id(taken: ProducerId | ErrorCode) -> None:
            if isinstance(taken, ErrorCode):
                answer(taken, NO_PRODUCER)
            else:
                self._end(transactional_id, producer, committed, version, taken, answer)

        if version is TransactionVersion.V2 and found[1].current.is_epoch_exhausted:
            self._take_producer_id(with_producer_id)
        else:
            with_producer_id(NO_PRODUCER_ID)

    def _end(
        self,
        transactional_id: str,
        producer: Producer,
        committed: bool,
        version: TransactionVersion,
        new_producer_id: ProducerId,
        answer: ProducerAnswer,
    ) -> None:
        found = self._find(transactional_id)
        if isinstance(found, ErrorCode):
            answer(found, NO_PRODUCER)
            return
        partition, transaction = found
        decided = ending.end(
            transaction,
            producer,
            committed=committed,
            version=version,
            new_producer_id=new_producer_id,
            now_ms=self._clock.wall_ms(),
        )
        if isinstance(decided, ErrorCode):
            answer(decided, transaction.current.producer if decided is ErrorCode.NONE else NO_PRODUCER)
            return
        next_producer = _next_producer(decided)

        def prepared(error: ErrorCode) -> None:
            answer(error, next_producer if error is ErrorCode.NONE else NO_PRODUCER)

        self._prepare(partition, transaction, decided, prepared)

    def _prepare(
        self,
        partition: StatePartition,
        transaction: Transaction,
        record: TransactionRecord,
        answer: ErrorAnswer,
    ) -> None:
        """Store a Prepare record, answer, and let the markers follow."""

        def written(error: ErrorCode) -> None:
            if error is ErrorCode.NONE:
                self._delivery.deliver(partition, transaction)
            answer(error)

        self.store.write(partition, transaction, record, written)

    def _find(self, transactional_id: str) -> tuple[StatePartition, Transaction] | ErrorCode:
        if not transactional_id:
            return ErrorCode.INVALID_REQUEST
        found = self.store.find(transactional_id)
        if isinstance(found, ErrorCode):
            return found
        transaction = found.transactions.get(transactional_id)
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING if transaction is None else (found, transaction)

    # --- what time does

    def abort_timed_out(self) -> int:
        """Abort the transactions that are older than their timeouts, and fence their producers; how many.

        Every `transaction.abort.timed.out.transaction.cleanup.interval.ms`.
        """
        now_ms = self._clock.wall_ms()
        aborted = 0
        for partition, transaction in self.store.transactions():
            record = transaction.current
            is_late = (
                record.state is TransactionState.ONGOING and now_ms - record.started_ms > record.timeout_ms
            )
            if is_late and not transaction.is_busy:
                aborted += 1
                fenced = ending.fence(record, Event.TIME_OUT, now_ms=now_ms)
                self._prepare(partition, transaction, fenced, lambda error: None)
        return aborted

    def remove_expired(self) -> int:
        """Forget the ids that have not been used for `transactional.id.expiration.ms`; how many.

        Every `transaction.remove.expired.transaction.cleanup.interval.ms`.
        """
        now_ms = self._clock.wall_ms()
        used_since_ms = now_ms - self._settings().transactional_id_expiration_ms
        expired = 0
        for partition, transaction in self.store.transactions():
            record = transaction.current
            outcome = outcome_of(record.state, Event.EXPIRE)
            if (
                outcome is TransactionState.DEAD
                and record.updated_ms <= used_since_ms
                and not transaction.is_busy
            ):
                expired += 1
                self.store.bury(partition, transaction, replace(record, state=outcome, updated_ms=now_ms))
        return expired


def _next_producer(prepared: TransactionRecord) -> Producer:
    """Who the producer is when the prepared transaction has ended."""
    if prepared.next_producer_id == NO_PRODUCER_ID:
        return prepared.producer
    return Producer(prepared.next_producer_id, _FIRST_EPOCH)
