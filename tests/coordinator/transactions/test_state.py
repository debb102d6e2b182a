from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.coordinator.transactions import Producer, TransactionVersion
from odradek.coordinator.transactions.state import (
    STATES_BY_TITLE,
    Event,
    NextTransactionState,
    TransactionState,
    outcome_of,
)
from tests.coordinator.transactions.transaction_bench import T2, TransactionBench, new_record

S: TypeAlias = TransactionState
E: TypeAlias = ErrorCode
STORED = tuple(state for state in S if state <= S.COMPLETE_ABORT)
FOLLOWERS = {
    S.EMPTY: {S.EMPTY, S.ONGOING, S.PREPARE_ABORT, S.DEAD},
    S.ONGOING: {S.ONGOING, S.PREPARE_COMMIT, S.PREPARE_ABORT},
    S.PREPARE_COMMIT: {S.COMPLETE_COMMIT},
    S.PREPARE_ABORT: {S.COMPLETE_ABORT},
    S.COMPLETE_COMMIT: {S.EMPTY, S.ONGOING, S.PREPARE_ABORT, S.DEAD},
    S.COMPLETE_ABORT: {S.EMPTY, S.ONGOING, S.PREPARE_ABORT, S.DEAD},
}
"""Which state may follow which, whatever happens (KIP-98, KIP-890)."""


@pytest.mark.parametrize("event", Event)
@pytest.mark.parametrize("state", STORED)
def test_every_event_in_every_state_leads_somewhere_or_is_an_error(state: S, event: Event) -> None:
    outcome = outcome_of(state, event)
    if isinstance(outcome, TransactionState):
        assert outcome in FOLLOWERS[state]
    else:
        assert outcome in (E.NONE, E.CONCURRENT_TRANSACTIONS, E.INVALID_TXN_STATE, E.PRODUCER_FENCED)


@pytest.mark.parametrize("state", FOLLOWERS)
def test_every_way_that_is_allowed_is_taken_by_some_event(state: S) -> None:
    outcomes = {outcome_of(state, event) for event in Event}
    assert {outcome for outcome in outcomes if isinstance(outcome, TransactionState)} == FOLLOWERS[state]


def test_what_is_decided_stays_decided() -> None:
    for prepared, end in ((S.PREPARE_COMMIT, S.COMPLETE_COMMIT), (S.PREPARE_ABORT, S.COMPLETE_ABORT)):
        ways = {one for event in Event if isinstance(one := outcome_of(prepared, event), TransactionState)}
        assert ways == {end}


def test_states_are_spelt_as_kafka_spells_them() -> None:
    assert S.PREPARE_COMMIT.title == "PrepareCommit"
    assert STATES_BY_TITLE["PrepareEpochFence"] is S.PREPARE_EPOCH_FENCE
    assert [state.title for state in S] == list(STATES_BY_TITLE)


def _ask(bench: TransactionBench, event: Event) -> ErrorCode:
    """Let an event happen to what is in epoch 3 of producer 7."""
    now, before = Producer(7, 3), Producer(7, 2)
    v2 = TransactionVersion.V2
    asks: dict[Event, Callable[[], ErrorCode]] = {
        Event.INIT: lambda: bench.init().error,
        Event.ADD_PARTITIONS: lambda: bench.add(now, T2).error,
        Event.COMMIT: lambda: bench.end(now, committed=True).error,
        Event.ABORT: lambda: bench.end(now, committed=False).error,
        Event.COMMIT_V2: lambda: bench.end(now, committed=True, version=v2).error,
        Event.ABORT_V2: lambda: bench.end(now, committed=False, version=v2).error,
        Event.COMMIT_V2_AGAIN: lambda: bench.end(before, committed=True, version=v2).error,
        Event.ABORT_V2_AGAIN: lambda: bench.end(before, committed=False, version=v2).error,
    }
    return asks[event]()


REQUESTS = tuple(
    event for event in Event if event not in (Event.TIME_OUT, Event.MARKERS_WRITTEN, Event.EXPIRE)
)
THROUGH = {S.PREPARE_COMMIT: S.COMPLETE_COMMIT, S.PREPARE_ABORT: S.COMPLETE_ABORT}


@pytest.mark.parametrize("event", REQUESTS)
@pytest.mark.parametrize("state", STORED)
def test_requests_in_every_state_are_answered_by_the_table(
    bench: TransactionBench, state: S, event: Event
) -> None:
    is_again = event in (Event.COMMIT_V2_AGAIN, Event.ABORT_V2_AGAIN)
    version = TransactionVersion.V2 if is_again else TransactionVersion.CLASSIC
    bench.put(replace(new_record(state), version=version))
    outcome: NextTransactionState = outcome_of(state, event)
    error = _ask(bench, event)
    if isinstance(outcome, TransactionState):
        is_fencing = event is Event.INIT and outcome is S.PREPARE_ABORT
        assert error is (E.CONCURRENT_TRANSACTIONS if is_fencing else E.NONE)
        assert bench.record().state is THROUGH.get(outcome, outcome), "markers are written at once here"
    else:
        assert error is outcome
        assert bench.record().state is state


@pytest.mark.parametrize("state", STORED)
def test_timeouts_in_every_state_follow_the_table(bench: TransactionBench, state: S) -> None:
    bench.put(new_record(state))
    bench.clock.advance(60_001)
    is_aborted = outcome_of(state, Event.TIME_OUT) is S.PREPARE_ABORT
    assert bench.abort_timed_out() == is_aborted
    assert bench.record().state is (S.COMPLETE_ABORT if is_aborted else state)


@pytest.mark.parametrize("state", STORED)
def test_expiry_in_every_state_follows_the_table(bench: TransactionBench, state: S) -> None:
    transaction = bench.put(new_record(state))
    bench.clock.advance(7 * 86_400_000)
    is_expired = outcome_of(state, Event.EXPIRE) is S.DEAD
    assert bench.remove_expired() == is_expired
    known = [one for _, one in bench.coordinator.store.transactions()]
    assert known == ([] if is_expired else [transaction])
