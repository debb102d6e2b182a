"""The connections that come through listeners: they are admitted, counted, and their frames are dispatched.

    ConnectionMaker    what all connections of a loop share, whoever opened them: the order in which their
                       requests are served, the time of a turn, the receive buffer, the limits of sizes
    Connections        those of one kind, of clients or of other brokers: limits, counts, and a dispatcher

A connection's frames are passed to the dispatcher without being decoded.
"""

import asyncio
import logging
import os
from collections.abc import Callable

from odradek.base.buffers import Buffer
from odradek.base.clock import Clock
from odradek.base.execution import Background, TurnTime
from odradek.base.settings import BrokerSettings
from odradek.net.connection_table import ConnectionLimits, ConnectionTable
from odradek.net.framing import SCRATCH_BYTES
from odradek.net.guard import Guard, unguarded
from odradek.net.ready_queue import ReadyQueue
from odradek.net.server_connection import FrameHandler, ServerConnection
from odradek.net.socket_connection import SocketConnection
from odradek.net.spin import Spin
from odradek.server.edge.complaints import Complaints
from odradek.server.edge.context import log_fields, named
from odradek.server.edge.dispatch import FrameDispatcher
from odradek.wire.headers import FIXED_BYTES

_log = logging.getLogger(__name__)


def cpus_usable() -> int:
    """Returns how many processors this process may run on: on a single one, polling would slow clients."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on macOS
    return os.cpu_count() or 1 if affinity is None else len(affinity(0))


class ConnectionMaker:
    """Makes the connections of one loop; created on that loop."""

    def __init__(
        self,
        settings: Callable[[], BrokerSettings],
        background: Background,
        time: TurnTime,
        processor_wait_ns: Callable[[], int] = lambda: 0,
    ) -> None:
        """`settings` returns those in force; `processor_wait_ns` how long this thread has waited for one."""
        call_soon = asyncio.get_running_loop().call_soon
        self._settings = settings
        self._background = background
        self.spin: Spin | None = None
        """Keeps the loop awake between requests, if the settings ask for it."""
        spin_us = settings().odradek_loop_spin_max_us
        if spin_us and cpus_usable() > 1:
            self.spin = Spin(call_soon, time.now_ns, spin_us * 1000, processor_wait_ns)
        # Decides which connection is served when.
        self._ready = ReadyQueue(call_soon, time, spin=self.spin)
        # The receive buffer that all connections share: they read one after another on one thread.
        self._scratch = memoryview(bytearray(SCRATCH_BYTES))

    def make(self, handler: FrameHandler, listener: str) -> SocketConnection:
        """Returns a connection for a socket that the listener of this name has accepted."""
        return SocketConnection(
            handler,
            listener,
            self._scratch,
            self._ready,
            self._background,
            frame_bytes_min=FIXED_BYTES,
            frame_bytes_max=self._settings().socket_request_max_bytes,
            write_buffer_bytes=self._settings().odradek_connection_write_buffer_bytes,
        )


class Connections:
    """All connections of one kind; the `FrameHandler` of each."""

    def __init__(
        self,
        maker: ConnectionMaker,
        clock: Clock,
        limits: Callable[[], ConnectionLimits],
        guard: Guard = unguarded,
    ) -> None:
        """`limits` is called each time they are needed: they may change while the broker runs.

        `guard` stands between a connection and its transport.
        """
        self.table = ConnectionTable(limits)
        self.dispatcher: FrameDispatcher | None = None
        """Where their requests go; set before the first connection is accepted."""
        # Whether new connections are closed at once: a fault that a test may set.
        self._refuses = False
        # Whether the listeners are closed for good.
        self._has_ended = False
        self._maker = maker
        self._guard = guard
        self._complaints = Complaints(_log, clock)

    def make(self, listener: str) -> asyncio.BufferedProtocol:
        """Returns a connection for a socket that the listener of this name has accepted."""
        return self._guard(self._maker.make(self, listener))

    def refuse(self, is_refusing: bool) -> None:
        """Close new connections at once from now on, or no longer."""
        self._refuses = is_refusing

    def end(self) -> None:
        """Close new connections at once from now on: the listeners are closed.

        A loop calls `connection_made` a turn after it has accepted a connection, so one may follow the close.
        """
        self._has_ended = True

    def abort_all(self) -> int:
        """Close all of them, with what was not sent, and their parked requests. Returns how many."""
        connections = list(self.table)
        for connection in connections:
            connection.abort()
        return len(connections)

    # --- `FrameHandler`

    def connection_made(self, connection: ServerConnection) -> bool:
        """See `FrameHandler.connection_made`."""
        if self._refuses or self._has_ended:
            return False
        refused = self.table.admit(connection)
        if refused is not None:
            self._complaints.say(
                "refusing a connection of %s: %s", named(connection), refused, fields=log_fields(connection)
            )
        elif _log.isEnabledFor(logging.DEBUG):
            _log.debug("a connection of %s is open", named(connection), extra=log_fields(connection))
        return refused is None

    def frame_received(self, connection: ServerConnection, frame: Buffer) -> None:
        """See `FrameHandler.frame_received`."""
        assert self.dispatcher is not None, "a request before anybody was let in"
        self.dispatcher.dispatch(connection, frame)

    def connection_lost(self, connection: ServerConnection) -> None:
        """See `FrameHandler.connection_lost`."""
        self.table.forget(connection)
        if _log.isEnabledFor(logging.DEBUG):
            _log.debug("the connection of %s is closed", named(connection), extra=log_fields(connection))

    def answer_waits(self, connection: ServerConnection) -> None:
        """See `FrameHandler.answer_waits`."""
        assert self.dispatcher is not None, "an answer before anybody was let in"
        self.dispatcher.answer_waits(connection)

    def answer_taken(self, connection: ServerConnection) -> None:
        """See `FrameHandler.answer_taken`."""
        assert self.dispatcher is not None, "an answer before anybody was let in"
        self.dispatcher.answer_taken(connection)

    def frame_refused(self, connection: ServerConnection, reason: str) -> None:
        """See `FrameHandler.frame_refused`."""
        self._complaints.say(
            "closing the connection of %s: %s", named(connection), reason, fields=log_fields(connection)
        )
