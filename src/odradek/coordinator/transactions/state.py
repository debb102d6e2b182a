"""The states of a transaction and the one table that says what each event does to them.

The table knows no producer, no clock and no log. An outcome is the state to go to, or the error that
answers the event; NONE answers that what was asked for has happened already.

    the classic way     Empty → Ongoing → PrepareCommit → CompleteCommit → Ongoing ...       one epoch
    transactions v2     the same, and every Prepare begins the producer's next epoch (KIP-890)

`Prepare*` is the decision: from the moment that it is stored the transaction will end that way, whatever
crashes. `Complete*` says that every partition has its marker.
"""

from enum import Enum, IntEnum
from typing import Final, TypeAlias

from odradek.base.error_codes import ErrorCode


class TransactionState(IntEnum):
    """Where a transactional id stands; the numbers are those of the stored records."""

    EMPTY = 0
    """It has a producer and no transaction."""
    ONGOING = 1
    """Partitions have been added to a transaction."""
    PREPARE_COMMIT = 2
    """Decided; the markers are being written."""
    PREPARE_ABORT = 3
    """Decided; the markers are being written."""
    COMPLETE_COMMIT = 4
    """Every marker is written; nothing is open."""
    COMPLETE_ABORT = 5
    """Every marker is written; nothing is open."""
    DEAD = 6
    """Expired; never stored: a tombstone takes the id away."""
    PREPARE_EPOCH_FENCE = 7
    """Kafka's name for the moment between fencing a producer and preparing the abort of what it left open.
    Here both are one record, so that nothing is ever in this state."""

    @property
    def title(self) -> str:
        """As ListTransactions and DescribeTransactions spell it."""
        return _TITLES[self]


_TITLES: Final = {
    state: "".join(word.capitalize() for word in state.name.split("_")) for state in TransactionState
}
STATES_BY_TITLE: Final = {title: state for state, title in _TITLES.items()}


class Event(Enum):
    """What may happen to a transactional id, when its producer has been checked."""

    INIT = "a producer takes the id"
    ADD_PARTITIONS = "partitions are added"
    COMMIT = "the classic commit"
    ABORT = "the classic abort"
    COMMIT_V2 = "a commit that begins the next epoch"
    ABORT_V2 = "an abort that begins the next epoch"
    COMMIT_V2_AGAIN = "a commit from the epoch before: its answer was lost"
    ABORT_V2_AGAIN = "an abort from the epoch before: its answer was lost"
    TIME_OUT = "the transaction is older than its timeout"
    MARKERS_WRITTEN = "every partition has its marker"
    EXPIRE = "the id has not been used for transactional.id.expiration.ms"


NextTransactionState: TypeAlias = TransactionState | ErrorCode

_EMPTY: Final = TransactionState.EMPTY
_ONGOING: Final = TransactionState.ONGOING
_COMMITTING: Final = TransactionState.PREPARE_COMMIT
_ABORTING: Final = TransactionState.PREPARE_ABORT
_COMMITTED: Final = TransactionState.COMPLETE_COMMIT
_ABORTED: Final = TransactionState.COMPLETE_ABORT
_DEAD: Final = TransactionState.DEAD
_DONE: Final = ErrorCode.NONE
_BUSY: Final = ErrorCode.CONCURRENT_TRANSACTIONS
_WRONG: Final = ErrorCode.INVALID_TXN_STATE
_FENCED: Final = ErrorCode.PRODUCER_FENCED

_COLUMNS: Final = (_EMPTY, _ONGOING, _COMMITTING, _ABORTING, _COMMITTED, _ABORTED)
_TABLE: Final[dict[Event, tuple[NextTransactionState, ...]]] = {
    #                      Empty      Ongoing      PrepareCommit PrepareAbort CompleteCommit CompleteAbort
    Event.INIT:            (_EMPTY,    _ABORTING,   _BUSY,        _BUSY,       _EMPTY,        _EMPTY),
    Event.ADD_PARTITIONS:  (_ONGOING,  _ONGOING,    _BUSY,        _BUSY,       _ONGOING,      _ONGOING),
    Event.COMMIT:          (_WRONG,    _COMMITTING, _BUSY,        _BUSY,       _DONE,         _WRONG),
    Event.ABORT:           (_WRONG,    _ABORTING,   _BUSY,        _BUSY,       _WRONG,        _DONE),
    Event.COMMIT_V2:       (_WRONG,    _COMMITTING, _BUSY,        _BUSY,       _WRONG,        _WRONG),
    Event.ABORT_V2:        (_ABORTING, _ABORTING,   _BUSY,        _BUSY,       _ABORTING,     _ABORTING),
    Event.COMMIT_V2_AGAIN: (_FENCED,   _FENCED,     _BUSY,        _BUSY,       _DONE,         _WRONG),
    Event.ABORT_V2_AGAIN:  (_FENCED,   _FENCED,     _BUSY,        _BUSY,       _WRONG,        _DONE),
    Event.TIME_OUT:        (_WRONG,    _ABORTING,   _WRONG,       _WRONG,      _WRONG,        _WRONG),
    Event.MARKERS_WRITTEN: (_WRONG,    _WRONG,      _COMMITTED,   _ABORTED,    _WRONG,        _WRONG),
    Event.EXPIRE:          (_DEAD,     _WRONG,      _WRONG,       _WRONG,      _DEAD,         _DEAD),
}  # fmt: skip

_OUTCOMES: Final = {
    (state, event): outcome
    for event, outcomes in _TABLE.items()
    for state, outcome in zip(_COLUMNS, outcomes, strict=True)
}


def outcome_of(state: TransactionState, event: Event) -> NextTransactionState:
    """What the event does to a transactional id in that state."""
    return _OUTCOMES[state, event]
