"""Listeners: bind the broker's addresses, admit connections, and know the advertised addresses.

A listener passes the frames of its connections to the dispatcher without decoding them. `addresses` decides
which addresses are opened and advertised.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from odradek.base.buffers import Buffer
from odradek.base.clock import Clock
from odradek.base.errors import OdradekError
from odradek.base.execution import Background, TurnTime
from odradek.base.settings import BrokerSettings
from odradek.metadata.image import Endpoint
from odradek.net.connection_table import ConnectionLimits, ConnectionTable
from odradek.net.framing import SCRATCH_BYTES
from odradek.net.ready_queue import ReadyQueue
from odradek.net.server_connection import ServerConnection
from odradek.net.socket_connection import SocketConnection
from odradek.net.spin import Spin
from odradek.server.edge.addresses import PLAINTEXT, ListenerAddress, own_host, plan_listeners
from odradek.server.edge.complaints import Complaints
from odradek.server.edge.context import log_fields, named
from odradek.server.edge.dispatch import FrameDispatcher
from odradek.server.edge.open_files import connections_affordable, open_files
from odradek.wire.headers import FIXED_BYTES

_log = logging.getLogger(__name__)

# Kafka's default of 50 is for a broker with a thread that only accepts. Here the loop accepts between
# requests; if a burst of connections overflows the queue, the system retries only after a second.
BACKLOG_MIN: Final = 1024


class CannotListen(OdradekError):
    """The port is in use, or the address is not this machine's: one sentence, exit code 2."""


def cpus_usable() -> int:
    """Returns how many processors this process may run on: on a single one, polling would slow clients."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on macOS
    return os.cpu_count() or 1 if affinity is None else len(affinity(0))


def cannot_listen(host: str, port: int, error: OSError) -> CannotListen:
    """Returns the error to raise, with the system's own message."""
    if isinstance(error, socket.gaierror) or error.errno is None:
        reason = str(error.strerror or error)
    else:
        reason = os.strerror(error.errno)
    return CannotListen(f"cannot listen on {host}:{port}: {reason[:1].lower()}{reason[1:]}")


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
    """All listeners of one broker, and the connections that came through them."""

    def __init__(
        self,
        settings: Callable[[], BrokerSettings],
        clock: Clock,
        background: Background,
        time: TurnTime,
        *,
        own_host: Callable[[], str] = own_host,
        processor_wait_ns: Callable[[], int] = lambda: 0,
    ) -> None:
        """`settings` returns those in force; `own_host` returns the host to advertise for a wildcard address.

        `processor_wait_ns` returns how long the loop's thread has waited for a processor so far.
        """
        self.table = ConnectionTable(lambda: limits_of(settings()))
        self._settings = settings
        self._background = background
        self._time = time
        self._complaints = Complaints(_log, clock)
        self._servers: list[asyncio.Server] = []
        self._own_host = own_host
        self._processor_wait_ns = processor_wait_ns
        self.bound: list[ListenerAddress] = []
        """The bound addresses, in the order of the setting; a port 0 is replaced by the chosen port."""
        self.advertised: list[ListenerAddress] = []
        """The addresses advertised to clients; never empty after `bind`, never a wildcard."""
        # Whether new connections are closed at once: a fault that a test may set.
        self._refuses_connections = False
        # The receive buffer that all connections share: they read one after another on one thread.
        self._scratch = memoryview(bytearray(SCRATCH_BYTES))
        self.spin: Spin | None = None
        """Keeps the loop awake between requests, if the settings ask for it; created with the loop."""
        # Decides which connection is served when; created with the loop of the connections.
        self._ready: ReadyQueue | None = None
        # Requests go here; set before the first connection is accepted.
        self._dispatcher: FrameDispatcher | None = None

    async def bind(self) -> None:
        """Bind the ports, without accepting connections. Raises SettingError, CannotListen."""
        call_soon, now_ns = asyncio.get_running_loop().call_soon, self._time.now_ns
        spin_us = self._settings().odradek_loop_spin_max_us
        if spin_us and cpus_usable() > 1:
            self.spin = Spin(call_soon, now_ns, spin_us * 1000, self._processor_wait_ns)
        self._ready = ReadyQueue(call_soon, self._time, spin=self.spin)
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
            raise cannot_listen(address.host, address.port, error) from error
        try:
            await self._bind_to(address.name, "::", port)
        except OSError as error:
            _log.info("the listener %s is opened for IPv4 only: %s", address.name, error)
        return port

    async def _bind_to(self, name: str, host: str | None, port: int) -> int:
        server = await asyncio.get_running_loop().create_server(
            lambda: self._connection(name),
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
        self._dispatcher = dispatcher
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
                    raise cannot_listen(host, port, error) from error

    def _backlog(self) -> int:
        return max(BACKLOG_MIN, self._settings().socket_listen_backlog_size)

    def refuse_connections(self, is_refusing: bool) -> None:
        """Close new connections at once from now on, or no longer."""
        self._refuses_connections = is_refusing

    def drop_connections(self) -> int:
        """Close all connections. Returns how many there were."""
        connections = list(self.table)
        for connection in connections:
            connection.abort()
        return len(connections)

    def stop_accepting(self) -> None:
        """Accept no more connections; open connections stay open."""
        for server in self._servers:
            server.close()
        self._servers.clear()

    def _connection(self, listener: str) -> SocketConnection:
        assert self._ready is not None, "a connection before the ports were taken"
        return SocketConnection(
            self,
            listener,
            self._scratch,
            self._ready,
            self._background,
            frame_bytes_min=FIXED_BYTES,
            frame_bytes_max=self._settings().socket_request_max_bytes,
            write_buffer_bytes=self._settings().odradek_connection_write_buffer_bytes,
        )

    # --- reports of connections (`net.FrameHandler`)

    def connection_made(self, connection: ServerConnection) -> bool:
        """See `FrameHandler.connection_made`."""
        if self._refuses_connections:
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
        assert self._dispatcher is not None, "a request before anybody was let in"
        self._dispatcher.dispatch(connection, frame)

    def connection_lost(self, connection: ServerConnection) -> None:
        """See `FrameHandler.connection_lost`."""
        self.table.forget(connection)
        if _log.isEnabledFor(logging.DEBUG):
            _log.debug("the connection of %s is closed", named(connection), extra=log_fields(connection))

    def answer_waits(self, connection: ServerConnection) -> None:
        """See `FrameHandler.answer_waits`."""
        assert self._dispatcher is not None, "an answer before anybody was let in"
        self._dispatcher.answer_waits(connection)

    def answer_taken(self, connection: ServerConnection) -> None:
        """See `FrameHandler.answer_taken`."""
        assert self._dispatcher is not None, "an answer before anybody was let in"
        self._dispatcher.answer_taken(connection)

    def frame_refused(self, connection: ServerConnection, reason: str) -> None:
        """See `FrameHandler.frame_refused`."""
        self._complaints.say(
            "closing the connection of %s: %s", named(connection), reason, fields=log_fields(connection)
        )
