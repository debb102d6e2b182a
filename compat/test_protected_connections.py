"""TLS and SASL of our connections to Apache Kafka, blocking and on a loop."""

import asyncio
import base64
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from peers import KafkaBroker
from peers.certificates import new_authority
from peers.process import HOST
from peers.protected_kafka import PASSWORD, SESSION_MS, USERNAME, ProtectedKafkaBroker

from odradek.base.clock import SystemClock
from odradek.base.error_codes import ErrorCode
from odradek.cli.main import run
from odradek.client.protection import read_protection
from odradek.net.blocking_connection import BrokerConnection
from odradek.net.client_connection import ClientConnection, tcp
from odradek.net.request_pipeline import Answer, ConnectionFailed, Outcome, decode_answer
from odradek.net.security import Security
from odradek.timer import Timer
from odradek.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")


@pytest.fixture(scope="module")
def kafka(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ProtectedKafkaBroker]:
    """Apache Kafka with protected listeners; only where Kafka is a target."""
    targets = request.config.getoption("--target")
    if targets and KafkaBroker.name not in targets:
        pytest.skip("Odradek's listeners speak plain text only")
    with ProtectedKafkaBroker(tmp_path_factory.mktemp("protected")) as running:
        yield running


def settings_for(kafka: ProtectedKafkaBroker, listener: str, mechanism: str, password: str) -> dict[str, str]:
    """The client's properties, in Kafka's form."""
    found = {"security.protocol": listener, "sasl.mechanism": mechanism}
    if mechanism != "OAUTHBEARER":
        kind = "plain.Plain" if mechanism == "PLAIN" else "scram.Scram"
        escaped = password.replace("\\", "\\\\").replace('"', '\\"')
        found["sasl.jaas.config"] = (
            f"org.apache.kafka.common.security.{kind}LoginModule required"
            f' username="{USERNAME}" password="{escaped}";'
        )
    return found | (trusted(kafka) if listener == "SASL_SSL" else {})


def trusted(kafka: ProtectedKafkaBroker) -> dict[str, str]:
    return {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(kafka.authority.certificate)}


def unsigned_token(lifetime_s: float = 3_600) -> str:
    """A token that Kafka's validator for development accepts."""
    now = time.time()
    parts = ({"alg": "none"}, {"sub": USERNAME, "iat": now - 1, "exp": now + lifetime_s})
    encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
    return ".".join([*encoded, ""])


def security(kafka: ProtectedKafkaBroker, listener: str, mechanism: str) -> Security:
    provider = unsigned_token if mechanism == "OAUTHBEARER" else None
    return read_protection(settings_for(kafka, listener, mechanism, PASSWORD), token_provider=provider)


