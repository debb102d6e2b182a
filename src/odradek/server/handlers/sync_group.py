"""SyncGroup: bring the assignment, or wait for it."""

from typing import Final

from odradek.server.edge.context import RequestContext, Respond
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.sync_group import SyncGroupRequest

API_KEY: Final = 14


def handle(core: BrokerCore, context: RequestContext, request: SyncGroupRequest, respond: Respond) -> None:
    """Answer when the leader's assignment is written."""
    core.groups.coordinator.sync_group(request, respond)
