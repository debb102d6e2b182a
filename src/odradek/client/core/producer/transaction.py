"""The transactions of one producer, one after another: which calls are allowed, and what an error leads to.

    UNINITIALIZED ──init──► INITIALIZING ──► READY ──begin──► IN_TRANSACTION ──commit──► COMMITTING ──► READY
                                 ▲                             │         │                   │
               a new epoch       │                           abort     error               error
               is needed         │                             ▼         ▼                   │
                    READY ◄── ABORTING ◄──────abort────────────┴── ABORTABLE_ERROR ◄─────────┘

A *fatal* error leads from anywhere to FATAL_ERROR, which nothing ends: another producer has this
transactional id now, or the producer may not use it. Any other error of a record or of the coordinator is
*abortable*: the application aborts, and may begin again.

Which requests that takes is in `transaction_core`. Invariants: nothing is committed after an error of one of
the transaction's records. Each `Step` ends once.
"""

from collections import deque
from collections.abc import Mapping
from enum import Enum, auto
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, ProducerFatal, TransactionAbortable
from odradek.base.ids import TopicPartition
from odradek.client.core.membership.group_metadata import GroupMetadata
from odradek.client.core.offset_and_metadata import OffsetAndMetadata


class State(Enum):
    """See the module."""

    UNINITIALIZED = auto()
    INITIALIZING = auto()
    READY = auto()
    IN_TRANSACTION = auto()
    COMMITTING = auto()
    ABORTING = auto()
    ABORTABLE_ERROR = auto()
    FATAL_ERROR = auto()


NEXT: Final[Mapping[State, frozenset[State]]] = {
    State.UNINITIALIZED: frozenset({State.INITIALIZING, State.FATAL_ERROR}),
    State.INITIALIZING: frozenset({State.READY, State.FATAL_ERROR}),
    State.READY: frozenset({State.IN_TRANSACTION, State.FATAL_ERROR}),
    State.IN_TRANSACTION: frozenset(
        {State.COMMITTING, State.ABORTING, State.ABORTABLE_ERROR, State.FATAL_ERROR}
    ),
    State.COMMITTING: frozenset({State.READY, State.ABORTABLE_ERROR, State.FATAL_ERROR}),
    State.ABORTING: frozenset({State.READY, State.INITIALIZING, State.FATAL_ERROR}),
    State.ABORTABLE_ERROR: frozenset({State.ABORTING, State.FATAL_ERROR}),
    State.FATAL_ERROR: frozenset(),
}
"""What may follow each state."""

_WRITABLE: Final = frozenset({State.IN_TRANSACTION, State.COMMITTING})
FATAL_CODES: Final = frozenset(
    {
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.UNSUPPORTED_VERSION,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    }
)
"""Errors of records after which an abort is no use."""


class Step:
    """What a call of the application waits for."""

    __slots__ = ("error", "is_done", "state")

    def __init__(self, state: "State | None" = None) -> None:
        self.state = state
        """That of the transaction while it lasts; None for offsets."""
        self.is_done = False
        """Whether it has ended, well or not."""
        self.error: ApiError | None = None
        """Why it ended without effect; None until then, and if it had its effect."""

    def end(self, error: ApiError | None = None) -> None:
        """It ends here."""
        assert not self.is_done
        self.is_done, self.error = True, error


class OffsetsStep(Step):
    """The offsets of one group that are to be committed with the transaction."""

    __slots__ = ("group", "left")

    def __init__(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group: GroupMetadata) -> None:
        super().__init__()
        self.left: Final = dict(offsets)
        """Those that the group's coordinator has not taken yet."""
        self.group: Final = group


