"""DeleteAcls: refused, because there is no authorizer to store ACLs."""

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import COUNTED_PER_STEP, Steps, stepwise
from odradek.server.edge.context import RequestContext, Respond, Response
from odradek.server.edge.serving import Serves
from odradek.server.handlers.describe_acls import NO_AUTHORIZER
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.delete_acls import DeleteAclsFilterResult, DeleteAclsRequest, DeleteAclsResponse

SERVES: Final = Serves(31, 1, 3, kips={1: 290, 2: 482})


def handle(core: BrokerCore, context: RequestContext, request: DeleteAclsRequest, respond: Respond) -> None:
    """SECURITY_DISABLED for each filter."""

    def in_steps() -> Steps[Response]:
        refused = DeleteAclsFilterResult(ErrorCode.SECURITY_DISABLED, NO_AUTHORIZER)
        return DeleteAclsResponse(filter_results=(yield from stepwise(request.filters, lambda _: refused)))

    respond(in_steps())


def refuse(request: DeleteAclsRequest, code: ErrorCode) -> Steps[Response]:
    """The same code for each."""
    rows = yield from stepwise(request.filters, lambda _: DeleteAclsFilterResult(code), COUNTED_PER_STEP)
    return DeleteAclsResponse(filter_results=rows)
