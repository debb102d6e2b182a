"""Parses `bootstrap.servers` and connects to one of them."""

from collections.abc import Sequence

from odradek.base.errors import SettingError
from odradek.net.blocking_connection import CLIENT_ID, TIMEOUT_S, BrokerConnection
from odradek.net.request_pipeline import ConnectionFailed
from odradek.net.security import UNPROTECTED, Security

Address = tuple[str, int]


def parse_bootstrap_servers(servers: str) -> list[Address]:
    """Read "host:port,host:port". Raises SettingError."""
    addresses = []
    for server in servers.split(","):
        host, _, port = server.strip().rpartition(":")
        if not host or not (port.isascii() and port.isdigit()) or not 0 < int(port[:6]) < 65536:
            raise SettingError(f"bootstrap servers are a list of host:port, not '{servers}'")
        addresses.append((host.strip("[]"), int(port)))
    return addresses


def connect_any(
    addresses: Sequence[Address],
    *,
    client_id: str = CLIENT_ID,
    timeout_s: float = TIMEOUT_S,
    security: Security = UNPROTECTED,
) -> BrokerConnection:
    """A connection to the first of `addresses` that answers. Raises ConnectionFailed when none does."""
    failures = []
    for host, port in addresses:
        try:
            return BrokerConnection(host, port, client_id=client_id, timeout_s=timeout_s, security=security)
        except ConnectionFailed as failure:
            failures.append(failure)
    raise ConnectionFailed("; ".join(map(str, failures)), failures[0].code)
