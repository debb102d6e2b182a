"""The core of a transactional producer, event by event, against coordinators that follow Kafka's rules."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from odradek.base.chance import SeededChance
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, ProducerFatal, TransactionAbortable
from odradek.client.core.membership.group_metadata import GroupMetadata
from odradek.client.core.offset_and_metadata import OffsetAndMetadata
from odradek.client.core.producer.batch import Done, record_bytes_max
from odradek.client.core.producer.delivery import ProducerCore
from odradek.client.core.producer.settings import ProducerSettings
from odradek.client.core.producer.transaction import NEXT, State, Step, Transaction
from odradek.client.core.producer.transaction_core import TransactionCore
from odradek.client.core.requests import Outcome, Send, ToCoordinator
from odradek.client.core.routing import Routing
from odradek.client.core.waiting import Cause
from odradek.wire.messages.add_partitions_to_txn import AddPartitionsToTxnResponse
from odradek.wire.messages.produce import ProduceRequest
from odradek.wire.messages.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitResponse
from tests.client.core.producer.model_broker import known_view, lost
from tests.client.core.producer.model_coordinator import ORDERS, ModelCoordinator

GROUP = GroupMetadata("g")


class Rig:
    """The cores of one producer, the model, and the requests between them."""

    def __init__(self, version: int, **given: int) -> None:
        chance = SeededChance(1)
        limits = {"linger_ms": 0, "batch_size": 0, **given}
        options = ProducerSettings(transactional_id="t", **limits)  # type: ignore[arg-type]
        view = known_view()
        self.transaction = Transaction("t")
        self.batches = ProducerCore(options, view, chance, self.transaction)
        self.core = TransactionCore(options, self.transaction, self.batches, Routing(view, chance), chance)
        self.model = ModelCoordinator(version)
        self.now_ms = 0
        self.flight: list[Send] = []
        self.done: list[Done] = []

    def pump(self, *, ms: int = 0) -> list[str]:
        """Let time go by, and take what is to be sent; returns the names of what is new."""
        self.now_ms += ms
        new = [*self.batches.due(self.now_ms), *self.core.due(self.now_ms)]
        self.flight += new
        self.done += self.batches.take_done()
        return [type(send.request).__name__.removesuffix("Request") for send in new]

    def answer(self, refusal: ErrorCode = ErrorCode.NONE) -> None:
        """The oldest request is carried out, or refused."""
        send = self.flight.pop(0)
        self._give(self.model.answer(send, refusal))

    def lose(self, *, is_done: bool) -> None:
        """The oldest request is carried out, or not, and its answer is lost."""
        send = self.flight.pop(0)
        if is_done:
            self.model.answer(send)
        self._give(lost(send))

    def _give(self, outcome: object) -> None:
        core = self.batches if isinstance(outcome.send.request, ProduceRequest) else self.core  # type: ignore[attr-defined]
        core.outcome(outcome, self.now_ms)  # type: ignore[arg-type]
        self.done += self.batches.take_done()

    def append(self, value: bytes) -> None:
        record_bytes = record_bytes_max(None, value, ())
        assert self.batches.append(ORDERS, 0, None, value, (), record_bytes, self.now_ms) is not None

    def names(self) -> list[str]:
        """From now on nothing goes wrong: the requests until the cores want no more, one after another."""
        found = []
        for _ in range(100):
            found += self.pump(ms=0 if self.flight else 1_000)
            if not self.flight:
                found += self.pump(ms=1_000)
                if not self.flight:
                    return found
            self.answer()
        raise AssertionError("it does not come to rest")


def ready(version: int, **given: int) -> Rig:
    rig = Rig(version, **given)
    step = rig.transaction.init()
    assert rig.names() == ["ApiVersions", "InitProducerId"]
    assert step.is_done
    return rig


def ended(step: Step) -> ApiError | None:
    assert step.is_done
    return step.error


def test_transactions_v1_tell_the_coordinator_first() -> None:
    rig = ready(1)
    rig.transaction.begin()
    rig.append(b"a")
    assert rig.pump() == ["AddPartitionsToTxn"]
    rig.answer()
    assert rig.pump() == ["Produce"]
    assert rig.flight[0].highest == 11
    rig.append(b"b")
    rig.transaction.send_offsets({ORDERS: OffsetAndMetadata(5)}, GROUP)
    step = rig.transaction.commit()
    assert rig.pump() == ["AddOffsetsToTxn"]
    assert rig.names() == ["Produce", "TxnOffsetCommit", "EndTxn"]
    assert ended(step) is None
    assert rig.model.committed == [b"a", b"b"]
    assert rig.model.offsets == {0: 5}
    assert rig.model.epoch == 0, "v1 keeps its epoch"


def test_transactions_v2_send_the_records_at_once_and_get_an_epoch_each() -> None:
    rig = ready(2)
    for number in range(3):
        rig.transaction.begin()
        rig.append(b"%d" % number)
        rig.transaction.send_offsets({ORDERS: OffsetAndMetadata(number)}, GROUP)
        step = rig.transaction.commit()
        assert rig.pump() == ["Produce", "TxnOffsetCommit"]
        assert [send.highest for send in rig.flight] == [12, 5]
        assert rig.flight[1].to == ToCoordinator("g")
        assert rig.names() == ["EndTxn"]
        assert ended(step) is None
        assert rig.model.epoch == number + 1
    assert rig.model.committed == [b"0", b"1", b"2"]


def test_offsets_that_the_answer_leaves_out_are_not_taken_for_committed() -> None:
    rig = ready(2)
    rig.transaction.begin()
    step = rig.transaction.send_offsets({ORDERS: OffsetAndMetadata(5)}, GROUP)
    assert rig.pump() == ["TxnOffsetCommit"]
    rig.core.outcome(Outcome(rig.flight.pop(0), TxnOffsetCommitResponse()), rig.now_ms)
    error = ended(step)
    assert isinstance(error, ProducerFatal)
    assert error.code is ErrorCode.UNKNOWN_SERVER_ERROR


def test_partitions_that_the_answer_leaves_out_are_not_taken_for_added() -> None:
    rig = ready(1)
    rig.transaction.begin()
    rig.append(b"a")
    assert rig.pump() == ["AddPartitionsToTxn"]
    rig.core.outcome(Outcome(rig.flight.pop(0), AddPartitionsToTxnResponse()), rig.now_ms)
    assert rig.pump() == [], "no record is sent that no marker would end"
    assert rig.transaction.state is State.FATAL_ERROR


@pytest.mark.parametrize("version", [1, 2])
def test_offsets_that_are_refused_after_the_abort_began_do_not_keep_it_from_ending(version: int) -> None:
    rig = ready(version)
    rig.transaction.begin()
    rig.transaction.send_offsets({ORDERS: OffsetAndMetadata(5)}, GROUP)
    while rig.pump() != ["TxnOffsetCommit"]:
        rig.answer()
    step = rig.transaction.abort()
    rig.answer(ErrorCode.TRANSACTION_ABORTABLE)
    rig.names()
    assert ended(step) is None
    assert rig.model.open is None


@pytest.mark.parametrize("version", [1, 2])
def test_a_batch_of_a_transaction_that_is_too_large_is_committed_in_parts(version: int) -> None:
    rig = ready(version, batch_size=1_000)
    rig.model.batch_bytes_max = 300
    rig.transaction.begin()
    values = [b"%d " % number + b"x" * 100 for number in range(7)]
    for value in values:
        rig.append(value)
    step = rig.transaction.commit()
    rig.batches.flush()
    rig.names()
    assert ended(step) is None
    assert rig.model.committed == values
    assert sum(done.records for done in rig.done) == len(values)
    assert {done.error for done in rig.done} == {None}


@pytest.mark.parametrize("version", [1, 2])
def test_a_record_that_is_too_large_by_itself_aborts_its_transaction(version: int) -> None:
    rig = ready(version, batch_size=1_000)
    rig.model.batch_bytes_max = 300
    rig.transaction.begin()
    for size in (10, 400, 10):
        rig.append(b"x" * size)
    step = rig.transaction.commit()
    rig.batches.flush()
    rig.names()
    error = ended(step)
    assert isinstance(error, TransactionAbortable)
    assert error.code is ErrorCode.MESSAGE_TOO_LARGE
    rig.transaction.abort()
    rig.names()
    rig.transaction.begin()
    rig.append(b"next")
    rig.transaction.commit()
    rig.names()
    assert rig.model.committed == [b"next"]
    assert (
        rig.batches.figures(rig.now_ms)["buffer-available-bytes"]
        == rig.batches.figures(rig.now_ms)["buffer-total-bytes"]
    )


@pytest.mark.parametrize("version", [1, 2])
def test_a_transaction_without_records_ends_without_a_word(version: int) -> None:
    rig = ready(version)
    for call in (rig.transaction.commit, rig.transaction.abort):
        rig.transaction.begin()
        step = call()
        assert rig.pump() == []
        assert ended(step) is None


def test_before_v2_a_failed_batch_costs_an_epoch() -> None:
    rig = ready(1)
    rig.transaction.begin()
    rig.append(b"a")
    rig.pump()
    rig.answer()
    rig.pump()
    rig.answer(ErrorCode.MESSAGE_TOO_LARGE)
    with pytest.raises(TransactionAbortable, match="must be aborted"):
        rig.append(b"b")
    step = rig.transaction.abort()
    assert rig.names() == ["EndTxn", "InitProducerId"]
    assert ended(step) is None
    rig.transaction.begin()
    rig.append(b"c")
    rig.transaction.commit()
    rig.names()
    assert rig.model.committed == [b"c"]
    assert not rig.model.fences


def test_before_v2_a_lost_addition_is_repeated_before_the_abort() -> None:
    rig = ready(1)
    rig.transaction.begin()
    rig.append(b"a")
    rig.pump()
    rig.lose(is_done=False)
    step = rig.transaction.abort()
    assert rig.names() == ["AddPartitionsToTxn", "EndTxn"]
    assert ended(step) is None
    assert rig.model.open is None


@pytest.mark.parametrize("version", [1, 2])
def test_a_lost_end_is_asked_for_again(version: int) -> None:
    rig = ready(version)
    rig.transaction.begin()
    rig.append(b"a")
    step = rig.transaction.commit()
    while rig.pump() != ["EndTxn"]:
        rig.answer()
    rig.lose(is_done=True)
    assert rig.transaction.commit() is step
    assert rig.names() == ["EndTxn"]
    assert ended(step) is None
    assert rig.model.committed == [b"a"]


def test_markers_that_are_still_written_are_waited_for_shortly() -> None:
    rig = ready(2)
    rig.transaction.begin()
    rig.append(b"a")
    rig.pump()
    rig.answer(ErrorCode.CONCURRENT_TRANSACTIONS)
    assert rig.pump(ms=10) == []
    assert rig.pump(ms=10) == ["Produce"]


@pytest.mark.parametrize("code", [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED])
def test_a_fenced_producer_can_do_nothing_more(code: ErrorCode) -> None:
    rig = ready(1)
    rig.transaction.begin()
    rig.append(b"a")
    rig.pump()
    rig.answer(code)
    rig.pump()
    assert [done.error is not None for done in rig.done] == [True]
    for call in (rig.transaction.begin, rig.transaction.commit, rig.transaction.abort):
        with pytest.raises(ProducerFatal, match="another producer with transactional id t"):
            call()
    assert rig.transaction.state is State.FATAL_ERROR
    (why,) = rig.core.why(rig.now_ms)
    assert (why.cause, why.data["transactional_id"]) == (Cause.FENCED, "t")


def test_a_producer_that_is_refused_says_so() -> None:
    rig = ready(1)
    rig.transaction.begin()
    rig.append(b"a")
    rig.pump()
    rig.answer(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    (why,) = rig.core.why(rig.now_ms)
    data = {"transactional_id": "t", "code": "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"}
    assert (why.cause, why.data) == (Cause.REFUSED, data)


def test_a_transaction_that_is_held_up_says_by_which_error() -> None:
    rig = ready(1)
    rig.transaction.begin()
    rig.append(b"a")
    rig.pump()
    rig.answer(ErrorCode.CONCURRENT_TRANSACTIONS)
    (why,) = rig.core.why(rig.now_ms)
    assert (why.cause, why.data["code"]) == (Cause.RETRY, "CONCURRENT_TRANSACTIONS")


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, TransactionAbortable),
        (ErrorCode.TRANSACTION_ABORTABLE, TransactionAbortable),
        (ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, ProducerFatal),
        (ErrorCode.UNKNOWN_SERVER_ERROR, ProducerFatal),
    ],
)
def test_an_error_of_the_coordinator_fails_the_transaction_or_the_producer(
    code: ErrorCode, kind: type[ApiError]
) -> None:
    rig = ready(1)
    rig.transaction.begin()
    rig.append(b"a")
    step = rig.transaction.commit()
    rig.pump()
    rig.answer(code)
    assert type(ended(step)) is kind
    assert rig.names() == []
    if kind is TransactionAbortable:
        assert not (again := rig.transaction.abort()).is_done
        assert rig.names() == [], "nothing was added: there is nothing to end"
        assert ended(again) is None


def test_a_producer_that_the_coordinator_forgot_gets_another_id() -> None:
    rig = ready(1)
    rig.transaction.begin()
    rig.append(b"a")
    step = rig.transaction.commit()
    while rig.pump() != ["EndTxn"]:
        rig.answer()
    rig.answer(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    assert type(ended(step)) is TransactionAbortable
    rig.transaction.abort()
    assert rig.names() == ["InitProducerId"]
    assert rig.transaction.state is State.READY


def test_every_state_can_be_left_or_is_the_end() -> None:
    assert [state for state in State if not NEXT[state]] == [State.FATAL_ERROR]


REFUSALS = st.sampled_from(
    [ErrorCode.NONE] * 6
    + [
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.TRANSACTION_ABORTABLE,
    ]
)


class Transactions(RuleBasedStateMachine):
    """Whatever is lost and refused: what is committed is what was committed, each transaction whole."""

    @initialize(version=st.sampled_from([1, 2]), is_hasty=st.booleans())
    def start(self, version: int, is_hasty: bool) -> None:
        limits = {"delivery_timeout_ms": 900, "request_timeout_ms": 500} if is_hasty else {}
        self.rig = ready(version, **limits)
        self.number = 0
        # The values and the offset of the transaction under way.
        self.values: list[bytes] = []
        self.offset: int | None = None
        # What must be committed, and what may be: the outcome of a commit is not known yet.
        self.kept: list[bytes] = []
        self.kept_offset: int | None = None
        self.step: Step | None = None
        self.is_commit = False

    @property
    def state(self) -> State:
        return self.rig.transaction.state

    @precondition(lambda self: self.state is State.READY and self.step is None)
    @rule()
    def begin(self) -> None:
        self.rig.transaction.begin()
        self.values, self.offset = [], None

    @precondition(lambda self: self.state is State.IN_TRANSACTION)
    @rule()
    def append(self) -> None:
        self.number += 1
        self.values.append(b"%d" % self.number)
        self.rig.append(self.values[-1])
        self.settle()

    @precondition(lambda self: self.state is State.IN_TRANSACTION)
    @rule()
    def send_offsets(self) -> None:
        self.number += 1
        self.offset = self.number
        self.rig.transaction.send_offsets({ORDERS: OffsetAndMetadata(self.offset)}, GROUP)
        self.settle()

    @precondition(lambda self: self.state is State.IN_TRANSACTION)
    @rule()
    def commit(self) -> None:
        self.step, self.is_commit = self.rig.transaction.commit(), True
        self.rig.batches.flush()
        self.settle()

    @precondition(lambda self: self.state in (State.IN_TRANSACTION, State.ABORTABLE_ERROR))
    @rule()
    def abort(self) -> None:
        self.step, self.is_commit = self.rig.transaction.abort(), False
        self.settle()

    @precondition(lambda self: self.rig.flight)
    @rule(refusal=REFUSALS)
    def answer(self, refusal: ErrorCode) -> None:
        # Coordinators refuse so only what has not been done before.
        may_fail = isinstance(self.rig.flight[0].request, ProduceRequest | TxnOffsetCommitRequest)
        if refusal is ErrorCode.TRANSACTION_ABORTABLE and not may_fail:
            refusal = ErrorCode.NONE
        self.rig.answer(refusal)
        self.settle()

    @precondition(lambda self: self.rig.flight)
    @rule(is_done=st.booleans())
    def lose(self, is_done: bool) -> None:
        self.rig.lose(is_done=is_done)
        self.settle()

    @rule(ms=st.integers(0, 1_200))
    def wait(self, ms: int) -> None:
        self.rig.pump(ms=ms)
        self.settle()

    def settle(self) -> None:
        self.rig.pump()
        if self.step is not None and self.step.is_done:
            if self.is_commit and self.step.error is None:
                self.kept += self.values
                self.kept_offset = self.kept_offset if self.offset is None else self.offset
            self.step = None

    @invariant()
    def committed_is_what_was_committed(self) -> None:
        if not hasattr(self, "rig"):
            return
        assert self.state is not State.FATAL_ERROR, self.rig.transaction.error
        committed = self.rig.model.committed
        if self.state is State.COMMITTING or (self.step is None and not self.rig.flight):
            assert committed in (self.kept, self.kept + self.values)
        assert committed[: len(self.kept)] == self.kept
        assert not self.rig.model.fences or self.rig.model.version == 2

    def teardown(self) -> None:
        if not hasattr(self, "rig"):
            return
        self.rig.names()
        self.settle()
        if self.state in (State.IN_TRANSACTION, State.ABORTABLE_ERROR):
            self.abort()
            self.rig.names()
            self.settle()
        assert self.state is State.READY
        assert self.rig.model.open is None
        assert self.rig.model.committed == self.kept
        assert self.rig.model.offsets.get(0) == self.kept_offset


TestTransactions = pytest.mark.slow(Transactions.TestCase)
TestTransactions.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def opened() -> Transaction:
    """A transaction in which nothing was written yet."""
    transaction = Transaction("t")
    transaction.init()
    transaction.initialized()
    transaction.begin()
    return transaction


def test_the_outcome_of_a_commit_whose_caller_gave_up_is_told_to_the_next_call() -> None:
    """As Kafka's producer does: else nobody could know whether it was committed."""
    transaction = opened()
    step = transaction.commit()
    transaction.give_up(step)
    assert transaction.commit() is step
    transaction.give_up(step)
    transaction.ended()
    with pytest.raises(
        ApiError, match="begin_transaction: the commit before it has ended, and nobody was told"
    ):
        transaction.begin()
    with pytest.raises(ApiError, match="abort_transaction: the commit before it has ended"):
        transaction.abort()
    assert transaction.commit() is step
    assert ended(step) is None
    with pytest.raises(ApiError, match="no transaction was begun"):
        transaction.commit()
    transaction.begin()


def test_the_failure_of_a_commit_whose_caller_gave_up_is_told_to_the_next_call() -> None:
    transaction = opened()
    step = transaction.commit()
    transaction.give_up(step)
    transaction.fail(ApiError(ErrorCode.INVALID_TXN_STATE, "gone"))
    assert isinstance(ended(transaction.commit()), TransactionAbortable)
    transaction.abort()
    transaction.ended()
    transaction.begin()


def test_an_abort_or_an_initialization_whose_caller_gave_up_can_be_called_again_or_not() -> None:
    transaction = Transaction("t")
    step = transaction.init()
    transaction.give_up(step)
    transaction.initialized()
    assert transaction.init() is step
    transaction.begin()
    for calls_again in (True, False):
        step = transaction.abort()
        transaction.give_up(step)
        transaction.ended()
        if calls_again:
            assert transaction.abort() is step
        transaction.begin()
    with pytest.raises(ApiError, match="called already"):
        transaction.init()
