"""The ports that the synchronous part of a broker uses: implemented on the loop, or by a simulator."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from odradek.base.chance import Chance
from odradek.base.clock import Clock
from odradek.base.execution import Background, Defer, TurnTime
from odradek.metadata.store import MetadataStore
from odradek.server.edge.loop_stalls import LoopStalls
from odradek.server.node.peers import Peers
from odradek.storage.finding import Finding
from odradek.timer import Timer

if TYPE_CHECKING:  # compaction is loaded when there may be work for it
    from odradek.server.cleaning.cleaner_host import CleanerRunner


def _alone() -> int:
    return 1


def _not_all() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Surroundings:
    """All that a node uses of the outside: time, random numbers, threads, the metadata store, its owner."""

    clock: Clock
    turn_time: TurnTime
    """Measures the turns of the loop; in a simulator the seed decides where slices end."""
    chance: Chance
    timer: Timer
    """The only timer: every deadline and delay of the node uses it."""
    background: Background
    defer: Defer
    cleaner_runner: "Callable[[], CleanerRunner]"
    """Makes the runner of compaction; called when there may be compaction work for the first time."""
    peers: Peers
    """The other brokers of the cluster, for the controller's orders."""
    connect_peers: Callable[[], Peers]
    """Makes a `Peers` with connections of its own: for each fetcher number, and each lane of `forwarding`."""
    store: MetadataStore
    """Passed in closed: the node opens a session when it joins, and another one when a session has ended."""
    stalls: LoopStalls
    """Measures the handling of requests, and reports those that held the thread too long."""
    on_finding: Callable[[Finding], None]
    """Called with each problem that the node finds, at its start and later."""
    on_failure: Callable[[str], None]
    """Called with the reason when the node cannot go on; the owner then stops it."""
    cluster_brokers: Callable[[], int | None] = _alone
    """How many brokers the cluster is meant to have: internal topics have so many replicas at most (R17).

    None: as many as their replication factors ask for.
    """
    all_stop: Callable[[], bool] = _not_all
    """Whether all brokers of the cluster are stopping: nobody will come back whom a stop could wait for."""
    boot_id: str = ""
    """The boot id of the machine (R15), which changes when it restarts; empty when it is not known."""
