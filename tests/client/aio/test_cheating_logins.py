"""Clients that log in to a server that cheats: a typed error soon, and nothing of the password is given away.

`tests/net/sasl` has each message that can be wrong; here the whole client meets some of them on a socket.
"""

import base64
from collections.abc import Callable

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.client.aio.admin import Admin
from odradek.client.aio.consumer import Consumer
from odradek.client.aio.producer import Producer
from odradek.client.core.waiting import Cause
from odradek.wire.messages.sasl_authenticate import SaslAuthenticateResponse
from tests.net.protected_broker import Check, ProtectedBroker

pytestmark = [pytest.mark.slow, pytest.mark.asyncio]

SALT = b"salt of the server"
SHA_256 = "SCRAM-SHA-256"


class ScramCheat:
    """A server that does not know the password, and says what it likes."""

    def __init__(
        self, challenge: Callable[[str], str], final: bytes = b"v=" + base64.b64encode(bytes(32))
    ) -> None:
        """`challenge` gets the client's nonce and returns the server's first message."""
        self._challenge = challenge
        self._final = final

    def __call__(self, auth_bytes: bytes) -> SaslAuthenticateResponse:
        text = auth_bytes.decode()
        if text.startswith("n,,"):
            return SaslAuthenticateResponse(auth_bytes=self._challenge(text.split("r=")[1]).encode())
        return SaslAuthenticateResponse(auth_bytes=self._final)


def challenge(nonce: str, *, iterations: int = 4_096) -> str:
    return f"r={nonce},s={base64.b64encode(SALT).decode()},i={iterations}"


class TokenCheat:
    """Refuses the token in a challenge, and then claims that all is well."""

    def __call__(self, auth_bytes: bytes) -> SaslAuthenticateResponse:
        is_token = auth_bytes.startswith(b"n,")
        return SaslAuthenticateResponse(auth_bytes=b'{"status":"invalid_token"}' if is_token else b"")


def client_of(broker: ProtectedBroker, mechanism: str) -> Admin:
    login: dict[str, object] = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism}
    if mechanism == "OAUTHBEARER":
        return Admin(f"127.0.0.1:{broker.port}", settings=login, token_provider=lambda: "token")
    login |= {"sasl.username": "ada", "sasl.password": "secret"}
    return Admin(f"127.0.0.1:{broker.port}", settings=login)


CHEATS: list[tuple[str, Check, str]] = [
    (SHA_256, ScramCheat(lambda _: challenge("another")), "nonce does not continue this client's"),
    (SHA_256, ScramCheat(challenge), "nonce does not continue this client's"),
    (SHA_256, ScramCheat(lambda nonce: challenge(nonce + "x", iterations=1)), "asks for 1 iterations"),
    (SHA_256, ScramCheat(lambda nonce: challenge(nonce + "x", iterations=10**9)), "number of iterations"),
    (SHA_256, ScramCheat(lambda nonce: challenge(nonce + "x")), "signature is wrong"),
    (SHA_256, ScramCheat(lambda nonce: challenge(nonce + "x"), b""), "damaged or cut off"),
    ("OAUTHBEARER", TokenCheat(), "refuses the token: 'invalid_token'"),
]


@pytest.mark.parametrize(("mechanism", "check", "sentence"), CHEATS)
async def test_a_server_that_cheats_is_refused(mechanism: str, check: Check, sentence: str) -> None:
    with ProtectedBroker(check, mechanism=mechanism) as broker:
        async with client_of(broker, mechanism) as admin:
            for _ in range(2):
                with pytest.raises(ApiError, match=sentence) as refused:
                    await admin.describe_cluster()
                assert refused.value.code is ErrorCode.SASL_AUTHENTICATION_FAILED
                assert "secret" not in str(refused.value)
        assert "DescribeClusterRequest" not in broker.asked, "nothing but the login is sent"


def ends_at_once(auth_bytes: bytes) -> SaslAuthenticateResponse:
    raise EOFError(f"{len(auth_bytes)} bytes are enough")


@pytest.mark.parametrize("kind", ["admin", "consumer", "producer"])
async def test_a_server_that_ends_the_connection_instead_of_answering_is_given_up(kind: str) -> None:
    """As brokers before KIP-152 refuse a login. It may also be one that stops: it is tried again."""
    settings: dict[str, object] = {
        "bootstrap.servers": "",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "ada",
        "sasl.password": "secret",
        "reconnect.backoff.ms": 100,
    }
    with ProtectedBroker(ends_at_once) as broker:
        settings["bootstrap.servers"] = f"127.0.0.1:{broker.port}"
        if kind == "admin":
            async with Admin(settings={**settings, "default.api.timeout.ms": 600}) as admin:
                with pytest.raises(ApiError, match="given up after 600 ms"):
                    await admin.describe_cluster()
        elif kind == "producer":
            async with Producer(settings={**settings, "max.block.ms": 600}) as producer:
                with pytest.raises(ApiError, match=r"not sent within 0\.6 s"):
                    await producer.send("orders", b"x")
        else:
            async with Consumer(settings=settings) as consumer:
                consumer.assign([("orders", 0)])  # type: ignore[list-item]
                assert await consumer.poll(0.6) == []
                assert consumer.why()[0].cause is Cause.NO_BROKER
        assert 1 <= broker.asked.count("SaslAuthenticateRequest") <= 8, "it pauses between two attempts"
