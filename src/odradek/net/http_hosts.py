"""Checks the `Host` of a request over HTTP: listeners answer requests to an address or to an allowed name.

A web page may let a name of its own resolve to 127.0.0.1 or to another address of a listener, and let a
browser send requests there (DNS rebinding); the browser then sends that name in `Host`. So a name is allowed
only if it always means this machine, or is listed (for a broker in `odradek.admin.allowed.hosts`). An address
is always allowed: a browser that sends an address had no name to resolve, and Prometheus and the kubelet send
the address that they scrape and probe.

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


class AllowedHosts:
    """The names that requests to a listener may have in `Host`."""

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
    """Returns `[::1]` for `[::1]:80`, and `localhost` for `LOCALHOST.:80`."""
    text = host.strip().lower()
    if text.startswith("["):
        return "".join(text.partition("]")[:2])
    return text.partition(":")[0].removesuffix(".")
