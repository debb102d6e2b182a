"""Checks, before transactional batches are appended, that their partition is in the transaction (KIP-890).

If the log already has the producer's transaction open, the write is admitted at no cost. Otherwise the
coordinator is asked; without that, no marker would ever end the transaction in this log. By the version of
the request:

    Produce   TxnOffsetCommit
    to 10     to 3      the producer has added the partition by a request, else INVALID_TXN_STATE
    11        4         the same, else TRANSACTION_ABORTABLE
    12        5         the partition is added now, which may begin the transaction

In the last case each transaction has an epoch of its own. So the first batch for a log that does not know the
producer must have sequence 0: otherwise an earlier batch was refused with a retriable error, and its retry
would come too late.

Transient errors become NOT_ENOUGH_REPLICAS, which every producer retries.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NamedTuple, Protocol, TypeAlias

from odradek.base.buffers import Buffer
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import LogError
from odradek.base.execution import ITEMS_PER_STEP, Later, Steps
from odradek.base.ids import LeaderEpoch, TopicPartition
from odradek.coordinator.transactions import Producer, TransactionVersion
from odradek.records.header import ATTRIBUTES_LOW_AT, HEADER_BYTES, TRANSACTIONAL_BIT, read_header
from odradek.replication.append import Batches
from odradek.storage.producer_state import ProducerStates

PartitionErrors: TypeAlias = Mapping[TopicPartition, ErrorCode]
"""The partitions that must not be written to, with their errors."""

_PASSING: Final = frozenset(
    {
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)


class Ability(IntEnum):
    """What a producer supports, by the version of its request; each level includes the earlier ones."""

    ADDS_PARTITIONS = 0
    KNOWS_ABORTABLE = 1
    LEAVES_ADDING_TO_US = 2

    @classmethod
    def of_version(cls, version: int, first_with_abortable: int) -> "Ability":
        """The ability of a request; versions above `first_with_abortable` let the broker add partitions."""
        return cls(max(0, min(version - first_with_abortable + 1, cls.LEAVES_ADDING_TO_US)))


def is_transactional(batches: Buffer) -> bool:
    """Whether the first batch says that it is part of a transaction."""
    return len(batches) >= HEADER_BYTES and batches[ATTRIBUTES_LOW_AT] & TRANSACTIONAL_BIT != 0


class ProducersLog(Protocol):
    """The part of a log that the admission reads."""

    @property
    def producers(self) -> ProducerStates:
        """The producers that the log knows."""

    @property
    def latest_epoch(self) -> LeaderEpoch:
        """The latest leader epoch: another one, if the partition was led elsewhere meanwhile."""


LogOf: TypeAlias = Callable[[TopicPartition], ProducersLog | None]
"""Returns the log of a partition that is hosted here, or None."""


class TransactionMembership(Protocol):
    """The transaction coordinator's part in the admission; see `TransactionCoordinator`."""

    def add_partitions(
        self,
        transactional_id: str,
        producer: Producer,
        partitions: Iterable[TopicPartition],
        version: TransactionVersion,
        later: Later[ErrorCode],
    ) -> ErrorCode | None:
        """Add partitions to the producer's transaction; the first partition begins the transaction."""

    def verify_partitions(
        self,
        transactional_id: str,
        producer: Producer,
        partitions: Iterable[TopicPartition],
        later: Later[Mapping[TopicPartition, ErrorCode]],
    ) -> Mapping[TopicPartition, ErrorCode] | None:
        """Check whether each partition is in the producer's transaction."""


class Consent:
    """The coordinator's consent to append to partitions of a transaction; valid until the transaction ends.

    Between the coordinator's answer and an append the transaction may end: it timed out and was aborted, or
    its producer was fenced. Then the log has a marker, and records after the marker would be in no
    transaction and would hold the last stable offset back for good.
    """

    __slots__ = ("_log_of", "_producer_id", "_seen")

    def __init__(self, log_of: LogOf, producer: Producer, partitions: Iterable[TopicPartition]) -> None:
        """Must be constructed before the coordinator is asked."""
        self._log_of = log_of
        self._producer_id = producer.producer_id
        self._seen = {one: self._ended(one) for one in partitions}
        """By partition: its log's producers, the leader epoch, how many of its transactions had ended."""

    def holds_for(self, topic_partition: TopicPartition) -> bool:
        """Whether since then no transaction of the producer has ended there, and the leader is the same."""
        return self._seen.get(topic_partition) == self._ended(topic_partition)

    def _ended(self, topic_partition: TopicPartition) -> tuple[object, LeaderEpoch, int] | None:
        log = self._log_of(topic_partition)
        if log is None:
            return None
        # Not the log itself: its producers stay the same when it moves to another directory.
        return log.producers, log.latest_epoch, log.producers.ended(self._producer_id)


@dataclass(frozen=True, slots=True)
class Admission:
    """Which partitions of a produce may be written to."""

    refused: PartitionErrors
    consent: Consent | None = None
    """The consent for the admitted partitions; None if no batch is in a transaction."""

    def entries(self, checked: Mapping[TopicPartition, Batches]) -> Iterator[tuple[TopicPartition, Batches]]:
        """The batches to append; each partition is checked again when its turn comes."""
        for topic_partition, batches in checked.items():
            if topic_partition in self.refused:
                yield topic_partition, self.refused[topic_partition]
            elif self.consent is None or self.consent.holds_for(topic_partition):
                yield topic_partition, batches
            else:  # the producer retries, and gets the outcome of its transaction
                yield topic_partition, ErrorCode.NOT_ENOUGH_REPLICAS


