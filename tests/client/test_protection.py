"""Settings that protect connections: each takes effect or is refused."""

import ssl
from pathlib import Path

import pytest
from peers.certificates import Authority, new_authority

from odradek.base.errors import SettingError
from odradek.client.protection import read_protection
from odradek.net.sasl.credentials import OAuthBearer, Plain, Scram
from odradek.net.security import UNPROTECTED

SCRAM = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="ada" password="secret";'


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return new_authority(tmp_path_factory.mktemp("tls") / "ours")


def pem(authority: Authority, **more: str) -> dict[str, str]:
    return {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(authority.certificate),
    } | {name.replace("_", "."): value for name, value in more.items()}


def test_without_settings_nothing_is_protected() -> None:
    assert read_protection({}) == UNPROTECTED
    assert read_protection({"security.protocol": "PLAINTEXT"}) == UNPROTECTED


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_login_as_kafka_writes_it(mechanism: str) -> None:
    found = read_protection(
        {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism, "sasl.jaas.config": SCRAM}
    )
    assert (found.protocol, found.credentials) == ("SASL_PLAINTEXT", Scram(mechanism, "ada", "secret"))


def test_a_login_by_name_and_password() -> None:
    found = read_protection(
        {
            "security.protocol": "sasl_ssl",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "ada",
            "sasl.password": " secret ",
        }
    )
    assert (found.protocol, found.credentials) == ("SASL_SSL", Plain("ada", " secret "))


def test_tokens_come_from_a_callable() -> None:
    settings = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER"}
    found = read_protection(settings, token_provider=lambda: "token")
    assert isinstance(found.credentials, OAuthBearer)
    assert found.credentials.token() == "token"
    with pytest.raises(SettingError, match="tokens come from the argument token_provider"):
        read_protection(settings)


def test_the_machines_authorities_are_trusted_where_none_are_named() -> None:
    found = read_protection({"security.protocol": "SSL"})
    assert found.tls is not None
    assert (found.tls.verify_mode, found.tls.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert found.tls.minimum_version == ssl.TLSVersion.TLSv1_2


def test_pem_files(authority: Authority) -> None:
    key = str(authority.signed("client"))
    found = read_protection(
        pem(authority, ssl_keystore_type="PEM", ssl_keystore_location=key, ssl_enabled_protocols="TLSv1.3")
    )
    assert found.tls is not None
    assert [one["subject"] for one in found.tls.get_ca_certs()] == [((("commonName", "authority of ours"),),)]
    assert found.tls.minimum_version == ssl.TLSVersion.TLSv1_3


def test_certificates_in_a_setting(authority: Authority) -> None:
    text = authority.certificate.read_text()
    found = read_protection(
        {"security.protocol": "SSL", "ssl.truststore.type": "PEM", "ssl.truststore.certificates": text}
    )
    assert found.tls is not None
    assert len(found.tls.get_ca_certs()) == 1


def test_names_are_checked_unless_that_is_switched_off(authority: Authority) -> None:
    found = read_protection(pem(authority, ssl_endpoint_identification_algorithm=""))
    assert found.tls is not None
    assert (found.tls.verify_mode, found.tls.check_hostname) == (ssl.CERT_REQUIRED, False)


def test_a_context_of_pythons() -> None:
    context = ssl.create_default_context()
    assert read_protection({"security.protocol": "SSL"}, ssl_context=context).tls is context
    with pytest.raises(SettingError, match=r"ssl\.truststore\.type has no effect beside ssl_context"):
        read_protection({"security.protocol": "SSL", "ssl.truststore.type": "PEM"}, ssl_context=context)
    with pytest.raises(SettingError, match=r"ssl_context has no effect with security\.protocol=PLAINTEXT"):
        read_protection({}, ssl_context=context)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            {"security.protocol": "TLS"},
            "security.protocol is one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL",
        ),
        ({"sasl.mechanism": "PLAIN"}, "sasl.mechanism has no effect with security.protocol=PLAINTEXT"),
        ({"ssl.truststore.location": "x"}, "has no effect with security.protocol=PLAINTEXT: it needs SSL or"),
        ({"security.protocol": "SSL", "sasl.username": "a"}, "sasl.username has no effect"),
        ({"security.protocol": "SASL_SSL"}, "sasl.mechanism is one of PLAIN, .* must be set"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "GSSAPI"}, "not 'GSSAPI'"),
        (
            {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"},
            "needs sasl.jaas.config, or sasl.user",
        ),
        (
            {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "ada"},
            "needs sasl.jaas.config, or sasl.username and sasl.password",
        ),
        (
            {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "SCRAM-SHA-256",
                "sasl.username": "ada",
                "sasl.jaas.config": SCRAM,
            },
            "exclude each other",
        ),
        (
            {"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": SCRAM},
            "sasl.jaas.config has no effect with sasl.mechanism=OAUTHBEARER",
        ),
        (
            {"security.protocol": "SSL", "ssl.truststore.location": "trust.jks"},
            "only PEM files are read, not JKS: convert the truststore and set ssl.truststore.type=PEM",
        ),
        ({"security.protocol": "SSL", "ssl.keystore.type": "PKCS12"}, "only PEM files are read, not PKCS12"),
        ({"security.protocol": "SSL", "ssl.enabled.protocols": "SSLv3"}, "not 'SSLv3'"),
        ({"security.protocol": "SSL", "ssl.endpoint.identification.algorithm": "ldaps"}, "not 'ldaps'"),
        ({"security.protocol": "SSL", "ssl.key.password": "secret"}, "without ssl.keystore.location"),
        ({"ssl.protocl": "x"}, "ssl.protocl is not a setting of this client"),
        ({"sasl.mechanisn": "x"}, "did you mean sasl.mechanism"),
        ({"ssl.ca.location": "x"}, "Kafka's name is ssl.truststore.location"),
        ({"sasl.login.callback.handler.class": "evil"}, "no class is loaded because a setting names it"),
        ({"ssl.engine.factory.class": "evil"}, "no class is loaded"),
        ({"sasl.oauthbearer.token.endpoint.url": "http://evil"}, "no URL is fetched because a setting names"),
        ({"sasl.oauthbearer.client.credentials.client.secret": "secret"}, "is refused: tokens come from"),
        ({"sasl.kerberos.service.name": "kafka"}, "GSSAPI is not spoken here"),
    ],
)
def test_what_cannot_take_effect_is_refused(settings: dict[str, str], sentence: str) -> None:
    with pytest.raises(SettingError, match=sentence) as refused:
        read_protection(settings)
    assert "secret" not in str(refused.value).replace("client.secret", "")
    assert "evil" not in str(refused.value)


def test_files_that_are_no_such_pem(authority: Authority, tmp_path: Path) -> None:
    bad = tmp_path / "bad.pem"
    bad.write_text("nothing")
    key = {"ssl_keystore_type": "PEM", "ssl_keystore_location": str(bad)}
    for settings, sentence in [
        (pem(authority) | {"ssl.truststore.location": str(bad)}, "has no certificates in PEM"),
        (pem(authority) | {"ssl.truststore.location": str(tmp_path / "none")}, "cannot read .*no such file"),
        (pem(authority) | {"ssl.truststore.location": ""}, "has no value"),
        (pem(authority, **key), "has no key with its certificates in PEM"),
        (pem(authority, ssl_truststore_certificates="x"), "exclude each other"),
        (
            {"security.protocol": "SSL", "ssl.truststore.type": "PEM", "ssl.truststore.certificates": ""},
            "has no certificates in PEM",
        ),
    ]:
        with pytest.raises(SettingError, match=sentence):
            read_protection(settings)
