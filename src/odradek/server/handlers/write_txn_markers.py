"""WriteTxnMarkers: end transactions in partitions led here, for a coordinator elsewhere or an administrator.

An administrator ends hanging transactions that way, of which their coordinator knows nothing (KIP-664).
"""

from collections.abc import Mapping
from functools import partial
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import deliver
from odradek.base.ids import TopicPartition
from odradek.coordinator.transactions import Marker, Producer
from odradek.server.edge.context import RequestContext, Respond
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

SERVES: Final = Serves(27, 1, 1, kips={1: 482})


def handle(
    core: BrokerCore, context: RequestContext, request: WriteTxnMarkersRequest, respond: Respond
) -> None:
    """Write each marker; answered when the last partition has answered."""
    outcomes: dict[int, Mapping[TopicPartition, ErrorCode]] = {}
    if not request.markers:
        respond(WriteTxnMarkersResponse())

    def written(number: int, outcome: Mapping[TopicPartition, ErrorCode]) -> None:
        outcomes[number] = outcome
        if len(outcomes) == len(request.markers):
            respond(
                WriteTxnMarkersResponse(
                    markers=[_result(marker, outcomes[at]) for at, marker in enumerate(request.markers)]
                )
            )

    for number, asked in enumerate(request.markers):
        later = partial(written, number)
        outcome = core.transactions.write_markers(
            Marker(
                Producer(asked.producer_id, asked.producer_epoch),
                asked.transaction_result,
                asked.coordinator_epoch,
            ),
            [
                TopicPartition(topic.name, index)
                for topic in asked.topics
                for index in topic.partition_indexes
            ],
            later,
        )
        deliver(outcome, later)


def refuse(request: WriteTxnMarkersRequest, code: ErrorCode) -> WriteTxnMarkersResponse:
    """The same error for every partition."""
    return WriteTxnMarkersResponse(markers=[_result(marker, {}, code) for marker in request.markers])


def _result(
    marker: WritableTxnMarker,
    outcome: Mapping[TopicPartition, ErrorCode],
    otherwise: ErrorCode = ErrorCode.UNKNOWN_SERVER_ERROR,
) -> WritableTxnMarkerResult:
    return WritableTxnMarkerResult(
        marker.producer_id,
        [
            WritableTxnMarkerTopicResult(
                topic.name,
                [
                    WritableTxnMarkerPartitionResult(
                        index, outcome.get(TopicPartition(topic.name, index), otherwise)
                    )
                    for index in topic.partition_indexes
                ],
            )
            for topic in marker.topics
        ],
    )
