"""ListGroups: the groups that this broker coordinates."""

from typing import Final

from odradek.server.edge.context import RequestContext, Respond
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse

API_KEY: Final = 16


def handle(core: BrokerCore, context: RequestContext, request: ListGroupsRequest, respond: Respond) -> None:
    """Answer at once."""
    code, groups = core.groups.coordinator.list_groups(request.states_filter, request.types_filter)
    respond(ListGroupsResponse(error_code=code, groups=groups))
