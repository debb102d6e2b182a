"""The network between the nodes of a world: connections that carry the wire's bytes, and their faults.

    world.cut(1, 2)             nothing passes between 1 and 2; with `one_way`, nothing from 1 to 2
    world.heal()                everything passes again; what is held goes on, in its order
    world.links.slow(1, 2, ms)  what 1 sends to 2 takes so long
    world.links.drop(1, 2)      the connections that 1 opened to 2 end, with all that is on its way in them

Each delivery of a request, of an answer, or of a connection's end is a step of the world, and the seed
chooses among the connections. Within a connection, and in each direction of it, order is kept. A cut loses
nothing by itself: bytes are held, as TCP sends them again; but a request whose time runs out ends its
connection, and what is still on its way there is lost.

A connection is between two lives. When the receiver's ends the connection does, as the sender learns when
it can be reached; what a sender that died had sent still arrives.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from odradek.base.ids import BrokerId
from odradek.net.framing import LENGTH_BYTES, Part, framed
from odradek.net.request_pipeline import (
    Answer,
    ConnectionFailed,
    Outcome,
    RequestPipeline,
    decode_answer,
)
from odradek.server.node.peers import PeerOutcome
from odradek.testing.sim.client import whole
from odradek.timer import TimedCall
from odradek.wire.apis import APIS
from odradek.wire.message import Message

if TYPE_CHECKING:
    from odradek.testing.sim.node import SimNode
    from odradek.testing.sim.world import World

LISTENER: Final = "BROKERS"


class Links:
    """The network of one world."""

    def __init__(self, world: World) -> None:
        self._world = world
        # (from, to): nothing passes (the values mean nothing).
        self._cuts: dict[tuple[BrokerId, BrokerId], None] = {}
        # (from, to): how long a delivery takes; absent: no time.
        self._delays_ms: dict[tuple[BrokerId, BrokerId], int] = {}
        # Connections that may still deliver something, in the order of opening.
        self._connections: list[_Connection] = []
        self.delivered: list[tuple[BrokerId, BrokerId, bytes]] = []
        """Every request that has arrived: from, to, and its frame."""

    def peers(self, node: SimNode) -> SimPeers:
        """The port of one node's life."""
        return SimPeers(self, self._world, node)

    # --- faults

    def cut(self, a: BrokerId, b: BrokerId, *, one_way: bool = False) -> None:
        """Let nothing pass from a to b any more, and from b to a unless `one_way`."""
        self._cuts[a, b] = None
        if not one_way:
            self._cuts[b, a] = None

    def heal(self) -> None:
        """End all cuts and delays."""
        self._cuts.clear()
        self._delays_ms.clear()

    def slow(self, a: BrokerId, b: BrokerId, delay_ms: int) -> None:
        """Let what a sends to b from now on take that long."""
        self._delays_ms[a, b] = delay_ms

    def drop(self, a: BrokerId, b: BrokerId) -> None:
        """End the connections that a has opened to b."""
        for connection in self._connections:
            if connection.between == (a, b):
                connection.break_off()

    # --- for connections

    def is_cut(self, a: BrokerId, b: BrokerId) -> bool:
        """Whether nothing passes from a to b."""
        return (a, b) in self._cuts

    def due_ms(self, a: BrokerId, b: BrokerId) -> int:
        """When what a sends to b now arrives."""
        return self._world.clock.monotonic_ms() + self._delays_ms.get((a, b), 0)

    def add(self, connection: _Connection) -> None:
        """A connection was opened."""
        self._connections.append(connection)

    # --- what happens next

    def steps(self) -> list[Callable[[], None]]:
        """What may arrive now: the first of each direction of each connection."""
        self._connections = [one for one in self._connections if not one.is_over]
        return [step for connection in self._connections for step in connection.steps()]

    def next_ms(self) -> int | None:
        """When the next delivery that takes time is due; None when there is none."""
        found = [due_ms for connection in self._connections for due_ms in connection.waiting_ms()]
        return min(found, default=None)


class SimPeers:
    """`Peers` of one node's life: a connection to each other broker."""

    def __init__(self, links: Links, world: World, node: SimNode) -> None:
        self._links = links
        self._world = world
        self._node = node
        # By broker, the connection that was opened last; it may have ended.
        self._connections: dict[BrokerId, _Connection] = {}

    def send(
        self,
        broker_id: BrokerId,
        request: Message,
        version: int,
        *,
        timeout_ms: int,
        done: Callable[[PeerOutcome], None],
    ) -> None:
        """See `Peers.send`."""
        connection = self._connections.get(broker_id)
        if connection is None or not connection.is_open:
            server = self._world.nodes.get(broker_id)
            connection = self._connections[broker_id] = _Connection(
                self._links, self._node, broker_id, server
            )
            self._links.add(connection)
        connection.send(request, version, timeout_ms, done)


