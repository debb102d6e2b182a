"""TLS and SASL on both kinds of outgoing connections, against a scripted broker."""

import asyncio
import ssl
from collections.abc import Iterator
from itertools import chain, repeat
from pathlib import Path

import pytest
from peers.certificates import Authority, new_authority

from odradek.base.clock import ManualClock
from odradek.base.error_codes import ErrorCode
from odradek.net.blocking_connection import BrokerConnection
from odradek.net.client_connection import ClientConnection, tcp
from odradek.net.loop_authenticator import AUTHENTICATION_MS
from odradek.net.request_pipeline import (
    Answer,
    ConnectionFailed,
    NotConnected,
    Outcome,
    decode_answer,
)
from odradek.net.sasl.credentials import Credentials, OAuthBearer, Plain, Scram
from odradek.net.security import Security
from odradek.net.tls import client_context
from odradek.timer import Timer
from odradek.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from odradek.wire.messages.sasl_authenticate import SaslAuthenticateResponse
from tests.net.protected_broker import Check, ProtectedBroker, plain_of_ada

ADA = Security(credentials=Plain("ada", "secret"))
BOB = Security(credentials=Plain("bob", "guess"))
LOGIN = ["ApiVersionsRequest", "SaslHandshakeRequest", "SaslAuthenticateRequest"]
AGAIN = LOGIN[1:]
ASKED = "DescribeClusterRequest"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return new_authority(tmp_path_factory.mktemp("tls") / "ours")


@pytest.fixture(scope="module")
def server_tls(authority: Authority) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.signed("broker"))
    return context


def trusting(authority: Authority, credentials: Credentials | None = None) -> Security:
    return Security(client_context(authorities_path=authority.certificate), credentials)


def opened(broker: ProtectedBroker, security: Security, clock: ManualClock | None = None) -> BrokerConnection:
    return BrokerConnection(
        "127.0.0.1", broker.port, timeout_s=10, security=security, clock=clock or ManualClock()
    )


def asked(connection: BrokerConnection) -> str:
    return connection.ask(DescribeClusterRequest(), DescribeClusterResponse).cluster_id


def short_lived(auth_bytes: bytes) -> SaslAuthenticateResponse:
    answer = plain_of_ada(auth_bytes)
    answer.session_lifetime_ms = 10_000
    return answer


def then_refused() -> Check:
    """One login succeeds, and those that follow do not."""
    gone = SaslAuthenticateResponse(ErrorCode.SASL_AUTHENTICATION_FAILED, "gone")
    lifetimes = chain([True], repeat(False))
    return lambda auth_bytes: short_lived(auth_bytes) if next(lifetimes) else gone


class Asker:
    """A connection on a loop in virtual time."""

    def __init__(self, broker: ProtectedBroker, security: Security, *, setup_ms: int | None = None) -> None:
        self.clock = ManualClock()
        self.timer = Timer(self.clock)
        loop = asyncio.get_running_loop()
        self.connection = ClientConnection(
            "broker 2",
            tcp(loop, "127.0.0.1", broker.port, security),
            loop,
            self.timer,
            client_id="test",
            setup_ms=setup_ms,
            security=security,
        )

    def send(self) -> "asyncio.Future[Outcome]":
        outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self.connection.send(DescribeClusterRequest(), 1, 60_000, outcome.set_result)
        return outcome

    async def cluster_id(self) -> str:
        outcome = await self.send()
        assert isinstance(outcome, Answer), outcome
        return decode_answer("broker 2", outcome, DescribeClusterResponse).cluster_id

    async def failure(self) -> ConnectionFailed:
        outcome = await self.send()
        assert not isinstance(outcome, Answer), outcome
        return outcome.error

    def advance(self, by_ms: int) -> None:
        self.clock.advance(by_ms)
        self.timer.advance()


@pytest.fixture
def broker() -> Iterator[ProtectedBroker]:
    with ProtectedBroker() as running:
        yield running


