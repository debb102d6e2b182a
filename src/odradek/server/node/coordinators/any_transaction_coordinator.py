"""The coordinator of a transactional id, wherever it is, as the leaders of partitions ask it (KIP-890).

    verify_partitions    AddPartitionsToTxn, verify only
    add_partitions       AddPartitionsToTxn of version 5, in the name of a producer that leaves adding to us

This broker's own coordinator is asked by a call; another one by a request, with all that is asked of the same
broker meanwhile. A question without an answer is answered NETWORK_EXCEPTION, which producers retry: whether
the partitions were added is unknown then, and adding them again does no harm.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from odradek.base.error_codes import ErrorCode, known_code
from odradek.base.execution import Later, Steps, stepwise
from odradek.base.ids import BrokerId, TopicPartition, by_topic
from odradek.coordinator.transactions import Producer, TransactionVersion
from odradek.server.node.coordinators.internal_topic import InternalTopic
from odradek.server.node.coordinators.transaction_admission import TransactionMembership
from odradek.server.node.peer_batches import PeerBatches
from odradek.wire.message import Message

Errors: TypeAlias = Mapping[TopicPartition, ErrorCode]

_SAYS_NOTHING = (ErrorCode.NONE, ErrorCode.OPERATION_NOT_ATTEMPTED)
"""The other partitions of the same question say what is wrong, if anything is."""


class Question:
    """A question about one transaction, for one coordinator; an `Item` of `PeerBatches`."""

    __slots__ = ("_answered", "_is_over", "partitions", "producer", "transactional_id", "verify_only")

    def __init__(
        self,
        transactional_id: str,
        producer: Producer,
        partitions: Iterable[TopicPartition],
        answered: Later[Errors],
        *,
        verify_only: bool,
    ) -> None:
        self.transactional_id = transactional_id
        self.producer = producer
        self.partitions = tuple(partitions)
        self.verify_only = verify_only
        """Whether the partitions must be in the transaction already; else they are added."""
        self._answered = answered
        # Whether `answered` was called.
        self._is_over = False

    @property
    def key(self) -> str:
        """See `Item.key`: the answer names transactional ids."""
        return self.transactional_id

    @property
    def size(self) -> int:
        """See `Item.size`."""
        return len(self.partitions)

    @property
    def is_wanted(self) -> bool:
        """See `Item.is_wanted`: a producer waits for it."""
        return True

    def refuse(self, code: ErrorCode) -> None:
        """See `Item.refuse`; what went wrong between the brokers is nothing that a producer knows."""
        if code is not ErrorCode.UNKNOWN_SERVER_ERROR:
            code = ErrorCode.NETWORK_EXCEPTION
        self.answer(dict.fromkeys(self.partitions, code))

    def answer(self, errors: Errors) -> None:
        """Give the coordinator's answer to who asked, if none was given yet."""
        if not self._is_over:
            self._is_over = True
            self._answered(errors)


class Questions:
    """The API AddPartitionsToTxn between brokers; a `Kind` of `PeerBatches`."""

    def to_message(self, items: Sequence[Question]) -> Steps[Message]:
        """See `Kind.to_message`."""
        from odradek.wire.messages.add_partitions_to_txn import (
            AddPartitionsToTxnRequest,
            AddPartitionsToTxnTopic,
            AddPartitionsToTxnTransaction,
        )

        request = AddPartitionsToTxnRequest()
        for item in items:
            topics = by_topic(item.partitions)
            yield
            request.transactions.append(
                AddPartitionsToTxnTransaction(
                    item.transactional_id,
                    *item.producer,
                    item.verify_only,
                    [AddPartitionsToTxnTopic(name, numbers) for name, numbers in topics.items()],
                )
            )
        return request

    def read(self, items: Sequence[Question], answer: Message) -> Steps[None]:
        """See `Kind.read`."""
        return _read(items, answer)


def _read(items: Sequence[Question], answer: Any) -> Steps[None]:  # noqa: ANN401 - the API's response
    code = known_code(answer.error_code)
    results = {result.transactional_id: result for result in answer.results_by_transaction}
    yield
    for item in items:
        errors = dict.fromkeys(item.partitions, code or ErrorCode.UNKNOWN_SERVER_ERROR)
        result = results.get(item.transactional_id)
        for topic in () if result is None else result.topic_results:
            rows = yield from stepwise(topic.results_by_partition, partial(_row, topic.name))
            errors.update(rows)
        item.answer(errors)
        yield


def _row(topic: str, row: Any) -> tuple[TopicPartition, ErrorCode]:  # noqa: ANN401 - of the API's response
    return TopicPartition(topic, row.partition_index), known_code(row.partition_error_code)


class AnyTransactionCoordinator:
    """A `TransactionMembership` that asks the coordinator of each transactional id."""

    def __init__(
        self,
        broker_id: BrokerId,
        topic: InternalTopic,
        own: Callable[[], TransactionMembership],
        questions: Callable[[], PeerBatches[Question]],
    ) -> None:
        """`topic` is `__transaction_state`, `own` this broker's coordinator, `questions` go to others."""
        self._broker_id = broker_id
        self._topic = topic
        self._own = own
        self._questions = questions

    def add_partitions(
        self,
        transactional_id: str,
        producer: Producer,
        partitions: Iterable[TopicPartition],
        version: TransactionVersion,
        later: Later[ErrorCode],
    ) -> ErrorCode | None:
        """See `TransactionMembership.add_partitions`; only version 2 is asked of other brokers."""
        if self._topic.leader_of(transactional_id) == self._broker_id:
            return self._own().add_partitions(transactional_id, producer, partitions, version, later)
        coordinator = self._topic.coordinator_of(transactional_id)
        if isinstance(coordinator, ErrorCode):
            return coordinator
        assert version is TransactionVersion.V2, "a classic producer adds its partitions itself"

        def answered(errors: Errors) -> None:
            said = (code for code in errors.values() if code not in _SAYS_NOTHING)
            later(next(said, ErrorCode.NONE))

        question = Question(transactional_id, producer, partitions, answered, verify_only=False)
        self._questions().send(coordinator, question)
        return None

    def verify_partitions(
        self,
        transactional_id: str,
        producer: Producer,
        partitions: Iterable[TopicPartition],
        later: Later[Errors],
    ) -> Errors | None:
        """See `TransactionMembership.verify_partitions`."""
        if self._topic.leader_of(transactional_id) == self._broker_id:
            return self._own().verify_partitions(transactional_id, producer, partitions, later)
        coordinator = self._topic.coordinator_of(transactional_id)
        if isinstance(coordinator, ErrorCode):
            return dict.fromkeys(partitions, coordinator)
        question = Question(transactional_id, producer, partitions, later, verify_only=True)
        self._questions().send(coordinator, question)
        return None
