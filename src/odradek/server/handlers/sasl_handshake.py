"""SaslHandshake: refused, since clients of a PLAINTEXT listener have nothing to prove.

Without an answer a client that is set up for SASL would see its connection close and never learn why.
"""

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.server.edge.context import RequestContext, Respond
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

API_KEY: Final = 17


def handle(
    core: BrokerCore, context: RequestContext, request: SaslHandshakeRequest, respond: Respond
) -> None:
    """ILLEGAL_SASL_STATE, and no mechanisms."""
    respond(SaslHandshakeResponse(ErrorCode.ILLEGAL_SASL_STATE))
