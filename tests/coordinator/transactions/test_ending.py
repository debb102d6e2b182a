from dataclasses import replace

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import ProducerId
from odradek.coordinator.transactions import Producer, TransactionVersion
from odradek.coordinator.transactions.ending import complete, end, fence
from odradek.coordinator.transactions.state import Event, TransactionState
from odradek.coordinator.transactions.transaction import Transaction, TransactionRecord
from tests.coordinator.transactions.transaction_bench import new_record

S = TransactionState
V2 = TransactionVersion.V2
LAST = 32766


def attempt(
    record: TransactionRecord,
    producer: Producer,
    *,
    committed: bool = True,
    version: TransactionVersion = TransactionVersion.CLASSIC,
    new_producer_id: ProducerId = -1,
) -> TransactionRecord | ErrorCode:
    return end(
        Transaction("t", record),
        producer,
        committed=committed,
        version=version,
        new_producer_id=new_producer_id,
        now_ms=5,
    )


def decide(
    record: TransactionRecord,
    producer: Producer,
    *,
    committed: bool = True,
    version: TransactionVersion = TransactionVersion.CLASSIC,
    new_producer_id: ProducerId = -1,
) -> TransactionRecord:
    decided = attempt(record, producer, committed=committed, version=version, new_producer_id=new_producer_id)
    assert isinstance(decided, TransactionRecord), decided
    return decided


def test_the_classic_way_keeps_the_epoch() -> None:
    prepared = decide(new_record(S.ONGOING), Producer(7, 3))
    assert (prepared.state, prepared.producer) == (S.PREPARE_COMMIT, Producer(7, 3))
    completed = complete(prepared, now_ms=6)
    assert (completed.state, completed.producer) == (S.COMPLETE_COMMIT, Producer(7, 3))
    assert (completed.partitions, completed.updated_ms) == (frozenset(), 6)


def test_v2_begins_the_next_epoch() -> None:
    """KIP-890"""
    prepared = decide(new_record(S.ONGOING), Producer(7, 3), version=V2)
    assert (prepared.state, prepared.producer) == (S.PREPARE_COMMIT, Producer(7, 4))
    assert prepared.last_producer_epoch == 3
    assert complete(prepared, now_ms=6).producer == Producer(7, 4)


@pytest.mark.parametrize("version", TransactionVersion)
@pytest.mark.parametrize(
    ("producer", "error"),
    [
        (Producer(8, 3), ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        (Producer(7, 1), ErrorCode.PRODUCER_FENCED),
        (Producer(7, 4), ErrorCode.PRODUCER_FENCED),
    ],
)
def test_whoever_is_not_in_force_ends_nothing(
    version: TransactionVersion, producer: Producer, error: ErrorCode
) -> None:
    assert attempt(new_record(S.ONGOING), producer, version=version) is error


@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize("state", [S.COMPLETE_COMMIT, S.COMPLETE_ABORT])
def test_the_epoch_before_a_classic_end_is_a_fenced_producer_and_no_repetition(
    state: S, committed: bool
) -> None:
    """Found by the model: a v2 producer was told that its successor's commit was its own."""
    ended = replace(new_record(state), version=TransactionVersion.CLASSIC)
    assert attempt(ended, Producer(7, 2), version=V2, committed=committed) is ErrorCode.PRODUCER_FENCED


def test_a_v2_abort_needs_no_partition() -> None:
    prepared = decide(new_record(S.COMPLETE_COMMIT), Producer(7, 3), committed=False, version=V2)
    assert (prepared.state, prepared.producer, prepared.started_ms) == (S.PREPARE_ABORT, Producer(7, 4), 5)


def test_v2_uses_up_the_last_epoch_into_a_new_producer_id() -> None:
    record = replace(new_record(S.ONGOING), producer_epoch=LAST)
    prepared = decide(record, Producer(7, LAST), version=V2, new_producer_id=8)
    assert (prepared.producer, prepared.next_producer_id) == (Producer(7, LAST + 1), 8)
    completed = complete(prepared, now_ms=6)
    assert (completed.producer, completed.previous_producer_id) == (Producer(8, 0), 7)
    assert completed.next_producer_id == -1
    assert attempt(completed, Producer(7, LAST), version=V2) is ErrorCode.NONE, "the answer was lost"
    assert attempt(completed, Producer(7, LAST), version=V2, committed=False) is ErrorCode.INVALID_TXN_STATE
    assert attempt(completed, Producer(7, 5), version=V2) is ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_nobody_is_told_another_error_than_to_come_again_while_v2_ends() -> None:
    """A producer may know an id already that is only pending."""
    transaction = Transaction("t", new_record(S.PREPARE_COMMIT))
    given = {"committed": True, "new_producer_id": -1, "now_ms": 0}
    for producer in (Producer(7, 3), Producer(9, 0)):
        assert end(transaction, producer, version=V2, **given) is ErrorCode.CONCURRENT_TRANSACTIONS  # type: ignore[arg-type]
    classic = end(transaction, Producer(9, 0), version=TransactionVersion.CLASSIC, **given)  # type: ignore[arg-type]
    assert classic is ErrorCode.INVALID_PRODUCER_ID_MAPPING


@pytest.mark.parametrize("version", TransactionVersion)
def test_a_fence_takes_one_epoch(version: TransactionVersion) -> None:
    record = replace(new_record(S.ONGOING), version=version)
    fenced = fence(record, Event.TIME_OUT, now_ms=5)
    assert (fenced.state, fenced.producer) == (S.PREPARE_ABORT, Producer(7, 4))
    assert fenced.last_producer_epoch == 3, "its producer may still ask which epoch is its next (KIP-588)"
    assert fenced.partitions == record.partitions


def test_a_v2_producer_that_timed_out_learns_its_epoch_by_aborting() -> None:
    fenced = complete(fence(replace(new_record(S.ONGOING), version=V2), Event.TIME_OUT, now_ms=5), now_ms=6)
    assert attempt(fenced, Producer(7, 3), version=V2, committed=False) is ErrorCode.NONE
    assert attempt(fenced, Producer(7, 3), version=V2, committed=True) is ErrorCode.INVALID_TXN_STATE


def test_the_last_producer_of_an_id_can_be_fenced() -> None:
    fenced = fence(replace(new_record(S.ONGOING), producer_epoch=LAST), Event.INIT, now_ms=5)
    assert fenced.producer_epoch == LAST + 1
    assert fenced.is_epoch_exhausted


@pytest.mark.parametrize("version", TransactionVersion)
@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize("epoch", [LAST, LAST + 1])
def test_the_last_epoch_is_given_to_nobody(version: TransactionVersion, committed: bool, epoch: int) -> None:
    """Whoever had it could not be fenced any more, and its end would begin an epoch beyond all."""
    record = replace(new_record(S.ONGOING), producer_epoch=LAST, version=version)
    fenced = complete(fence(record, Event.TIME_OUT, now_ms=5), now_ms=6)
    assert fenced.last_producer_epoch == -1, "nobody may ask for it by InitProducerId"
    ended = attempt(fenced, Producer(7, epoch), version=version, committed=committed)
    assert ended is ErrorCode.PRODUCER_FENCED
