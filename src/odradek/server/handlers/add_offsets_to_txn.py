"""AddOffsetsToTxn: add a group's partition of `__consumer_offsets` to a transaction."""

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import deliver
from odradek.base.ids import TopicPartition
from odradek.base.topic_names import OFFSETS_TOPIC
from odradek.coordinator.transactions import Producer, TransactionVersion
from odradek.server.edge.context import RequestContext, Respond
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.server.node.producer_errors import fencing_as_known
from odradek.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse

SERVES: Final = Serves(25, 0, 4, kips={0: 98, 3: 482, 4: 890})

_FIRST_WITH_FENCED: Final = 2


def handle(
    core: BrokerCore, context: RequestContext, request: AddOffsetsToTxnRequest, respond: Respond
) -> None:
    """Add the partition; in transactions v2 TxnOffsetCommit does that instead."""

    def added(error: ErrorCode) -> None:
        respond(
            AddOffsetsToTxnResponse(
                error_code=fencing_as_known(error, context.api_version, _FIRST_WITH_FENCED)
            )
        )

    error = core.transactions.coordinator.add_partitions(
        request.transactional_id,
        Producer(request.producer_id, request.producer_epoch),
        [TopicPartition(OFFSETS_TOPIC, core.groups.topic.partition_of(request.group_id))],
        TransactionVersion.CLASSIC,
        added,
    )
    deliver(error, added)
