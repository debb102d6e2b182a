"""The broker as the admin listener sees it."""

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
    """One broker, for reading only."""

    node: Node
    connections: ConnectionTable
    """The connections of clients."""
    stalls: LoopStalls
    """The longest pieces of work of the loop."""
    spin: Spin | None
    """Keeps the loop awake between requests, if the settings ask for it."""
    is_ready: Callable[[], bool]
    """Whether clients are served."""
    faults: FaultRequests | None = None
    """Carries out requests about faults; None if the broker was not started for tests."""
    peer_connections: ConnectionTable | None = None
    """The connections of other brokers; None if the broker is alone in its cluster."""
