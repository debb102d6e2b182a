"""The partitions of a transaction: adding them, and telling whether one is among them.

Pure decisions. Invariant: a partition is stored as part of a transaction before its first record is written
there; only so does a coordinator know, after any crash, where a marker has to go.
"""

from collections.abc import Iterable
from dataclasses import replace

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.coordinator.transactions.state import Event, TransactionState, outcome_of
from odradek.coordinator.transactions.transaction import (
    Producer,
    Transaction,
    TransactionRecord,
    TransactionVersion,
)


def add_partitions(
    transaction: Transaction,
    producer: Producer,
    partitions: frozenset[TopicPartition],
    *,
    version: TransactionVersion,
    now_ms: int,
) -> TransactionRecord | ErrorCode:
    """The record with these partitions too; the first ones begin the transaction.

    NONE when they are in it already. Errors: CONCURRENT_TRANSACTIONS, INVALID_PRODUCER_ID_MAPPING,
    PRODUCER_FENCED.
    """
    record = transaction.current
    # First of all: a producer may know an id or an epoch already that is only pending.
    if transaction.is_busy:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    error = _check_producer(record, producer)
    if error is not ErrorCode.NONE:
        return error
    outcome = outcome_of(record.state, Event.ADD_PARTITIONS)
    if isinstance(outcome, ErrorCode):
        return outcome
    is_open = record.state is TransactionState.ONGOING
    if is_open and partitions <= record.partitions:
        return ErrorCode.NONE
    return replace(
        record,
        state=outcome,
        partitions=record.partitions | partitions,
        started_ms=record.started_ms if is_open else now_ms,
        updated_ms=now_ms,
        version=version,
    )


def verify_partitions(
    transaction: Transaction, producer: Producer, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, ErrorCode]:
    """Whether each is in the transaction (KIP-890): NONE, or TRANSACTION_ABORTABLE.

    Or for all INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED, CONCURRENT_TRANSACTIONS while it ends.
    """
    record = transaction.current
    error = _check_producer(record, producer)
    if error is ErrorCode.NONE and record.is_prepared:
        error = ErrorCode.CONCURRENT_TRANSACTIONS
    if error is not ErrorCode.NONE:
        return dict.fromkeys(partitions, error)
    return {
        partition: (ErrorCode.NONE if partition in record.partitions else ErrorCode.TRANSACTION_ABORTABLE)
        for partition in partitions
    }


def _check_producer(record: TransactionRecord, producer: Producer) -> ErrorCode:
    if producer.producer_id != record.producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if producer.epoch != record.producer_epoch or record.is_fenced_off:
        return ErrorCode.PRODUCER_FENCED
    return ErrorCode.NONE
