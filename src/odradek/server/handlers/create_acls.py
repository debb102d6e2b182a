"""CreateAcls: refused, because there is no authorizer to store ACLs."""

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import COUNTED_PER_STEP, Steps, stepwise
from odradek.server.edge.context import RequestContext, Respond, Response
from odradek.server.edge.serving import Serves
from odradek.server.handlers.describe_acls import NO_AUTHORIZER
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.create_acls import AclCreationResult, CreateAclsRequest, CreateAclsResponse

SERVES: Final = Serves(30, 1, 3, kips={1: 290, 2: 482})


def handle(core: BrokerCore, context: RequestContext, request: CreateAclsRequest, respond: Respond) -> None:
    """SECURITY_DISABLED for each."""

    def in_steps() -> Steps[Response]:
        refused = AclCreationResult(ErrorCode.SECURITY_DISABLED, NO_AUTHORIZER)
        return CreateAclsResponse(results=(yield from stepwise(request.creations, lambda _: refused)))

    respond(in_steps())


def refuse(request: CreateAclsRequest, code: ErrorCode) -> Steps[Response]:
    """The same code for each."""
    rows = yield from stepwise(request.creations, lambda _: AclCreationResult(code), COUNTED_PER_STEP)
    return CreateAclsResponse(results=rows)
