"""ListGroups: the groups that this broker coordinates."""

from typing import Final

from odradek.server.edge.context import RequestContext, Respond
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse

SERVES: Final = Serves(16, 0, 5, kips={3: 482, 4: 518, 5: 848})


def handle(core: BrokerCore, context: RequestContext, request: ListGroupsRequest, respond: Respond) -> None:
    """Answer at once."""
    code, groups = core.groups.coordinator.list_groups(request.states_filter, request.types_filter)
    respond(ListGroupsResponse(error_code=code, groups=groups))
