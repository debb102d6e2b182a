"""A transactional id: what is stored of it, and what has become of its markers.

A record never changes. A decision makes the next one, which is *current* as soon as the log has it. While the
current one is Prepare*, every other request gets CONCURRENT_TRANSACTIONS, a retriable error.

    current Ongoing                            the producer asks for the commit
    current PrepareCommit, unmarked t-0 t-1    when every in-sync replica has it, markers are written
    current PrepareCommit, unmarked t-1        t-0 has its own
    current CompleteCommit
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, NamedTuple, TypeAlias

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import COUNTED_PER_STEP, Pace, Steps, exhaust, ordered
from odradek.base.ids import NO_EPOCH, NO_PRODUCER_ID, ProducerId, TopicPartition
from odradek.coordinator.transactions.state import TransactionState

PRODUCER_EPOCH_MAX: Final = (1 << 15) - 1
NO_TIMESTAMP: Final = -1


class TransactionVersion(IntEnum):
    """How the producer ends its transactions; the numbers are those of the feature `transaction.version`."""

    CLASSIC = 0
    """It keeps its epoch, and adds every partition by a request."""
    V2 = 2
    """Every end begins its next epoch, and a produce adds its partitions (KIP-890)."""


class Producer(NamedTuple):
    """A producer id in one of its epochs."""

    producer_id: ProducerId
    epoch: int


NO_PRODUCER: Final = Producer(NO_PRODUCER_ID, NO_EPOCH)


@dataclass(frozen=True, slots=True)
class TransactionRecord:
    """All that is stored of a transactional id."""

    producer_id: ProducerId
    producer_epoch: int
    """The epoch in force; -1 only in memory, until the id's first record is written."""
    timeout_ms: int
    """How long a transaction may be open."""
    state: TransactionState
    updated_ms: int
    """Wall time of this record."""
    started_ms: int = NO_TIMESTAMP
    """Wall time at which the transaction began, the last one after its end; -1 before the first."""
    partitions: frozenset[TopicPartition] = frozenset()
    """Where the transaction has written, or is about to; empty unless it is Ongoing or Prepare*."""
    previous_producer_id: ProducerId = NO_PRODUCER_ID
    """The id before this one, whose epochs were used up."""
    next_producer_id: ProducerId = NO_PRODUCER_ID
    """The id after this one, from the Prepare that used up the last epoch to its Complete."""
    version: TransactionVersion = TransactionVersion.CLASSIC
    """How the producer works that wrote last."""
    last_producer_epoch: int = NO_EPOCH
    """The epoch before this one where its owner may have missed the answer with this one, else
    -1. Not stored: after a change of coordinators such a producer is fenced."""

    @property
    def producer(self) -> Producer:
        """The producer in force."""
        return Producer(self.producer_id, self.producer_epoch)

    @property
    def is_epoch_exhausted(self) -> bool:
        """Whether the next producer needs another id: the last epoch is kept for fencing this one."""
        return self.producer_epoch >= PRODUCER_EPOCH_MAX - 1

    @property
    def is_fenced_off(self) -> bool:
        """Whether the epoch in force is the last one, which no producer gets: it cannot be fenced again."""
        return self.producer_epoch >= PRODUCER_EPOCH_MAX

    @property
    def is_prepared(self) -> bool:
        """Whether markers have to be written."""
        return self.state in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)


@dataclass(slots=True)
class Transaction:
    """A transactional id in memory."""

    transactional_id: str
    current: TransactionRecord
    """What the log has. Its epoch is -1 while the first record is decided on, which is in no log yet."""
    unmarked: "Unmarked" = field(default_factory=dict)
    """The partitions whose marker is not known to be written, with the error that kept the last attempt from
    it (NONE before the first); empty unless `current` is prepared."""
    open_since_ms: int = 0
    """When the open transaction began, on this broker's monotonic clock; means nothing unless one is open."""

    @property
    def is_busy(self) -> bool:
        """Whether a transaction is ending: clients must repeat their requests."""
        return self.current.is_prepared

    def apply(self, record: TransactionRecord, unmarked: "Unmarked | None" = None) -> None:
        """Make a record the current one; `unmarked` is what it leaves unmarked, if that was made before."""
        self.current = record
        self.unmarked = exhaust(unmarked_in_steps(record)) if unmarked is None else unmarked


Unmarked: TypeAlias = dict[TopicPartition, ErrorCode]
"""See `Transaction.unmarked`."""


def unmarked_in_steps(record: TransactionRecord) -> Steps[Unmarked]:
    """What a record leaves unmarked when it becomes current, by topic and number."""
    unmarked: Unmarked = {}
    if record.is_prepared:
        pace = Pace(COUNTED_PER_STEP)
        for topic, partitions in (yield from by_topic_in_steps(record.partitions)).items():
            for one in partitions:
                unmarked[TopicPartition(topic, one)] = ErrorCode.NONE
                if pace.is_over():
                    yield
    return unmarked


def by_topic_in_steps(partitions: Iterable[TopicPartition]) -> Steps[dict[str, list[int]]]:
    """`by_topic` where there may be very many."""
    topics: dict[str, list[int]] = {}
    pace = Pace(COUNTED_PER_STEP)
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
        if pace.is_over():
            yield
    named: dict[str, list[int]] = {}
    for topic in (yield from ordered(topics)):
        named[topic] = yield from ordered(topics[topic])
        if pace.is_over():
            yield
    return named
