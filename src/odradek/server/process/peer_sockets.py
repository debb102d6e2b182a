"""The port `Peers` over sockets: the connections that one broker opens to the others.

    sockets.connect()          a `Peers` with connections of its own: for orders, a fetcher number, a lane
    peers.send(request, done)  on its connection to that broker, which is opened if there is none
    sockets.close()            all of them end; what is sent from now on fails

How a broker is reached is a function of its id, so that this file knows no addresses: `unix_connect` is the
one for a cluster on one machine. It is asked again for each connection, since brokers come and go.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import BrokerId
from odradek.net.client_connection import ClientConnection, Connect
from odradek.net.request_pipeline import NotConnected, Outcome
from odradek.server.edge.loop_stalls import LoopStalls
from odradek.server.edge.unix_address import broker_socket
from odradek.server.node.peers import OnPeerOutcome, PeerRequest, peer_outcome
from odradek.timer import Timer

ConnectTo: TypeAlias = Callable[[BrokerId], Connect]
"""Returns how to connect to a broker; for one that is not known, the connecting itself fails."""


def unix_connect(directory: str) -> ConnectTo:
    """Returns how the brokers of one machine are reached, by the sockets in a directory."""
    loop = asyncio.get_running_loop()

    def connect_to(broker_id: BrokerId) -> Connect:
        return partial(loop.create_unix_connection, path=str(broker_socket(directory, broker_id)))

    return connect_to


class PeerSockets:
    """All connections of one broker to others; on the loop on which it was created."""

    def __init__(self, broker_id: BrokerId, connect_to: ConnectTo, timer: Timer, stalls: LoopStalls) -> None:
        """`broker_id` is this broker's own, which names its connections at the others."""
        self.stalls = stalls
        """Measures what is done with outcomes."""
        self.is_closed = False
        """Whether no more connections are opened."""
        self._timer = timer
        self._client_id = f"broker-{broker_id}"
        self._connect_to = connect_to
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

    def open(self, broker_id: BrokerId) -> ClientConnection:
        """Returns a connection to a broker that is being made."""
        return ClientConnection(
            f"broker {broker_id}",
            self._connect_to(broker_id),
            self._loop,
            self._timer,
            client_id=self._client_id,
        )

    def later(self, callback: Callable[[], None]) -> None:
        """Call back in a later turn of the loop."""
        self._loop.call_soon(self.stalls.run, callback)


class SocketPeers:
    """`Peers`: one connection to each other broker."""

    def __init__(self, sockets: PeerSockets) -> None:
        self._sockets = sockets
        # By broker, the connection that was opened last; it may have ended.
        self._connections: dict[BrokerId, ClientConnection] = {}

    def send(self, request: PeerRequest, done: OnPeerOutcome) -> None:
        """See `Peers.send`."""
        broker_id = request.broker_id
        if self._sockets.is_closed:
            refused = NotConnected("this broker has stopped", ErrorCode.BROKER_NOT_AVAILABLE)
            self._sockets.later(lambda: done(refused))
            return
        connection = self._connections.get(broker_id)
        if connection is None or not connection.is_open:
            connection = self._connections[broker_id] = self._sockets.open(broker_id)
        connection.send(
            request.message, request.version, request.timeout_ms, partial(self._on_outcome, broker_id, done)
        )

    def close(self) -> None:
        """End all connections."""
        for connection in self._connections.values():
            connection.close()

    def _on_outcome(self, broker_id: BrokerId, done: OnPeerOutcome, outcome: Outcome) -> None:
        stalls = self._sockets.stalls
        began_ns = stalls.now_ns()
        try:
            done(peer_outcome(broker_id, outcome))
        finally:
            elapsed_ns = stalls.now_ns() - began_ns
            if elapsed_ns > stalls.notable_ns:
                stalls.note(elapsed_ns, f"the outcome of {outcome.request.name} at broker {broker_id}")