def cluster_of(port: int, security: Security) -> str:
    with BrokerConnection(HOST, port, security=security) as connection:
        return connection.ask(DescribeClusterRequest(), DescribeClusterResponse).cluster_id


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("listener", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_each_mechanism(kafka: ProtectedKafkaBroker, listener: str, mechanism: str) -> None:
    assert cluster_of(kafka.port_of[listener], security(kafka, listener, mechanism))


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_wrong_password(kafka: ProtectedKafkaBroker, mechanism: str) -> None:
    wrong = read_protection(settings_for(kafka, "SASL_PLAINTEXT", mechanism, "guess"))
    with pytest.raises(ConnectionFailed, match="Authentication failed") as refused:
        cluster_of(kafka.port_of["SASL_PLAINTEXT"], wrong)
    assert refused.value.code is ErrorCode.SASL_AUTHENTICATION_FAILED


def test_a_token_that_has_expired(kafka: ProtectedKafkaBroker) -> None:
    settings = settings_for(kafka, "SASL_PLAINTEXT", "OAUTHBEARER", "")
    expired = read_protection(settings, token_provider=lambda: unsigned_token(-0.5))
    with pytest.raises(ConnectionFailed) as refused:
        cluster_of(kafka.port_of["SASL_PLAINTEXT"], expired)
    assert refused.value.code is ErrorCode.SASL_AUTHENTICATION_FAILED


def test_tls_needs_the_certificate_that_the_broker_demands(kafka: ProtectedKafkaBroker) -> None:
    settings = {"security.protocol": "SSL"} | trusted(kafka)
    key = {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(kafka.authority.signed("client"))}
    assert cluster_of(kafka.port_of["SSL"], read_protection(settings | key))
    with pytest.raises(ConnectionFailed):
        cluster_of(kafka.port_of["SSL"], read_protection(settings))


def test_another_authority_is_not_trusted(kafka: ProtectedKafkaBroker, tmp_path: Path) -> None:
    other = {"ssl.truststore.location": str(new_authority(tmp_path / "other").certificate)}
    settings = settings_for(kafka, "SASL_SSL", "PLAIN", PASSWORD) | other
    with pytest.raises(ConnectionFailed, match="the broker's certificate is not accepted"):
        cluster_of(kafka.port_of["SASL_SSL"], read_protection(settings))


def test_a_client_in_plain_text_is_told_what_is_wrong(kafka: ProtectedKafkaBroker) -> None:
    with pytest.raises(ConnectionFailed, match="does not answer as a PLAINTEXT listener"):
        cluster_of(kafka.port_of["SASL_SSL"], Security())


def test_a_blocking_connection_outlives_its_first_session(kafka: ProtectedKafkaBroker) -> None:
    """Kafka ends a connection at the first request after its session's end."""
    with BrokerConnection(
        HOST, kafka.port_of["SASL_SSL"], security=security(kafka, "SASL_SSL", "SCRAM-SHA-256")
    ) as connection:
        began = time.monotonic()
        while time.monotonic() < began + 2.5 * SESSION_MS / 1_000:
            assert connection.ask(DescribeClusterRequest(), DescribeClusterResponse).cluster_id
            time.sleep(0.1)


def test_a_connection_on_a_loop_outlives_its_first_session(kafka: ProtectedKafkaBroker) -> None:
    asyncio.run(_outlive(kafka.port_of["SASL_SSL"], security(kafka, "SASL_SSL", "SCRAM-SHA-512")))


async def _outlive(port: int, protection: Security) -> None:
    loop, timer = asyncio.get_running_loop(), Timer(SystemClock())
    connection = ClientConnection(
        f"{HOST}:{port}", tcp(loop, HOST, port, protection), loop, timer, client_id="t", security=protection
    )
    began = loop.time()
    while loop.time() < began + 2.5 * SESSION_MS / 1_000:
        asked: asyncio.Future[Outcome] = loop.create_future()
        connection.send(DescribeClusterRequest(), 1, 10_000, asked.set_result)
        while not asked.done():
            timer.advance()
            await asyncio.sleep(0.01)
        answer = asked.result()
        assert isinstance(answer, Answer), answer
        assert decode_answer(HOST, answer, DescribeClusterResponse).cluster_id
        await asyncio.sleep(0.1)
    connection.close()


def test_the_command_line_with_a_properties_file(
    kafka: ProtectedKafkaBroker, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    settings = settings_for(kafka, "SASL_SSL", "SCRAM-SHA-512", PASSWORD)
    config = tmp_path / "client.properties"
    lines = [f"{name}={text.replace(chr(92), chr(92) * 2)}\n" for name, text in settings.items()]
    config.write_text("".join(lines))
    arguments = ("-b", f"{HOST}:{kafka.port_of['SASL_SSL']}", "--config", str(config))
    assert run(["topics", "create", "flights", *arguments]) == 0, capfd.readouterr()
    (tmp_path / "lines").write_text("on time\n")
    assert run(["produce", "flights", "--file", str(tmp_path / "lines"), *arguments]) == 0, capfd.readouterr()
    capfd.readouterr()
    assert run(["consume", "flights", "--from-beginning", "-n", "1", *arguments]) == 0
    assert "on time" in capfd.readouterr().out
