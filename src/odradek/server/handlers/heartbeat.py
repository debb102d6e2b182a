"""Heartbeat: a member is alive; the answer says when it must join again."""

from typing import Final

from odradek.server.edge.context import RequestContext, Respond
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse

SERVES: Final = Serves(12, 0, 4, kips={3: 345, 4: 482})


def handle(core: BrokerCore, context: RequestContext, request: HeartbeatRequest, respond: Respond) -> None:
    """Answer at once."""
    core.groups.coordinator.heartbeat(request, lambda code: respond(HeartbeatResponse(error_code=code)))
