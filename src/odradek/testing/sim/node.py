"""One life of a simulated broker (one process): its node, its disk handle, and its pending work.

    starting    the stages of `server.node.stages.start`, one after another, each in steps of the world
    serving     clients' frames go in; turns, threads and timers are steps
    stopping    the stages of `stop`
    over        stopped, killed, or not started: it has no more steps

A life can be killed between any two steps, also of its start and its stop, and, with `kill_within`, between
two disk operations of one step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final

from odradek.base.buffers import Buffer
from odradek.base.chance import SeededChance
from odradek.base.clock import ShortClock
from odradek.base.execution import TurnTime
from odradek.base.ids import BrokerId, TopicPartition
from odradek.base.settings import SettingLayers
from odradek.metadata.image import Endpoint, TopicImage
from odradek.metadata.memory import MemorySession
from odradek.net.server_connection import ServerConnection
from odradek.server.edge.addresses import BROKERS
from odradek.server.edge.loop_stalls import LoopStalls
from odradek.server.handlers.registry import Handlers
from odradek.server.node import stages
from odradek.server.node.core import BrokerCore
from odradek.server.node.life import Life
from odradek.server.node.node import Node
from odradek.server.node.ports import Surroundings
from odradek.storage import Log, LogManager
from odradek.storage.finding import Finding
from odradek.storage.memory_files import MemoryFileSystem
from odradek.testing.faults import Faults
from odradek.testing.sim.cleaner import HeldCleaner
from odradek.testing.sim.client import (
    CLIENT_HOST,
    CLIENT_PORT,
    SimClient,
    SimConnection,
    SimRequest,
    is_answered,
)
from odradek.testing.sim.clocks import MachineClock
from odradek.testing.sim.disk import DiskHandle
from odradek.testing.sim.drawn_time import DrawnTime
from odradek.testing.sim.faults import faults_of
from odradek.testing.sim.listener import CLIENTS, SimListeners
from odradek.testing.sim.observer import Fault, FaultKind
from odradek.testing.sim.staging import Staging
from odradek.testing.sim.threads import SimThreads
from odradek.testing.sim.turns import Turns
from odradek.timer import Timer
from odradek.wire.message import Request, ResponseT

if TYPE_CHECKING:
    from odradek.testing.sim.world import World

PORT: Final = 9092
STOP_MS_MAX: Final = 120_000
"""How long `stop` waits: longer than the settings of a controlled shutdown allow by default."""
THREADS: Final = 4
"""How many calls in the background may be under way at once: one of them ends next."""


class SimNode:
    """One life of a broker. `World.begin` makes it; another life on the same disk is another object."""

    def __init__(self, world: World, broker_id: BrokerId, settings: Mapping[str, str]) -> None:
        """`settings` by their Kafka names, with underscores for dots. Its start has begun."""
        self.world = world
        self.broker_id = broker_id
        self.given_settings = settings
        self.clock: MachineClock = world.machine_clock(broker_id)
        self.store = world.store
        self.chance = SeededChance(world.chance.below(1 << 32))
        self.short_clock: ShortClock = DrawnTime(SeededChance(world.chance.below(1 << 32)))
        """Ends the slices of long work; a test may put another one in its place."""
        self.disk: MemoryFileSystem = world.disk(broker_id)
        """The disk, which outlives this life."""
        self.files = DiskHandle(self.disk, partial(world.record_disk, broker_id))
        """The disk as this life holds it."""
        self.session: MemorySession = world.store_session(broker_id)
        """The node's side of the metadata store, once it joins."""
        self.timer = Timer(self.clock)
        self.turns = Turns()
        self.calls = SimThreads(self.clock, self.files.faults)
        """The calls of this life on other threads."""
        self.findings: list[Finding] = []
        """What it reported as not in order, at its start and later."""
        self.failures: list[str] = []
        """Why the node could not go on."""
        self.is_over = False
        """Whether it has stopped, was killed or did not start."""
        self._is_paused = False
        self._sessions = [self.session]
        # The node, once its logs are open.
        self._node: Node | None = None
        # Connections of clients on which nothing is on its way, by client id, for the next request.
        self._idle: dict[str, list[SimConnection]] = {}
        named = {name.replace("_", "."): value for name, value in settings.items()}
        self.layers, unknown = SettingLayers.from_static(
            {"log.dirs": "/data", "broker.rack": "r1", "node.id": str(broker_id), **named}
        )
        assert not unknown, f"not settings: {unknown}"
        self.handlers = Handlers()
        self.life = Life(self._surroundings())
        self.listeners = SimListeners(self)
        """Its side of the network."""
        endpoint = Endpoint(CLIENTS, CLIENTS, self.host, PORT)
        self.staging = Staging(self)
        """Carries out its start and its stop."""
        self.staging.begin(stages.start(self.life, self.layers, self.handlers, self.files, (endpoint,)))

    def _surroundings(self) -> Surroundings:
        return Surroundings(
            clock=self.clock,
            turn_time=TurnTime(lambda: self.short_clock()),
            chance=self.chance,
            timer=self.timer,
            background=self.calls,
            defer=self.turns.defer,
            cleaner_runner=lambda: HeldCleaner(self.files, self.calls),
            peers=self.world.links.peers(self),
            connect_peers=lambda: self.world.links.peers(self),
            store=self.session,
            stalls=LoopStalls(lambda: 0, self.clock),
            on_finding=self.findings.append,
            on_failure=self.failures.append,
            cluster_brokers=lambda: max(self.world.brokers_meant, len(self.world.nodes)),
            all_stop=lambda: self.world.all_stop,
            boot_id=self.world.boot_id(self.broker_id),
        )

    @property
    def host(self) -> str:
        """The address under which the node is registered."""
        return "broker.example" if self.broker_id == 0 else f"broker{self.broker_id}.example"

    @property
    def node(self) -> Node:
        """The node, once its logs are open."""
        assert self._node is not None, f"broker {self.broker_id} has not opened its logs: {self.stage}"
        return self._node

    @property
    def has_opened(self) -> bool:
        """Whether its logs are open, or were when it ended."""
        return self._node is not None

    @property
    def core(self) -> BrokerCore:
        """The node's state, once its logs are open."""
        return self.node.core

    @property
    def logs(self) -> LogManager:
        """The node's logs, once they are open."""
        return self.node.core.logs

    @cached_property
    def faults(self) -> Faults:
        """What a test can do to it, once its logs are open; see `odradek.server.faults`."""
        return faults_of(self)

    def log(self, topic: str, partition: int = 0) -> Log:
        """The log of a partition that is hosted here."""
        log = self.logs.get(TopicPartition(topic, partition))
        assert log is not None, f"broker {self.broker_id} has no log of {topic}-{partition}"
        return log

    def topic(self, name: str) -> TopicImage:
        """A topic that this broker knows."""
        topic = self.core.image.topic(name)
        assert topic is not None, f"broker {self.broker_id} does not know the topic {name}"
        return topic

    @property
    def is_alive(self) -> bool:
        """Whether it starts, serves or stops."""
        return not self.is_over

    @property
    def is_serving(self) -> bool:
        """Whether its start has ended well, and no stop has begun."""
        return self.is_alive and self.stage is None

    @property
    def stage(self) -> stages.Stage | None:
        """Of its start or its stop; None while it serves, and when it is over."""
        return self.staging.stage

    @property
    def start_error(self) -> BaseException | None:
        """Why it did not start."""
        return self.staging.error

    # --- what its stages do

    def open_session(self) -> MemorySession:
        """A session with the metadata store besides the node's own."""
        session = self.world.store_session(self.broker_id)
        self._sessions.append(session)
        return session

    def opened(self, node: Node) -> None:
        """Called when its logs are open, with the node over them."""
        self._node = node

    def end(self) -> None:
        """It has stopped, or has not started: the process ends."""
        self._end()

    def _end(self, *, power_is_lost: bool = False) -> None:
        """End the process: its pending work has no effect any more."""
        self.is_over = True
        self.is_paused = False
        self.life.end()
        self.world.links.end_life(self, self.world.chance if power_is_lost else None)
        self.files.close()

    # --- what happens next

    @property
    def is_running(self) -> bool:
        """Whether its process lives and does not stand still."""
        return not (self.is_over or self._is_paused)

    @property
    def is_paused(self) -> bool:
        """Whether its process stands still: it takes no step, and nothing reaches it."""
        return self._is_paused

    @is_paused.setter
    def is_paused(self, is_paused: bool) -> None:
        self._is_paused = is_paused
        for session in self._sessions:
            session.is_held = is_paused

    def steps(self) -> list[Callable[[], None]]:
        """What may happen to this life next: a turn, timers, a call of a thread, a delivery."""
        found: list[Callable[[], None]] = []
        if self._is_paused:
            return found
        is_alive, calls = not self.is_over, self.calls
        if is_alive and self.staging.is_under_way:
            found.extend(self.staging.steps())
        if self.turns.waiting:
            found.append(self.turns.run_next)
        if is_alive and self._are_timers_due():
            found.append(self._fire_timers)
        if not calls.is_at_rest:
            found.extend(partial(calls.run_next, number) for number in range(calls.waiting)[:THREADS])
            if calls.has_due:
                found.append(calls.begin_due)
            if calls.finished:
                found.append(calls.report_next)
        return found

    def _are_timers_due(self) -> bool:
        due_ms = self.timer.next_expiration_ms()
        return due_ms is not None and due_ms <= self.clock.monotonic_ms()

    def _fire_timers(self) -> None:
        self.timer.advance()

    def on_frame_refused(self, reason: str) -> None:
        """Record why a connection is closed."""
        self.world.record(f"{self.broker_id} closes a connection: {reason}")

    def on_frame(self, connection: ServerConnection, frame: Buffer) -> None:
        """Serve a request."""
        self.world.record_frame("to", self.broker_id, frame)
        node = self.node
        dispatcher = node.peer_dispatcher if connection.listener == BROKERS else node.dispatcher
        dispatcher.dispatch(connection, frame)

    def note_answer(self, answer: bytes) -> None:
        """Called with each answer that has reached a client."""
        self.world.record_frame("from", self.broker_id, answer)

    def settle(self) -> None:
        """See `World.settle`."""
        self.world.settle()

    def advance(self, by_ms: int) -> None:
        """See `World.advance`."""
        self.world.advance(by_ms)

    # --- ends

    def kill(self) -> None:
        """Die at once, as by kill -9: the disk keeps its content, locks are released.

        Some of its requests in transit to the metadata store arrive; then its session ends there.
        """
        self._die()

    def _die(self, *, power_is_lost: bool = False) -> None:
        assert self.is_alive, f"broker {self.broker_id} is dead already"
        self.world.record(f"{self.broker_id} killed")
        kind = FaultKind.POWER_LOST if power_is_lost else FaultKind.KILLED
        self.world.note_fault(Fault(kind, self.broker_id))
        self._end(power_is_lost=power_is_lost)
        self.staging.drop()
        self.disk.kill()
        for session in self._sessions:
            session.lose_holder(self.world.chance)

    def kill_within(self, operations: int) -> None:
        """Die after this many more disk operations, in the middle of the work then under way."""
        self.files.close_after(operations, self.kill)

    def lose_power(self) -> None:
        """Die, and lose a part, chosen by the seed, of what was not synced and not sent."""
        self._die(power_is_lost=True)
        self.disk.crash(self.world.chance)
        self.world.note_reboot(self.broker_id)

    def lose_power_within(self, operations: int) -> None:
        """Lose power after this many more disk operations, in the middle of the work then under way."""
        self.files.close_after(operations, self.lose_power)

    def begin_stop(self) -> None:
        """Begin to stop in good order; the steps to come do it."""
        assert self.is_serving, f"broker {self.broker_id} does not serve: {self.stage}"
        self.staging.begin(stages.stop(self.node))

    def stop(self) -> None:
        """Stop in good order."""
        self.begin_stop()
        self.settle()
        end_ms = self.clock.monotonic_ms() + STOP_MS_MAX
        while self.is_alive and self.clock.monotonic_ms() < end_ms:
            self.advance(stages.DRAIN_MS_MAX)
        assert self.is_over, f"broker {self.broker_id} does not stop: {self.stage}"

    def restarted(self, **settings: str) -> SimNode:
        """Stop in good order, and begin another life on the same disk."""
        self.settle()
        self.stop()
        return self.started_again(**settings)

    def started_again(self, **settings: str) -> SimNode:
        """Begin another life on the same disk, with these settings changed."""
        return self.world.node(self.broker_id, **{**self.given_settings, **settings})

    # --- requests

    def connect(
        self, client_id: str = "test", host: str = CLIENT_HOST, *, listener: str = CLIENTS
    ) -> SimConnection:
        """A new connection to this broker's listener, from a client on that host."""
        client = SimClient(self.clock, host, client_id)
        return SimConnection(
            self.world.links,
            client,
            (host, CLIENT_PORT),
            (host, self.broker_id),
            listener,
            client_id=client_id,
            on_answer=self.note_answer,
        )

    def send(
        self,
        request: Request[ResponseT],
        version: int | None = None,
        *,
        client_id: str = "test",
        on: SimConnection | None = None,
    ) -> SimRequest[ResponseT]:
        """Send a request to the node as the wire's bytes, in the newest version that it serves.

        On a connection on which nothing else is on its way, unless one is given.
        """
        if version is None:
            handler = self.handlers.get(request.API_KEY)
            assert handler is not None, f"{type(request).__name__} is not served"
            version = handler.highest_version
        if on is not None:
            return SimRequest(on, request, version)
        # An unanswered request may still be under way when its connection seems idle.
        connection = self._idle_connection(client_id) if is_answered(request) else None
        return SimRequest(connection or self.connect(client_id), request, version, self._reuse)

    def _reuse(self, connection: SimConnection) -> None:
        self._idle.setdefault(connection.client_id, []).append(connection)

    def _idle_connection(self, client_id: str) -> SimConnection | None:
        idle = self._idle.get(client_id, [])
        while idle:
            connection = idle.pop()
            if not connection.is_closed:
                return connection
        return None

    def ask(
        self, request: Request[ResponseT], version: int | None = None, *, client_id: str = "test"
    ) -> ResponseT:
        """Send a request that is answered without time passing; returns the answer."""
        sent = self.send(request, version, client_id=client_id)
        self.settle()
        return sent.answer
