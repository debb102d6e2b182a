"""Parses `bootstrap.servers` and connects to one of them."""

from collections.abc import Sequence
from typing import Final

from odradek.base.errors import SettingError
from odradek.net.blocking_connection import CLIENT_ID, TIMEOUT_S, BrokerConnection
from odradek.net.request_pipeline import ConnectionFailed
from odradek.net.security import UNPROTECTED, Security

Address = tuple[str, int]

_NOT_IN_HOSTS: Final = frozenset("/;@?#'\" \t\r\n")


def parse_bootstrap_servers(servers: str) -> list[Address]:
    """Read "host:port,host:port". Raises SettingError."""
    addresses = []
    for server in servers.split(","):
        if "://" in server:
            raise SettingError(
                f"bootstrap servers are a list of host:port without a protocol, not '{servers}'"
            )
        host, _, port = server.strip().rpartition(":")
        is_port = port.isascii() and port.isdigit() and 0 < int(port[:6]) < 65536
        if not host or not is_port or _NOT_IN_HOSTS.intersection(host):
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
