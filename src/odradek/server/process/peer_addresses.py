"""Where a broker reaches the others: by Unix sockets on one machine, by TCP on several.

    UnixPeerAddress    the socket file of the other broker, in a directory that all of them have
    TcpPeerAddress     host and port of the listener that inter.broker.listener.name names, as registered

Addresses that are equal are one place: a broker that registers again with another host or port has another
address, and its connections are made anew.
"""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeAlias, cast

from odradek.base.ids import BrokerId
from odradek.base.values import value
from odradek.metadata.image import BrokerImage
from odradek.net.keep_alive import keep_alive
from odradek.server.edge.unix_address import broker_socket

_log = logging.getLogger(__name__)


class PeerAddress(Protocol):
    """The place where a broker accepts the others; compared by its value."""

    async def connect(self, protocol: Callable[[], asyncio.BufferedProtocol]) -> object:
        """Connect a protocol on the running loop. Raises OSError."""


AddressOf: TypeAlias = Callable[[BrokerId], PeerAddress | None]
"""Returns where a broker is; None while that is not known."""
Registered: TypeAlias = Callable[[BrokerId], BrokerImage | None]
"""Returns a broker as it has registered; None if it is not live."""


@value
class UnixPeerAddress:
    """The socket file of a broker of this machine."""

    path: Path

    async def connect(self, protocol: Callable[[], asyncio.BufferedProtocol]) -> object:
        """See `PeerAddress.connect`."""
        return await asyncio.get_running_loop().create_unix_connection(protocol, path=str(self.path))


@value
class TcpPeerAddress:
    """Host and port of a broker. A name is resolved for each connection, since machines move."""

    host: str
    port: int

    async def connect(self, protocol: Callable[[], asyncio.BufferedProtocol]) -> object:
        """See `PeerAddress.connect`."""
        loop = asyncio.get_running_loop()
        transport, connected = await loop.create_connection(cast(Any, protocol), self.host, self.port)
        socket = transport.get_extra_info("socket")
        if socket is not None and socket.fileno() >= 0:  # else it has ended already
            keep_alive(socket.fileno())
        return connected


def unix_addresses(directory: str) -> AddressOf:
    """Returns how the brokers of one machine are found, by the sockets in a directory."""
    return lambda broker_id: UnixPeerAddress(broker_socket(directory, broker_id))


class RegisteredAddresses:
    """An `AddressOf`: what the brokers have registered for the listener between brokers."""

    def __init__(self, listener: str) -> None:
        """`listener` is this broker's `inter.broker.listener.name`, which all brokers of a cluster share."""
        self._listener = listener
        # The epochs of the registrations without that listener that were logged, by broker.
        self._logged: dict[BrokerId, int] = {}
        # None before there is a node, which sends nothing to others before.
        self._registered: Registered | None = None

    def find_by(self, registered: Registered) -> None:
        """Look brokers up in this way from now on."""
        self._registered = registered

    def __call__(self, broker_id: BrokerId) -> PeerAddress | None:
        """Returns where a broker is; None if it is not live, or has no such listener (which is logged)."""
        broker = None if self._registered is None else self._registered(broker_id)
        if broker is None:
            return None
        endpoint = broker.endpoint(self._listener)
        if endpoint is None:
            self._log_missing(broker)
            return None
        return TcpPeerAddress(endpoint.host, endpoint.port)

    def _log_missing(self, broker: BrokerImage) -> None:
        if self._logged.get(broker.broker_id) != broker.epoch:
            self._logged[broker.broker_id] = broker.epoch
            _log.warning(
                "broker %d cannot be reached: it has not registered a listener %s, but %s; "
                "inter.broker.listener.name must be the same for all brokers of a cluster",
                broker.broker_id,
                self._listener,
                ", ".join(known.listener for known in broker.endpoints),
            )
