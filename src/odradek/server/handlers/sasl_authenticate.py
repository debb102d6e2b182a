"""SaslAuthenticate: refused, since clients of a PLAINTEXT listener do not authenticate."""

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.server.edge.context import RequestContext, Respond
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse

SERVES: Final = Serves(36, 0, 2, kips={0: 152, 1: 368, 2: 482})


def handle(
    core: BrokerCore, context: RequestContext, request: SaslAuthenticateRequest, respond: Respond
) -> None:
    """ILLEGAL_SASL_STATE."""
    message = f"the listener {context.listener} does not authenticate clients"
    respond(SaslAuthenticateResponse(ErrorCode.ILLEGAL_SASL_STATE, message))
