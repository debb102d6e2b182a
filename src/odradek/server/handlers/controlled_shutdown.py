"""ControlledShutdown: a broker that is about to stop has its leaderships moved first (KIP-49, R16).

Served to brokers alone. A client is refused with CLUSTER_AUTHORIZATION_FAILED (see `registry`). The answer is
sent when the brokers have obeyed the orders that follow from the decision, or after a while without that.
"""

from typing import Final

from odradek.base.execution import Steps, stepwise
from odradek.base.ids import TopicPartition
from odradek.metadata.controller.requests import Answer, ControlledShutdown, Refused, ShutdownProgress
from odradek.server.edge.context import RequestContext, Respond, Response
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    RemainingPartition,
)

SERVES: Final = Serves(7, 3, 3, kips={3: 482})


def handle(
    core: BrokerCore, context: RequestContext, request: ControlledShutdownRequest, respond: Respond
) -> None:
    """Let this broker's controller move the leaderships; one that is not active says so."""

    def answered(answer: Answer) -> None:
        if isinstance(answer, Refused):
            respond(ControlledShutdownResponse(answer.error))
        else:
            assert isinstance(answer, ShutdownProgress), answer
            respond(_in_steps(answer))

    core.controller.submit(ControlledShutdown(request.broker_id, request.broker_epoch), answered)


def _in_steps(progress: ShutdownProgress) -> Steps[Response]:
    return ControlledShutdownResponse(
        remaining_partitions=(yield from stepwise(progress.remaining, _remaining))
    )


def _remaining(named: TopicPartition) -> RemainingPartition:
    return RemainingPartition(named.topic, named.partition)
