"""The world that simulated brokers share: one clock, one metadata store, and the choice of what happens next.

    world = World(seed=7, brokers=2)            whole brokers, joined, in one cluster
    one = world.nodes[1]
    one.ask(CreateTopicsRequest(...))           the wire's bytes in, the answer out
    world.advance(45_000)                       timers fire in order, on a clock that nothing else moves
    world.kill(1)                               its life ends between two steps
    world.begin(1)                              another life on its disk; its start is steps to come
    world.cut(1, 2), world.isolate(3)           the network (`links`)
    world.cut_store(1), world.expire_session(1), world.lose_store_answer(1, executed=True)
    world.jump_clock(2, -3_600_000)             a machine's wall clock is set
    world.pause(2), world.resume(2)             a process stands still, as by SIGSTOP
    world.nodes[1].faults.full_disk()           one broker's requests, connections, disk (`faults`)

A step is the smallest unit of the simulation: one turn of one node's loop, one advance of its timers, a call
on one of its threads, the report of such a call, a request that the store executes, an event that reaches the
holder of a session, a frame or an answer that arrives at a client or a broker, one stage of a start or stop.
The seed chooses among the steps that can come next. Order is kept among a node's turns, on a connection and
in a session; calls on threads can overtake each other. So each seed gives one history, and another seed
another interleaving; `trace` holds the history as text.
"""

from collections.abc import Callable
from typing import Protocol

from crc32c import crc32c

from odradek.base.buffers import Buffer
from odradek.base.chance import SeededChance
from odradek.base.clock import ManualClock
from odradek.base.ids import BrokerId
from odradek.metadata.memory import MemorySession, MemoryStore
from odradek.metadata.store import Operation, StoreLimits
from odradek.storage.memory_files import MemoryFileSystem
from odradek.testing.sim.clocks import MachineClock
from odradek.testing.sim.disk import Died
from odradek.testing.sim.links import Links
from odradek.testing.sim.node import SimNode
from odradek.testing.sim.observer import Fault, FaultKind, Observer
from odradek.testing.sim.streams import Place


class Actor(Protocol):
    """Something in the world that is no broker: its clients, for example."""

    def steps(self) -> list[Callable[[], None]]:
        """The steps that can happen next, in an order that depends only on history."""

    def next_ms(self) -> int | None:
        """When time by itself makes a step possible; None if it does not."""


