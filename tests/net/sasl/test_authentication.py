"""The requests in which an exchange is packed."""

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import SettingError
from odradek.net.sasl import exchange
from odradek.net.sasl.authentication import Ask, Authentication, authentication, renewed_after_ms
from odradek.net.sasl.credentials import OAuthBearer, Plain, Scram
from odradek.net.sasl.exchange import AuthenticationFailed, Compute
from odradek.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from odradek.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

ADA = Plain("ada", "secret")


def handshaken(credentials: Plain | Scram | OAuthBearer = ADA) -> tuple[Authentication, Ask | Compute]:
    effects = authentication(credentials, "nonce")
    asked = next(effects)
    assert isinstance(asked, Ask)
    assert isinstance(asked.request, SaslHandshakeRequest)
    assert asked.request.mechanism == credentials.mechanism
    return effects, effects.send(SaslHandshakeResponse(0, [credentials.mechanism]))


def test_plain_is_one_message() -> None:
    effects, asked = handshaken()
    assert isinstance(asked, Ask)
    assert isinstance(asked.request, SaslAuthenticateRequest)
    assert asked.request.auth_bytes == b"\0ada\0secret"
    with pytest.raises(StopIteration) as done:
        effects.send(SaslAuthenticateResponse(session_lifetime_ms=60_000))
    assert done.value.value == 60_000


def test_a_mechanism_that_is_not_offered() -> None:
    effects = authentication(ADA, "nonce")
    next(effects)
    offer = SaslHandshakeResponse(ErrorCode.UNSUPPORTED_SASL_MECHANISM, ["GSSAPI", "SCRAM-SHA-512"])
    with pytest.raises(AuthenticationFailed, match="not offer PLAIN; it offers: GSSAPI, SCRAM-SHA-512") as no:
        effects.send(offer)
    assert no.value.code is ErrorCode.UNSUPPORTED_SASL_MECHANISM


def test_a_listener_without_sasl() -> None:
    effects = authentication(ADA, "nonce")
    next(effects)
    with pytest.raises(AuthenticationFailed, match="does not use SASL"):
        effects.send(SaslHandshakeResponse(ErrorCode.ILLEGAL_SASL_STATE, []))


def test_the_brokers_words_are_shown() -> None:
    effects, _ = handshaken()
    refusal = SaslAuthenticateResponse(ErrorCode.SASL_AUTHENTICATION_FAILED, "Authentication failed: no ada")
    with pytest.raises(AuthenticationFailed, match="no ada") as failed:
        effects.send(refusal)
    assert not failed.value.code.is_retriable


def test_a_refusal_without_words_has_some() -> None:
    effects, _ = handshaken()
    with pytest.raises(AuthenticationFailed, match="refuses the PLAIN login"):
        effects.send(SaslAuthenticateResponse(ErrorCode.SASL_AUTHENTICATION_FAILED))


def test_a_server_that_ends_a_scram_exchange_too_early_is_refused() -> None:
    effects, asked = handshaken(Scram("SCRAM-SHA-512", "ada", "secret"))
    assert isinstance(asked, Ask)
    with pytest.raises(AuthenticationFailed, match="damaged or cut off"):
        effects.send(SaslAuthenticateResponse(auth_bytes=b""))


def test_a_token_is_computed_before_it_is_sent() -> None:
    effects, compute = handshaken(OAuthBearer(lambda: "token"))
    assert isinstance(compute, Compute)
    asked = effects.send(compute.call())
    assert isinstance(asked, Ask)
    assert isinstance(asked.request, SaslAuthenticateRequest)
    assert b"Bearer token" in asked.request.auth_bytes


def test_a_session_is_renewed_before_it_ends() -> None:
    assert renewed_after_ms(3_600_000) == 3_060_000
    assert renewed_after_ms(500) == 1_000, "no broker authenticates twice in a second"


def test_credentials_do_not_show_secrets() -> None:
    shown = repr([ADA, Scram("SCRAM-SHA-256", "ada", "secret"), OAuthBearer(lambda: "secret")])
    assert "ada" in shown
    assert "secret" not in shown


@pytest.mark.parametrize(
    ("username", "password"), [("", "x"), ("a\0b", "x"), ("ada", "x\0"), ("ada", "\ud800")]
)
def test_names_that_no_exchange_can_carry(username: str, password: str) -> None:
    with pytest.raises(SettingError, match="for SASL"):
        Plain(username, password)
    with pytest.raises(SettingError, match="for SASL"):
        Scram("SCRAM-SHA-256", username, password)


def test_what_is_sent_is_not_printed() -> None:
    """PLAIN's only message is the password."""
    assert "secret" not in repr(exchange.Send(b"\0ada\0secret"))
