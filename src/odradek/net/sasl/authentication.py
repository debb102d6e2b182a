"""The requests in which a SASL exchange is packed: SaslHandshake, then SaslAuthenticate (KIP-152), as
effects.

    Ask(SaslHandshakeRequest("SCRAM-SHA-256"))     the mechanism; the broker lists its own if it has not this
    one Ask(SaslAuthenticateRequest(...))              for each `Send` of the exchange
    Compute(...)                                   as the exchange asks
    (returns 3_600_000)                            authenticated; the session ends after so many ms (KIP-368)
    (returns 0)                                    ... or lasts as long as the connection

The same effects in the same order authenticate a connection again before its session ends.
"""

from collections.abc import Generator
from typing import Final, TypeAlias

from odradek.base.error_codes import ErrorCode
from odradek.base.values import value
from odradek.net.sasl.credentials import Credentials
from odradek.net.sasl.exchange import AuthenticationFailed, Compute, Send
from odradek.wire.message import Message
from odradek.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from odradek.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

HANDSHAKE_VERSION: Final = 1
"""In version 0 the exchange is not packed in requests; no broker since Kafka 1.0 needs it."""
_RENEWED_AT_PERCENT: Final = 85
_RENEWED_AFTER_MS_MIN: Final = 1_000
"""A broker refuses to authenticate a connection twice in a second."""


@value
class Ask:
    """A request to the broker; the authentication continues with its answer, of that type."""

    request: Message
    response: type[Message]


Authentication: TypeAlias = Generator[Ask | Compute, Message | bytes | None, int]
"""It returns the life of the session in ms, 0 for an unlimited one. Raises AuthenticationFailed."""


def authentication(credentials: Credentials, nonce: str) -> Authentication:
    """Authenticate one connection, once."""
    mechanism = credentials.mechanism
    answer = yield Ask(SaslHandshakeRequest(mechanism), SaslHandshakeResponse)
    assert isinstance(answer, SaslHandshakeResponse)
    if answer.error_code == ErrorCode.ILLEGAL_SASL_STATE:
        raise AuthenticationFailed("this listener does not use SASL", ErrorCode.ILLEGAL_SASL_STATE)
    if answer.error_code != ErrorCode.NONE:
        offered = ", ".join(answer.mechanisms) or "none"
        raise AuthenticationFailed(
            f"the broker does not offer {mechanism}; it offers: {offered}",
            ErrorCode.UNSUPPORTED_SASL_MECHANISM,
        )
    exchange = credentials.exchange(nonce)
    lifetime_ms = 0
    effect: Send | Compute = next(exchange)
    while True:
        if isinstance(effect, Compute):
            result = yield effect
            assert isinstance(result, bytes)
        else:
            said = yield Ask(SaslAuthenticateRequest(effect.payload), SaslAuthenticateResponse)
            assert isinstance(said, SaslAuthenticateResponse)
            if said.error_code != ErrorCode.NONE:
                raise AuthenticationFailed(said.error_message or f"the broker refuses the {mechanism} login")
            result, lifetime_ms = bytes(said.auth_bytes), said.session_lifetime_ms
        try:
            effect = exchange.send(result)
        except StopIteration:
            return max(0, lifetime_ms)


def renewed_after_ms(lifetime_ms: int) -> int:
    """After how long to authenticate again, for a session with a limited life."""
    return max(lifetime_ms * _RENEWED_AT_PERCENT // 100, _RENEWED_AFTER_MS_MIN)
