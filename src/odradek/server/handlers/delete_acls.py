"""DeleteAcls: refused, because there is no authorizer to store ACLs."""

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Steps, stepwise
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


def refuse(request: DeleteAclsRequest, code: ErrorCode) -> DeleteAclsResponse:
    """The same code for each."""
    return DeleteAclsResponse(filter_results=[DeleteAclsFilterResult(code) for _ in request.filters])
