"""What a transactional producer asks of coordinators: one request at a time, in the order that Kafka wants.

    INITIALIZING      ApiVersions (once: transactions v2 or not), InitProducerId
    IN_TRANSACTION    before v2: AddPartitionsToTxn, AddOffsetsToTxn; then TxnOffsetCommit
    COMMITTING        the same, then, when all batches are acknowledged, EndTxn
    ABORTING          EndTxn, when no request with a batch is under way; InitProducerId if an epoch is needed

`transaction` says which state that is, and what an answer leads to. Invariant: before v2, EndTxn is sent only
when it is certain which partitions and groups the coordinator knows: a request that may have been carried out
is sent again first.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from odradek.base.chance import Chance
from odradek.base.error_codes import ErrorCode, known_code
from odradek.base.errors import ApiError
from odradek.base.ids import TopicPartition
from odradek.client.core.backoff import Backoff
from odradek.client.core.producer.delivery import ProducerCore
from odradek.client.core.producer.settings import ProducerSettings
from odradek.client.core.producer.transaction import OffsetsStep, State, Transaction
from odradek.client.core.requests import CoordinatorKind, Outcome, Send, ToCoordinator
from odradek.client.core.routing import Routing
from odradek.client.core.waiting import Cause, Why
from odradek.client.refusal import name_of
from odradek.net.request_pipeline import NotConnected
from odradek.wire.message import Message
from odradek.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from odradek.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from odradek.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from odradek.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from odradek.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from odradek.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)

_FEATURE: Final = "transaction.version"
_V2_LEVEL: Final = 2
# Version 5 names the node that is meant, which is not known here.
_API_VERSIONS_MAX: Final = 4
_INIT_MAX: Final = 5
# Later versions have several transactions in one request: they are for brokers.
_ADD_PARTITIONS_MAX: Final = 3
_ADD_OFFSETS_MAX: Final = 3
# The last versions of transactions v1, and of v2.
_END_V1, _END_V2 = 4, 5
_OFFSETS_V1, _OFFSETS_V2 = 4, 5

_FENCED: Final = frozenset({ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED})
_FORGOTTEN: Final = frozenset({ErrorCode.UNKNOWN_PRODUCER_ID, ErrorCode.INVALID_PRODUCER_ID_MAPPING})
_ABORTABLE: Final = frozenset(
    {
        ErrorCode.TRANSACTION_ABORTABLE,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.OPERATION_NOT_ATTEMPTED,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.INVALID_GROUP_ID,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.STALE_MEMBER_EPOCH,
        ErrorCode.FENCED_MEMBER_EPOCH,
        ErrorCode.OFFSET_METADATA_TOO_LARGE,
    }
)
"""After these the transaction is aborted and can be done again; after others without a retry, never."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a request under way is for: the tag of its `Send`."""

    kind: str
    """In words, for errors."""
    take: Callable[[Message], ErrorCode]
    """Takes the answer over; returns the error that it has."""


