"""InitProducerId: an id and epoch for an idempotent producer, or for the owner of a transactional id."""

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import deliver
from odradek.base.ids import NO_EPOCH, NO_PRODUCER_ID, ProducerId
from odradek.coordinator.transactions import NO_PRODUCER, Producer
from odradek.server.edge.context import RequestContext, Respond
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.server.node.producer_errors import fencing_as_known
from odradek.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

SERVES: Final = Serves(22, 0, 5, kips={0: 98, 2: 482, 3: 360, 4: 588, 5: 890})

_FIRST_EPOCH: Final = 0
_FIRST_WITH_FENCED: Final = 4


def handle(
    core: BrokerCore, context: RequestContext, request: InitProducerIdRequest, respond: Respond
) -> None:
    """Give out a producer id, or let the coordinator make the producer the owner of its transactional id."""
    expected = Producer(request.producer_id, request.producer_epoch)

    def initialized(error: ErrorCode, producer: Producer) -> None:
        respond(_response(fencing_as_known(error, context.api_version, _FIRST_WITH_FENCED), producer))

    def taken(producer_id: ProducerId | ErrorCode) -> None:
        respond(_first_epoch_of(producer_id))

    if (expected.producer_id == NO_PRODUCER_ID) != (expected.epoch == NO_EPOCH):
        initialized(ErrorCode.INVALID_REQUEST, NO_PRODUCER)
    elif request.transactional_id is not None:
        core.transactions.coordinator.init_producer_id(
            request.transactional_id,
            expected,
            request.transaction_timeout_ms,
            lambda told: initialized(*told),
        )
    else:
        deliver(core.producer_ids.take(taken), taken)


def _first_epoch_of(taken: ProducerId | ErrorCode) -> InitProducerIdResponse:
    if isinstance(taken, ErrorCode):
        return _response(taken, NO_PRODUCER)
    return _response(ErrorCode.NONE, Producer(taken, _FIRST_EPOCH))


def _response(error: ErrorCode, producer: Producer) -> InitProducerIdResponse:
    return InitProducerIdResponse(
        error_code=error, producer_id=producer.producer_id, producer_epoch=producer.epoch
    )