@pytest.fixture
def tls_broker(server_tls: ssl.SSLContext) -> Iterator[ProtectedBroker]:
    with ProtectedBroker(tls=server_tls) as running:
        yield running


class TestBlocking:
    def test_a_login_comes_before_anything_else(self, broker: ProtectedBroker) -> None:
        with opened(broker, ADA) as connection:
            assert asked(connection) == "protected"
        assert broker.asked == [*LOGIN, ASKED]

    def test_a_refused_login_says_who_refused_it_and_why(self, broker: ProtectedBroker) -> None:
        with pytest.raises(ConnectionFailed, match=rf"127.0.0.1:{broker.port}: who are you\?") as refused:
            opened(broker, BOB)
        assert refused.value.code is ErrorCode.SASL_AUTHENTICATION_FAILED
        assert "guess" not in str(refused.value)

    def test_a_mechanism_that_the_broker_does_not_offer(self, broker: ProtectedBroker) -> None:
        with pytest.raises(ConnectionFailed, match="does not offer SCRAM-SHA-256; it offers: PLAIN"):
            opened(broker, Security(credentials=Scram("SCRAM-SHA-256", "ada", "secret")))

    def test_a_listener_without_sasl(self) -> None:
        with ProtectedBroker(None) as broker, pytest.raises(ConnectionFailed, match="does not use SASL"):
            opened(broker, ADA)

    def test_a_session_is_renewed_before_it_ends(self) -> None:
        clock = ManualClock()
        with ProtectedBroker(short_lived) as broker, opened(broker, ADA, clock) as connection:
            clock.advance(8_499)
            asked(connection)
            assert broker.asked == [*LOGIN, ASKED]
            clock.advance(1)
            asked(connection)
            clock.advance(8_499)
            asked(connection)
            assert broker.asked == [*LOGIN, ASKED, *AGAIN, ASKED, ASKED]

    def test_a_renewal_keeps_the_answers_that_are_on_their_way(self) -> None:
        clock = ManualClock()
        with ProtectedBroker(short_lived) as broker, opened(broker, ADA, clock) as connection:
            connection.send(DescribeClusterRequest(), 1)
            clock.advance(8_500)
            connection.send(DescribeClusterRequest(), 1)
            found = [connection.receive(DescribeClusterResponse).cluster_id for _ in range(2)]
            assert found == ["protected", "protected"]
            assert broker.asked == [*LOGIN, ASKED, *AGAIN, ASKED]

    def test_a_renewal_that_is_refused_ends_the_connection(self) -> None:
        clock = ManualClock()
        with ProtectedBroker(then_refused()) as broker:
            connection = opened(broker, ADA, clock)
            clock.advance(8_500)
            with pytest.raises(ConnectionFailed, match="gone"):
                asked(connection)
            with pytest.raises(ConnectionFailed, match="is closed"):
                asked(connection)

    def test_tls_with_a_login(self, tls_broker: ProtectedBroker, authority: Authority) -> None:
        with opened(tls_broker, trusting(authority, ADA.credentials)) as connection:
            assert asked(connection) == "protected"

    def test_an_authority_that_is_not_trusted(self, tls_broker: ProtectedBroker, tmp_path: Path) -> None:
        with pytest.raises(ConnectionFailed, match="the broker's certificate is not accepted: "):
            opened(tls_broker, trusting(new_authority(tmp_path / "other")))
        assert tls_broker.asked == []

    def test_a_certificate_for_another_name(self, authority: Authority) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(authority.signed("elsewhere", "DNS:elsewhere.example"))
        with ProtectedBroker(tls=context) as broker:
            with pytest.raises(ConnectionFailed, match="is not accepted: ip address mismatch"):
                opened(broker, trusting(authority, ADA.credentials))
            assert broker.asked == []
            unnamed = client_context(authorities_path=authority.certificate, checks_name=False)
            with opened(broker, Security(unnamed, ADA.credentials)) as connection:
                assert asked(connection) == "protected"

    def test_a_broker_that_does_not_speak_tls(self, authority: Authority) -> None:
        with ProtectedBroker() as broker, pytest.raises(ConnectionFailed, match="during TLS's handshake"):
            opened(broker, trusting(authority))