class _Connection:
    """One connection between two lives; also what the server's dispatcher sees of it (`Answerable`)."""

    def __init__(self, links: Links, client: SimNode, broker_id: BrokerId, server: SimNode | None) -> None:
        self.between = (client.broker_id, broker_id)
        self.listener = LISTENER
        self.peer_host = client.host
        self.peer_port = 0
        self.client_id = ""
        self.queued_ns = 0
        self._links = links
        self._client = client
        # None where there is no such broker.
        self._server = server
        self._pipeline = RequestPipeline(f"broker {broker_id}", client.clock)
        # Whose outcome is whose, by correlation id.
        self._done: dict[int, tuple[Callable[[PeerOutcome], None], TimedCall]] = {}
        # On their way, with the time at which they may arrive; the oldest first.
        self._requests: deque[tuple[int, bytes]] = deque()
        self._answers: deque[tuple[int, bytes]] = deque()
        # Whether the server is at a request: the next one is not taken before it is answered.
        self._is_handling = False
        # Whether the server's side is gone, which the client does not know yet.
        self._is_broken = False
        # What the server has to give up when the connection ends before the request at work is answered.
        self._abandon: Callable[[], None] | None = None

    @property
    def is_open(self) -> bool:
        """Whether the client may send."""
        return self._pipeline.is_open

    @property
    def is_over(self) -> bool:
        """Whether nothing can come of it any more."""
        return not self.is_open or not (self._client.is_alive or self._requests)

    # --- the client's side

    def send(
        self, request: Message, version: int, timeout_ms: int, done: Callable[[PeerOutcome], None]
    ) -> None:
        """Put a request on its way."""
        sent, parts = self._pipeline.send(request, version, timeout_ms)
        deadline = TimedCall(sent.deadline_ms, self._expire)
        self._done[sent.correlation_id] = done, deadline
        self._client.timer.add(deadline)
        frame = b"".join(parts)[LENGTH_BYTES:]
        self._requests.append((self._links.due_ms(*self.between), frame))

    def break_off(self) -> None:
        """End it on the network: nothing arrives any more, and the client learns of it."""
        self._is_broken = True
        self._requests.clear()
        self._answers.clear()
        self._give_up()

    def _expire(self) -> None:
        self._deliver(self._pipeline.expire())

    def _deliver(self, outcomes: Iterable[Outcome]) -> None:
        for outcome in outcomes:
            done, deadline = self._done.pop(outcome.request.correlation_id)
            deadline.cancel()
            done(self._read(outcome) if isinstance(outcome, Answer) else outcome.error)
        if not self.is_open:
            self._give_up()

    def _read(self, answer: Answer) -> PeerOutcome:
        try:
            return decode_answer(self._pipeline.address, answer, APIS[answer.request.api_key].response_class)
        except ConnectionFailed as failed:
            return failed

    # --- what happens next

    def steps(self) -> list[Callable[[], None]]:
        """What may arrive now."""
        client_id, server_id = self.between
        now_ms = self._client.clock.monotonic_ms()
        found: list[Callable[[], None]] = []
        is_gone = self._is_broken or self._server is None or not self._server.serves_brokers
        can_answer = self._client.is_alive and not self._links.is_cut(server_id, client_id)
        if self._answers and can_answer and self._answers[0][0] <= now_ms:
            found.append(self._answer_arrives)
        if is_gone and not self._answers and can_answer:
            found.append(self._end_arrives)
        can_ask = not is_gone and not self._is_handling and not self._links.is_cut(client_id, server_id)
        if self._requests and can_ask and self._requests[0][0] <= now_ms:
            found.append(self._request_arrives)
        return found

    def waiting_ms(self) -> list[int]:
        """When what takes time is due."""
        now_ms = self._client.clock.monotonic_ms()
        return [way[0][0] for way in (self._requests, self._answers) if way and way[0][0] > now_ms]

    def _request_arrives(self) -> None:
        _, frame = self._requests.popleft()
        assert self._server is not None
        self._is_handling = True
        self._links.delivered.append((*self.between, frame))
        self._server.take_brokers_frame(self, frame)

    def _answer_arrives(self) -> None:
        _, data = self._answers.popleft()
        self._client.note_answer(data)
        outcomes: list[Outcome] = []
        while data:
            into = self._pipeline.writable()
            count = min(len(into), len(data))
            into[:count] = data[:count]
            outcomes += self._pipeline.received(count)
            data = data[count:]
        self._deliver(outcomes)

    def _end_arrives(self) -> None:
        reason = "no connection" if self._server is None else "the broker has gone"
        self._deliver(self._pipeline.lost(reason))

    # --- the server's side

    def answer(self, parts: Sequence[Part]) -> None:
        """See `Answerable.answer`."""
        client_id, server_id = self.between
        self._is_handling = False
        self._abandon = None
        if not self._is_broken:
            data = b"".join(framed([whole(parts)]))
            self._answers.append((self._links.due_ms(server_id, client_id), data))

    def answer_nothing(self) -> None:
        """See `Answerable.answer_nothing`."""
        self._is_handling = False
        self._abandon = None

    def close(self) -> None:
        """See `Client.close`."""
        self.break_off()

    def identify(self, client_id: str, software: str) -> None:
        """See `Client.identify`."""

    def when_lost(self, abandon: Callable[[], None]) -> None:
        """See `Client.when_lost`."""
        self._abandon = abandon

    def _give_up(self) -> None:
        abandon, self._abandon = self._abandon, None
        if abandon is not None and self._server is not None and self._server.is_alive:
            abandon()
