"""How outgoing connections are protected: with TLS, with SASL, with both, or not at all."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:  # few connections need them, and they take milliseconds to import
    import ssl

    from odradek.net.sasl.credentials import Credentials


@dataclass(frozen=True, slots=True)
class Security:
    """What connections to brokers use; the same for all connections of a client."""

    tls: ssl.SSLContext | None = None
    """It decides which certificates and names of brokers are accepted. None: connections are not
    encrypted.
    """
    credentials: Credentials | None = field(default=None)
    """None: the client does not authenticate with SASL."""

    @property
    def protocol(self) -> str:
        """Kafka's name of it, as in `security.protocol`."""
        encrypted = "PLAINTEXT" if self.tls is None else "SSL"
        return encrypted if self.credentials is None else f"SASL_{encrypted}"


UNPROTECTED: Final = Security()
