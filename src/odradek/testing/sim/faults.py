"""The faults of one simulated node: the same methods as for a test broker, in the world's time.

node.faults.error("Produce", "NOT_LEADER_OR_FOLLOWER", times=2)
node.faults.delay(0.5, "LeaderAndIsr", asker="brokers")
node.faults.slow_disk(0.1)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from odradek.server.faults.documents import FaultRequests, Reach
from odradek.testing.faults import Faults
from odradek.testing.sim.observer import Fault, FaultKind

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

    requests = FaultRequests(reach)

    def carry_out(document: Mapping[str, Any]) -> object:
        answer = requests.carry_out(document)
        if document["fault"] != "list":
            node.world.note_fault(Fault(FaultKind.SET, node.broker_id, detail=_words(document)))
        return answer

    return Faults(carry_out, wait)


def _words(document: Mapping[str, Any]) -> str:
    """A request about faults: "error: api Produce, error NOT_LEADER_OR_FOLLOWER"."""
    given = ", ".join(f"{name} {value}" for name, value in document.items() if name != "fault")
    return f"{document['fault']}: {given}" if given else str(document["fault"])
