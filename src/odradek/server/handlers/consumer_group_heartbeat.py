"""ConsumerGroupHeartbeat: join, stay in or leave a group of the consumer protocol (KIP-848)."""

from typing import Final

from odradek.base.execution import Steps
from odradek.coordinator.classic import Caller
from odradek.server.edge.context import RequestContext, Respond
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

SERVES: Final = Serves(68, 0, 1, kips={0: 848, 1: 1082})


def handle(
    core: BrokerCore, context: RequestContext, request: ConsumerGroupHeartbeatRequest, respond: Respond
) -> Steps[None] | None:
    """Answer when the changes by the heartbeat are written."""
    # Java's form of an address without a host name, which Kafka's tools expect.
    caller = Caller(context.client_id or "", f"/{context.client.peer_host}")
    coordinator = core.groups.coordinator
    expressions = coordinator.expressions_due(request)

    def after_look_up() -> Steps[None]:
        yield from coordinator.look_up(expressions)
        yield
        coordinator.consumer_heartbeat(request, context.api_version, caller, respond)

    if expressions:
        return after_look_up()
    coordinator.consumer_heartbeat(request, context.api_version, caller, respond)
    return None
