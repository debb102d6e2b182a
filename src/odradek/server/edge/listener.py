"""The listeners of clients: bind the broker's addresses, accept connections, know the advertised addresses.

`addresses` decides which addresses are opened and advertised, and `connections` has what was accepted.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from odradek.base.errors import OdradekError
from odradek.base.settings import BrokerSettings
from odradek.metadata.image import Endpoint
from odradek.net.connection_table import ConnectionLimits
from odradek.server.edge.addresses import PLAINTEXT, ListenerAddress, own_host, plan_listeners
from odradek.server.edge.connections import Connections
from odradek.server.edge.dispatch import FrameDispatcher
from odradek.server.edge.open_files import connections_affordable, open_files

_log = logging.getLogger(__name__)

# Kafka's default of 50 is for a broker with a thread that only accepts. Here the loop accepts between
# requests; if a burst of connections overflows the queue, the system retries only after a second.
BACKLOG_MIN: Final = 1024


class CannotListen(OdradekError):
    """The port is in use, or the address is not this machine's: one sentence, exit code 2."""


def cannot_listen(address: object, error: OSError) -> CannotListen:
    """Returns the error to raise about an address (host:port, a path), with the system's own message."""
    if isinstance(error, socket.gaierror) or error.errno is None:
        reason = str(error.strerror or error)
    else:
        reason = os.strerror(error.errno)
    return CannotListen(f"cannot listen on {address}: {reason[:1].lower()}{reason[1:]}")


def limits_of(settings: BrokerSettings) -> ConnectionLimits:
    """Returns the limits that the settings and this process's open files allow."""
    affordable = connections_affordable()
    is_by_files = affordable < settings.max_connections
    because = f"the limit of {open_files()} open files (ulimit -n)" if is_by_files else "max.connections"
    return ConnectionLimits(
        min(settings.max_connections, affordable),
        settings.max_connections_per_ip,
        because,
        settings.connections_max_idle_ms,
    )


class Listeners:
    """All listeners of one broker for clients, and the connections that came through them."""

    def __init__(
        self,
        settings: Callable[[], BrokerSettings],
        connections: Connections,
        *,
        own_host: Callable[[], str] = own_host,
    ) -> None:
        """`settings` returns those in force, `own_host` the host to advertise for a wildcard address."""
        self.connections = connections
        """Those that came through these listeners."""
        self._settings = settings
        self._servers: list[asyncio.Server] = []
        self._own_host = own_host
        self.bound: list[ListenerAddress] = []
        """The bound addresses, in the order of the setting; a port 0 is replaced by the chosen port."""
        self.advertised: list[ListenerAddress] = []
        """The addresses advertised to clients; never empty after `bind`, never a wildcard."""

    async def bind(self) -> None:
        """Bind the ports, without accepting connections. Raises SettingError, CannotListen."""
        plan = plan_listeners(self._settings())
        for name in plan.for_controllers:
            _log.warning("the listener %s is not opened: only KRaft controllers use it", name)
        for address in plan.opened:
            self.bound.append(replace(address, port=await self._open(address)))
        given = plan.advertised or self.bound
        host = self._own_host() if any(address.is_wildcard for address in given) else ""
        ports = {address.name: address.port for address in self.bound}
        for address in given:
            self.advertised.append(
                replace(
                    address,
                    host=host if address.is_wildcard else address.host,
                    port=address.port or ports[address.name],
                )
            )

    async def _open(self, address: ListenerAddress) -> int:
        """Bind one listener and return its port: the same one for IPv4 and IPv6."""
        try:
            if address.host or address.port:
                return await self._bind_to(address.name, address.host or None, address.port)
            port = await self._bind_to(address.name, "0.0.0.0", 0)
        except OSError as error:
            raise cannot_listen(f"{address.host}:{address.port}", error) from error
        try:
            await self._bind_to(address.name, "::", port)
        except OSError as error:
            _log.info("the listener %s is opened for IPv4 only: %s", address.name, error)
        return port

    async def _bind_to(self, name: str, host: str | None, port: int) -> int:
        server = await asyncio.get_running_loop().create_server(
            lambda: self.connections.make(name),
            host,
            port,
            backlog=self._backlog(),
            reuse_address=True,
            start_serving=False,
        )
        self._servers.append(server)
        return int(server.sockets[0].getsockname()[1])

    def endpoints(self) -> tuple[Endpoint, ...]:
        """The advertised endpoints, for the cluster's metadata; after `bind`."""
        return tuple(
            Endpoint(address.name, PLAINTEXT, address.host, address.port) for address in self.advertised
        )

    def describe(self) -> str:
        """The open addresses, and the advertised ones if they differ: `on A and B, advertised as C and D`."""
        opened, advertised = (
            " and ".join(map(str, addresses)) for addresses in (self.bound, self.advertised)
        )
        return f"on {opened}" if opened == advertised else f"on {opened}, advertised as {advertised}"

    async def accept(self, dispatcher: FrameDispatcher) -> None:
        """Begin to accept connections. Raises CannotListen if another program took a port meanwhile."""
        self.connections.dispatcher = dispatcher
        for server in self._servers:
            self._listen(server)
            await server.start_serving()

    def _listen(self, server: asyncio.Server) -> None:
        """Listen on a server's sockets, because uvloop does not report when the system refuses that.

        With SO_REUSEADDR, which a start soon after a stop needs, two programs may bind one port as long as
        neither listens.
        """
        for bound in server.sockets:
            with socket.socket(fileno=os.dup(bound.fileno())) as same:
                try:
                    same.listen(self._backlog())
                except OSError as error:
                    host, port = bound.getsockname()[:2]
                    raise cannot_listen(f"{host}:{port}", error) from error

    def _backlog(self) -> int:
        return max(BACKLOG_MIN, self._settings().socket_listen_backlog_size)

    def stop_accepting(self) -> None:
        """Accept no more connections; open connections stay open."""
        for server in self._servers:
            server.close()
        self._servers.clear()
