"""The end of a transaction: by its producer's request, by a timeout, or by a new producer of the id.

Pure decisions: each function returns the record to write or an error; NONE means that the work is already
done. The classic way keeps the producer's epoch. With transactions v2 each end begins the next epoch, so that
a late write of the old transaction cannot get into the new one, and the epoch distinguishes a repeated
request from the next one:

    in force 7:3 Ongoing          commit by 7:3         PrepareCommit of 7:4, markers in epoch 4
    in force 7:4 CompleteCommit   commit by 7:3, again  NONE, and the answer is 7:4
    in force 7:4 CompleteCommit   abort by 7:4          PrepareAbort of 7:5: a transaction without partitions
    in force 7:32766, the last    commit by 7:32766     PrepareCommit of 7:32767, then CompleteCommit of 8:0
"""

from dataclasses import replace

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import NO_EPOCH, NO_PRODUCER_ID, ProducerId
from odradek.coordinator.transactions.state import Event, TransactionState, outcome_of
from odradek.coordinator.transactions.transaction import (
    PRODUCER_EPOCH_MAX,
    Producer,
    Transaction,
    TransactionRecord,
    TransactionVersion,
)

_UNTOUCHED = (
    TransactionState.EMPTY,
    TransactionState.COMPLETE_COMMIT,
    TransactionState.COMPLETE_ABORT,
)
"""States without a transaction."""


def end(
    transaction: Transaction,
    producer: Producer,
    *,
    committed: bool,
    version: TransactionVersion,
    new_producer_id: ProducerId,
    now_ms: int,
) -> TransactionRecord | ErrorCode:
    """EndTxn: the Prepare record, which decides.

    `new_producer_id` is for v2 when the epoch is used up, else NO_PRODUCER_ID. Errors: NONE,
    CONCURRENT_TRANSACTIONS, INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED, INVALID_TXN_STATE.
    """
    record = transaction.current
    is_v2 = version is TransactionVersion.V2
    # In v2 the producer may know an id already that is only pending; in the classic way it never does.
    if transaction.is_busy and is_v2:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    event = _v2_event(record, producer, committed) if is_v2 else _classic_event(record, producer, committed)
    if isinstance(event, ErrorCode):
        return event
    if transaction.is_busy:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    outcome = outcome_of(record.state, event)
    if isinstance(outcome, ErrorCode):
        return outcome
    prepared = replace(
        record,
        state=outcome,
        version=version,
        started_ms=now_ms if record.state in _UNTOUCHED else record.started_ms,
        updated_ms=now_ms,
    )
    if not is_v2:
        return prepared
    return replace(
        prepared,
        producer_epoch=record.producer_epoch + 1,
        last_producer_epoch=record.producer_epoch,
        next_producer_id=new_producer_id if record.is_epoch_exhausted else NO_PRODUCER_ID,
    )


def fence(record: TransactionRecord, event: Event, *, now_ms: int) -> TransactionRecord:
    """Abort an open transaction without its producer, whose epoch is over with that.

    The event is TIME_OUT or INIT. The producer may still learn its next epoch, as long as no other producer
    has taken the id: by InitProducerId (KIP-588), in v2 also by the abort that it then asks for. No producer
    is given the last epoch.
    """
    outcome = outcome_of(record.state, event)
    assert outcome is TransactionState.PREPARE_ABORT, f"{event} fences nobody in {record.state.title}"
    assert record.producer_epoch < PRODUCER_EPOCH_MAX, "no producer is given the last epoch"
    return replace(
        record,
        state=outcome,
        producer_epoch=record.producer_epoch + 1,
        last_producer_epoch=NO_EPOCH if record.is_epoch_exhausted else record.producer_epoch,
        updated_ms=now_ms,
    )


def complete(record: TransactionRecord, *, now_ms: int) -> TransactionRecord:
    """The Complete record of a prepared one; the next producer id, if there is one, is in force with it."""
    outcome = outcome_of(record.state, Event.MARKERS_WRITTEN)
    assert isinstance(outcome, TransactionState), f"markers in {record.state.title}"
    completed = replace(record, state=outcome, partitions=frozenset(), updated_ms=now_ms)
    if record.next_producer_id == NO_PRODUCER_ID:
        return completed
    return replace(
        completed,
        producer_id=record.next_producer_id,
        producer_epoch=0,
        previous_producer_id=record.producer_id,
        next_producer_id=NO_PRODUCER_ID,
    )


def _classic_event(record: TransactionRecord, producer: Producer, committed: bool) -> Event | ErrorCode:
    if producer.producer_id != record.producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if producer.epoch != record.producer_epoch or record.is_fenced_off:
        return ErrorCode.PRODUCER_FENCED
    return Event.COMMIT if committed else Event.ABORT


def _v2_event(record: TransactionRecord, producer: Producer, committed: bool) -> Event | ErrorCode:
    # After a classic end the epoch before is that of a producer which was fenced.
    is_again = record.version is TransactionVersion.V2 and record.producer_epoch == producer.epoch + 1
    if producer.producer_id != record.producer_id:
        # Its end used up the last epoch, and the answer with the new id was lost.
        is_again = (
            producer.producer_id == record.previous_producer_id
            and producer.epoch == PRODUCER_EPOCH_MAX - 1
            and record.producer_epoch == 0
        )
        if not is_again:
            return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    elif (not is_again and producer.epoch != record.producer_epoch) or (
        # It was fenced in its last epoch. With a next id the end that it asked for is under way.
        record.is_fenced_off and record.next_producer_id == NO_PRODUCER_ID
    ):
        return ErrorCode.PRODUCER_FENCED
    if is_again:
        return Event.COMMIT_V2_AGAIN if committed else Event.ABORT_V2_AGAIN
    return Event.COMMIT_V2 if committed else Event.ABORT_V2
