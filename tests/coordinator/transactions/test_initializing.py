from collections.abc import Callable
from typing import Any

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.coordinator.transactions import NO_PRODUCER, Producer, TransactionVersion
from odradek.coordinator.transactions.ending import complete, fence
from odradek.coordinator.transactions.initializing import initialize
from odradek.coordinator.transactions.state import Event, TransactionState
from odradek.coordinator.transactions.transaction import Transaction, TransactionRecord

NewRecord = Callable[..., TransactionRecord]
LAST = 32766


def decide(record: TransactionRecord, expected: Producer = NO_PRODUCER, **given: Any) -> Any:
    arguments = {"timeout_ms": 1000, "new_producer_id": -1, "now_ms": 5, **given}
    return initialize(Transaction("t", record), expected, **arguments)


def test_a_new_producer_gets_the_next_epoch(new_record: NewRecord) -> None:
    decided = decide(new_record())
    assert decided.producer == Producer(7, 4)
    assert (decided.state, decided.timeout_ms, decided.updated_ms) == (TransactionState.EMPTY, 1000, 5)
    assert decided.last_producer_epoch == -1, "nobody may claim the epoch before"


def test_whoever_goes_on_may_ask_once_more(new_record: NewRecord) -> None:
    """KIP-360"""
    decided = decide(new_record(), Producer(7, 3))
    assert decided.producer == Producer(7, 4)
    again = decide(decided, Producer(7, 3))
    assert again.producer == Producer(7, 4), "the answer was lost: the epoch is the same"


@pytest.mark.parametrize("expected", [Producer(7, 2), Producer(7, 4), Producer(6, 3), Producer(6, LAST)])
def test_whoever_was_fenced_hears_it(new_record: NewRecord, expected: Producer) -> None:
    assert decide(new_record(), expected) is ErrorCode.PRODUCER_FENCED


@pytest.mark.parametrize("event", [Event.TIME_OUT, Event.INIT])
@pytest.mark.parametrize("version", TransactionVersion)
def test_whoever_timed_out_goes_on_while_nobody_took_the_id(
    new_record: NewRecord, version: TransactionVersion, event: Event
) -> None:
    """KIP-588; so it is in Kafka 4.1 for those, too, who add their partitions by a request."""
    record = new_record(TransactionState.ONGOING, version=version)
    aborted = complete(fence(record, event, now_ms=5), now_ms=6)
    for _ in range(2):
        aborted = decide(aborted, Producer(7, 3))
        assert aborted.producer == Producer(7, 4)
    assert decide(decide(aborted), Producer(7, 3)) is ErrorCode.PRODUCER_FENCED


def test_after_a_new_producer_nobody_goes_on_from_before(new_record: NewRecord) -> None:
    successor = decide(new_record())
    assert decide(successor, Producer(7, 3)) is ErrorCode.PRODUCER_FENCED


def test_an_epoch_that_is_used_up_makes_a_new_producer_id(new_record: NewRecord) -> None:
    decided = decide(new_record(producer_epoch=LAST), new_producer_id=8)
    assert (decided.producer, decided.previous_producer_id) == (Producer(8, 0), 7)
    assert decided.last_producer_epoch == -1


def test_whoever_used_up_the_epochs_may_ask_once_more(new_record: NewRecord) -> None:
    decided = decide(new_record(producer_epoch=LAST), Producer(7, LAST), new_producer_id=8)
    assert decided.producer == Producer(8, 0)
    again = decide(decided, Producer(7, LAST))
    assert again.producer == Producer(8, 0)


def test_a_new_id_takes_whoever_was_forgotten(new_record: NewRecord) -> None:
    decided = decide(new_record(producer_epoch=-1), Producer(3, 9))
    assert decided.producer == Producer(7, 0)


def test_an_open_transaction_is_aborted_first(new_record: NewRecord) -> None:
    decided = decide(new_record(TransactionState.ONGOING))
    assert (decided.state, decided.producer) == (TransactionState.PREPARE_ABORT, Producer(7, 4))
    assert decided.partitions, "they need markers"


def test_while_a_transaction_ends_it_has_to_come_again(new_record: NewRecord) -> None:
    transaction = Transaction("t", new_record(TransactionState.PREPARE_ABORT))
    decided = initialize(transaction, NO_PRODUCER, timeout_ms=1, new_producer_id=-1, now_ms=0)
    assert decided is ErrorCode.CONCURRENT_TRANSACTIONS
