import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.coordinator.transactions import Producer, TransactionVersion
from odradek.coordinator.transactions.state import TransactionState
from odradek.coordinator.transactions.transaction import Transaction, TransactionRecord
from odradek.coordinator.transactions.transaction_partitions import add_partitions, verify_partitions
from tests.coordinator.transactions.transaction_bench import new_record

T0, T2 = TopicPartition("t", 0), TopicPartition("t", 2)
IN_FORCE = Producer(7, 3)


def decide(
    record: TransactionRecord, producer: Producer = IN_FORCE, *partitions: TopicPartition
) -> TransactionRecord | ErrorCode:
    return add_partitions(
        Transaction("t", record), producer, frozenset(partitions), version=TransactionVersion.V2, now_ms=5
    )


def test_the_first_partition_begins_the_transaction() -> None:
    decided = decide(new_record(), IN_FORCE, T2)
    assert isinstance(decided, TransactionRecord)
    assert (decided.state, decided.started_ms, decided.partitions) == (
        TransactionState.ONGOING,
        5,
        frozenset({T2}),
    )
    assert decided.version is TransactionVersion.V2


def test_another_partition_joins_what_is_open() -> None:
    record = new_record(TransactionState.ONGOING)
    decided = decide(record, IN_FORCE, T2)
    assert isinstance(decided, TransactionRecord)
    assert decided.partitions == record.partitions | {T2}
    assert decided.started_ms == record.started_ms


def test_what_is_added_already_needs_no_write() -> None:
    assert decide(new_record(TransactionState.ONGOING), IN_FORCE, T0) is ErrorCode.NONE


@pytest.mark.parametrize(
    ("producer", "error"),
    [
        (Producer(8, 3), ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        (Producer(7, 2), ErrorCode.PRODUCER_FENCED),
        (Producer(7, 4), ErrorCode.PRODUCER_FENCED),
    ],
)
def test_whoever_is_not_in_force_adds_and_verifies_nothing(producer: Producer, error: ErrorCode) -> None:
    record = new_record(TransactionState.ONGOING)
    assert decide(record, producer, T0) is error
    assert verify_partitions(Transaction("t", record), producer, [T0, T2]) == {T0: error, T2: error}


def test_verification_tells_what_is_part_of_it() -> None:
    """KIP-890"""
    transaction = Transaction("t", new_record(TransactionState.ONGOING))
    verified = verify_partitions(transaction, IN_FORCE, [T0, T2])
    assert verified == {T0: ErrorCode.NONE, T2: ErrorCode.TRANSACTION_ABORTABLE}


def test_verification_waits_for_the_end() -> None:
    transaction = Transaction("t", new_record(TransactionState.PREPARE_COMMIT))
    assert verify_partitions(transaction, IN_FORCE, [T0]) == {T0: ErrorCode.CONCURRENT_TRANSACTIONS}
