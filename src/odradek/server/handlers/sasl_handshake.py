"""SaslHandshake: refused, since clients of a PLAINTEXT listener do not authenticate.

The refusal is answered because a client configured for SASL would otherwise only see its connection close.
"""

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.server.edge.context import RequestContext, Respond
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

SERVES: Final = Serves(17, 0, 1, kips={1: 152})


def handle(
    core: BrokerCore, context: RequestContext, request: SaslHandshakeRequest, respond: Respond
) -> None:
    """ILLEGAL_SASL_STATE, and no mechanisms."""
    respond(SaslHandshakeResponse(ErrorCode.ILLEGAL_SASL_STATE))
