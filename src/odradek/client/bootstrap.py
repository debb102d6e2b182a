"""Parses `bootstrap.servers` and connects to one of them."""

from collections.abc import Sequence

from odradek.base.errors import SettingError
from odradek.net.blocking_connection import BrokerConnection
from odradek.net.request_pipeline import ConnectionFailed


def parse_bootstrap_servers(servers: str) -> list[tuple[str, int]]:
    """Read "host:port,host:port". Raises SettingError."""
    addresses = []
    for server in servers.split(","):
        host, _, port = server.strip().rpartition(":")
        if not host or not port.isdigit() or not 0 < int(port) < 65536:
            raise SettingError(f"bootstrap servers are a list of host:port, not '{servers}'")
        addresses.append((host.strip("[]"), int(port)))
    return addresses


def connect_any(addresses: Sequence[tuple[str, int]]) -> BrokerConnection:
    """A connection to the first of `addresses` that answers. Raises ConnectionFailed when none does."""
    failures = []
    for host, port in addresses:
        try:
            return BrokerConnection(host, port)
        except ConnectionFailed as failure:
            failures.append(str(failure))
    raise ConnectionFailed("; ".join(failures))
