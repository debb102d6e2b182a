"""AddPartitionsToTxn: add partitions to a transaction, or verify that they are in it (KIP-890).

Versions up to 3 come from clients, with one transaction; later ones from brokers, with any number. Either all
partitions of a transaction are added or none: if one is refused, the others are OPERATION_NOT_ATTEMPTED.
Clients that send a version for brokers get CLUSTER_AUTHORIZATION_FAILED (decision 0012).
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final, TypeAlias

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import COUNTED_PER_STEP, Pace, Steps, deliver, stepwise, stepwise_in
from odradek.base.ids import TopicPartition
from odradek.base.topic_names import INTERNAL_TOPICS
from odradek.coordinator.transactions import Producer, TransactionVersion
from odradek.server.edge.context import RequestContext, Respond, Response
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

SERVES: Final = Serves(24, 0, 5, kips={0: 98, 3: 482, 4: 890, 5: 890}, by_brokers=True)

_FIRST_WITH_FENCED: Final = 2
_FIRST_FROM_BROKERS: Final = 4
_FIRST_OF_V2: Final = 5

_ErrorOf: TypeAlias = Callable[[TopicPartition], ErrorCode]
"""The error of each partition of a transaction."""


def handle_client(
    core: BrokerCore, context: RequestContext, request: AddPartitionsToTxnRequest, respond: Respond
) -> Steps[None] | None:
    """`handle` off the brokers' listener: only the versions for clients."""
    if context.api_version >= _FIRST_FROM_BROKERS:
        respond(AddPartitionsToTxnResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
        return None
    return handle(core, context, request, respond)


def handle(
    core: BrokerCore, context: RequestContext, request: AddPartitionsToTxnRequest, respond: Respond
) -> Steps[None]:
    """Serve each transaction; answer when the last one has its result."""
    version = context.api_version
    if version < _FIRST_FROM_BROKERS:
        transaction = AddPartitionsToTxnTransaction(
            request.v3_and_below_transactional_id,
            request.v3_and_below_producer_id,
            request.v3_and_below_producer_epoch,
            False,
            request.v3_and_below_topics,
        )
        yield from _serve(
            core, version, transaction, lambda error_of: respond(_one_in_steps(transaction, error_of))
        )
        return
    served: list[tuple[AddPartitionsToTxnTransaction, _ErrorOf]] = []
    if not request.transactions:
        respond(AddPartitionsToTxnResponse())

    def answered(transaction: AddPartitionsToTxnTransaction, error_of: _ErrorOf) -> None:
        served.append((transaction, error_of))
        if len(served) == len(request.transactions):
            respond(_several_in_steps(served))

    for one in request.transactions:
        yield from _serve(core, version, one, partial(answered, one))


def _one_in_steps(transaction: AddPartitionsToTxnTransaction, error_of: _ErrorOf) -> Steps[Response]:
    results = yield from _results_in_steps(transaction.topics, error_of)
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results)


def _several_in_steps(served: Iterable[tuple[AddPartitionsToTxnTransaction, _ErrorOf]]) -> Steps[Response]:
    response = AddPartitionsToTxnResponse()
    for transaction, error_of in served:
        results = yield from _results_in_steps(transaction.topics, error_of)
        response.results_by_transaction.append(
            AddPartitionsToTxnResult(transaction.transactional_id, results)
        )
        yield
    return response


def refuse(request: AddPartitionsToTxnRequest, code: ErrorCode) -> Steps[Response]:
    """The same error for every partition, and for the request as a whole."""
    topics = yield from stepwise_in(
        request.v3_and_below_topics,
        lambda topic: topic.partitions,
        lambda index: AddPartitionsToTxnPartitionResult(index, code),
        lambda topic, parts: AddPartitionsToTxnTopicResult(topic.name, parts),
    )
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=topics, error_code=code)


def _serve(
    core: BrokerCore,
    version: int,
    transaction: AddPartitionsToTxnTransaction,
    answered: Callable[[_ErrorOf], None],
) -> Steps[None]:
    partitions = yield from _partitions(transaction.topics)
    look = partial(_fault_in, core, from_client=version < _FIRST_FROM_BROKERS)
    faults = yield from stepwise(partitions, look)
    refused = {one: fault for one, fault in zip(partitions, faults, strict=True) if fault}
    producer = Producer(transaction.producer_id, transaction.producer_epoch)
    coordinator = core.transactions.coordinator
    if refused:
        answered(lambda one: refused.get(one, ErrorCode.OPERATION_NOT_ATTEMPTED))
    elif transaction.verify_only:

        def verified(errors: Mapping[TopicPartition, ErrorCode]) -> None:
            answered(errors.__getitem__)

        errors = coordinator.verify_partitions(transaction.transactional_id, producer, partitions, verified)
        deliver(errors, verified)
    else:

        def added(error: ErrorCode) -> None:
            told = fencing_as_known(error, version, _FIRST_WITH_FENCED)
            answered(lambda _: told)

        protocol = TransactionVersion.V2 if version >= _FIRST_OF_V2 else TransactionVersion.CLASSIC
        asked = transaction.transactional_id, producer, partitions, protocol, added
        if len(partitions) > COUNTED_PER_STEP:
            error = yield from coordinator.add_many_partitions(*asked)
        else:
            error = coordinator.add_partitions(*asked)
        deliver(error, added)


def _fault_in(core: BrokerCore, topic_partition: TopicPartition, *, from_client: bool) -> ErrorCode:
    """Why a partition cannot be written to in a transaction."""
    if from_client and topic_partition.topic in INTERNAL_TOPICS:
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    if core.image.partition(topic_partition) is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE


def _partitions(topics: Iterable[AddPartitionsToTxnTopic]) -> Steps[list[TopicPartition]]:
    partitions: list[TopicPartition] = []
    pace = Pace()
    for topic in topics:
        partitions += yield from stepwise(topic.partitions, partial(TopicPartition, topic.name))
        if pace.is_over(1 + len(topic.partitions)):
            yield
    return partitions


def _results_in_steps(
    topics: Iterable[AddPartitionsToTxnTopic], error_of: _ErrorOf
) -> Steps[list[AddPartitionsToTxnTopicResult]]:
    results = []
    pace = Pace()
    for topic in topics:
        partitions = yield from stepwise(topic.partitions, partial(_result, topic.name, error_of))
        results.append(AddPartitionsToTxnTopicResult(topic.name, partitions))
        if pace.is_over(1 + len(partitions)):
            yield
    return results


def _result(name: str, error_of: _ErrorOf, index: int) -> AddPartitionsToTxnPartitionResult:
    return AddPartitionsToTxnPartitionResult(index, error_of(TopicPartition(name, index)))
