"""Which requests the admin listener answers: those that were sent to it by name.

A web page may resolve a name of its own to 127.0.0.1 and have a browser on this machine ask there (DNS
rebinding); the browser then says that name in `Host`. So a name counts only if it means this machine by
itself, or stands in `odradek.admin.allowed.hosts`:

    Host: localhost:9080       answered, with any port and in any case
    Host: [::1]                answered
    Host: evil.example:9080    refused
    no Host                    answered: every browser sends one
"""

from collections.abc import Iterable
from typing import Final

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
REFUSAL: Final = (
    "This listener answers to localhost, 127.0.0.1, [::1] and what odradek.admin.allowed.hosts names.\n"
)


class AllowedHosts:
    """The names under which the admin listener is asked."""

    def __init__(self, more: Iterable[str]) -> None:
        self._names = LOOPBACK | {_without_port(name) for name in more}

    def allow(self, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        """Whether every `Host` among the headers of a request is allowed."""
        return all(
            _without_port(value.decode("latin-1")) in self._names
            for name, value in headers
            if name.lower() == b"host"
        )


def _without_port(host: str) -> str:
    """`[::1]` of `[::1]:80`, `localhost` of `LOCALHOST.:80`."""
    text = host.strip().lower()
    if text.startswith("["):
        return text.partition("]")[0] + "]"
    return text.partition(":")[0].removesuffix(".")
