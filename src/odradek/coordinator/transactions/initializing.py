"""InitProducerId: a producer takes a transactional id, and its earlier owner is fenced (KIP-98, KIP-360).

Pure decisions: each function returns the record to be written or an error. A new producer sends no epoch and
always gets the next one. A producer that goes on after an error sends its id and epoch, and may do so if no
other producer has taken the transactional id meanwhile:

    in force 7:3   asks without one    → 7:4    the producer that was 7:3 is fenced
    in force 7:3   asks as 7:3         → 7:4    and may ask as 7:3 again: the answer may have been lost
    in force 7:4   asks as 7:3, again  → 7:4    unchanged
    in force 7:3   asks as 7:2         → PRODUCER_FENCED
    in force 7:32766 (the last)        → 8:0    a new producer id
"""

from dataclasses import replace

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import NO_EPOCH, NO_PRODUCER_ID, ProducerId
from odradek.coordinator.transactions.ending import fence
from odradek.coordinator.transactions.state import Event, TransactionState, outcome_of
from odradek.coordinator.transactions.transaction import (
    NO_PRODUCER,
    NO_TIMESTAMP,
    PRODUCER_EPOCH_MAX,
    Producer,
    Transaction,
    TransactionRecord,
)


def first_record(producer_id: ProducerId, timeout_ms: int, now_ms: int) -> TransactionRecord:
    """The record of a transactional id that has not been used yet."""
    return TransactionRecord(producer_id, NO_EPOCH, timeout_ms, TransactionState.EMPTY, now_ms)


def initialize(
    transaction: Transaction,
    expected: Producer,
    *,
    timeout_ms: int,
    new_producer_id: ProducerId,
    now_ms: int,
) -> TransactionRecord | ErrorCode:
    """The record with which the producer begins; one that is prepared fences the one before it first.

    `expected` is the id and epoch that the producer sent, or NO_PRODUCER. `new_producer_id` is for an epoch
    that is used up. Errors: CONCURRENT_TRANSACTIONS, PRODUCER_FENCED.
    """
    record = transaction.current
    if transaction.is_busy:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if expected != NO_PRODUCER and not _may_be(expected, record):
        return ErrorCode.PRODUCER_FENCED
    outcome = outcome_of(record.state, Event.INIT)
    if isinstance(outcome, ErrorCode):
        return outcome
    if outcome is TransactionState.PREPARE_ABORT:
        return fence(record, Event.INIT, now_ms=now_ms)
    next_producer = _next_producer(record, expected, new_producer_id)
    if isinstance(next_producer, ErrorCode):
        return next_producer
    producer, last_epoch = next_producer
    return replace(
        record,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        last_producer_epoch=last_epoch,
        previous_producer_id=(
            record.previous_producer_id if producer.producer_id == record.producer_id else record.producer_id
        ),
        timeout_ms=timeout_ms,
        state=outcome,
        partitions=frozenset(),
        started_ms=NO_TIMESTAMP,
        updated_ms=now_ms,
    )


def _may_be(expected: Producer, record: TransactionRecord) -> bool:
    """Whether the producer id of `expected` may be the one in force; epochs are not compared.

    An id without an epoch has just been made, for a producer that the coordinator had forgotten; one whose
    epochs were used up may have missed the answer with its new producer id.
    """
    return (
        record.producer_epoch == NO_EPOCH
        or expected.producer_id == record.producer_id
        or (expected.producer_id == record.previous_producer_id and expected.epoch >= PRODUCER_EPOCH_MAX - 1)
    )


def _next_producer(
    record: TransactionRecord, expected: Producer, new_producer_id: ProducerId
) -> tuple[Producer, int] | ErrorCode:
    """The next producer, and the epoch in which it may ask once more."""
    goes_on = expected != NO_PRODUCER
    if record.is_epoch_exhausted and (not goes_on or expected.epoch == record.producer_epoch):
        assert new_producer_id != NO_PRODUCER_ID, "an epoch that is used up needs another producer id"
        return Producer(new_producer_id, 0), record.producer_epoch if goes_on else NO_EPOCH
    following = Producer(record.producer_id, record.producer_epoch + 1)
    if not goes_on:
        return following, NO_EPOCH
    if record.producer_epoch in (NO_EPOCH, expected.epoch):
        return following, record.producer_epoch
    if expected.epoch == record.last_producer_epoch:
        return record.producer, record.last_producer_epoch
    return ErrorCode.PRODUCER_FENCED