@pytest.mark.asyncio
class TestOnALoop:
    async def test_a_login_comes_before_anything_else(self, broker: ProtectedBroker) -> None:
        asker = Asker(broker, ADA)
        found = await asyncio.gather(asker.cluster_id(), asker.cluster_id())
        assert list(found) == ["protected", "protected"]
        assert broker.asked == [*LOGIN, ASKED, ASKED]
        asker.connection.close()

    async def test_after_a_refused_login_the_broker_has_certainly_got_nothing(
        self, broker: ProtectedBroker
    ) -> None:
        failed = await Asker(broker, BOB).failure()
        assert isinstance(failed, NotConnected)
        assert failed.code is ErrorCode.SASL_AUTHENTICATION_FAILED
        assert "who are you?" in failed.message
        assert broker.asked == LOGIN

    async def test_a_broker_that_never_answers_a_login_is_given_up(self) -> None:
        with ProtectedBroker(lambda _: SaslAuthenticateResponse(auth_bytes=b"r=")) as broker:
            provider_ends = asyncio.Event()
            loop, began = asyncio.get_running_loop(), asyncio.Event()

            def wait() -> str:
                loop.call_soon_threadsafe(began.set)
                asyncio.run_coroutine_threadsafe(provider_ends.wait(), loop).result(10)
                return "token"

            broker._mechanism = "OAUTHBEARER"
            asker = Asker(broker, Security(credentials=OAuthBearer(wait)), setup_ms=500)
            outcome = asker.send()
            await began.wait()
            asker.advance(500)
            failed = (await outcome).error  # type: ignore[union-attr]
            assert "it was not made within 500 ms" in failed.message
            assert not asker.connection.is_open
            provider_ends.set()

    async def test_a_session_is_renewed_when_everything_is_answered(self) -> None:
        with ProtectedBroker(short_lived) as broker:
            asker = Asker(broker, ADA)
            await asker.cluster_id()
            on_its_way = asker.send()
            asker.advance(8_500)
            during = asker.send()
            assert all(isinstance(one, Answer) for one in await asyncio.gather(on_its_way, during))
            assert broker.asked == [*LOGIN, ASKED, ASKED, *AGAIN, ASKED]
            await asker.cluster_id()
            asker.connection.close()

    async def test_a_renewal_may_await_an_answer_for_longer_than_a_login_takes(self) -> None:
        """The answer to a join may take minutes; the limit of a login counts from its beginning."""
        with ProtectedBroker(short_lived) as broker:
            asker = Asker(broker, ADA)
            await asker.cluster_id()
            on_its_way = asker.send()
            asker.advance(8_500)
            asker.advance(AUTHENTICATION_MS + 1)
            assert isinstance(await on_its_way, Answer)
            await asker.cluster_id()
            assert broker.asked == [*LOGIN, ASKED, ASKED, *AGAIN, ASKED]
            asker.connection.close()

    async def test_a_renewal_that_is_refused_ends_the_connection(self) -> None:
        with ProtectedBroker(then_refused()) as broker:
            asker = Asker(broker, ADA)
            await asker.cluster_id()
            asker.advance(8_500)
            failed = await asker.failure()
            assert "gone" in failed.message
            assert not asker.connection.is_open

    async def test_tls_with_a_login(self, tls_broker: ProtectedBroker, authority: Authority) -> None:
        asker = Asker(tls_broker, trusting(authority, ADA.credentials))
        assert await asker.cluster_id() == "protected"
        asker.connection.close()

    async def test_an_authority_that_is_not_trusted(
        self, tls_broker: ProtectedBroker, tmp_path: Path
    ) -> None:
        failed = await Asker(tls_broker, trusting(new_authority(tmp_path / "other"))).failure()
        assert isinstance(failed, NotConnected)
        assert "the broker's certificate is not accepted" in failed.message
        assert tls_broker.asked == []
