"""Apache Kafka with listeners for TLS and SASL, beside the one in plain text: what protected clients connect
to.

SSL                TLS; the client must have a certificate of the same authority
SASL_PLAINTEXT     a login of ada, by any mechanism
SASL_SSL           the same over TLS; a session lives SESSION_MS (KIP-368)
"""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from peers.certificates import Authority, new_authority
from peers.kafka import KafkaBroker
from peers.process import HOST, free_port

USERNAME, PASSWORD = "ada", 'se"cret\\'
SESSION_MS = 2_500
LISTENERS = ("SSL", "SASL_PLAINTEXT", "SASL_SSL")

_MODULES = "org.apache.kafka.common.security"
_JAAS_PASSWORD = PASSWORD.replace("\\", "\\\\").replace('"', '\\"')
_LOGINS = {
    "plain": f'{_MODULES}.plain.PlainLoginModule required user_{USERNAME}="{_JAAS_PASSWORD}";',
    "scram-sha-256": f"{_MODULES}.scram.ScramLoginModule required;",
    "scram-sha-512": f"{_MODULES}.scram.ScramLoginModule required;",
    "oauthbearer": f"{_MODULES}.oauthbearer.OAuthBearerLoginModule required"
    ' unsecuredLoginStringClaim_sub="broker";',
}


class ProtectedKafkaBroker(KafkaBroker):
    """Its authority is made with it. Raises JarsMissing, FileNotFoundError without `openssl`."""

    format_arguments: ClassVar[tuple[str, ...]] = tuple(
        argument
        for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512")
        for argument in ("--add-scram", f"{mechanism}=[name={USERNAME},password={PASSWORD}]")
    )

    def __init__(self, directory: Path, settings: Mapping[str, str] | None = None) -> None:
        super().__init__(directory, settings)
        directory.mkdir(parents=True, exist_ok=True)
        self.authority: Authority = new_authority(directory / "authority")
        self.port_of = {name: free_port() for name in LISTENERS}
        """Listener to its port on HOST."""

    def _base_settings(self) -> dict[str, str]:
        base = super()._base_settings()
        protected = [f"{name}://{HOST}:{port}" for name, port in self.port_of.items()]
        base["listeners"] = ",".join([base["listeners"], *protected])
        protocols = [f"{name}:{name}" for name in LISTENERS]
        base["listener.security.protocol.map"] = ",".join(
            [base["listener.security.protocol.map"], *protocols]
        )
        stores = {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self.authority.signed("broker")),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.authority.certificate),
            "listener.name.ssl.ssl.client.auth": "required",
            "listener.name.sasl_ssl.connections.max.reauth.ms": str(SESSION_MS),
            "sasl.enabled.mechanisms": ",".join(_LOGINS).upper(),
        }
        logins = {
            f"listener.name.{listener}.{mechanism}.sasl.jaas.config": login.replace("\\", "\\\\")
            for listener in ("sasl_plaintext", "sasl_ssl")
            for mechanism, login in _LOGINS.items()
        }
        return base | stores | logins
