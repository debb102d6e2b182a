"""Transactions and idempotent producers: list, describe, fence, abort (KIP-664)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import BrokerId, Offset, ProducerId, TopicPartition, by_topic
from odradek.base.values import value
from odradek.client.core.admin.answering import Missing, ask_those_there, missing_of
from odradek.client.core.admin.cluster import broker_ids
from odradek.client.core.admin.elements import Answered, ask_each, at_once
from odradek.client.core.admin.leaders import ask_leaders
from odradek.client.core.operation import Operation, ask, ask_all, only
from odradek.client.core.requests import CoordinatorKind, Send, ToCoordinator, ToNode
from odradek.client.refusal import raise_for
from odradek.wire.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    TopicRequest,
)
from odradek.wire.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from odradek.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from odradek.wire.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from odradek.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

WRITE_MARKERS_VERSION_MAX: Final = 1
"""Later versions tell the broker that the producer uses transactions v2, which is not known here."""
_FIRST_WITH_DURATION, _FIRST_WITH_PATTERN = 1, 2
FENCING_TIMEOUT_MS: Final = 1
"""The producer id that InitProducerId returns is not used: a transaction of it may end at once."""


@dataclass(frozen=True, slots=True)
class TransactionListing:
    """One transactional id of a list."""

    transactional_id: str
    producer_id: int
    state: str


@dataclass(frozen=True, slots=True)
class TransactionDescription:
    """A transactional id: its producer, and the partitions of its open transaction."""

    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    # When the open transaction began, None when there is none.
    started_ms: int | None
    partitions: list[TopicPartition]


@value
class PartitionProducer:
    """An idempotent or transactional producer, as one partition knows it."""

    partition: TopicPartition
    producer_id: ProducerId
    producer_epoch: int
    coordinator_epoch: int
    """That of the last marker; -1 before the first one."""
    last_sequence: int
    last_timestamp_ms: int
    start_offset: Offset | None
    """Where its open transaction begins; None when it has none."""


# --- requests and answers


def listing_request(
    producer_id: ProducerId | None,
    states: Sequence[str] = (),
    open_for_ms: int | None = None,
    pattern: str | None = None,
) -> ListTransactionsRequest:
    """Asks for the transactional ids that a broker coordinates; see `list_transactions`."""
    return ListTransactionsRequest(
        state_filters=list(states),
        producer_id_filters=[] if producer_id is None else [producer_id],
        duration_filter=-1 if open_for_ms is None else open_for_ms,
        transactional_id_pattern=pattern,
    )


def listed_transactions(answer: ListTransactionsResponse) -> list[TransactionListing]:
    """The transactional ids of an answer. Raises ApiError if the broker refuses."""
    raise_for(answer.error_code, about="listing transactional ids")
    return [
        TransactionListing(one.transactional_id, one.producer_id, one.transaction_state)
        for one in answer.transaction_states
    ]


def described_transaction(
    answer: DescribeTransactionsResponse, name: str | None = None
) -> TransactionDescription:
    """The one transactional id of an answer, which has this name. Raises ApiError if the coordinator does not
    know it."""
    about = "the transactional id"
    found = only(answer.transaction_states, about, name=name, named="transactional_id")
    transactional_id = found.transactional_id
    if found.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
        raise ApiError(
            ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, f"there is no transactional id {transactional_id}"
        )
    raise_for(found.error_code, about=f"transactional id {transactional_id!r}")
    started_ms = found.transaction_start_time_ms
    return TransactionDescription(
        transactional_id,
        found.transaction_state,
        found.producer_id,
        found.producer_epoch,
        found.transaction_timeout_ms,
        None if started_ms < 0 else started_ms,
        sorted(TopicPartition(one.topic, number) for one in found.topics for number in one.partitions),
    )


def producers_request(partitions: Sequence[TopicPartition]) -> DescribeProducersRequest:
    """Asks a leader for the producers of partitions."""
    topics = [TopicRequest(topic, numbers) for topic, numbers in by_topic(partitions).items()]
    return DescribeProducersRequest(topics)


def producers_by_partition(
    answer: DescribeProducersResponse,
) -> Answered[TopicPartition, list[PartitionProducer]]:
    """The producers of each partition of an answer."""
    for answered in answer.topics:
        for part in answered.partitions:
            partition = TopicPartition(answered.name, part.partition_index)
            producers = [
                PartitionProducer(
                    partition,
                    one.producer_id,
                    one.producer_epoch,
                    one.coordinator_epoch,
                    one.last_sequence,
                    one.last_timestamp,
                    None if one.current_txn_start_offset < 0 else one.current_txn_start_offset,
                )
                for one in part.active_producers
            ]
            yield partition, part.error_code, part.error_message, producers


def abort_request(producer: PartitionProducer) -> WriteTxnMarkersRequest:
    """Writes the marker that aborts a producer's open transaction, in its one partition."""
    topic = WritableTxnMarkerTopic(producer.partition.topic, [producer.partition.partition])
    marker = WritableTxnMarker(
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        transaction_result=False,
        topics=[topic],
        coordinator_epoch=max(0, producer.coordinator_epoch),
    )
    return WriteTxnMarkersRequest(markers=[marker])


