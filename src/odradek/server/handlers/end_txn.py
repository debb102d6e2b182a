"""EndTxn: commit or abort; from version 5 on the answer has the producer's next epoch (KIP-890)."""

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Steps
from odradek.coordinator.transactions import Producer, TransactionVersion
from odradek.server.edge.context import RequestContext, Respond
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.server.node.producer_errors import fencing_as_known
from odradek.wire.messages.end_txn import EndTxnRequest, EndTxnResponse

SERVES: Final = Serves(26, 0, 5, kips={0: 98, 3: 482, 4: 890, 5: 890})

_FIRST_WITH_FENCED: Final = 2
_FIRST_OF_V2: Final = 5


def handle(
    core: BrokerCore, context: RequestContext, request: EndTxnRequest, respond: Respond
) -> Steps[None] | None:
    """Let the coordinator decide; it writes the markers later."""
    version = context.api_version

    def ended(error: ErrorCode, producer: Producer) -> None:
        respond(
            EndTxnResponse(
                error_code=fencing_as_known(error, version, _FIRST_WITH_FENCED),
                producer_id=producer.producer_id,
                producer_epoch=producer.epoch,
            )
        )

    coordinator = core.transactions.coordinator
    end = coordinator.end_in_steps if coordinator.is_wide(request.transactional_id) else coordinator.end
    return end(
        request.transactional_id,
        Producer(request.producer_id, request.producer_epoch),
        committed=request.committed,
        version=TransactionVersion.V2 if version >= _FIRST_OF_V2 else TransactionVersion.CLASSIC,
        respond=lambda told: ended(*told),
    )
