"""Which requests the admin listener answers: those that were sent to an address, or to it by name.

A web page may resolve a name of its own to 127.0.0.1, or to where the broker is, and have a browser ask there
(DNS rebinding); the browser then says that name in `Host`. So a name counts only if it means this machine by
itself, or stands in `odradek.admin.allowed.hosts`. An address counts always: a browser that says one had no
name to resolve, and Prometheus and the kubelet say the address that they scrape and probe.

    Host: localhost:9080       answered, with any port and in any case
    Host: [::1]                answered
    Host: 10.0.3.7:9080        answered
    Host: evil.example:9080    refused
    no Host                    answered: every browser sends one
"""

import socket
from collections.abc import Iterable
from typing import Final

LOCALHOST: Final = "localhost"
REFUSAL: Final = (
    "This listener answers to localhost, to addresses, and to what odradek.admin.allowed.hosts names.\n"
)


class AllowedHosts:
    """The names under which the admin listener is asked."""

    def __init__(self, more: Iterable[str]) -> None:
        self._names = {LOCALHOST, *map(_without_port, more)}

    def allow(self, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        """Whether every `Host` among the headers of a request is allowed."""
        return all(
            self._allows(_without_port(value.decode("latin-1")))
            for name, value in headers
            if name.lower() == b"host"
        )

    def _allows(self, host: str) -> bool:
        return host in self._names or _is_address(host)


def _is_address(host: str) -> bool:
    """Whether it is four numbers, or an IPv6 address in brackets."""
    is_in_brackets = host.startswith("[") and host.endswith("]")
    family, text = (socket.AF_INET6, host[1:-1]) if is_in_brackets else (socket.AF_INET, host)
    try:
        socket.inet_pton(family, text)
    except (OSError, ValueError):
        return False
    return True


def _without_port(host: str) -> str:
    """`[::1]` of `[::1]:80`, `localhost` of `LOCALHOST.:80`."""
    text = host.strip().lower()
    if text.startswith("["):
        return "".join(text.partition("]")[:2])
    return text.partition(":")[0].removesuffix(".")