class TransactionCore:
    """See the module; the driver asks it after the core that sends the batches."""

    def __init__(
        self,
        settings: ProducerSettings,
        transaction: Transaction,
        batches: ProducerCore,
        routing: Routing,
        chance: Chance,
    ) -> None:
        self._settings = settings
        self._transaction = transaction
        assert batches.identity is not None
        self._identity = batches.identity
        self._batches = batches
        self._routing = routing
        self._backoff = Backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms, chance)
        self._coordinator = ToCoordinator(transaction.transactional_id, CoordinatorKind.TRANSACTION)
        # Whether it is known which version of transactions the brokers serve.
        self._is_version_known = False
        # The request without an outcome; None while there is none.
        self._under_way: Send | None = None
        # A request of v1 that may have been carried out; it is sent again before anything else.
        self._in_doubt: Send | None = None
        # When the next request may be sent, how many failed in a row, and what was said last.
        self._not_before_ms = 0
        self._failures = 0
        self._last_error: ApiError | None = None

    # --- the core's side

    def due(self, now_ms: int) -> Sequence[Send]:
        """See `Core`."""
        if self._under_way is not None or now_ms < self._not_before_ms:
            return ()
        send = self._next()
        if send is None:
            return ()
        self._under_way = send
        return (send,)

    def outcome(self, outcome: Outcome, now_ms: int) -> None:
        """See `Core`."""
        send, self._under_way = outcome.send, None
        asked = send.tag
        assert isinstance(asked, _Asked)
        error = outcome.error
        if error is None:
            code = asked.take(outcome.answer(Message))
            self._routing.refused(send, code)
            error = None if code is ErrorCode.NONE else ApiError(code, f"{asked.kind}: {_words(code)}")
        if error is None:
            self._failures, self._last_error, self._in_doubt = 0, None, None
            return
        self._last_error = error
        if error.code.is_retriable:
            if outcome.error is not None and not isinstance(error, NotConnected):
                self._may_be_done(send)
            self._retry(error.code, now_ms)
        else:
            self._in_doubt = None
            self._refused(error, is_ending=isinstance(send.request, EndTxnRequest | InitProducerIdRequest))

    def next_deadline_ms(self) -> int | None:
        """See `Core`."""
        is_waiting = self._under_way is None and self._failures > 0
        return self._not_before_ms if is_waiting and self._has_work else None

    def why(self, now_ms: int) -> list[Why]:
        """What the transaction waits for besides its batches."""
        name = self._transaction.transactional_id
        failed = self._transaction.error
        if failed is not None and (self._transaction.state is State.FATAL_ERROR or failed.code in _FENCED):
            data = {"transactional_id": name, "code": failed.code.name}
            if failed.code in _FENCED:
                text = f"another producer has the transactional id {name}: {failed}"
                return [Why(Cause.FENCED, text, data)]
            return [
                Why(Cause.REFUSED, f"the producer with transactional id {name} has failed: {failed}", data)
            ]
        if self._last_error is not None:
            text = f"transaction {name} is held up: {self._last_error}"
            data = {"transactional_id": name, "code": self._last_error.code.name}
            return [Why(Cause.RETRY, text, {**data, "error": str(self._last_error)})]
        if self._under_way is not None:
            asked = self._under_way.tag
            assert isinstance(asked, _Asked)
            text = f"transaction {name} waits for an answer: {asked.kind}"
            return [Why(Cause.REQUEST, text, {"transactional_id": name})]
        return []

    # --- which request comes next

    @property
    def _has_work(self) -> bool:
        state = self._transaction.state
        is_waited_for = state in (State.INITIALIZING, State.COMMITTING, State.ABORTING)
        has_news = bool(self._transaction.new_partitions or self._transaction.offsets)
        return is_waited_for or (self._transaction.is_writable and has_news)

    def _next(self) -> Send | None:
        transaction = self._transaction
        if self._in_doubt is not None and transaction.state is not State.FATAL_ERROR:
            return replace(self._in_doubt)
        if transaction.is_writable and transaction.new_partitions:
            return self._add_partitions(dict(transaction.new_partitions))
        if transaction.is_writable and transaction.offsets:
            return self._send_offsets(transaction.offsets[0])
        if transaction.state in (State.COMMITTING, State.ABORTING) and self._batches.is_empty:
            if transaction.is_started and not transaction.is_forgotten:
                return self._end(is_commit=transaction.state is State.COMMITTING)
            transaction.ended()
        if transaction.state is State.INITIALIZING:
            return self._init() if self._is_version_known else self._ask_versions()
        return None

    def _send(self, request: Message, asked: _Asked, *, highest: int, group: str | None = None) -> Send:
        to = self._coordinator if group is None else ToCoordinator(group)
        return Send(to, request, asked, timeout_ms=self._settings.request_timeout_ms, highest=highest)

    def _ask_versions(self) -> Send:
        request = ApiVersionsRequest(client_software_name="odradek", client_software_version="1")

        def take(answer: Message) -> ErrorCode:
            assert isinstance(answer, ApiVersionsResponse)
            levels = {one.name: one.max_version_level for one in answer.finalized_features}
            self._transaction.is_v2 = levels.get(_FEATURE, 0) >= _V2_LEVEL
            self._is_version_known = True
            return known_code(answer.error_code)

        asked = _Asked("the coordinator says which transactions it serves", take)
        return self._send(request, asked, highest=_API_VERSIONS_MAX)

    def _init(self) -> Send:
        # With the id and the epoch that it has, a producer that was fenced meanwhile is refused.
        request = InitProducerIdRequest(
            transactional_id=self._transaction.transactional_id,
            transaction_timeout_ms=self._settings.transaction_timeout_ms,
            producer_id=self._identity.producer_id,
            producer_epoch=self._identity.epoch,
        )

        def take(answer: Message) -> ErrorCode:
            assert isinstance(answer, InitProducerIdResponse)
            code = known_code(answer.error_code)
            if code is ErrorCode.NONE:
                self._identity.assigned(answer.producer_id, answer.producer_epoch)
                self._transaction.initialized()
            return code

        return self._send(request, _Asked("the coordinator gives a producer id", take), highest=_INIT_MAX)

    def _add_partitions(self, partitions: Mapping[TopicPartition, None]) -> Send:
        topics: dict[str, list[int]] = defaultdict(list)
        for name, number in partitions:
            topics[name].append(number)
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self._transaction.transactional_id,
            v3_and_below_producer_id=self._identity.producer_id,
            v3_and_below_producer_epoch=self._identity.epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name, numbers) for name, numbers in topics.items()],
        )

        def take(answer: Message) -> ErrorCode:
            assert isinstance(answer, AddPartitionsToTxnResponse)
            codes = {
                TopicPartition(topic.name, one.partition_index): known_code(one.partition_error_code)
                for topic in answer.results_by_topic_v3_and_below
                for one in topic.results_by_partition
            }
            code = _worst_of(partitions, codes)
            if code is ErrorCode.NONE:
                self._transaction.partitions_added(partitions)
            return code

        asked = _Asked("the coordinator adds partitions to the transaction", take)
        return self._send(request, asked, highest=_ADD_PARTITIONS_MAX)

    def _send_offsets(self, step: OffsetsStep) -> Send:
        if self._transaction.is_v2 or step.group.group_id in self._transaction.groups:
            self._transaction.is_started = True
            return self._commit_offsets(step)
        return self._add_group(step.group.group_id)

    def _add_group(self, group: str) -> Send:
        request = AddOffsetsToTxnRequest(
            transactional_id=self._transaction.transactional_id,
            producer_id=self._identity.producer_id,
            producer_epoch=self._identity.epoch,
            group_id=group,
        )

        def take(answer: Message) -> ErrorCode:
            assert isinstance(answer, AddOffsetsToTxnResponse)
            code = known_code(answer.error_code)
            if code is ErrorCode.NONE:
                self._transaction.group_added(group)
            return code

        return self._send(
            request, _Asked(f"the coordinator adds group {group}", take), highest=_ADD_OFFSETS_MAX
        )

    def _commit_offsets(self, step: OffsetsStep) -> Send:
        topics: dict[str, TxnOffsetCommitRequestTopic] = {}
        for (name, number), one in sorted(step.left.items()):
            topic = topics.setdefault(name, TxnOffsetCommitRequestTopic(name))
            topic.partitions.append(
                TxnOffsetCommitRequestPartition(number, one.offset, one.leader_epoch, one.metadata)
            )
        group = step.group
        request = TxnOffsetCommitRequest(
            transactional_id=self._transaction.transactional_id,
            group_id=group.group_id,
            producer_id=self._identity.producer_id,
            producer_epoch=self._identity.epoch,
            generation_id=group.generation_id,
            member_id=group.member_id,
            group_instance_id=group.group_instance_id,
            topics=list(topics.values()),
        )

        def take(answer: Message) -> ErrorCode:
            assert isinstance(answer, TxnOffsetCommitResponse)
            return self._take_offsets(step, answer)

        asked = _Asked(f"group {group.group_id} takes the offsets of the transaction", take)
        highest = _OFFSETS_V2 if self._transaction.is_v2 else _OFFSETS_V1
        return self._send(request, asked, highest=highest, group=group.group_id)

    def _take_offsets(self, step: OffsetsStep, answer: TxnOffsetCommitResponse) -> ErrorCode:
        codes = {
            TopicPartition(topic.name, one.partition_index): known_code(one.error_code)
            for topic in answer.topics
            for one in topic.partitions
        }
        code = _worst_of(step.left, codes)
        for one in [one for one in step.left if codes.get(one) is ErrorCode.NONE]:
            del step.left[one]
        if code is ErrorCode.NONE and not step.is_done:
            self._transaction.offsets_taken()
        return code

    def _end(self, *, is_commit: bool) -> Send:
        request = EndTxnRequest(
            transactional_id=self._transaction.transactional_id,
            producer_id=self._identity.producer_id,
            producer_epoch=self._identity.epoch,
            committed=is_commit,
        )

        def take(answer: Message) -> ErrorCode:
            assert isinstance(answer, EndTxnResponse)
            code = known_code(answer.error_code)
            if code is ErrorCode.NONE:
                if self._transaction.is_v2 and answer.producer_epoch >= 0:
                    self._identity.assigned(answer.producer_id, answer.producer_epoch)
                    self._transaction.needs_epoch = False
                self._transaction.ended()
            return code

        words = "commits" if is_commit else "aborts"
        highest = _END_V2 if self._transaction.is_v2 else _END_V1
        return self._send(request, _Asked(f"the coordinator {words} the transaction", take), highest=highest)

    # --- errors

    def _may_be_done(self, send: Send) -> None:
        if isinstance(send.request, AddPartitionsToTxnRequest | AddOffsetsToTxnRequest):
            self._in_doubt = send

    def _retry(self, code: ErrorCode, now_ms: int) -> None:
        self._not_before_ms = now_ms + self._backoff.after_refusal(code, self._failures)
        self._failures += 1

    def _refused(self, error: ApiError, *, is_ending: bool) -> None:
        """No retry helps; `is_ending`: it is the end of the transaction, or a new epoch, that is refused."""
        transaction = self._transaction
        if transaction.state in (State.READY, State.UNINITIALIZED):
            return
        if error.code in _FENCED:
            error = ApiError(ErrorCode.PRODUCER_FENCED, self._fenced_words(error))
        elif error.code is ErrorCode.INVALID_TXN_STATE:
            error = ApiError(error.code, self._fenced_words(error))
        elif error.code in _FORGOTTEN and transaction.state is not State.INITIALIZING:
            transaction.needs_epoch = transaction.is_forgotten = True
            if transaction.state is not State.ABORTING:
                transaction.fail(error)
            return
        is_over = transaction.state in (State.ABORTABLE_ERROR, State.ABORTING) and not is_ending
        if is_over and error.code in _ABORTABLE:
            return
        transaction.fail(error, is_fatal=error.code not in _ABORTABLE)

    def _fenced_words(self, error: ApiError) -> str:
        name = self._transaction.transactional_id
        return (
            f"{error.message}: another producer with transactional id {name} has been started, "
            "or the transaction was open for longer than transaction.timeout.ms"
        )


def _words(code: ErrorCode) -> str:
    return f"refused, {name_of(code)}"


def _worst_of(partitions: Collection[TopicPartition], codes: Mapping[TopicPartition, ErrorCode]) -> ErrorCode:
    """The error that decides about several partitions: one that no retry helps, if there is one.

    A partition that the answer leaves out is none that the coordinator has taken.
    """
    told = [codes.get(one, ErrorCode.UNKNOWN_SERVER_ERROR) for one in partitions]
    errors = [code for code in told if code is not ErrorCode.NONE]
    final = [code for code in errors if not code.is_retriable]
    serious = [code for code in final if code not in _ABORTABLE]
    for group in (serious, final, errors):
        named = [code for code in group if code is not ErrorCode.OPERATION_NOT_ATTEMPTED]
        if group:
            return (named or group)[0]
    return ErrorCode.NONE
