"""The network of a world: connections of brokers and clients to brokers, and their faults.

    world.cut(1, 2)             nothing passes between 1 and 2; with `one_way`, nothing from 1 to 2
    world.isolate(1)            nothing passes to or from 1, but to the metadata store
    world.heal()                everything passes again; held bytes are delivered in order
    world.links.mend(1, 2)      between 1 and 2 everything passes again, at once (`rejoin`: isolated places)
    world.links.slow(1, 2, ms)  what 1 sends to 2 takes so long
    world.links.drop(1, 2)      the connections that 1 opened to 2 end, with all that is on its way in them

A place is a broker's id or a host of clients (`"10.0.0.1"`), so each of these applies to clients, too. Each
delivery is a step of the world (`streams`), and the seed chooses among the connections. Each direction of a
connection keeps its order. A cut by itself loses nothing: bytes are held, since TCP would send them again.
But a request that times out ends its connection, and all bytes in transit on it are lost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from odradek.base.chance import Chance
from odradek.base.ids import BrokerId
from odradek.net.request_pipeline import Failure, NotConnected, Outcome
from odradek.server.edge.addresses import BROKERS
from odradek.server.node.peers import OnPeerOutcome, PeerOutcome, PeerRequest, peer_outcome
from odradek.testing.sim.client import SimConnection
from odradek.testing.sim.observer import Fault, FaultKind
from odradek.testing.sim.streams import Place, Server, Stream

if TYPE_CHECKING:
    from odradek.testing.sim.node import SimNode
    from odradek.testing.sim.world import World

CLIENT_ID: Final = "odradek"
"""The client id of requests between brokers."""


class Links:
    """The network of one world."""

    def __init__(self, world: World) -> None:
        self._world = world
        # (from, to): nothing passes (the values mean nothing).
        self._cuts: dict[tuple[Place, Place], None] = {}
        # To and from these nothing passes (the values mean nothing).
        self._isolated: dict[Place, None] = {}
        # (from, to): how long a delivery takes; absent: no time.
        self._delays_ms: dict[tuple[Place, Place], int] = {}
        # Connections of which something may still come, in the order of opening.
        self._streams: list[Stream] = []
        # Those of which something is on its way, or was a moment ago (the values mean nothing).
        self._busy: dict[Stream, None] = {}

    def peers(self, node: SimNode) -> SimPeers:
        """The port of one node's life."""
        return SimPeers(self, node)

    # --- faults

    def cut(self, a: Place, b: Place, *, one_way: bool = False) -> None:
        """Let nothing pass from a to b any more, and from b to a unless `one_way`."""
        self._cuts[a, b] = None
        if not one_way:
            self._cuts[b, a] = None
        self._world.note_fault(Fault(FaultKind.CUT_ONE_WAY if one_way else FaultKind.CUT, a, b))

    def isolate(self, place: Place) -> None:
        """Let nothing pass to or from a place, wherever it is from or to."""
        self._isolated[place] = None
        self._world.note_fault(Fault(FaultKind.ISOLATED, place))

    def heal(self) -> None:
        """End all cuts, isolations and delays."""
        self._cuts.clear()
        self._isolated.clear()
        self._delays_ms.clear()
        self._world.note_fault(Fault(FaultKind.HEALED))

    def mend(self, a: Place, b: Place) -> None:
        """End what was cut and slowed between a and b, in both directions."""
        for way in ((a, b), (b, a)):
            self._cuts.pop(way, None)
            self._delays_ms.pop(way, None)
        self._world.note_fault(Fault(FaultKind.MENDED, a, b))

    def rejoin(self, place: Place) -> None:
        """End the isolation of a place."""
        self._isolated.pop(place, None)
        self._world.note_fault(Fault(FaultKind.REJOINED, place))

    def slow(self, a: Place, b: Place, delay_ms: int) -> None:
        """Let what a sends to b from now on take that long."""
        self._delays_ms[a, b] = delay_ms
        self._world.note_fault(Fault(FaultKind.SLOWED, a, b, f"{delay_ms} ms"))

    def drop(self, a: Place, b: Place) -> None:
        """End the connections that a has opened to b."""
        self._world.note_fault(Fault(FaultKind.DROPPED, a, b))
        for stream in self._streams:
            if stream.between == (a, b):
                stream.drop()

    # --- for connections

    def now_ms(self) -> int:
        """See `Network.now_ms`."""
        return self._world.clock.monotonic_ms()

    def is_cut(self, a: Place, b: Place) -> bool:
        """See `Network.is_cut`; nothing reaches a process that stands still, either."""
        return (a, b) in self._cuts or a in self._isolated or b in self._isolated or self._is_paused(b)

    def _is_paused(self, place: Place) -> bool:
        node = self._world.nodes.get(place) if isinstance(place, BrokerId) else None
        return node is not None and node.is_paused

    def due_ms(self, a: Place, b: Place) -> int:
        """See `Network.due_ms`."""
        return self.now_ms() + self._delays_ms.get((a, b), 0)

    def server_at(self, place: Place) -> Server | None:
        """See `Network.server_at`."""
        node = self._world.nodes.get(place) if isinstance(place, BrokerId) else None
        return None if node is None else node.listeners

    def on_delivered(self, stream: Stream, data: bytes, *, to_server: bool) -> None:
        """See `Network.on_delivered`."""
        if self._world.observer is not None:
            self._world.observer.on_delivered(stream, data, to_server=to_server)

    def on_ended(self, stream: Stream, reason: str) -> None:
        """See `Network.on_ended`."""
        if self._world.observer is not None:
            self._world.observer.on_ended(stream, reason)

    def add(self, stream: Stream) -> None:
        """See `Network.add`."""
        self._streams = [one for one in self._streams if not one.is_over]
        self._streams.append(stream)

    def note_busy(self, stream: Stream) -> None:
        """See `Network.note_busy`."""
        self._busy[stream] = None

    def end_life(self, node: SimNode, power_is_lost: Chance | None) -> None:
        """Called when a process has ended; on a power loss some of the machine's unsent bytes are lost."""
        for stream in self._streams:
            side = stream.server_side
            is_server = side is not None and side.server is node.listeners
            if power_is_lost is not None and (is_server or stream.between[0] == node.broker_id):
                stream.lose_some(node.broker_id, power_is_lost)
            if stream.between[0] == node.broker_id:
                stream.close()
            if side is not None and is_server:
                side.die()

    # --- what happens next

    def steps(self) -> list[Callable[[], None]]:
        """The deliveries that can happen now: the first of each direction of each connection."""
        found: list[Callable[[], None]] = []
        now_ms = self.now_ms()
        for stream in tuple(self._busy):
            if stream.is_idle:
                del self._busy[stream]
            elif stream.is_due(now_ms):
                found.extend(stream.steps())
        return found

    def next_ms(self) -> int | None:
        """When the next delivery that takes time is due; None when there is none."""
        found = [due_ms for stream in self._busy for due_ms in stream.waiting_ms()]
        return min(found, default=None)


