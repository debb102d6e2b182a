"""The listener between brokers: accepts the other brokers of the cluster, which may send more requests.

    bind              the address is taken; nobody can connect yet
    accept            requests go to `Node.peer_dispatcher`
    renew             a socket's file that somebody has removed is made again
    refuse            no more connections; those that are open end, with their parked requests
    abandon           as the death of the process would leave it: a socket's file is not removed here

    UnixPeerListener  a socket file: only processes of this user can open it
    TcpPeerListener   the port that inter.broker.listener.name names: who reaches it is taken for a broker

Which connections are of brokers is decided by the socket that accepted them, not by what they send. The
connections are served in turn with those of clients, but have a table of their own: neither kind can use up
the other's limit.
"""

import socket
from typing import Final, Protocol

from odradek.base.buffers import Buffer
from odradek.base.errors import MalformedRequest
from odradek.net.connection_table import ConnectionLimits
from odradek.net.server_connection import ServerConnection
from odradek.server.edge.addresses import BROKERS
from odradek.server.edge.cannot_listen import cannot_listen
from odradek.server.edge.connections import Connections
from odradek.server.edge.dispatch import FrameDispatcher
from odradek.server.edge.tcp_servers import TcpServers
from odradek.server.edge.unix_address import UnixAddress
from odradek.server.edge.unix_server import UnixServer
from odradek.wire.headers import decode_request_header

BACKLOG: Final = 1024
CONNECTIONS_MAX: Final = 4_096
"""Each other broker has one for orders, one per fetcher number and one per lane of `forwarding`."""
UNIX_HOST: Final = "unix"
"""Where a connection is from that has no address."""
SOFTWARE: Final = "odradek"


def limits_of_brokers() -> ConnectionLimits:
    """Returns the limits of connections between brokers: none is closed for idleness.

    To close one while a request is on its way would leave the request's outcome unknown.
    """
    return ConnectionLimits(CONNECTIONS_MAX, CONNECTIONS_MAX, "the listener between brokers", idle_ms_max=-1)


class PeerConnections(Connections):
    """The connections of other brokers, named by the client ids of their first requests."""

    def connection_made(self, connection: ServerConnection) -> bool:
        """See `FrameHandler.connection_made`."""
        connection.peer_host = connection.peer_host or UNIX_HOST
        return super().connection_made(connection)

    def frame_received(self, connection: ServerConnection, frame: Buffer) -> None:
        """See `FrameHandler.frame_received`."""
        if not connection.software:
            connection.identify(_client_id(frame), SOFTWARE)
        super().frame_received(connection, frame)


def _client_id(frame: Buffer) -> str:
    """The client id in a request's header; "" if there is none."""
    try:
        return decode_request_header(frame)[0].client_id or ""
    except MalformedRequest:
        return ""  # the dispatcher refuses the request


class PeerListener(Protocol):
    """The listener of one broker for the others."""

    connections: PeerConnections
    """Those that came through this listener."""

    def bind(self) -> None:
        """Take the address, without accepting connections. Raises CannotListen."""

    async def accept(self, dispatcher: FrameDispatcher) -> None:
        """Begin to accept connections. Raises CannotListen if another process took the address meanwhile."""

    def renew(self) -> None:
        """Make a socket's file again that somebody has removed; called every `unix_server.LOOK_MS`."""

    def refuse(self) -> None:
        """Accept no more connections, and close those that are open with their parked requests.

        Has no effect before `bind`.
        """

    def abandon(self) -> None:
        """The same, but leave behind what a crash would leave behind."""


class TcpPeerListener:
    """A `PeerListener` on TCP; `Listeners` binds its address, which is one of `listeners`."""

    def __init__(self, servers: TcpServers, connections: PeerConnections) -> None:
        self.connections = connections
        """Those that came through this listener."""
        self._servers = servers

    def bind(self) -> None:
        """See `PeerListener.bind`; it has been done."""

    async def accept(self, dispatcher: FrameDispatcher) -> None:
        """See `PeerListener.accept`."""
        self.connections.dispatcher = dispatcher
        await self._servers.accept()

    def renew(self) -> None:
        """See `PeerListener.renew`; there is no file."""

    def refuse(self) -> None:
        """See `PeerListener.refuse`."""
        self._servers.close()
        self.connections.end()
        self.connections.abort_all()

    def abandon(self) -> None:
        """See `PeerListener.abandon`."""
        self.refuse()


class UnixPeerListener:
    """A `PeerListener` on a socket file."""

    def __init__(self, address: UnixAddress, connections: PeerConnections) -> None:
        self.connections = connections
        """Those that came through this listener."""
        self._address = address
        # Bound by `bind`, and given to the server by `accept`.
        self._bound: socket.socket | None = None
        self._server = UnixServer(
            address.path, address.bind, lambda: connections.make(BROKERS), BACKLOG, address.check
        )

    def __str__(self) -> str:
        return str(self._address)

    def bind(self) -> None:
        """Take the address, without accepting connections. Raises CannotListen."""
        self._bound = self._address.bind()

    async def accept(self, dispatcher: FrameDispatcher) -> None:
        """Begin to accept connections. Raises CannotListen if another broker took the address meanwhile."""
        bound, self._bound = self._bound, None
        assert bound is not None, "no address was taken"
        self.connections.dispatcher = dispatcher
        try:
            await self._server.accept(bound)
        except OSError as error:
            raise cannot_listen(self, error) from error

    def renew(self) -> None:
        """See `PeerListener.renew`."""
        self._server.renew()

    def refuse(self) -> None:
        """Accept no more connections, and close those that are open with their parked requests."""
        self._address.remove()
        self.abandon()

    def abandon(self) -> None:
        """The same, but do not remove the socket's file (the loop does so from Python 3.13 on)."""
        if self._bound is not None:
            self._bound.close()
            self._bound = None
        self._server.close()
        self.connections.end()
        self.connections.abort_all()
