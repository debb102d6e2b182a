"""DescribeUserScramCredentials: no user has credentials, since clients do not authenticate (KIP-554)."""

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Steps, counted, stepwise
from odradek.server.edge.context import RequestContext, Respond, Response
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)

SERVES: Final = Serves(50, 0, 0, kips={0: 554})


def handle(
    core: BrokerCore, context: RequestContext, request: DescribeUserScramCredentialsRequest, respond: Respond
) -> None:
    """RESOURCE_NOT_FOUND for each user that was named; DUPLICATE_RESOURCE for one named twice."""

    def in_steps() -> Steps[Response]:
        counts = yield from counted(user.name for user in request.users or ())
        results = yield from stepwise(counts.items(), _result)
        return DescribeUserScramCredentialsResponse(error_message="", results=results)

    respond(in_steps())


def _result(counted_name: tuple[str, int]) -> DescribeUserScramCredentialsResult:
    name, count = counted_name
    if count > 1:
        message = f"the user {name} was asked for {count} times"
        return DescribeUserScramCredentialsResult(name, ErrorCode.DUPLICATE_RESOURCE, message)
    message = f"the user {name} has no credentials"
    return DescribeUserScramCredentialsResult(name, ErrorCode.RESOURCE_NOT_FOUND, message)