class SimPeers:
    """`Peers` of one node's life: a connection to each other broker."""

    def __init__(self, links: Links, node: SimNode) -> None:
        self._links = links
        self._node = node
        # By broker, the connection that was opened last; it may have ended.
        self._connections: dict[BrokerId, SimConnection] = {}

    def send(self, request: PeerRequest, done: OnPeerOutcome) -> None:
        """See `Peers.send`."""
        broker_id = request.broker_id
        connection = self._connections.get(broker_id)
        if connection is None or connection.is_closed:
            connection = self._connections[broker_id] = self._open(broker_id)
        connection.send(
            request.message,
            request.version,
            lambda outcome: done(_read(broker_id, outcome, connection)),
            timeout_ms=request.timeout_ms,
        )

    def _open(self, broker_id: BrokerId) -> SimConnection:
        node = self._node
        return SimConnection(
            self._links,
            node,
            (node.host, 0),
            (node.broker_id, broker_id),
            BROKERS,
            client_id=CLIENT_ID,
            timer=node.timer,
            on_answer=node.note_answer,
        )


def _read(broker_id: BrokerId, outcome: Outcome, connection: SimConnection) -> PeerOutcome:
    if isinstance(outcome, Failure) and connection.stream.server_side is None:
        return NotConnected(outcome.error.message, outcome.error.code)
    return peer_outcome(broker_id, outcome)
