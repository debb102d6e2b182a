"""CreateAcls: refused, because there is no authorizer to store ACLs."""

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.server.edge.context import RequestContext, Respond
from odradek.server.edge.serving import Serves
from odradek.server.handlers.describe_acls import NO_AUTHORIZER
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.create_acls import AclCreationResult, CreateAclsRequest, CreateAclsResponse

SERVES: Final = Serves(30, 1, 3, kips={1: 290, 2: 482})


def handle(core: BrokerCore, context: RequestContext, request: CreateAclsRequest, respond: Respond) -> None:
    """SECURITY_DISABLED for each."""
    respond(refuse(request, ErrorCode.SECURITY_DISABLED, NO_AUTHORIZER))


def refuse(request: CreateAclsRequest, code: ErrorCode, message: str | None = None) -> CreateAclsResponse:
    """The same code for each."""
    return CreateAclsResponse(results=[AclCreationResult(code, message) for _ in request.creations])