class World:
    """Everything around the nodes."""

    def __init__(
        self,
        seed: int = 1,
        *,
        brokers: int = 0,
        limits: StoreLimits | None = None,
        is_traced: bool = False,
    ) -> None:
        """`brokers` nodes, with the ids from 1 on, are started one after another and have joined.

        `limits` are those of the metadata store; `is_traced` keeps what happens in `trace`.
        """
        self.trace: list[str] | None = [] if is_traced else None
        """Every step, stage, frame, answer and operation of a disk, in order; the same for the same seed."""
        self.observer: Observer | None = None
        """Who watches this world; it changes nothing."""
        self.chance = SeededChance(seed)
        self.clock = ManualClock()
        self.store = MemoryStore(limits, self.clock.monotonic_ms)
        self.brokers_meant = brokers
        self.all_stop = False
        """What `Surroundings.all_stop` of every node says."""
        """How many brokers the cluster has at least when all of them run."""
        self.nodes: dict[BrokerId, SimNode] = {}
        """The latest life of each broker."""
        # Disks and clocks outlive their brokers.
        self._disks: dict[BrokerId, MemoryFileSystem] = {}
        self._clocks: dict[BrokerId, MachineClock] = {}
        # How often each machine has lost its power.
        self._reboots: dict[BrokerId, int] = {}
        # The sessions of each broker with the store, of all its lives.
        self._sessions: dict[BrokerId, list[MemorySession]] = {}
        # Between these and the store nothing passes (the values mean nothing).
        self._cut_from_store: dict[BrokerId, None] = {}
        self.links = Links(self)
        """The network between the nodes."""
        self.actors: list[Actor] = []
        """What else lives in the world."""
        for broker_id in range(1, brokers + 1):
            self.node(broker_id)

    def begin(self, broker_id: BrokerId = 0, **settings: str) -> SimNode:
        """Begin another life of a broker on its disk, new or left by an earlier one; steps do it."""
        earlier = self.nodes.get(broker_id)
        assert earlier is None or not earlier.is_alive, f"broker {broker_id} is running"
        begun = self.nodes[broker_id] = SimNode(self, broker_id, settings)
        return begun

    def node(self, broker_id: BrokerId = 0, **settings: str) -> SimNode:
        """Start a broker when what is under way has settled, and let it join."""
        self.settle()
        begun = self.begin(broker_id, **settings)
        self.settle()
        if begun.start_error is not None:
            raise begun.start_error
        assert begun.is_serving, f"broker {broker_id} does not start: {begun.stage}"
        return begun

    def kill(self, broker_id: BrokerId) -> None:
        """See `SimNode.kill`."""
        self.nodes[broker_id].kill()

    def lose_power(self, broker_id: BrokerId) -> None:
        """See `SimNode.lose_power`."""
        self.nodes[broker_id].lose_power()

    def stop(self, broker_id: BrokerId) -> None:
        """See `SimNode.stop`."""
        self.nodes[broker_id].stop()

    def pause(self, broker_id: BrokerId) -> None:
        """Let a broker's process stand still, as by SIGSTOP, until `resume`; the world goes on around it."""
        self.nodes[broker_id].is_paused = True
        self.note_fault(Fault(FaultKind.PAUSED, broker_id))

    def resume(self, broker_id: BrokerId) -> None:
        """Let a paused process continue; what came meanwhile is waiting for it."""
        self.nodes[broker_id].is_paused = False

    def expire_session(self, broker_id: BrokerId) -> None:
        """End the session that a broker has with the metadata store; it learns of that, and joins anew."""
        self.note_fault(Fault(FaultKind.SESSION_EXPIRED, broker_id))
        self.nodes[broker_id].session.expire()

    def cut_store(self, broker_id: BrokerId) -> None:
        """Let nothing pass between a broker and the metadata store any more, until `heal`."""
        self._cut_from_store[broker_id] = None
        self.note_fault(Fault(FaultKind.STORE_CUT, broker_id))
        for session in self._sessions.get(broker_id, ()):
            session.is_cut = True

    def lose_store_answer(
        self,
        broker_id: BrokerId,
        *,
        executed: bool,
        of: Callable[[Operation], bool] = lambda operation: True,
    ) -> None:
        """Lose the session's watches and the answer of its next operation for which `of` returns True.

        The broker gets CONNECTION_LOSS and Reconnected, which do not show whether it was `executed`.
        """
        self.nodes[broker_id].session.lose_answer(of, executed=executed)
        detail = "executed" if executed else "not executed"
        self.note_fault(Fault(FaultKind.STORE_ANSWER_LOST, broker_id, detail=detail))

    def jump_clock(self, broker_id: BrokerId, by_ms: int) -> None:
        """Set the wall clock of a broker's machine forward or, where negative, back."""
        self.machine_clock(broker_id).jump(by_ms)
        self.note_fault(Fault(FaultKind.CLOCK_SET, broker_id, detail=f"{by_ms:+,} ms"))

    def cut(self, a: Place, b: Place, *, one_way: bool = False) -> None:
        """See `Links.cut`."""
        self.links.cut(a, b, one_way=one_way)

    def isolate(self, place: Place) -> None:
        """See `Links.isolate`."""
        self.links.isolate(place)

    def heal(self) -> None:
        """See `Links.heal`; brokers reach the metadata store again, too."""
        self.links.heal()
        for broker_id in list(self._cut_from_store):
            self.mend_store(broker_id)

    def mend_store(self, broker_id: BrokerId, *, reconnects: bool = False) -> None:
        """Let a broker and the metadata store reach each other again.

        With `reconnects` over another connection: what was on its way has no answer, and watches are gone.
        """
        self._cut_from_store.pop(broker_id, None)
        self.note_fault(Fault(FaultKind.STORE_MENDED, broker_id))
        for session in self._sessions.get(broker_id, ()):
            if session.is_cut and reconnects:
                session.reconnect(self.chance)
            session.is_cut = False

    def disk(self, broker_id: BrokerId) -> MemoryFileSystem:
        """The disk of a broker, in all its lives."""
        disk = self._disks.get(broker_id)
        if disk is None:
            disk = self._disks[broker_id] = MemoryFileSystem(now_ms=self.machine_clock(broker_id).wall_ms)
        return disk

    def lose_disk(self, broker_id: BrokerId) -> None:
        """Give a broker that is not running a new disk, which is empty."""
        assert broker_id not in self.nodes or not self.nodes[broker_id].is_alive, f"{broker_id} is running"
        self._disks.pop(broker_id, None)

    def machine_clock(self, broker_id: BrokerId) -> MachineClock:
        """The clock of a broker's machine, in all its lives."""
        return self._clocks.setdefault(broker_id, MachineClock(self.clock))

    def boot_id(self, broker_id: BrokerId) -> str:
        """What a broker's machine calls the time since its last power loss (R15)."""
        return f"boot {self._reboots.get(broker_id, 0)} of machine {broker_id}"

    def note_reboot(self, broker_id: BrokerId) -> None:
        """Called when a broker's machine has lost its power."""
        self._reboots[broker_id] = self._reboots.get(broker_id, 0) + 1

    def store_session(self, broker_id: BrokerId) -> MemorySession:
        """A session of a broker with the metadata store, not open yet."""
        session = self.store.session()
        session.is_cut = broker_id in self._cut_from_store
        self._sessions.setdefault(broker_id, []).append(session)
        return session

    def open_sessions(self) -> list[int]:
        """The sessions that the metadata store counts as alive."""
        return self.store.table.sessions()

    # --- what happens next

    def steps(self) -> list[Callable[[], None]]:
        """The steps that can happen next without time passing, in an order that depends only on history."""
        found = self.store.steps()
        for node in self.nodes.values():
            found.extend(node.steps())
        found.extend(self.links.steps())
        for actor in self.actors:
            found.extend(actor.steps())
        return found

    def step(self) -> bool:
        """Run one step, chosen by the seed; returns False if there is none now."""
        steps = self.steps()
        if not steps:
            return False
        chosen = self.chance.below(len(steps))
        if self.trace is not None:
            self.record(f"{self.clock.monotonic_ms()} ms: {chosen} of {len(steps)}")
        try:  # `suppress` would cost as much as a small step
            steps[chosen]()
        except Died:  # by `SimNode.kill_within`
            pass
        if self.observer is not None:
            self.observer.on_step()
        return True

    def settle(self) -> int:
        """Run all steps that need no time to pass; returns their number."""
        count = 0
        while self.step():
            count += 1
        return count

    def advance(self, by_ms: int) -> None:
        """Let time pass, timer by timer; after each one, `settle`."""
        end_ms = self.clock.monotonic_ms() + by_ms
        self.settle()
        while (due_ms := self.next_ms()) is not None and due_ms <= end_ms:
            self.clock.advance(max(0, due_ms - self.clock.monotonic_ms()))
            self.settle()
        self.clock.advance(max(0, end_ms - self.clock.monotonic_ms()))
        self.settle()

    def next_ms(self) -> int | None:
        """When time by itself makes the next step possible; None if it never does."""
        found = [
            self.links.next_ms(),
            *(node.timer.next_expiration_ms() for node in self.nodes.values() if node.is_running),
            *(node.calls.next_ms() for node in self.nodes.values() if not node.is_paused),
            *(actor.next_ms() for actor in self.actors),
        ]
        return min((each for each in found if each is not None), default=None)

    # --- what has happened

    def record(self, event: str) -> None:
        """Note what happens, if there is a trace."""
        if self.trace is not None:
            self.trace.append(event)

    def note_fault(self, fault: Fault) -> None:
        """Called when a fault happens."""
        if self.observer is not None:
            self.observer.on_fault(fault)

    def record_disk(self, broker_id: BrokerId, kind: str, path: str, detail: int) -> None:
        """Note an operation of a disk."""
        if self.trace is not None:
            self.trace.append(f"{broker_id} {kind} {path} {detail}")

    def record_frame(self, direction: str, broker_id: BrokerId, frame: Buffer) -> None:
        """Note a request or an answer."""
        if self.trace is not None:
            self.trace.append(f"{direction} {broker_id}: {len(frame)} bytes, {crc32c(frame):08x}")