class Transaction:
    """See the module."""

    def __init__(self, transactional_id: str) -> None:
        self.transactional_id: Final = transactional_id
        self.state = State.UNINITIALIZED
        self.error: ApiError | None = None
        """Why it is in one of the error states; None in the others, and while it aborts."""
        self.is_v2 = False
        """Whether leaders and coordinators add partitions and groups themselves (KIP-890); set while
        INITIALIZING."""
        self.new_partitions: dict[TopicPartition, None] = {}
        """Those that the coordinator must be told of before a record is sent to them."""
        self._added: set[TopicPartition] = set()
        self.groups: set[str] = set()
        """The groups that the coordinator knows of; only before v2."""
        self.offsets: deque[OffsetsStep] = deque()
        """Commits of offsets that have not ended, in order."""
        self.is_started = False
        """Whether the coordinator may know of this transaction, so that it must be ended there."""
        self.needs_epoch = False
        """Whether the next transaction needs another epoch: a batch with sequence numbers failed."""
        self.is_forgotten = False
        """Whether the coordinator has no such producer any more, so that there is nothing to end."""
        # What the initialization, the commit or the abort under way waits for; None while there is none.
        self._step: Step | None = None
        # The last of them whose caller gave up before it was told the outcome; None if each was told.
        self._untold: Step | None = None

    # --- the application's calls

    def init(self) -> Step:
        """Get a producer id, and end what an earlier producer with this transactional id left open."""
        if (untold := self._take_untold(State.INITIALIZING)) is not None:
            return untold
        if self.state is State.INITIALIZING and self._step is not None:
            return self._step
        if self.state is not State.UNINITIALIZED:
            self._raise_error()
            raise _misuse("init_transactions was called already")
        return self._enter(State.INITIALIZING)

    def begin(self) -> None:
        """Begin a transaction; not before the outcome of the last commit was told."""
        self._check(State.READY, "begin_transaction")
        self._check_told("begin_transaction")
        self._untold = None
        self._to(State.IN_TRANSACTION)

    def check_open(self) -> None:
        """Raises ApiError unless records can be written now."""
        self._check(State.IN_TRANSACTION, "send")

    def write_to(self, partition: TopicPartition) -> None:
        """A record was added for this partition."""
        if self.is_v2:
            self.is_started = True
        elif partition not in self._added:
            self.new_partitions[partition] = None

    def send_offsets(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group: GroupMetadata
    ) -> OffsetsStep:
        """Commit these offsets with the transaction."""
        self._check(State.IN_TRANSACTION, "send_offsets_to_transaction")
        step = OffsetsStep(offsets, group)
        if offsets:
            self.offsets.append(step)
        else:
            step.end()
        return step

    def commit(self) -> Step:
        """Commit, when all records and offsets are acknowledged; again: the same step."""
        if (untold := self._take_untold(State.COMMITTING)) is not None:
            return untold
        if self.state is State.COMMITTING and self._step is not None:
            return self._step
        self._check(State.IN_TRANSACTION, "commit_transaction")
        return self._enter(State.COMMITTING)

    def abort(self) -> Step:
        """Abort; again: the same step."""
        if (untold := self._take_untold(State.ABORTING)) is not None:
            return untold
        if self.state is State.READY:
            self._check_told("abort_transaction")
        if self.state in (State.ABORTING, State.INITIALIZING) and self._step is not None:
            return self._step
        if self.state is not State.ABORTABLE_ERROR:
            self._check(State.IN_TRANSACTION, "abort_transaction")
        self._end_offsets(_aborted())
        self.error = self._untold = None
        return self._enter(State.ABORTING)

    def give_up(self, step: Step) -> None:
        """Its caller waits no longer: whatever becomes of it is told to the next call of the same kind."""
        if step.state is not None:
            self._untold = step

    # --- what the cores ask

    @property
    def has_open(self) -> bool:
        """Whether a transaction is open that the application can still abort."""
        return self.state in (State.IN_TRANSACTION, State.ABORTABLE_ERROR)

    @property
    def is_dropping(self) -> bool:
        """Whether records that were not sent must not be sent any more."""
        return self.state in (State.ABORTABLE_ERROR, State.ABORTING, State.FATAL_ERROR)

    @property
    def is_writable(self) -> bool:
        """Whether records and offsets may be sent."""
        return self.state in _WRITABLE

    @property
    def drop_error(self) -> ApiError:
        """What the deliveries of dropped records get."""
        return self.error or _aborted()

    def may_write(self, partition: TopicPartition) -> bool:
        """Whether records of this partition may be sent now."""
        return self.is_writable and (self.is_v2 or partition in self._added)

    # --- what became of requests

    def initialized(self) -> None:
        """The producer has its id and epoch."""
        self._leave()

    def partitions_added(self, partitions: Mapping[TopicPartition, None]) -> None:
        """The coordinator knows these partitions."""
        for partition in partitions:
            self.new_partitions.pop(partition, None)
        self._added.update(partitions)
        self.is_started = True

    def group_added(self, group: str) -> None:
        """The coordinator knows this group."""
        self.groups.add(group)
        self.is_started = True

    def offsets_taken(self) -> None:
        """The first of `offsets` is with its group's coordinator."""
        self.offsets.popleft().end()

    def ended(self) -> None:
        """The coordinator has ended it, or knows nothing of it."""
        needs_epoch = self.needs_epoch
        self._forget()
        if self.state is State.ABORTING and needs_epoch:
            self._to(State.INITIALIZING)
        else:
            self._leave()

    def batch_failed(self, error: ApiError, *, is_stamped: bool) -> None:
        """A batch failed for good; `is_stamped`: it has sequence numbers, and leaves a gap."""
        self.needs_epoch = self.needs_epoch or is_stamped
        if self.state in _WRITABLE:
            self.fail(error, is_fatal=error.code in FATAL_CODES)

    def fail(self, error: ApiError, *, is_fatal: bool = False) -> None:
        """The transaction failed; where no abort helps, the producer has."""
        if self.state is State.FATAL_ERROR:
            return
        if is_fatal or State.ABORTABLE_ERROR not in NEXT[self.state]:
            said = f"{error.message or error.code.name}; this producer can write no more: close it"
            self.error = ProducerFatal(error.code, said)
            self._to(State.FATAL_ERROR)
            self._forget()
        else:
            said = f"{error.message or error.code.name}; the transaction must be aborted"
            self.error = TransactionAbortable(error.code, said)
            self._to(State.ABORTABLE_ERROR)
        self._end_offsets(self.error)
        if self._step is not None:
            self._step.end(self.error)
            self._step = None

    # --- helpers

    def _enter(self, state: State) -> Step:
        self._to(state)
        self._step = Step(state)
        return self._step

    def _take_untold(self, state: State) -> Step | None:
        if self._untold is None or self._untold.state is not state:
            return None
        step, self._untold = self._untold, None
        return step

    def _check_told(self, call: str) -> None:
        if self._untold is not None and self._untold.state is State.COMMITTING:
            said = (
                "the commit before it has ended, and nobody was told how; call commit_transaction to learn it"
            )
            raise _misuse(f"{call}: {said}")

    def _leave(self) -> None:
        self._to(State.READY)
        assert self._step is not None
        self._step.end()
        self._step = None

    def _to(self, state: State) -> None:
        assert state in NEXT[self.state], f"{state} does not follow {self.state}"
        self.state = state

    def _forget(self) -> None:
        self.new_partitions.clear()
        self._added.clear()
        self.groups.clear()
        self.is_started = self.needs_epoch = self.is_forgotten = False

    def _end_offsets(self, error: ApiError) -> None:
        while self.offsets:
            self.offsets.popleft().end(error)

    def _raise_error(self) -> None:
        if self.error is not None:
            raise type(self.error)(self.error.code, self.error.message)

    def _check(self, state: State, call: str) -> None:
        if self.state is state:
            return
        self._raise_error()
        raise _misuse(f"{call}: {_REASONS[self.state]}")


_REASONS: Final = {
    State.UNINITIALIZED: "init_transactions was not called",
    State.INITIALIZING: "init_transactions or an abort has not ended; call it again to wait for it",
    State.READY: "no transaction was begun",
    State.IN_TRANSACTION: "a transaction is open already",
    State.COMMITTING: "the commit of the transaction has not ended; call commit_transaction to wait for it",
    State.ABORTING: "the abort of the transaction has not ended; call abort_transaction to wait for it",
}
"""Why a call is refused in a state that is not an error."""


def _misuse(said: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_TXN_STATE, said)


def _aborted() -> ApiError:
    return ApiError(ErrorCode.TRANSACTION_ABORTABLE, "the transaction was aborted")
