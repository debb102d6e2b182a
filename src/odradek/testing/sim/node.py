"""One broker of the simulation: the node itself, its disk, and what it has waiting."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from odradek.base.buffers import Buffer
from odradek.base.chance import SeededChance
from odradek.base.clock import ManualClock, ShortClock
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import OdradekError
from odradek.base.held_calls import HeldCalls
from odradek.base.ids import BrokerId, TopicPartition
from odradek.base.settings import SettingLayers
from odradek.metadata.image import Endpoint
from odradek.metadata.memory import MemorySession
from odradek.metadata.messages import BrokerMessage
from odradek.metadata.startup import FoundAtStart, read_at_start
from odradek.metadata.store import run_in_session
from odradek.server.cleaning.cleaner_host import InlineCleaner
from odradek.server.edge.dispatch import Answerable
from odradek.server.edge.loop_stalls import LoopStalls
from odradek.server.handlers.registry import Handlers
from odradek.server.node.node import Node, expected_logs, known_at_start, open_logs
from odradek.server.node.ports import Surroundings
from odradek.storage.memory_files import MemoryFileSystem
from odradek.testing.sim.client import SimConnection, SimRequest
from odradek.testing.sim.drawn_time import DrawnTime
from odradek.timer import Timer
from odradek.wire.headers import RequestHeader, encode_request_header
from odradek.wire.message import Message

if TYPE_CHECKING:
    from odradek.testing.sim.world import World

LISTENER: Final = "PLAINTEXT"
PORT: Final = 9092
THREADS: Final = 4
"""How many calls in the background may be under way at once: one of them ends next."""


class Turns:
    """Callbacks for later turns of a node's loop."""

    def __init__(self) -> None:
        # Oldest first.
        self.waiting: deque[Callable[[], None]] = deque()

    def defer(self, callback: Callable[[], None]) -> None:
        """See `Defer`."""
        self.waiting.append(callback)

    def run_next(self) -> None:
        """Run the oldest; there is one."""
        self.waiting.popleft()()

    def run(self) -> None:
        """Run all, also those that come meanwhile."""
        while self.waiting:
            self.run_next()


