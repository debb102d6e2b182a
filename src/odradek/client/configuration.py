"""How this package's own commands and tests reach a cluster, also by a properties file with Kafka's names.

What a name means and what it can be is said in `settings` alone. Settings that ask for protection take effect
or are refused (`protection`): a user who wrote `security.protocol=SSL` must not send in the clear. Other
settings without effect are reported and ignored.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from odradek.base.errors import SettingError
from odradek.base.system_errors import reason_of
from odradek.client.bootstrap import Address, connect_any, parse_bootstrap_servers
from odradek.client.other_settings import ours_for
from odradek.client.protection import PREFIXES, read_protection
from odradek.net.blocking_connection import BrokerConnection
from odradek.net.security import UNPROTECTED, Security

_OF_OTHERS: Final = frozenset(
    {
        "acks",
        "auto.commit.interval.ms",
        "batch.size",
        "compression.type",
        "delivery.timeout.ms",
        "enable.auto.commit",
        "enable.idempotence",
        "group.id",
        "group.protocol",
        "isolation.level",
    }
)
"""Settings of `produce` and `consume`; in a file that all commands share they are no mistake."""


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """Each field has Kafka's name and default unless its docstring says otherwise."""

    bootstrap_servers: str = "127.0.0.1:9092"
    client_id: str = "odradek"
    request_timeout_ms: int = 30_000
    default_api_timeout_ms: int | None = None
    """How long an administrative command tries again; None: as long as one request may take, while Kafka's
    default is 60000."""
    isolation_level: str = "read_uncommitted"
    security: Security = UNPROTECTED
    """What `security.protocol`, `ssl.*` and `sasl.*` say."""

    def connect(self, address: Address | None = None) -> BrokerConnection:
        """A connection to `address`, or to the first bootstrap server that answers.

        Raises SettingError for malformed bootstrap servers, ConnectionFailed when no broker answers.
        """
        addresses = parse_bootstrap_servers(self.bootstrap_servers) if address is None else [address]
        return connect_any(
            addresses,
            client_id=self.client_id,
            timeout_s=self.request_timeout_ms / 1000,
            security=self.security,
        )


def read_properties(path: Path) -> dict[str, str]:
    """The names and values in a properties file. Raises SettingError for one that cannot be read."""
    from odradek.base.settings.properties import parse_properties  # 25 ms that few commands need

    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise SettingError(f"the properties file {path} is not UTF-8") from None
    except OSError as error:
        reason = reason_of(error)
        raise SettingError(f"cannot read the properties file {path}: {reason}") from None
    return parse_properties(text)


def from_properties(
    properties: Mapping[str, str], otherwise: ClientConfig, known: Collection[str] = ()
) -> tuple[ClientConfig, list[str]]:
    """The configuration that properties describe, and a warning for each name without effect.

    Settings that they do not name come from `otherwise`; names in `known` take effect elsewhere. Raises
    SettingError for a bad value, or protection that is not given.
    """
    from odradek.client import settings as table  # 5 ms that a command without a file does not need

    own = {
        one.name: one
        for one in (
            table.BOOTSTRAP_SERVERS,
            table.CLIENT_ID,
            table.REQUEST_TIMEOUT_MS,
            table.DEFAULT_API_TIMEOUT_MS,
        )
    }
    values: dict[str, Any] = {}
    protection: dict[str, str] = {}
    warnings = []
    for name, text in properties.items():
        if name.startswith(PREFIXES):
            protection[name] = text
        elif name in own:
            value = own[name].read(name, text)
            values[name.replace(".", "_")] = text.strip() if own[name] is table.BOOTSTRAP_SERVERS else value
        elif name not in known and name not in _OF_OTHERS:
            ours = ours_for(name)
            said = "has no effect in these commands" if ours is None else f"is called {ours} here"
            warnings.append(f"{name} {said} and is ignored")
    if protection:
        values["security"] = read_protection(protection)
    return replace(otherwise, **values), warnings
