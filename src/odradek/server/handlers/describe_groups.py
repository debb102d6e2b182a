"""DescribeGroups: groups of the classic protocol, with their members."""

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import COUNTED_PER_STEP, Steps, stepwise
from odradek.server.edge.context import RequestContext, Respond, Response
from odradek.server.edge.serving import Serves
from odradek.server.node.authorized_operations import GROUP_OPERATIONS
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)

SERVES: Final = Serves(15, 0, 6, kips={3: 430, 4: 345, 5: 482, 6: 1043})

_FIRST_WITH_NOT_FOUND: Final = 6


def handle(
    core: BrokerCore, context: RequestContext, request: DescribeGroupsRequest, respond: Respond
) -> None:
    """Describe each group once, however often it is named."""
    absence_is_error = context.api_version >= _FIRST_WITH_NOT_FOUND

    def describe(group_id: str) -> Steps[DescribedGroup]:
        group = yield from core.groups.coordinator.describe_group(group_id, absence_is_error=absence_is_error)
        if request.include_authorized_operations and not group.error_code:
            group.authorized_operations = GROUP_OPERATIONS
        return group

    def in_steps() -> Steps[Response]:
        response = DescribeGroupsResponse()
        for group_id in dict.fromkeys(request.groups):
            response.groups.append((yield from describe(group_id)))
            yield
        return response

    respond(in_steps())


def refuse(request: DescribeGroupsRequest, code: ErrorCode) -> Steps[Response]:
    """The same error for every group."""
    rows = yield from stepwise(
        request.groups, lambda group_id: DescribedGroup(error_code=code, group_id=group_id), COUNTED_PER_STEP
    )
    return DescribeGroupsResponse(groups=rows)
