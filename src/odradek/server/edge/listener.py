"""The listeners of a broker: bind its addresses, accept clients, know the advertised addresses.

`addresses` decides which addresses are opened and advertised, `tcp_servers` has the sockets, and
`connections` what was accepted. A listener for brokers alone is bound and advertised here; `peer_listener`
accepts on it.
"""

import logging
from collections.abc import Callable
from dataclasses import replace

from odradek.base.settings import BrokerSettings
from odradek.metadata.image import Endpoint
from odradek.net.connection_table import ConnectionLimits
from odradek.server.edge.addresses import (
    PLAINTEXT,
    ListenerAddress,
    listeners_for_clients,
    own_host,
    plan_listeners,
)
from odradek.server.edge.connections import Connections
from odradek.server.edge.dispatch import FrameDispatcher
from odradek.server.edge.open_files import connections_affordable, open_files
from odradek.server.edge.tcp_servers import TcpServers

_log = logging.getLogger(__name__)


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
    """All listeners of `listeners`, and the connections of clients that came through them."""

    def __init__(
        self,
        settings: Callable[[], BrokerSettings],
        connections: Connections,
        *,
        of_brokers: TcpServers | None = None,
        own_host: Callable[[], str] = own_host,
    ) -> None:
        """`settings` returns those in force, `own_host` the host to advertise for a wildcard address.

        `of_brokers` is given if the settings have a listener for brokers alone (`listener_of_brokers`).
        """
        self.connections = connections
        """Those that came through the listeners for clients."""
        self._settings = settings
        self._of_clients = TcpServers(connections, lambda: settings().socket_listen_backlog_size)
        self._of_brokers = of_brokers
        self._own_host = own_host
        # The name of the listener for brokers alone; None before `bind`, or if there is none.
        self._for_brokers: str | None = None
        self.bound: list[ListenerAddress] = []
        """The bound addresses, in the order of the setting; a port 0 is replaced by the chosen port."""
        self.advertised: list[ListenerAddress] = []
        """The advertised addresses; after `bind` at least one is for clients, and none is a wildcard."""

    async def bind(self) -> None:
        """Bind the ports, without accepting connections. Raises SettingError, CannotListen."""
        plan = plan_listeners(self._settings())
        self._for_brokers = plan.for_brokers
        for name in plan.for_controllers:
            _log.warning("the listener %s is not opened: only KRaft controllers use it", name)
        for address in plan.opened:
            servers = self._of_clients
            if address.name == plan.for_brokers:
                assert self._of_brokers is not None, "there are servers for the listener between brokers"
                servers = self._of_brokers
            self.bound.append(replace(address, port=await servers.bind(address)))
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

    def endpoints(self) -> tuple[Endpoint, ...]:
        """The advertised endpoints, for the cluster's metadata; after `bind`."""
        return tuple(
            Endpoint(address.name, PLAINTEXT, address.host, address.port) for address in self.advertised
        )

    @property
    def advertised_to_clients(self) -> list[ListenerAddress]:
        """The advertised addresses that clients may use; after `bind` there is one."""
        return list(listeners_for_clients(self.advertised, self._for_brokers))

    def describe(self) -> str:
        """The addresses for clients, with the advertised ones if they differ: `on A, advertised as B`."""
        bound = listeners_for_clients(self.bound, self._for_brokers)
        opened, advertised = (
            " and ".join(map(str, addresses)) for addresses in (bound, self.advertised_to_clients)
        )
        return f"on {opened}" if opened == advertised else f"on {opened}, advertised as {advertised}"

    async def accept(self, dispatcher: FrameDispatcher) -> None:
        """Begin to accept clients. Raises CannotListen if another program took a port meanwhile."""
        self.connections.dispatcher = dispatcher
        await self._of_clients.accept()

    def stop_accepting(self) -> None:
        """Accept no more clients; open connections stay open."""
        self._of_clients.close()
        self.connections.end()
