"""A broker on the running loop: its node, and the sockets, threads, timer and metadata store around it.

Invariant: it holds parts. `lifecycle` makes and joins them in order; policy is the node's.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from odradek.base.chance import Chance, SeededChance
from odradek.base.clock import Clock, SystemClock, machine_short_clock
from odradek.base.settings import BrokerSettings, SettingLayers
from odradek.metadata.store import StoreEngine
from odradek.metadata.store_host import StoreHost
from odradek.server.admin.http import AdminServer
from odradek.server.admin.view import BrokerView
from odradek.server.edge.listener import Listeners
from odradek.server.edge.loop_stalls import LoopStalls
from odradek.server.handlers.registry import Handlers
from odradek.server.node.core import BrokerCore
from odradek.server.node.node import Node
from odradek.server.process.embedded_store import open_embedded_engine
from odradek.server.process.executor import Executor
from odradek.server.process.loop_probe import LoopProbe
from odradek.server.process.timer_driver import TimerDriver
from odradek.storage import FileSystem
from odradek.storage.os_files import OsFileSystem
from odradek.timer import Timer

if TYPE_CHECKING:  # loaded when there first may be something to compact
    from odradek.server.cleaning.cleaner_process import CleanerProcesses


class Broker:
    """One broker on the running loop; everything happens on that loop's thread.

    Everything that could be another's is given: settings, clock, chance, disk and metadata engine.
    """

    node: Node
    """Everything synchronous, from the start on."""
    store_host: StoreHost
    """The engine of the metadata store, from the start on."""

    def __init__(
        self,
        layers: SettingLayers,
        *,
        clock: Clock | None = None,
        chance: Chance | None = None,
        file_system: FileSystem | None = None,
        open_engine: Callable[[BrokerSettings], StoreEngine] | None = None,
        on_failure: Callable[[str], None] = lambda reason: None,
    ) -> None:
        """`on_failure` is called with the reason why the broker can no longer work; the owner then stops it.

        A clock or a disk that is given is one that no other process has: compaction then runs in this one.
        """
        self.layers = layers
        self.clock: Clock = clock or SystemClock()
        self.chance: Chance = chance or SeededChance()
        self.file_system: FileSystem = file_system or OsFileSystem()
        self.open_engine = open_engine or open_embedded_engine
        self.on_failure = on_failure
        loop = asyncio.get_running_loop()
        self.stalls = LoopStalls(machine_short_clock(), self.clock)
        """The longest pieces of work of the loop."""
        self.probe = LoopProbe(loop, self.stalls)
        self.executor = Executor(loop, self.stalls)
        self.driver = TimerDriver(loop, self.clock, self.stalls)
        self.listeners = Listeners(lambda: layers.in_force, self.clock, self.executor)
        self.handlers = Handlers()
        self.has_real_surroundings = clock is None and file_system is None
        """Whether another process sees the same time and the same files."""
        self.cleaner_processes: CleanerProcesses | None = None
        """The processes of compaction, once there was work for them."""
        self.admin: AdminServer | None = None
        """The loopback HTTP listener, when there is one."""
        self.is_ready = False
        """Whether clients are served: joined the cluster, leading what it leads, not stopping."""

    @property
    def settings(self) -> BrokerSettings:
        """What is in force now; not to be kept."""
        return self.layers.in_force

    @property
    def core(self) -> BrokerCore:
        """The node's state, from the start on."""
        return self.node.core

    @property
    def view(self) -> BrokerView:
        """What the admin listener is shown, from the start on."""
        listeners = self.listeners
        return BrokerView(self.node, listeners.table, self.stalls, listeners.spin, lambda: self.is_ready)

    @property
    def timer(self) -> Timer:
        """The one timer that drives everything that waits."""
        return self.driver.timer

    @property
    def bootstrap_servers(self) -> str:
        """host:port of the first listener as advertised."""
        return str(self.listeners.advertised[0])
