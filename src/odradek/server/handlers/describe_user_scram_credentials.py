"""DescribeUserScramCredentials: no user has credentials, since clients do not authenticate (KIP-554)."""

from collections import Counter
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.server.edge.context import RequestContext, Respond
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
    counts = Counter(user.name for user in request.users or ())
    results = [_result(name, count) for name, count in counts.items()]
    respond(DescribeUserScramCredentialsResponse(error_message="", results=results))


def _result(name: str, count: int) -> DescribeUserScramCredentialsResult:
    if count > 1:
        message = f"the user {name} was asked for {count} times"
        return DescribeUserScramCredentialsResult(name, ErrorCode.DUPLICATE_RESOURCE, message)
    message = f"the user {name} has no credentials"
    return DescribeUserScramCredentialsResult(name, ErrorCode.RESOURCE_NOT_FOUND, message)
