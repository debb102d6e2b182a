"""Ports that are held for brokers while they are not running.

On Linux a socket with SO_REUSEADDR may be bound to a port that another such socket is bound to, as long as
neither listens. So the supervisor binds every port and never listens: the broker binds it again and listens,
and while the broker is away, the system gives the port to no connection and to nobody who asks for any free
port. A client is refused meanwhile. A server that names the port and sets SO_REUSEADDR can still take it.

Elsewhere a port can be bound only once: it is chosen or checked here, and then left free.
"""

import socket
import sys
from collections.abc import Iterable
from typing import Final

from odradek.base.errors import SettingError
from odradek.base.ids import BrokerId
from odradek.server.edge import cannot_listen
from odradek.server.edge.addresses import ListenerAddress

_CAN_HOLD: Final = sys.platform == "linux"


class HeldPorts:
    """The ports of all brokers."""

    def __init__(self) -> None:
        # By broker; empty where the system cannot hold a port, and for a broker that listens already.
        self._sockets: dict[BrokerId, list[socket.socket]] = {}

    def hold(self, broker_id: BrokerId, address: ListenerAddress) -> int:
        """Bind a port for a broker's listener, any free one for port 0; returns it.

        Raises SettingError if another program listens there, or the address is not this machine's.
        """
        held = self._sockets.setdefault(broker_id, [])
        port = address.port
        try:
            for family, host in _places(address):
                bound = _bound(family, host, port)
                held.append(bound)
                port = port or int(bound.getsockname()[1])
        except OSError as error:
            raise SettingError(cannot_listen.sentence(address, error)) from None
        finally:
            if not _CAN_HOLD:
                self.release(broker_id)
        return port

    def is_holding(self, broker_id: BrokerId) -> bool:
        """Whether ports are held for a broker."""
        return bool(self._sockets.get(broker_id))

    def release(self, broker_id: BrokerId) -> None:
        """Free the ports of one broker."""
        for one in self._sockets.pop(broker_id, []):
            one.close()

    def close(self) -> None:
        """Free all ports."""
        for broker_id in list(self._sockets):
            self.release(broker_id)


def _places(address: ListenerAddress) -> Iterable[tuple[socket.AddressFamily, str]]:
    """Where a broker binds a listener. Raises OSError for a name that is not known."""
    if not address.host:
        yield socket.AF_INET, "0.0.0.0"
        if _has_ipv6():
            yield socket.AF_INET6, "::"
        return
    found = socket.getaddrinfo(address.host.strip("[]"), None, type=socket.SOCK_STREAM)
    yield from dict.fromkeys(
        (socket.AddressFamily(family), str(where[0])) for family, _, _, _, where in found
    )


def _has_ipv6() -> bool:
    if not socket.has_ipv6:
        return False
    try:
        _bound(socket.AF_INET6, "::", 0).close()
    except OSError:
        return False
    return True


def _bound(family: socket.AddressFamily, host: str, port: int) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind((host, port))
    except OSError:
        made.close()
        raise
    return made
