"""What the synchronous part of a broker needs of the outside: given by the loop, or by a simulator."""

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

if TYPE_CHECKING:  # compaction is loaded when there first may be work for it
    from odradek.server.cleaning.cleaner_host import CleanerRunner


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Everything outside of one node that it uses: time, chance, threads, the metadata store, its owner."""

    clock: Clock
    turn_time: TurnTime
    """The time of the loop's turns; a simulator lets slices end where its seed says."""
    chance: Chance
    timer: Timer
    """The one timer that everything waits on."""
    background: Background
    defer: Defer
    cleaner_runner: "Callable[[], CleanerRunner]"
    """Makes what does the work of compaction; called when there first may be some."""
    peers: Peers
    """The other brokers of the cluster, for the controller's orders."""
    connect_fetchers: Callable[[], Peers]
    """Makes a `Peers` with connections of its own; called for each of the numbers that fetchers have."""
    store: MetadataStore
    """Not open: the node opens its session when it joins, and whenever one has ended."""
    stalls: LoopStalls
    """Measures the handling of requests, and says which one held the thread too long."""
    on_finding: Callable[[Finding], None]
    """Called with each thing that the node finds not to be as it should: at its start, and later."""
    on_failure: Callable[[str], None]
    """Called with the reason when the node cannot go on; the owner then stops it."""
    boot_id: str = ""
    """Names the time since the machine was started (R15); empty when it is not known."""
