"""The shell around a node on the running loop: sockets, threads, the timer's driver.

The shell is complete before the node is created; parts that need the node get it later. `lifecycle` opens and
closes the parts.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from odradek.base.chance import Chance, SeededChance
from odradek.base.clock import Clock, SystemClock, machine_short_clock
from odradek.base.execution import TurnTime
from odradek.base.ids import BrokerId
from odradek.base.settings import BrokerSettings, SettingLayers
from odradek.metadata.store import StoreEngine
from odradek.net.guard import Guard, unguarded
from odradek.server.admin.http import AdminServer
from odradek.server.edge.addresses import listener_of_brokers
from odradek.server.edge.connections import ConnectionMaker, Connections
from odradek.server.edge.listener import Listeners, limits_of
from odradek.server.edge.loop_stalls import LoopStalls
from odradek.server.edge.peer_listener import (
    PeerConnections,
    PeerListener,
    TcpPeerListener,
    UnixPeerListener,
    limits_of_brokers,
)
from odradek.server.edge.tcp_servers import TcpServers
from odradek.server.edge.unix_address import UnixAddress, broker_socket
from odradek.server.handlers.registry import Handlers
from odradek.server.node.node import Node
from odradek.server.process.embedded_store import open_embedded_engine
from odradek.server.process.executor import Executor
from odradek.server.process.loop_probe import LoopProbe
from odradek.server.process.peer_addresses import AddressOf, RegisteredAddresses, unix_addresses
from odradek.server.process.peer_sockets import PeerSockets
from odradek.server.process.processor_wait import processor_wait_ns
from odradek.server.process.timer_driver import TimerDriver
from odradek.storage import FileSystem
from odradek.storage.os_files import OsFileSystem

if TYPE_CHECKING:  # loaded when there may be logs to compact
    from odradek.server.cleaning.cleaner_process import CleanerProcesses
    from odradek.server.faults.documents import FaultRequests
    from odradek.server.faults.rules import Side, Way
    from odradek.server.process.cut_connections import CutConnections


class Shell:
    """The parts of one broker that need a loop; all of them run on that loop's thread.

    Settings, clock, random numbers, disk and metadata engine are passed in, so that tests can replace them.
    """

    def __init__(
        self,
        layers: SettingLayers,
        *,
        clock: Clock | None = None,
        chance: Chance | None = None,
        file_system: FileSystem | None = None,
        open_engine: Callable[[BrokerSettings], StoreEngine] | None = None,
        on_failure: Callable[[str], None] = lambda reason: None,
        takes_faults: bool = False,
    ) -> None:
        """`on_failure` is called with the reason why the broker can no longer work; the owner then stops it.

        Another process cannot use a clock or a disk that is passed in: compaction then runs in this process.
        With `takes_faults`, for tests, requests about faults are carried out.
        """
        self.layers = layers
        self.clock: Clock = clock or SystemClock()
        self.chance: Chance = chance or SeededChance()
        self.file_system: FileSystem = file_system or OsFileSystem()
        self.open_engine = open_engine or open_embedded_engine
        self.on_failure = on_failure
        self.takes_faults = takes_faults
        # Created when they are first needed.
        self._faults: FaultRequests | None = None
        loop = asyncio.get_running_loop()
        self.stalls = LoopStalls(machine_short_clock(), self.clock, processor_wait_ns)
        """The longest pieces of work of the loop."""
        self.stalls.has_clients = False
        self.probe = LoopProbe(loop, self.stalls)
        self.executor = Executor(loop, self.stalls)
        self.driver = TimerDriver(loop, self.clock, self.stalls)
        self.turn_time = TurnTime(machine_short_clock())
        """How long requests and other work may hold one turn of the loop."""
        self.connection_maker = ConnectionMaker(
            lambda: layers.in_force, self.executor, self.turn_time, processor_wait_ns
        )
        """Makes the connections of clients and of other brokers."""
        self.cuts = _cut_connections() if takes_faults else None
        """The connections with others, whose bytes a test may hold back; None without faults."""
        self.peer_listener: PeerListener | None = None
        """The listener for other brokers; None if the broker is alone in its cluster."""
        self.peer_sockets: PeerSockets | None = None
        """The connections to other brokers; None likewise."""
        self.registered_addresses: RegisteredAddresses | None = None
        """Where other brokers are, if they have TCP listeners for each other."""
        self.listeners = Listeners(
            lambda: layers.in_force,
            Connections(self.connection_maker, self.clock, lambda: limits_of(layers.in_force)),
            of_brokers=self._join_cluster(layers.in_force),
        )
        self.handlers = Handlers(load_code=self.stalls.load)
        self.has_real_surroundings = clock is None and file_system is None
        """Whether another process sees the same time and the same files."""
        self.cleaner_processes: CleanerProcesses | None = None
        """The processes of compaction; None before there was work for them."""
        self.admin = AdminServer() if layers.in_force.odradek_admin_port >= 0 else None
        """The admin listener, when there is one."""
        self.is_ready = False
        """Whether clients are served: the broker has joined, leads its partitions, and is not stopping."""

    def _join_cluster(self, settings: BrokerSettings) -> TcpServers | None:
        """Make what a broker with others needs; returns the servers of its TCP listener for them, if any."""
        listener, directory = listener_of_brokers(settings), settings.odradek_cluster_directory
        connections = PeerConnections(
            self.connection_maker, self.clock, limits_of_brokers, self.guard_of_brokers
        )
        servers = None
        if listener is not None:
            servers = TcpServers(
                connections, lambda: self.settings.socket_listen_backlog_size, finds_vanished=True
            )
            self.peer_listener = TcpPeerListener(servers, connections)
            self.registered_addresses = RegisteredAddresses(listener)
            self._connect_peers(settings.node_id, self.registered_addresses)
        elif directory is not None:
            address = UnixAddress(broker_socket(directory, settings.node_id))
            self.peer_listener = UnixPeerListener(address, connections)
            self._connect_peers(settings.node_id, unix_addresses(directory))
        return servers

    def _connect_peers(self, broker_id: BrokerId, address_of: AddressOf) -> None:
        self.peer_sockets = PeerSockets(
            broker_id,
            address_of,
            lambda: self.settings,
            self.driver.timer,
            self.stalls,
            self.guard_of_brokers,
        )

    @property
    def settings(self) -> BrokerSettings:
        """The settings in force now; callers must not keep them."""
        return self.layers.in_force

    @property
    def guard_of_brokers(self) -> Guard:
        """What stands between connections with other brokers and their transports."""
        return unguarded if self.cuts is None else self.cuts.brokers.wrap

    @property
    def guard_of_store(self) -> Guard:
        """What stands between connections with the metadata store and their transports."""
        return unguarded if self.cuts is None else self.cuts.store.wrap

    def _holds(self) -> "dict[Side, Callable[[frozenset[Way]], None]]":
        """What holds back the bytes of the connections that this broker has."""
        from odradek.server.faults.rules import Side

        assert self.cuts is not None, "a broker that takes faults has what cuts connections"
        holds: dict[Side, Callable[[frozenset[Way]], None]] = {}
        if self.peer_listener is not None:
            holds[Side.BROKERS] = self.cuts.brokers.hold
        if self.settings.odradek_cluster_directory is not None or self.settings.zookeeper_connect:
            holds[Side.STORE] = self.cuts.store.hold
        return holds

    def faults(self, node: Node) -> "FaultRequests":
        """Carries out requests about faults on this shell's node, if `takes_faults` was given."""
        assert self.takes_faults, "faults can be set only on a broker that was started for tests"
        if self._faults is None:
            from odradek.server.faults.documents import FaultRequests, Reach

            disk = getattr(self.file_system, "faults", None)
            clients = self.listeners.connections
            self._faults = FaultRequests(
                Reach(
                    node,
                    disk,
                    clients.refuse,
                    clients.abort_all,
                    lambda: str(self.listeners.advertised_to_clients[0]),
                    self._holds(),
                    has_brokers=self.peer_listener is not None,
                )
            )
        return self._faults


def _cut_connections() -> "CutConnections":
    from odradek.server.process.cut_connections import CutConnections

    return CutConnections()