def aborted(answer: WriteTxnMarkersResponse) -> Answered[TopicPartition, None]:
    """What became of the marker."""
    for marker in answer.markers:
        for topic in marker.topics:
            for one in topic.partitions:
                yield TopicPartition(topic.name, one.partition_index), one.error_code, None, None


# --- operations


def list_transactions(
    producer_id: ProducerId | None = None,
    *,
    states: Sequence[str] = (),
    open_for_ms: int | None = None,
    pattern: str | None = None,
) -> Operation[list[TransactionListing]]:
    """The transactional ids of the cluster, by name.

    Or those of one producer id; in one of these states (`Ongoing`, say); whose transactions have been open
    for longer than `open_for_ms` (KIP-994); that match a regular expression as a whole, in RE2's syntax
    (KIP-1152). Raises ApiError, with INVALID_REGULAR_EXPRESSION for a pattern that is none, INVALID_REQUEST
    for an unknown state.
    """
    request = listing_request(producer_id, states, open_for_ms, pattern)
    lowest = _FIRST_WITH_PATTERN if pattern else _FIRST_WITH_DURATION if open_for_ms is not None else 0
    brokers = yield from broker_ids()
    answers = yield from ask_all(
        [Send(ToNode(one), request, lowest=lowest) for one in brokers],
        ListTransactionsResponse,
        lambda answer: [answer.error_code],
    )
    unknown = sorted({state for answer in answers for state in answer.unknown_state_filters})
    if unknown:
        raise ApiError(
            ErrorCode.INVALID_REQUEST, f"transactions have no state {' or '.join(map(repr, unknown))}"
        )
    return _by_name(answers)


def list_transactions_there() -> Operation[tuple[list[TransactionListing], Missing]]:
    """The transactional ids of the brokers that answer, by name, and the brokers that do not."""
    brokers = yield from broker_ids()
    answers, silent = yield from ask_those_there(
        {one: Send(ToNode(one), listing_request(None)) for one in brokers},
        ListTransactionsResponse,
        lambda answer: [answer.error_code],
    )
    return _by_name(answers.values()), missing_of(silent)


def _by_name(answers: Iterable[ListTransactionsResponse]) -> list[TransactionListing]:
    found = (one for answer in answers for one in listed_transactions(answer))
    return sorted(found, key=lambda one: one.transactional_id)


def describe_producers(
    partitions: Iterable[TopicPartition], *, broker_id: BrokerId | None = None
) -> Operation[dict[TopicPartition, list[PartitionProducer]]]:
    """The idempotent and transactional producers of partitions, as their leaders know them, or one broker.

    Raises ApiError for the first partition that does not exist, and ElementsRefused where a broker refuses.
    """
    if broker_id is None:
        results = yield from ask_leaders(
            partitions, producers_request, DescribeProducersResponse, producers_by_partition
        )
    else:
        results = yield from ask_each(
            partitions,
            at_once(ToNode(broker_id), producers_request),
            DescribeProducersResponse,
            lambda answer, _: producers_by_partition(answer),
            passing=lambda _: False,  # A broker that is no replica does not become one.
        )
    return results.all_or_raise("described")


def abort_transaction(producer: PartitionProducer) -> Operation[None]:
    """Abort the open transaction of a producer in its one partition, as `describe_producers` returned it.

    This is for a transaction that hangs: no coordinator will end it (KIP-664). Others are ended by
    `fence_producer`. Raises ApiError, with INVALID_PRODUCER_EPOCH if the producer has begun anew meanwhile.
    """
    results = yield from ask_leaders(
        [producer.partition],
        lambda _: abort_request(producer),
        WriteTxnMarkersResponse,
        aborted,
        highest=WRITE_MARKERS_VERSION_MAX,
    )
    results.all_or_raise("aborted")


def describe_transaction(transactional_id: str) -> Operation[TransactionDescription]:
    """One transactional id. Raises ApiError if the coordinator does not know it."""
    answer = yield from ask(
        Send(
            ToCoordinator(transactional_id, CoordinatorKind.TRANSACTION),
            DescribeTransactionsRequest(transactional_ids=[transactional_id]),
        ),
        DescribeTransactionsResponse,
        lambda answer: [one.error_code for one in answer.transaction_states],
    )
    return described_transaction(answer, transactional_id)


def fence_producer(transactional_id: str) -> Operation[None]:
    """Fence the producer of a transactional id; the coordinator aborts its open transaction, if any.

    Returns when the transaction has ended in all its partitions. Raises ApiError for an unknown id.
    """
    yield from describe_transaction(transactional_id)  # InitProducerId would create an unknown id.
    answer = yield from ask(
        Send(
            ToCoordinator(transactional_id, CoordinatorKind.TRANSACTION),
            InitProducerIdRequest(transactional_id, FENCING_TIMEOUT_MS),
        ),
        InitProducerIdResponse,
        lambda answer: [answer.error_code],
    )
    raise_for(answer.error_code, about=f"transactional id {transactional_id!r}")
