"""What the admin listener is shown of a broker."""

from collections.abc import Callable
from dataclasses import dataclass

from odradek.net.connection_table import ConnectionTable
from odradek.server.edge.loop_stalls import LoopStalls
from odradek.server.node.node import Node


@dataclass(frozen=True, slots=True)
class BrokerView:
    """One broker, to be read only."""

    node: Node
    connections: ConnectionTable
    stalls: LoopStalls
    """The longest pieces of work of the loop."""
    is_ready: Callable[[], bool]
    """Whether clients are served."""