class SimNode:
    """One life of a broker. `World.node` starts it; another life on the same disk is another object."""

    def __init__(self, world: World, broker_id: BrokerId, settings: Mapping[str, str]) -> None:
        """`settings` by their Kafka names, with underscores for dots."""
        self.world = world
        self.broker_id = broker_id
        self.given_settings = settings
        self.clock: ManualClock = world.clock
        self.store = world.store
        self.chance = SeededChance(world.chance.below(1 << 32))
        self.short_clock: ShortClock = DrawnTime(SeededChance(world.chance.below(1 << 32)))
        """Ends the slices of long work; a test may put another one in its place."""
        self.disk: MemoryFileSystem = world.disk(broker_id)
        self.session: MemorySession = world.store.session()
        """The node's side of the metadata store."""
        self.timer = Timer(self.clock)
        self.turns = Turns()
        self.calls = HeldCalls()
        """What the node has given to other threads."""
        self.failures: list[str] = []
        """Why the node could not go on."""
        self.joined: list[object] = []
        """None, or the error that kept the node from joining, once that is known."""
        self.connections: list[SimConnection] = []
        """Those on which something is on its way, at work or parked."""
        self._correlation_id = 0
        self._start()

    def _start(self) -> None:
        named = {name.replace("_", "."): value for name, value in self.given_settings.items()}
        self.layers, unknown = SettingLayers.from_static(
            {"log.dirs": "/data", "broker.rack": "r1", "node.id": str(self.broker_id), **named}
        )
        assert not unknown, f"not settings: {unknown}"
        loaded, last = self._read_at_start()
        image, expected = known_at_start(loaded), expected_logs(loaded, self.broker_id, last)
        surroundings = Surroundings(
            clock=self.clock,
            short_clock=lambda: self.short_clock(),
            chance=self.chance,
            timer=self.timer,
            background=self.calls,
            defer=self.turns.defer,
            cleaner_runner=lambda: InlineCleaner(self.disk),
            orders=self.world,
            store=self.session,
            stalls=LoopStalls(lambda: 0, self.clock),
            on_failure=self.failures.append,
        )
        self.logs = open_logs(surroundings, self.layers, image, self.disk, expected)
        self.handlers = Handlers()
        self.node = Node(surroundings, self.layers, image, self.logs, self.handlers)
        self.core = self.node.core
        endpoint = Endpoint(LISTENER, LISTENER, self.host, PORT)
        self.node.join((endpoint,), self.joined.append)

    def _read_at_start(self) -> FoundAtStart:
        """Read the metadata store; meanwhile the others go on."""
        outcomes: list[FoundAtStart | OdradekError] = []
        reading = read_at_start(self.broker_id, self.chance)
        run_in_session(self.store.session(), reading, outcomes.append)
        self.world.settle()
        (found,) = outcomes
        if isinstance(found, OdradekError):
            raise found
        return found

    @property
    def host(self) -> str:
        """The address under which the node is registered."""
        return "broker.example" if self.broker_id == 0 else f"broker{self.broker_id}.example"

    @property
    def is_alive(self) -> bool:
        """Whether it was neither killed nor stopped."""
        return not self.node.life.is_over

    # --- what happens next

    def steps(self) -> list[Callable[[], None]]:
        """What may happen to this node next, one of each kind: a turn, the end of work in the background."""
        found: list[Callable[[], None]] = []
        if self.turns.waiting:
            found.append(self.turns.run_next)
        found.extend(partial(self.calls.run_next, number) for number in range(self.calls.waiting)[:THREADS])
        if self.calls.finished:
            found.append(self.calls.report_next)
        self.connections = [connection for connection in self.connections if not connection.is_idle]
        for connection in self.connections:
            found.extend(connection.steps())
        return found

    def take_frame(self, client: Answerable, frame: Buffer) -> None:
        """Serve a request."""
        self.node.dispatcher.dispatch(client, frame)

    def obey(
        self, message: BrokerMessage, answered: Callable[[Mapping[TopicPartition, ErrorCode]], None]
    ) -> None:
        """Take an order of a controller elsewhere."""
        if self.is_alive:
            self.node.obey(message, answered)

    def settle(self) -> None:
        """See `World.settle`."""
        self.world.settle()

    def advance(self, by_ms: int) -> None:
        """See `World.advance`."""
        self.world.advance(by_ms)

    # --- ends

    def kill(self) -> None:
        """Die at once, as by kill -9: what is on the disk stays, the session with the store ends."""
        self.node.life.end()
        self.disk.kill()
        if self.session.session_id in self.world.open_sessions():
            self.session.expire()

    def stop(self) -> None:
        """Stop in good order."""
        self.node.let_go()
        self.settle()
        self.node.stop_compaction()
        self.core.store_session.close()
        self.settle()
        self.logs.close(self.core.broker_epoch)
        self.node.life.end()

    def restarted(self, **settings: str) -> SimNode:
        """Stop in good order, and begin another life on the same disk."""
        self.settle()
        self.stop()
        return self.started_again(**settings)

    def started_again(self, **settings: str) -> SimNode:
        """Begin another life on the same disk, with these settings changed."""
        return self.world.node(self.broker_id, **{**self.given_settings, **settings})

    # --- requests

    def connect(self) -> SimConnection:
        """A client's connection to the node."""
        return SimConnection(self)

    def send(
        self,
        request: Message,
        version: int | None = None,
        *,
        client_id: str = "test",
        on: SimConnection | None = None,
    ) -> SimRequest:
        """Send a request to the node as the wire's bytes, in the newest version that it serves.

        On a connection of its own, unless one is given.
        """
        if version is None:
            handler = self.handlers.get(request.API_KEY)
            assert handler is not None, f"{type(request).__name__} is not served"
            version = handler.highest_version
        self._correlation_id += 1
        header = RequestHeader(request.API_KEY, version, self._correlation_id, client_id)
        connection = self.connect() if on is None else on
        if connection not in self.connections:
            self.connections.append(connection)
        place = connection.send(encode_request_header(header) + request.encode(version))
        return SimRequest(request, version, connection, place)

    def ask(self, request: Message, version: int | None = None, *, client_id: str = "test") -> Any:  # noqa: ANN401
        """The answer to a request that is answered without time passing."""
        sent = self.send(request, version, client_id=client_id)
        self.settle()
        return sent.answer
