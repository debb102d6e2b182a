from dataclasses import replace

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import exhaust
from odradek.base.ids import TopicPartition
from odradek.coordinator.transactions.inspection import (
    TransactionFilter,
    describe_transactions,
    find_transaction,
    list_transactions,
    waits_for,
)
from odradek.coordinator.transactions.state import TransactionState
from odradek.coordinator.transactions.transaction import Transaction
from tests.coordinator.transactions.transaction_bench import TransactionBench, new_record

S = TransactionState
BEGIN_MS = 1_700_000_000_000
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
def filled(bench: TransactionBench) -> TransactionBench:
    bench.put(new_record(S.ONGOING), "open")
    bench.put(replace(new_record(S.EMPTY), producer_id=8), "empty")
    bench.put(replace(new_record(S.COMPLETE_ABORT), producer_id=9, started_ms=BEGIN_MS - 50), "aborted")
    return bench


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (TransactionFilter(), {"open", "empty", "aborted"}),
        (TransactionFilter(states=[S.ONGOING]), {"open"}),
        (TransactionFilter(states=[]), set()),
        (TransactionFilter(producer_ids=[8, 9]), {"empty", "aborted"}),
        (TransactionFilter(open_for_more_than_ms=120), {"aborted", "empty"}),
        (TransactionFilter(states=[S.EMPTY], producer_ids=[9]), set()),
    ],
)
def test_filters_all_have_to_admit(
    filled: TransactionBench, wanted: TransactionFilter, names: set[str]
) -> None:
    found = exhaust(list_transactions(filled.coordinator.store, wanted, BEGIN_MS + 100))
    assert isinstance(found, list)
    assert {one.transactional_id for one in found} == names


def test_no_list_is_given_while_not_all_is_known(bench: TransactionBench) -> None:
    bench.init()
    bench.lead_again(bench.state_partition())
    store = bench.coordinator.store
    assert exhaust(list_transactions(store, TransactionFilter(), 0)) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def test_one_is_found_or_the_reason_why_not(filled: TransactionBench) -> None:
    store = filled.coordinator.store
    found = find_transaction(store, "open")
    assert isinstance(found, Transaction)
    assert find_transaction(store, "nobody") is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert find_transaction(store, "") is ErrorCode.INVALID_REQUEST
    filled.coordinator.resign(filled.state_partition("open").partition)
    assert find_transaction(store, "open") is ErrorCode.NOT_COORDINATOR


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (S.EMPTY, "no transaction yet"),
        (S.ONGOING, "open for 12 s; aborted in 48 s unless it ends"),
        (S.COMPLETE_COMMIT, "committed 12 s ago"),
        (S.COMPLETE_ABORT, "aborted 12 s ago"),
        (
            S.PREPARE_COMMIT,
            "commit decided 12 s ago; 1 of 2 partitions have their marker; t-1 has none: NOT_ENOUGH_REPLICAS",
        ),
        (
            S.PREPARE_ABORT,
            "abort decided 12 s ago; 1 of 2 partitions have their marker; t-1 has none: NOT_ENOUGH_REPLICAS",
        ),
    ],
)
def test_it_is_said_what_is_waited_for(state: S, words: str) -> None:
    transaction = Transaction("t", new_record(state))
    if transaction.current.is_prepared:
        transaction.unmarked = {T1: ErrorCode.NOT_ENOUGH_REPLICAS}
    assert waits_for(transaction, BEGIN_MS + 12_000) == words


def test_it_is_said_when_nobody_has_looked_yet() -> None:
    transaction = Transaction("t", new_record(S.ONGOING))
    assert waits_for(transaction, BEGIN_MS + 60_500) == "open for 60 s; about to be aborted"


def test_a_description_is_for_a_person(filled: TransactionBench) -> None:
    described = list(describe_transactions(filled.coordinator.store, BEGIN_MS))
    assert [one["transactional_id"] for one in described] == ["aborted", "empty", "open"]
    assert described[-1] == {
        "transactional_id": "open",
        "state": "Ongoing",
        "producer_id": 7,
        "producer_epoch": 3,
        "version": "classic",
        "timeout_ms": 60_000,
        "partitions": ["t-0", "t-1"],
        "waits_for": "open for 0 ms; aborted in 60 s unless it ends",
    }
