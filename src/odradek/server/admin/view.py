"""What the admin listener is shown of a broker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from odradek.net.connection_table import ConnectionTable
from odradek.net.spin import Spin
from odradek.server.edge.loop_stalls import LoopStalls
from odradek.server.node.node import Node

if TYPE_CHECKING:  # loaded in brokers that are started for tests
    from odradek.server.faults.documents import FaultRequests


@dataclass(frozen=True, slots=True)
class BrokerView:
    """One broker, to be read only."""

    node: Node
    connections: ConnectionTable
    stalls: LoopStalls
    """The longest pieces of work of the loop."""
    spin: Spin | None
    """What keeps the loop awake between requests, where that is asked for."""
    is_ready: Callable[[], bool]
    """Whether clients are served."""
    faults: FaultRequests | None = None
    """Takes requests about faults; None where the broker was not started for tests."""
