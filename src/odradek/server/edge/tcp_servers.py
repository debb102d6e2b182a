"""The TCP sockets on which connections of one kind are accepted, of clients or of other brokers.

bind(address)    the port is taken, for IPv4 and IPv6; nobody can connect yet
accept           connections are accepted on all that was bound
close            no more connections; open connections stay open
"""

import asyncio
import logging
import os
import socket
from collections.abc import Callable
from typing import Final

from odradek.net.keep_alive import keep_alive
from odradek.server.edge.addresses import ListenerAddress
from odradek.server.edge.cannot_listen import cannot_listen
from odradek.server.edge.connections import Connections

_log = logging.getLogger(__name__)

# Kafka's default of 50 is for a broker with a thread that only accepts. Here the loop accepts between
# requests; if a burst of connections overflows the queue, the system retries only after a second.
BACKLOG_MIN: Final = 1024


class TcpServers:
    """The servers of one broker for one kind of connections."""

    def __init__(
        self, connections: Connections, backlog: Callable[[], int], *, finds_vanished: bool = False
    ) -> None:
        """`backlog` returns `socket.listen.backlog.size`.

        With `finds_vanished` connections end whose other machine has vanished (`keep_alive`).
        """
        self.connections = connections
        """Those that are accepted here."""
        self._backlog_wanted = backlog
        self._finds_vanished = finds_vanished
        self._servers: list[asyncio.Server] = []

    @property
    def sockets(self) -> list[socket.socket]:
        """The bound sockets."""
        return [bound for server in self._servers for bound in server.sockets]

    async def bind(self, address: ListenerAddress) -> int:
        """Bind one listener and return its port, the same one for IPv4 and IPv6. Raises CannotListen."""
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

    async def accept(self) -> None:
        """Begin to accept connections. Raises CannotListen if another program took a port meanwhile."""
        for server in self._servers:
            self._listen(server)
            await server.start_serving()

    def close(self) -> None:
        """Accept no more connections; open connections stay open."""
        for server in self._servers:
            server.close()
        self._servers.clear()

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
        if self._finds_vanished:
            for bound in server.sockets:
                keep_alive(bound.fileno())
        return int(server.sockets[0].getsockname()[1])

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
        return max(BACKLOG_MIN, self._backlog_wanted())
