"""ListGroups: the groups that this broker coordinates."""

from typing import Final

from odradek.base.execution import Steps
from odradek.server.edge.context import RequestContext, Respond, Response
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse

SERVES: Final = Serves(16, 0, 5, kips={3: 482, 4: 518, 5: 848})


def handle(core: BrokerCore, context: RequestContext, request: ListGroupsRequest, respond: Respond) -> None:
    """Answer in steps: there may be many groups, and the request names none."""

    def in_steps() -> Steps[Response]:
        listing = core.groups.coordinator.list_groups(request.states_filter, request.types_filter)
        code, groups = yield from listing
        return ListGroupsResponse(error_code=code, groups=groups)

    respond(in_steps())
