"""A broker that has started on the running loop: its node, and the shell around it.

Invariant: it is complete when it is constructed, which is when clients are accepted (`lifecycle.start`).
"""

from typing import TYPE_CHECKING

from odradek.server.admin.http import AdminServer
from odradek.server.admin.view import BrokerView
from odradek.server.edge.loop_stalls import LoopStalls
from odradek.server.node.core import BrokerCore
from odradek.server.node.node import Node
from odradek.server.process.broker_store import BrokerStore
from odradek.server.process.shell import Shell
from odradek.timer import Timer

if TYPE_CHECKING:  # loaded in brokers that are started for tests
    from odradek.server.faults.documents import FaultRequests


class Broker:
    """The parts of a running broker; all policy is in the node."""

    def __init__(self, shell: Shell, store: BrokerStore, node: Node) -> None:
        self.shell = shell
        self.store = store
        """The metadata store."""
        self.node = node
        """The synchronous part of the broker."""

    @property
    def core(self) -> BrokerCore:
        """The node's state."""
        return self.node.core

    @property
    def view(self) -> BrokerView:
        """What the admin listener shows."""
        return view_of(self.shell, self.node)

    @property
    def faults(self) -> "FaultRequests":
        """Carries out requests about faults; only in a broker that was started for tests."""
        return self.shell.faults(self.node)

    @property
    def admin(self) -> AdminServer | None:
        """The admin listener, when there is one."""
        return self.shell.admin

    @property
    def stalls(self) -> LoopStalls:
        """The longest pieces of work of the loop."""
        return self.shell.stalls

    @property
    def timer(self) -> Timer:
        """The only timer: it drives every deadline and delay of the broker."""
        return self.shell.driver.timer

    @property
    def bootstrap_servers(self) -> str:
        """host:port of the first listener for clients as advertised."""
        return str(self.shell.listeners.advertised_to_clients[0])


def view_of(shell: Shell, node: Node) -> BrokerView:
    """Returns what the admin listener shows of a node, also before the broker has started."""
    clients, peer_listener = shell.listeners.connections.table, shell.peer_listener
    faults = shell.faults(node) if shell.takes_faults else None
    return BrokerView(
        node,
        clients,
        shell.stalls,
        shell.connection_maker.spin,
        lambda: shell.is_ready,
        faults,
        None if peer_listener is None else peer_listener.connections.table,
    )
