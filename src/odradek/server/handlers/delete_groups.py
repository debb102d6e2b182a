"""DeleteGroups: delete empty groups with all their offsets (KIP-229)."""

from collections.abc import Mapping, Sequence
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import COUNTED_PER_STEP, Steps, stepwise
from odradek.server.edge.context import RequestContext, Respond, Response
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)

SERVES: Final = Serves(42, 0, 3, kips={0: 229, 2: 482})

_REASONS: Final = {
    ErrorCode.GROUP_ID_NOT_FOUND: "There is no group of that name.",
    ErrorCode.NON_EMPTY_GROUP: "The group has members.",
}


def handle(
    core: BrokerCore, context: RequestContext, request: DeleteGroupsRequest, respond: Respond
) -> Steps[None]:
    """Answer when the last group is deleted."""

    def deleted(codes: Mapping[str, ErrorCode]) -> None:
        respond(_in_steps(request.groups_names, codes))

    return core.groups.coordinator.delete_groups(request.groups_names, deleted)


def _in_steps(group_ids: Sequence[str], codes: Mapping[str, ErrorCode]) -> Steps[Response]:
    results = yield from stepwise(
        dict.fromkeys(group_ids),
        lambda group_id: DeletableGroupResult(group_id, codes[group_id], _words(codes[group_id])),
    )
    return DeleteGroupsResponse(results=results)


def _words(code: ErrorCode) -> str | None:
    return None if code is ErrorCode.NONE else _REASONS.get(code, code.name)


def refuse(request: DeleteGroupsRequest, code: ErrorCode) -> Steps[Response]:
    """The same error for every group."""
    rows = yield from stepwise(
        request.groups_names,
        lambda group_id: DeletableGroupResult(group_id, code, _words(code)),
        COUNTED_PER_STEP,
    )
    return DeleteGroupsResponse(results=rows)