class TransactionAdmission:
    """Asks the logs of this broker and the transaction coordinator whether a producer may write."""

    def __init__(
        self, log_of: LogOf, coordinators: TransactionMembership, verifies: Callable[[], bool]
    ) -> None:
        """`coordinators` asks the coordinator of each transactional id.

        `verifies` returns `transaction.partition.verification.enable` as it is in force.
        """
        self._log_of = log_of
        self._coordinators = coordinators
        self._verifies = verifies

    def admit_batches(
        self,
        transactional_id: str | None,
        entries: Mapping[TopicPartition, Buffer],
        ability: Ability,
        later: Later[Admission],
    ) -> Steps[Admission | None]:
        """Admit the batches that a produce is about to append; see `admit`.

        Refused, as in Kafka: transactional batches without a transactional id, with
        TRANSACTIONAL_ID_AUTHORIZATION_FAILED; batches of several producers, with
        INVALID_PRODUCER_ID_MAPPING; a first batch without sequence 0, with OUT_OF_ORDER_SEQUENCE_NUMBER.
        """
        if transactional_id is None:
            return Admission(dict.fromkeys(entries, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))
        firsts = yield from _first_batches(entries)
        if not firsts:
            return Admission({})
        producer = next(iter(firsts.values())).producer
        if any(first.producer != producer for first in firsts.values()):
            return Admission(dict.fromkeys(entries, ErrorCode.INVALID_PRODUCER_ID_MAPPING))
        consent = self.consent(producer, firsts)

        def admission(refused: PartitionErrors) -> Admission:
            if ability is Ability.LEAVES_ADDING_TO_US:
                refused = {**self._too_late(firsts), **refused}
            return Admission(refused, consent)

        refused = self.admit(
            transactional_id, producer, firsts, ability, lambda refused: later(admission(refused))
        )
        return None if refused is None else admission(refused)

    def admit(
        self,
        transactional_id: str,
        producer: Producer,
        partitions: Collection[TopicPartition],
        ability: Ability,
        later: Later[PartitionErrors],
    ) -> PartitionErrors | None:
        """Let the coordinator add the partitions that the producer writes to, or verify them.

        Where something may happen between the coordinator's answer and the append, as when the coordinator is
        another broker, the append needs a `consent` that was asked for before.
        """
        unknown = [one for one in partitions if not self._is_open(one, producer)]
        if unknown and ability is Ability.LEAVES_ADDING_TO_US:
            error = self._coordinators.add_partitions(
                transactional_id,
                producer,
                unknown,
                TransactionVersion.V2,
                lambda error: later(_refused(dict.fromkeys(unknown, error), ability)),
            )
            return None if error is None else _refused(dict.fromkeys(unknown, error), ability)
        if unknown and self._verifies():
            errors = self._coordinators.verify_partitions(
                transactional_id, producer, unknown, lambda errors: later(_refused(errors, ability))
            )
            return None if errors is None else _refused(errors, ability)
        return {}

    def consent(self, producer: Producer, partitions: Iterable[TopicPartition]) -> Consent:
        """The coordinator's consent to these partitions, if it answers that they may be written to."""
        return Consent(self._log_of, producer, partitions)

    def _too_late(self, firsts: Mapping[TopicPartition, "_FirstBatch"]) -> PartitionErrors:
        """The partitions whose log does not know the producer and whose first batch has not sequence 0."""
        late = {}
        for topic_partition, (producer, base_sequence) in firsts.items():
            log = self._log_of(topic_partition)
            if base_sequence != 0 and log is not None and log.producers.get(producer.producer_id) is None:
                late[topic_partition] = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        return late

    def _is_open(self, topic_partition: TopicPartition, producer: Producer) -> bool:
        """Whether the partition's log has the producer's transaction open."""
        log = self._log_of(topic_partition)
        known = None if log is None else log.producers.get(producer.producer_id)
        return (
            known is not None and known.epoch == producer.epoch and known.transaction_first_offset is not None
        )


class _FirstBatch(NamedTuple):
    """The fields of a partition's first batch that the admission uses."""

    producer: Producer
    base_sequence: int


def _first_batches(entries: Mapping[TopicPartition, Buffer]) -> Steps[dict[TopicPartition, _FirstBatch]]:
    """The first batches of those partitions whose first batch is transactional."""
    found: dict[TopicPartition, _FirstBatch] = {}
    for count, (topic_partition, batches) in enumerate(entries.items(), 1):
        if is_transactional(batches):
            try:
                header = read_header(batches)
            except LogError:
                continue  # the append refuses it
            producer = Producer(header.producer_id, header.producer_epoch)
            found[topic_partition] = _FirstBatch(producer, header.base_sequence)
        if count % ITEMS_PER_STEP == 0:
            yield
    return found


def _refused(errors: PartitionErrors, ability: Ability) -> PartitionErrors:
    return {
        topic_partition: _told(error, ability)
        for topic_partition, error in errors.items()
        if error is not ErrorCode.NONE
    }


def _told(error: ErrorCode, ability: Ability) -> ErrorCode:
    if error in _PASSING:
        return ErrorCode.NOT_ENOUGH_REPLICAS
    if error is ErrorCode.CONCURRENT_TRANSACTIONS and ability is not Ability.LEAVES_ADDING_TO_US:
        return ErrorCode.NOT_ENOUGH_REPLICAS
    if error is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if error is ErrorCode.TRANSACTION_ABORTABLE and ability is Ability.ADDS_PARTITIONS:
        return ErrorCode.INVALID_TXN_STATE
    return error
