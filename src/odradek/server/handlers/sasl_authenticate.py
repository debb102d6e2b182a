"""SaslAuthenticate: refused, since clients of a PLAINTEXT listener have nothing to prove."""

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.server.edge.context import RequestContext, Respond
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse

API_KEY: Final = 36


def handle(
    core: BrokerCore, context: RequestContext, request: SaslAuthenticateRequest, respond: Respond
) -> None:
    """ILLEGAL_SASL_STATE."""
    message = f"the listener {context.listener} does not authenticate clients"
    respond(SaslAuthenticateResponse(ErrorCode.ILLEGAL_SASL_STATE, message))
