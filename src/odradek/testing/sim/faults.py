"""The faults of one simulated node: the same methods as for a test broker, in the world's time.

node.faults.error("Produce", "NOT_LEADER_OR_FOLLOWER", times=2)
node.faults.delay(0.5, "LeaderAndIsr", asker="brokers")
node.faults.slow_disk(0.1)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from odradek.server.faults.documents import FaultRequests, Reach
from odradek.testing.faults import Faults

if TYPE_CHECKING:
    from odradek.testing.sim.node import SimNode

LOOK_EVERY_MS: Final = 5


def faults_of(node: SimNode) -> Faults:
    """Returns the faults of a node whose logs are open; valid until the node's life ends."""
    listeners = node.listeners
    reach = Reach(node.node, node.files.faults, listeners.refuse, listeners.drop, has_brokers=True)

    def wait(is_so: Callable[[], bool], timeout: float) -> bool:
        end_ms = node.clock.monotonic_ms() + round(timeout * 1000)
        node.settle()
        while not is_so():
            if node.clock.monotonic_ms() >= end_ms:
                return False
            node.advance(LOOK_EVERY_MS)
        return True

    return Faults(FaultRequests(reach).carry_out, wait)
