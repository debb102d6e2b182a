"""ConsumerGroupDescribe: groups of the consumer protocol, with current and target assignments (KIP-848)."""

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import COUNTED_PER_STEP, Steps, stepwise
from odradek.server.edge.context import RequestContext, Respond, Response
from odradek.server.edge.serving import Serves
from odradek.server.node.authorized_operations import GROUP_OPERATIONS
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)

SERVES: Final = Serves(69, 0, 1, kips={0: 848, 1: 1099})


def handle(
    core: BrokerCore, context: RequestContext, request: ConsumerGroupDescribeRequest, respond: Respond
) -> None:
    """Describe each group once, however often it is named."""

    def describe(group_id: str) -> Steps[DescribedGroup]:
        group = yield from core.groups.coordinator.describe_consumer_group(group_id)
        if request.include_authorized_operations and not group.error_code:
            group.authorized_operations = GROUP_OPERATIONS
        return group

    def in_steps() -> Steps[Response]:
        response = ConsumerGroupDescribeResponse()
        for group_id in dict.fromkeys(request.group_ids):
            response.groups.append((yield from describe(group_id)))
            yield
        return response

    respond(in_steps())


def refuse(request: ConsumerGroupDescribeRequest, code: ErrorCode) -> Steps[Response]:
    """The same error for every group."""
    rows = yield from stepwise(
        request.group_ids,
        lambda group_id: DescribedGroup(error_code=code, group_id=group_id),
        COUNTED_PER_STEP,
    )
    return ConsumerGroupDescribeResponse(groups=rows)
