"""The port `Peers` over sockets: the connections that one broker opens to the others.

    sockets.connect()          a `Peers` with connections of its own: for orders, a fetcher number, a lane
    peers.send(request, done)  on its connection to that broker, which is opened if there is none
    sockets.close()            all of them end; what is sent from now on fails

`peer_addresses` knows where a broker is, and is asked with each request. If the broker has moved, the
connection to its old address is closed, and the requests in flight on it fail. While its address is not
known, a connection that is open is still used.

A connection that failed is tried again with the next request: those who send requests pause after a failure,
each in its own way. Connecting may take `socket.connection.setup.timeout.ms`, doubled with each failure in a
row (KIP-601).
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import BrokerId
from odradek.base.settings import BrokerSettings
from odradek.net.client_connection import ClientConnection
from odradek.net.guard import Guard, unguarded
from odradek.net.request_pipeline import NotConnected, Outcome
from odradek.server.edge.loop_stalls import LoopStalls
from odradek.server.node.peers import OnPeerOutcome, PeerRequest, peer_outcome
from odradek.server.process.peer_addresses import AddressOf, PeerAddress
from odradek.timer import Timer

_DOUBLINGS_MAX: Final = 32


class PeerSockets:
    """All connections of one broker to others; on the loop on which it was created."""

    def __init__(
        self,
        broker_id: BrokerId,
        address_of: AddressOf,
        settings: Callable[[], BrokerSettings],
        timer: Timer,
        stalls: LoopStalls,
        guard: Guard = unguarded,
    ) -> None:
        """`broker_id` is this broker's own, which names its connections at the others.

        `settings` returns those in force. `guard` stands between a connection and its transport.
        """
        self.stalls = stalls
        """Measures what is done with outcomes."""
        self.is_closed = False
        """Whether no more connections are opened."""
        self.address_of = address_of
        self.timer = timer
        """Drives the deadlines of connections and requests."""
        self._settings = settings
        self._guard = guard
        self._client_id = f"broker-{broker_id}"
        self._loop = asyncio.get_running_loop()
        self._all: list[SocketPeers] = []

    def connect(self) -> "SocketPeers":
        """Returns a `Peers` with connections of its own, which it opens when there is a request."""
        peers = SocketPeers(self)
        self._all.append(peers)
        return peers

    def close(self) -> None:
        """End all connections; requests in flight fail within this call."""
        self.is_closed = True
        for peers in self._all:
            peers.close()

    def open(self, broker_id: BrokerId, address: PeerAddress | None, failures: int) -> ClientConnection:
        """Returns a connection to a broker that is being made, after so many failures to connect."""
        settings = self._settings()
        base_ms = settings.socket_connection_setup_timeout_ms
        most_ms = settings.socket_connection_setup_timeout_max_ms
        return ClientConnection(
            f"broker {broker_id}",
            _nowhere if address is None else partial(self._connect, address),
            self._loop,
            self.timer,
            client_id=self._client_id,
            setup_ms=min(base_ms * 2 ** min(failures, _DOUBLINGS_MAX), most_ms),
        )

    async def _connect(
        self, address: PeerAddress, protocol: Callable[[], asyncio.BufferedProtocol]
    ) -> object:
        """A `Connect`. Raises OSError."""
        return await address.connect(lambda: self._guard(protocol()))

    def later(self, callback: Callable[[], None]) -> None:
        """Call back in a later turn of the loop."""
        self._loop.call_soon(self.stalls.run, callback)


async def _nowhere(protocol: Callable[[], asyncio.BufferedProtocol]) -> object:
    """A `Connect` to a broker whose address is not known."""
    raise OSError("its address is not known")


class _Link:
    """The connection to one broker that was opened last; it may have ended."""

    __slots__ = ("address", "connection", "failures")

    def __init__(self, connection: ClientConnection, address: PeerAddress | None, failures: int) -> None:
        self.connection = connection
        # Where it leads; None if that was not known, and the connection was never made.
        self.address = address
        # How many connections in a row were not made before it.
        self.failures = failures


class SocketPeers:
    """`Peers`: one connection to each other broker."""

    def __init__(self, sockets: PeerSockets) -> None:
        self._sockets = sockets
        self._links: dict[BrokerId, _Link] = {}

    def send(self, request: PeerRequest, done: OnPeerOutcome) -> None:
        """See `Peers.send`."""
        broker_id = request.broker_id
        if self._sockets.is_closed:
            refused = NotConnected("this broker has stopped", ErrorCode.BROKER_NOT_AVAILABLE)
            self._sockets.later(lambda: done(refused))
            return
        self._connection_to(broker_id).send(
            request.message, request.version, request.timeout_ms, partial(self._on_outcome, broker_id, done)
        )

    def close(self) -> None:
        """End all connections."""
        for link in self._links.values():
            link.connection.close()

    def _connection_to(self, broker_id: BrokerId) -> ClientConnection:
        """An open connection to where the broker is now."""
        link = self._links.get(broker_id)
        address = self._sockets.address_of(broker_id)
        if link is not None and link.connection.is_open and address in (None, link.address):
            return link.connection
        failures = 0
        if link is not None and link.address == address and not link.connection.was_connected:
            failures = link.failures + 1
        left = None if link is None else link.connection
        opened = self._sockets.open(broker_id, address, failures)
        self._links[broker_id] = _Link(opened, address, failures)
        if left is not None and left.is_open:
            self._sockets.later(left.close)
        return opened

    def _on_outcome(self, broker_id: BrokerId, done: OnPeerOutcome, outcome: Outcome) -> None:
        stalls = self._sockets.stalls
        began_ns = stalls.now_ns()
        try:
            done(peer_outcome(broker_id, outcome))
        finally:
            elapsed_ns = stalls.now_ns() - began_ns
            if elapsed_ns > stalls.notable_ns:
                stalls.note(elapsed_ns, f"the outcome of {outcome.request.name} at broker {broker_id}")
