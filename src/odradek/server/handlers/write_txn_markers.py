"""WriteTxnMarkers: end transactions in partitions led here, for a coordinator elsewhere or an administrator.

In this way an administrator ends hanging transactions that their coordinator does not know (KIP-664). Kafka's
tool aborts them, so a client that asks for commit markers gets CLUSTER_AUTHORIZATION_FAILED (decision 0012).
"""

from collections.abc import Mapping
from functools import partial
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Steps, deliver, stepwise, stepwise_in
from odradek.base.ids import TopicPartition
from odradek.coordinator.transactions import Marker, Producer, TransactionVersion
from odradek.server.edge.context import RequestContext, Respond, Response
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

SERVES: Final = Serves(27, 1, 2, kips={1: 482, 2: 1228}, by_brokers=True)


def handle_client(
    core: BrokerCore, context: RequestContext, request: WriteTxnMarkersRequest, respond: Respond
) -> Steps[None] | None:
    """`handle` off the brokers' listener: a request with a commit marker is refused as a whole."""
    if any(marker.transaction_result for marker in request.markers):
        respond(refuse(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
        return None
    return handle(core, context, request, respond)


def handle(
    core: BrokerCore, context: RequestContext, request: WriteTxnMarkersRequest, respond: Respond
) -> Steps[None]:
    """Write each marker; answer when the last partition has its result."""
    outcomes: dict[int, Mapping[TopicPartition, ErrorCode]] = {}
    if not request.markers:
        respond(WriteTxnMarkersResponse())

    def written(number: int, outcome: Mapping[TopicPartition, ErrorCode]) -> None:
        outcomes[number] = outcome
        if len(outcomes) == len(request.markers):
            respond(_in_steps(request, outcomes))

    for number, asked in enumerate(request.markers):
        partitions = [
            TopicPartition(topic.name, index) for topic in asked.topics for index in topic.partition_indexes
        ]
        yield
        producer = Producer(asked.producer_id, asked.producer_epoch)
        is_v2 = asked.transaction_version >= TransactionVersion.V2
        version = TransactionVersion.V2 if is_v2 else TransactionVersion.CLASSIC
        marker = Marker(producer, asked.transaction_result, asked.coordinator_epoch, version)
        later = partial(written, number)
        deliver(core.transactions.markers.append_markers(marker, partitions, later), later)


def _in_steps(
    request: WriteTxnMarkersRequest, outcomes: Mapping[int, Mapping[TopicPartition, ErrorCode]]
) -> Steps[Response]:
    response = WriteTxnMarkersResponse()
    for number, marker in enumerate(request.markers):
        result = WritableTxnMarkerResult(marker.producer_id)
        for topic in marker.topics:
            make = partial(_partition, topic.name, outcomes[number])
            partitions = yield from stepwise(topic.partition_indexes, make)
            result.topics.append(WritableTxnMarkerTopicResult(topic.name, partitions))
        response.markers.append(result)
        yield
    return response


def _partition(
    name: str, outcome: Mapping[TopicPartition, ErrorCode], index: int
) -> WritableTxnMarkerPartitionResult:
    return WritableTxnMarkerPartitionResult(index, outcome[TopicPartition(name, index)])


def refuse(request: WriteTxnMarkersRequest, code: ErrorCode) -> Steps[Response]:
    """The same error for every partition."""
    response = WriteTxnMarkersResponse()
    for marker in request.markers:
        topics = yield from stepwise_in(
            marker.topics,
            lambda topic: topic.partition_indexes,
            lambda index: WritableTxnMarkerPartitionResult(index, code),
            lambda topic, parts: WritableTxnMarkerTopicResult(topic.name, parts),
        )
        response.markers.append(WritableTxnMarkerResult(marker.producer_id, topics))
        yield
    return response
