"""Listeners: where clients connect, which of them may, and under which addresses the broker is advertised.

Law: it binds sockets and admits connections; what a connection then asks goes to the dispatcher, unread.

    listeners=PLAINTEXT://127.0.0.1:0        bound to a free port, say 40123
    advertised.listeners=                    advertised as bound: 127.0.0.1:40123
    listeners=PLAINTEXT://0.0.0.0:9092       advertised under this machine's name, for 0.0.0.0 is no address
"""

import asyncio
import logging
import os
import socket
from dataclasses import dataclass
from typing import Final, Protocol

from odradek.base.clock import Clock
from odradek.base.errors import OdradekError, SettingError
from odradek.base.settings import BrokerSettings
from odradek.metadata.image import Endpoint
from odradek.net.connection_table import ConnectionLimits, ConnectionTable
from odradek.net.framing import SCRATCH_BYTES, Buffer
from odradek.net.server_connection import ServerConnection
from odradek.server.edge.complaints import Complaints
from odradek.server.edge.dispatch import Answerable
from odradek.server.edge.open_files import connections_affordable

_log = logging.getLogger(__name__)

PLAINTEXT: Final = "PLAINTEXT"
# Kafka's default of 50 is for a broker with a thread that does nothing but accept. One loop accepts between
# requests; a wave that overflows the queue waits a second for the system to try again.
BACKLOG_MIN: Final = 1024
_ANY_ADDRESS: Final = frozenset({"", "0.0.0.0", "::"})


class CannotListen(OdradekError):
    """A port in use or an address that is not this machine's: one sentence, exit code 2."""


def cannot_listen(host: str, port: int, error: OSError) -> CannotListen:
    """The error to raise, in the system's own few words."""
    if isinstance(error, socket.gaierror) or error.errno is None:
        reason = str(error.strerror or error)
    else:
        reason = os.strerror(error.errno)
    return CannotListen(f"cannot listen on {host}:{port}: {reason[:1].lower()}{reason[1:]}")


@dataclass(frozen=True, slots=True)
class ListenerAddress:
    """One entry of `listeners` or `advertised.listeners`."""

    name: str
    host: str
    port: int


def parse_listener(text: str) -> ListenerAddress:
    """`PLAINTEXT://host:port`; raises SettingError."""
    name, separator, address = text.strip().partition("://")
    host, colon, port = address.rpartition(":")
    if not (name and separator and colon and port.isdigit() and int(port) <= 65535):
        raise SettingError(f"a listener is written NAME://host:port, not '{text}'")
    return ListenerAddress(name.upper(), host.strip("[]"), int(port))


def limits_of(settings: BrokerSettings) -> ConnectionLimits:
    """What the settings and this process's open files allow."""
    return ConnectionLimits(
        min(settings.max_connections, connections_affordable()),
        settings.max_connections_per_ip,
        settings.connections_max_idle_ms,
    )


class FrameDispatcher(Protocol):
    """Where requests go."""

    def dispatch(self, client: Answerable, frame: Buffer) -> None:
        """Serve one request. Never raises."""


class Listeners:
    """All listeners of one broker, and the connections that came through them."""

    def __init__(self, settings: BrokerSettings, clock: Clock) -> None:
        self.table = ConnectionTable(limits_of(settings))
        self._settings = settings
        self._complaints = Complaints(_log, clock)
        self._servers: list[asyncio.Server] = []
        # As bound, in the order of the setting: what port 0 became.
        self.bound: list[ListenerAddress] = []
        # Where all connections' bytes arrive first; they take turns on one thread.
        self._scratch = memoryview(bytearray(SCRATCH_BYTES))
        # Requests go here; set before the first connection is accepted.
        self._dispatcher: FrameDispatcher | None = None

    async def bind(self) -> None:
        """Take the ports, without accepting anybody. Raises SettingError, CannotListen."""
        loop = asyncio.get_running_loop()
        for address in map(parse_listener, self._settings.listeners):
            _refuse_other_protocols(self._settings, address)
            try:
                server = await loop.create_server(
                    lambda name=address.name: self._connection(name),
                    address.host or None,
                    address.port,
                    backlog=max(BACKLOG_MIN, self._settings.socket_listen_backlog_size),
                    reuse_address=True,
                    start_serving=False,
                )
            except OSError as error:
                raise cannot_listen(address.host, address.port, error) from error
            self._servers.append(server)
            port = server.sockets[0].getsockname()[1]
            self.bound.append(ListenerAddress(address.name, address.host, port))

    def advertised(self) -> tuple[Endpoint, ...]:
        """Where clients are told to connect."""
        given = [parse_listener(text) for text in self._settings.advertised_listeners]
        ports = {address.name: address.port for address in self.bound}
        return tuple(
            Endpoint(
                address.name,
                PLAINTEXT,
                socket.getfqdn() if address.host in _ANY_ADDRESS else address.host,
                address.port or ports.get(address.name, 0),
            )
            for address in given or self.bound
        )

    async def accept(self, dispatcher: FrameDispatcher) -> None:
        """Let clients in."""
        self._dispatcher = dispatcher
        for server in self._servers:
            await server.start_serving()

    def take_settings(self, settings: BrokerSettings) -> None:
        """Let changed limits hold for new connections, and for how long old ones may be idle."""
        self.table.limits = limits_of(settings)

    def stop_accepting(self) -> None:
        """Let nobody in any more; connections stay."""
        for server in self._servers:
            server.close()
        self._servers.clear()

    def _connection(self, listener: str) -> ServerConnection:
        return ServerConnection(
            self,
            listener,
            self._scratch,
            frame_bytes_max=self._settings.socket_request_max_bytes,
            write_buffer_bytes=self._settings.odradek_connection_write_buffer_bytes,
        )

    # --- what connections report (`net.FrameHandler`)

    def connection_made(self, connection: ServerConnection) -> bool:
        """See `FrameHandler.connection_made`."""
        refused = self.table.admit(connection)
        if refused is not None:
            self._complaints.say("refusing a connection: %s", refused)
        return refused is None

    def frame_received(self, connection: ServerConnection, frame: Buffer) -> None:
        """See `FrameHandler.frame_received`."""
        assert self._dispatcher is not None, "a request before anybody was let in"
        self._dispatcher.dispatch(connection, frame)

    def connection_lost(self, connection: ServerConnection) -> None:
        """See `FrameHandler.connection_lost`."""
        self.table.forget(connection)

    def frame_refused(self, connection: ServerConnection, reason: str) -> None:
        """See `FrameHandler.frame_refused`."""
        self._complaints.say("closing the connection of %s: %s", connection.peer_host, reason)


def _refuse_other_protocols(settings: BrokerSettings, address: ListenerAddress) -> None:
    protocols = dict(entry.partition(":")[::2] for entry in settings.listener_security_protocol_map)
    protocol = protocols.get(address.name)
    if protocol is None:
        raise SettingError(f"listener.security.protocol.map does not name the listener {address.name}")
    if protocol != PLAINTEXT:
        raise SettingError(f"the listener {address.name} wants {protocol}; only {PLAINTEXT} is served yet")
