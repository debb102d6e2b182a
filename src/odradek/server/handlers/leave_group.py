"""LeaveGroup: remove members from a group."""

from collections.abc import Sequence
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Steps, stepwise
from odradek.server.edge.context import RequestContext, Respond, Response
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)

SERVES: Final = Serves(13, 0, 5, kips={3: 345, 4: 482, 5: 800})

_FIRST_WITH_SEVERAL: Final = 3


def handle(
    core: BrokerCore, context: RequestContext, request: LeaveGroupRequest, respond: Respond
) -> Steps[None]:
    """Answer for each member; before version 3 there is only one."""
    if context.api_version < _FIRST_WITH_SEVERAL:
        request.members = [MemberIdentity(request.member_id)]

    def left(error: ErrorCode, codes: list[ErrorCode]) -> None:
        if error is ErrorCode.NONE and context.api_version < _FIRST_WITH_SEVERAL:
            error = codes[0]
        respond(_in_steps(request.members, error, codes))

    return core.groups.coordinator.leave_group(request, left)


def _in_steps(
    leaving: Sequence[MemberIdentity], error: ErrorCode, codes: Sequence[ErrorCode]
) -> Steps[Response]:
    members = yield from stepwise(
        zip(leaving, codes, strict=False),
        lambda left: MemberResponse(left[0].member_id, left[0].group_instance_id, left[1]),
    )
    return LeaveGroupResponse(error_code=error, members=members)
