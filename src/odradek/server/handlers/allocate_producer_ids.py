"""AllocateProducerIds: a block of producer ids for another broker, which the controller gives out (KIP-730).

Served to brokers alone. A block that was given to a broker which has died meanwhile, or whose answer was
lost, is never used: its ids are lost, and no id is given twice.
"""

from typing import Final

from odradek.metadata.controller.requests import AllocateProducerIds, Answer, ProducerIdBlock, Refused
from odradek.server.edge.context import RequestContext, Respond
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)

SERVES: Final = Serves(67, 0, 0, kips={0: 730})


def handle(
    core: BrokerCore, context: RequestContext, request: AllocateProducerIdsRequest, respond: Respond
) -> None:
    """Let this broker's controller give out the next block; one that is not active says so."""

    def answered(answer: Answer) -> None:
        response = AllocateProducerIdsResponse()
        if isinstance(answer, Refused):
            response.error_code = answer.error
        else:
            assert isinstance(answer, ProducerIdBlock), answer
            response.producer_id_start, response.producer_id_len = answer.first, answer.count
        respond(response)

    core.controller.submit(AllocateProducerIds(request.broker_id, request.broker_epoch), answered)
