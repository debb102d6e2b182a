"""AddPartitionsToTxn: add partitions to a transaction, or ask whether they are in it (KIP-890).

Versions up to 3 come from clients, with one transaction; later ones from brokers, with any number. All the
partitions of a transaction are added, or none: those that could have been are OPERATION_NOT_ATTEMPTED.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import deliver
from odradek.base.ids import TopicPartition
from odradek.base.topic_names import INTERNAL_TOPICS
from odradek.coordinator.transactions import Producer, TransactionVersion
from odradek.server.edge.context import RequestContext, Respond
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.server.node.producer_errors import fencing_as_known
from odradek.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)

SERVES: Final = Serves(24, 0, 5, kips={0: 98, 3: 482, 4: 890, 5: 890})

_FIRST_WITH_FENCED: Final = 2
_FIRST_FROM_BROKERS: Final = 4
_FIRST_OF_V2: Final = 5

_Errors: TypeAlias = Mapping[TopicPartition, ErrorCode]


def handle(
    core: BrokerCore, context: RequestContext, request: AddPartitionsToTxnRequest, respond: Respond
) -> None:
    """Serve each transaction; answered when the last of them is."""
    version = context.api_version
    if version < _FIRST_FROM_BROKERS:
        transaction = AddPartitionsToTxnTransaction(
            request.v3_and_below_transactional_id,
            request.v3_and_below_producer_id,
            request.v3_and_below_producer_epoch,
            False,
            request.v3_and_below_topics,
        )

        def answered(errors: _Errors) -> None:
            results = _results(transaction.topics, errors)
            respond(AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results))

        _serve(core, version, transaction, answered)
        return
    response = AddPartitionsToTxnResponse()
    waiting = len(request.transactions)
    if not waiting:
        respond(response)

    def served(transaction: AddPartitionsToTxnTransaction, errors: _Errors) -> None:
        nonlocal waiting
        results = _results(transaction.topics, errors)
        response.results_by_transaction.append(
            AddPartitionsToTxnResult(transaction.transactional_id, results)
        )
        waiting -= 1
        if not waiting:
            respond(response)

    for one in request.transactions:
        _serve(core, version, one, lambda errors, one=one: served(one, errors))  # type: ignore[misc]


def refuse(request: AddPartitionsToTxnRequest, code: ErrorCode) -> AddPartitionsToTxnResponse:
    """The same error for every partition, and for the request as a whole."""
    return AddPartitionsToTxnResponse(
        results_by_topic_v3_and_below=_results(
            request.v3_and_below_topics, dict.fromkeys(_partitions(request.v3_and_below_topics), code)
        ),
        error_code=code,
    )


def _serve(
    core: BrokerCore,
    version: int,
    transaction: AddPartitionsToTxnTransaction,
    answered: Callable[[_Errors], None],
) -> None:
    partitions = _partitions(transaction.topics)
    refused = {
        one: error
        for one in partitions
        if (error := _fault_in(core, one, from_client=version < _FIRST_FROM_BROKERS)) is not ErrorCode.NONE
    }
    producer = Producer(transaction.producer_id, transaction.producer_epoch)
    coordinator = core.transactions.coordinator
    if refused:
        answered({one: refused.get(one, ErrorCode.OPERATION_NOT_ATTEMPTED) for one in partitions})
    elif transaction.verify_only:
        verified = coordinator.verify_partitions(transaction.transactional_id, producer, partitions, answered)
        deliver(verified, answered)
    else:

        def added(error: ErrorCode) -> None:
            answered(dict.fromkeys(partitions, fencing_as_known(error, version, _FIRST_WITH_FENCED)))

        known = coordinator.add_partitions(
            transaction.transactional_id,
            producer,
            partitions,
            TransactionVersion.V2 if version >= _FIRST_OF_V2 else TransactionVersion.CLASSIC,
            added,
        )
        deliver(known, added)


def _fault_in(core: BrokerCore, topic_partition: TopicPartition, *, from_client: bool) -> ErrorCode:
    """Why a partition cannot be written to in a transaction."""
    if from_client and topic_partition.topic in INTERNAL_TOPICS:
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    if core.image.partition(topic_partition) is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE


def _partitions(topics: Iterable[AddPartitionsToTxnTopic]) -> list[TopicPartition]:
    return [TopicPartition(topic.name, index) for topic in topics for index in topic.partitions]


def _results(
    topics: Iterable[AddPartitionsToTxnTopic], errors: _Errors
) -> list[AddPartitionsToTxnTopicResult]:
    return [
        AddPartitionsToTxnTopicResult(
            topic.name,
            [
                AddPartitionsToTxnPartitionResult(index, errors[TopicPartition(topic.name, index)])
                for index in topic.partitions
            ],
        )
        for topic in topics
    ]
