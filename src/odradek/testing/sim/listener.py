"""The listeners of one life of a broker: its connections, and the routing of their requests.

It replaces `server.edge.listener` of a real process: the same connections, served in the same turns. When a
life ends, its connections end, too.
"""

from collections.abc import Callable
from typing import Final, Protocol

from odradek.base.buffers import Buffer
from odradek.net.framing import SCRATCH_BYTES
from odradek.net.ready_queue import ReadyQueue
from odradek.net.server_connection import ServerConnection
from odradek.server.node.core import BrokerCore
from odradek.server.node.life import Life
from odradek.testing.sim.turns import Turns
from odradek.wire.headers import FIXED_BYTES

CLIENTS: Final = "PLAINTEXT"


class Listening(Protocol):
    """The life of a broker that listens."""

    turns: Turns
    life: Life

    @property
    def is_alive(self) -> bool:
        """Whether it starts, serves or stops."""

    @property
    def core(self) -> BrokerCore:
        """The node's state, once its logs are open."""

    def on_frame(self, connection: ServerConnection, frame: Buffer) -> None:
        """Serve a request."""

    def on_frame_refused(self, reason: str) -> None:
        """Called when a connection is closed because of what came through it."""


class SimListeners:
    """Both listeners of a life; a `Server` for streams, and a `FrameHandler` for their connections."""

    def __init__(self, node: Listening) -> None:
        ports = node.life.surroundings
        self.admitted: set[str] = set()
        """The listeners that accept connections."""
        self.connections: dict[ServerConnection, None] = {}
        """Those that are open, in the order in which they came."""
        # Whether new connections are closed at once.
        self._refuses = False
        self._node = node
        self._background = ports.background
        self._defer = ports.defer
        self._ready = ReadyQueue(ports.defer, ports.turn_time)
        self._scratch = memoryview(bytearray(SCRATCH_BYTES))

    def of(self, listener: str) -> list[ServerConnection]:
        """The open connections of one listener."""
        return [one for one in self.connections if one.listener == listener]

    def refuse(self, is_refusing: bool) -> None:
        """Close new connections at once from now on, or no longer."""
        self._refuses = is_refusing

    def drop(self) -> int:
        """Close the connections of clients; how many there were."""
        count = len(self.of(CLIENTS))
        self.abort_all(CLIENTS)
        return count

    def abort_all(self, listener: str) -> None:
        """Close the connections of a listener at once."""
        for connection in self.of(listener):
            connection.abort()

    # --- `Server`

    @property
    def is_alive(self) -> bool:
        """See `Server.is_alive`."""
        return self._node.is_alive

    def admits(self, listener: str) -> bool:
        """See `Server.admits`."""
        return self._node.is_alive and listener in self.admitted

    def connection(self, listener: str) -> ServerConnection:
        """See `Server.connection`."""
        settings = self._node.core.settings
        return ServerConnection(
            self,
            listener,
            self._scratch,
            self._ready,
            self._background,
            frame_bytes_min=FIXED_BYTES,
            frame_bytes_max=settings.socket_request_max_bytes,
            write_buffer_bytes=settings.odradek_connection_write_buffer_bytes,
        )

    def later(self, callback: Callable[[], None]) -> None:
        """See `Server.later`."""
        self._defer(callback)

    def run_turn(self) -> None:
        """See `Server.run_turn`."""
        self._node.turns.run_next()

    # --- `FrameHandler`

    def connection_made(self, connection: ServerConnection) -> bool:
        """See `FrameHandler.connection_made`."""
        if self._refuses and connection.listener == CLIENTS:
            return False
        self.connections[connection] = None
        return True

    def frame_received(self, connection: ServerConnection, frame: Buffer) -> None:
        """See `FrameHandler.frame_received`."""
        self._node.on_frame(connection, frame)

    def connection_lost(self, connection: ServerConnection) -> None:
        """See `FrameHandler.connection_lost`."""
        self.connections.pop(connection, None)

    def frame_refused(self, connection: ServerConnection, reason: str) -> None:
        """See `FrameHandler.frame_refused`."""
        self._node.on_frame_refused(reason)

    def answer_waits(self, connection: ServerConnection) -> None:
        """See `FrameHandler.answer_waits`; nobody reads the times of a simulated broker's sends."""

    def answer_taken(self, connection: ServerConnection) -> None:
        """See `FrameHandler.answer_taken`."""
