"""Transactions and idempotent producers: list, describe, fence (KIP-664)."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import Offset, ProducerId, TopicPartition
from odradek.base.values import value
from odradek.client.core.admin.cluster import broker_ids
from odradek.client.core.admin.operation import Operation, ask, ask_all, only
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


def listing_request(producer_id: ProducerId | None) -> ListTransactionsRequest:
    """Asks for all transactional ids that a broker coordinates, or those of one producer id."""
    return ListTransactionsRequest(producer_id_filters=[] if producer_id is None else [producer_id])


def listed_transactions(answer: ListTransactionsResponse) -> list[TransactionListing]:
    """The transactional ids of an answer. Raises ApiError if the broker refuses."""
    raise_for(answer.error_code, about="listing transactional ids")
    return [
        TransactionListing(one.transactional_id, one.producer_id, one.transaction_state)
        for one in answer.transaction_states
    ]


def described_transaction(answer: DescribeTransactionsResponse) -> TransactionDescription:
    """The one transactional id of an answer. Raises ApiError if the coordinator does not know it."""
    found = only(answer.transaction_states, "the transactional id")
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
    by_topic: dict[str, list[int]] = defaultdict(list)
    for topic, number in partitions:
        by_topic[topic].append(number)
    return DescribeProducersRequest([TopicRequest(topic, numbers) for topic, numbers in by_topic.items()])


def described_producers(answer: DescribeProducersResponse) -> list[PartitionProducer]:
    """The producers of an answer. Raises ApiError for the first partition that was refused."""
    found = []
    for answered in answer.topics:
        for part in answered.partitions:
            partition = TopicPartition(answered.name, part.partition_index)
            raise_for(part.error_code, part.error_message, about=str(partition))
            found += [
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
    return found


# --- operations


def list_transactions(producer_id: ProducerId | None = None) -> Operation[list[TransactionListing]]:
    """The transactional ids of the cluster, by name, or those of one producer id."""
    brokers = yield from broker_ids()
    answers = yield from ask_all(
        [Send(ToNode(one), listing_request(producer_id)) for one in brokers],
        ListTransactionsResponse,
        lambda answer: [answer.error_code],
    )
    found = (one for answer in answers for one in listed_transactions(answer))
    return sorted(found, key=lambda one: one.transactional_id)


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
    return described_transaction(answer)


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
