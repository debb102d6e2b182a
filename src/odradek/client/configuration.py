"""The configuration of a client, also from a properties file with Kafka's names.

Settings that ask for protection take effect or are refused (`protection`): a user who wrote
`security.protocol=SSL` must not send in the clear. Other settings without effect are reported and ignored.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from odradek.base.errors import SettingError
from odradek.client.bootstrap import Address, connect_any, parse_bootstrap_servers
from odradek.client.protection import PREFIXES, read_protection
from odradek.net.blocking_connection import BrokerConnection
from odradek.net.security import UNPROTECTED, Security

ISOLATION_LEVELS = {"read_uncommitted": 0, "read_committed": 1}
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
GROUP_PROTOCOLS = ("consumer", "classic")
ACKS = {"0": 0, "1": 1, "all": -1, "-1": -1}

_TIMEOUT_MS_MAX = 1_000_000_000


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """The settings of a client; each has Kafka's name and default unless its docstring says otherwise."""

    bootstrap_servers: str = "127.0.0.1:9092"
    client_id: str = "odradek"
    request_timeout_ms: int = 30_000
    default_api_timeout_ms: int | None = None
    """How long an administrative command tries again; None: as long as one request may take, while Kafka's
    default is 60000."""
    group_id: str | None = None
    group_protocol: str | None = None
    """None: the protocol that fits the group and the broker; Kafka's default is classic."""
    enable_auto_commit: bool = True
    auto_commit_interval_ms: int = 5_000
    isolation_level: str = "read_uncommitted"
    compression_type: str = "none"
    acks: int = -1
    enable_idempotence: bool = True
    delivery_timeout_ms: int = 120_000
    """How long a batch may be unacknowledged, including retries; also the timeout of each request."""
    batch_size: int = 128 * 1024
    """Bytes of uncompressed records after which a batch is sent; Kafka's default is 16384."""
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
        reason = (error.strerror or str(error)).lower()
        raise SettingError(f"cannot read the properties file {path}: {reason}") from None
    return parse_properties(text)


def from_properties(
    properties: Mapping[str, str], otherwise: ClientConfig, known: Collection[str] = ()
) -> tuple[ClientConfig, list[str]]:
    """The configuration that properties describe, and a warning for each name without effect.

    Settings that they do not name come from `otherwise`; names in `known` take effect elsewhere. Raises
    SettingError for a bad value, or protection that is not given.
    """
    values: dict[str, Any] = {}
    protection: dict[str, str] = {}
    warnings = []
    for name, text in properties.items():
        if name.startswith(PREFIXES):
            protection[name] = text
        elif name in _READERS:
            values[name.replace(".", "_")] = _READERS[name](name, text.strip())
        elif name not in known:
            warnings.append(f"{name} has no effect in these commands and is ignored")
    if protection:
        values["security"] = read_protection(protection)
    return replace(otherwise, **values), warnings


def _text(name: str, text: str) -> str:
    if not text:
        raise SettingError(f"{name} has no value")
    return text


def _number(lowest: int, highest: int) -> Callable[[str, str], int]:
    def read(name: str, text: str) -> int:
        digits = text.isascii() and text.isdecimal() and len(text) <= len(str(highest))
        if not digits or not lowest <= int(text) <= highest:
            raise SettingError(f"{name} is a number from {lowest} to {highest}, not '{text}'")
        return int(text)

    return read


def _one_of(*choices: str) -> Callable[[str, str], str]:
    def read(name: str, text: str) -> str:
        if text not in choices:
            raise SettingError(f"{name} is one of {', '.join(choices)}, not '{text}'")
        return text

    return read


def _acks(name: str, text: str) -> int:
    return ACKS[_one_of(*ACKS)(name, text)]


def _bool(name: str, text: str) -> bool:
    return _one_of("true", "false")(name, text.lower()) == "true"


_READERS: Mapping[str, Callable[[str, str], Any]] = {
    "bootstrap.servers": _text,
    "client.id": _text,
    "request.timeout.ms": _number(1, _TIMEOUT_MS_MAX),
    "default.api.timeout.ms": _number(1, _TIMEOUT_MS_MAX),
    "group.id": _text,
    "group.protocol": lambda name, text: _one_of(*GROUP_PROTOCOLS)(name, text.lower()),
    "enable.auto.commit": _bool,
    "auto.commit.interval.ms": _number(1, _TIMEOUT_MS_MAX),
    "isolation.level": _one_of(*ISOLATION_LEVELS),
    "compression.type": _one_of(*CODECS),
    "acks": _acks,
    "enable.idempotence": _bool,
    "batch.size": _number(1, 1 << 20),
    "delivery.timeout.ms": _number(1, _TIMEOUT_MS_MAX),
}
