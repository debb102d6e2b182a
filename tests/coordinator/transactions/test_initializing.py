from dataclasses import replace

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import ProducerId
from odradek.coordinator.transactions import NO_PRODUCER, Producer, TransactionVersion
from odradek.coordinator.transactions.ending import complete, fence
from odradek.coordinator.transactions.initializing import initialize
from odradek.coordinator.transactions.state import Event, TransactionState
from odradek.coordinator.transactions.transaction import Transaction, TransactionRecord
from tests.coordinator.transactions.transaction_bench import new_record

LAST = 32766


def attempt(
    record: TransactionRecord, expected: Producer = NO_PRODUCER, new_producer_id: ProducerId = -1
) -> TransactionRecord | ErrorCode:
    transaction = Transaction("t", record)
    return initialize(transaction, expected, timeout_ms=1000, new_producer_id=new_producer_id, now_ms=5)


def decide(
    record: TransactionRecord, expected: Producer = NO_PRODUCER, new_producer_id: ProducerId = -1
) -> TransactionRecord:
    decided = attempt(record, expected, new_producer_id)
    assert isinstance(decided, TransactionRecord), decided
    return decided


def test_a_new_producer_gets_the_next_epoch() -> None:
    decided = decide(new_record())
    assert decided.producer == Producer(7, 4)
    assert (decided.state, decided.timeout_ms, decided.updated_ms) == (TransactionState.EMPTY, 1000, 5)
    assert decided.last_producer_epoch == -1, "nobody may claim the epoch before"


def test_whoever_goes_on_may_ask_once_more() -> None:
    """KIP-360"""
    decided = decide(new_record(), Producer(7, 3))
    assert decided.producer == Producer(7, 4)
    again = decide(decided, Producer(7, 3))
    assert again.producer == Producer(7, 4), "the answer was lost: the epoch is the same"


@pytest.mark.parametrize("expected", [Producer(7, 2), Producer(7, 4), Producer(6, 3), Producer(6, LAST)])
def test_whoever_was_fenced_hears_it(expected: Producer) -> None:
    assert attempt(new_record(), expected) is ErrorCode.PRODUCER_FENCED


@pytest.mark.parametrize("event", [Event.TIME_OUT, Event.INIT])
@pytest.mark.parametrize("version", TransactionVersion)
def test_whoever_timed_out_goes_on_while_nobody_took_the_id(
    version: TransactionVersion, event: Event
) -> None:
    """KIP-588; so it is in Kafka 4.1 for those, too, who add their partitions by a request."""
    record = replace(new_record(TransactionState.ONGOING), version=version)
    aborted = complete(fence(record, event, now_ms=5), now_ms=6)
    for _ in range(2):
        aborted = decide(aborted, Producer(7, 3))
        assert aborted.producer == Producer(7, 4)
    assert attempt(decide(aborted), Producer(7, 3)) is ErrorCode.PRODUCER_FENCED


def test_after_a_new_producer_nobody_goes_on_from_before() -> None:
    successor = decide(new_record())
    assert attempt(successor, Producer(7, 3)) is ErrorCode.PRODUCER_FENCED


def test_an_epoch_that_is_used_up_makes_a_new_producer_id() -> None:
    decided = decide(replace(new_record(), producer_epoch=LAST), new_producer_id=8)
    assert (decided.producer, decided.previous_producer_id) == (Producer(8, 0), 7)
    assert decided.last_producer_epoch == -1


def test_whoever_used_up_the_epochs_may_ask_once_more() -> None:
    decided = decide(replace(new_record(), producer_epoch=LAST), Producer(7, LAST), new_producer_id=8)
    assert decided.producer == Producer(8, 0)
    again = decide(decided, Producer(7, LAST))
    assert again.producer == Producer(8, 0)


def test_a_new_id_takes_whoever_was_forgotten() -> None:
    decided = decide(replace(new_record(), producer_epoch=-1), Producer(3, 9))
    assert decided.producer == Producer(7, 0)


def test_an_open_transaction_is_aborted_first() -> None:
    decided = decide(new_record(TransactionState.ONGOING))
    assert (decided.state, decided.producer) == (TransactionState.PREPARE_ABORT, Producer(7, 4))
    assert decided.partitions, "they need markers"


def test_while_a_transaction_ends_it_has_to_come_again() -> None:
    transaction = Transaction("t", new_record(TransactionState.PREPARE_ABORT))
    decided = initialize(transaction, NO_PRODUCER, timeout_ms=1, new_producer_id=-1, now_ms=0)
    assert decided is ErrorCode.CONCURRENT_TRANSACTIONS
