"""What the synchronous part of a broker needs of the outside: given by the loop, or by a simulator."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from odradek.base.chance import Chance
from odradek.base.clock import Clock, ShortClock
from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Background, Defer
from odradek.base.ids import BrokerId, TopicPartition
from odradek.metadata.messages import BrokerMessage
from odradek.metadata.store import MetadataStore
from odradek.server.edge.loop_stalls import LoopStalls
from odradek.storage.finding import Finding
from odradek.timer import Timer

if TYPE_CHECKING:  # compaction is loaded when there first may be work for it
    from odradek.server.cleaning.cleaner_host import CleanerRunner


class Orders(Protocol):
    """The way to the other brokers for the controller's orders."""

    def send(
        self,
        broker_id: BrokerId,
        message: BrokerMessage,
        answered: Callable[[Mapping[TopicPartition, ErrorCode]], None],
    ) -> None:
        """Send after all earlier ones to that broker; `answered` is called later, if an answer comes."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Everything outside of one node that it uses: time, chance, threads, the metadata store, its owner."""

    clock: Clock
    short_clock: ShortClock
    """Says when a slice of work has had its time; a simulator lets slices end where its seed says."""
    chance: Chance
    timer: Timer
    """The one timer that everything waits on."""
    background: Background
    defer: Defer
    cleaner_runner: "Callable[[], CleanerRunner]"
    """Makes what does the work of compaction; called when there first may be some."""
    orders: Orders | None
    """None where the cluster is this one broker."""
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
