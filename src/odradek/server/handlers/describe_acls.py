"""DescribeAcls: refused as Kafka does without an authorizer."""

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.server.edge.context import RequestContext, Respond
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse

SERVES: Final = Serves(29, 1, 3, kips={1: 290, 2: 482})
NO_AUTHORIZER: Final = "this broker has no authorizer: every client may do everything"


def handle(core: BrokerCore, context: RequestContext, request: DescribeAclsRequest, respond: Respond) -> None:
    """SECURITY_DISABLED."""
    respond(DescribeAclsResponse(error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_AUTHORIZER))
