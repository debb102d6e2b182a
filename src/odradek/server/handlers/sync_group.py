"""SyncGroup: the group's leader sends the assignment, the other members wait for it."""

from typing import Final

from odradek.server.edge.context import RequestContext, Respond
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.sync_group import SyncGroupRequest

SERVES: Final = Serves(14, 0, 5, kips={3: 345, 4: 482, 5: 559})


def handle(core: BrokerCore, context: RequestContext, request: SyncGroupRequest, respond: Respond) -> None:
    """Answer when the assignment is written."""
    core.groups.coordinator.sync_group(request, respond)
