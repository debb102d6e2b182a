"""Sessions with a real ZooKeeper, on a loop that runs when told to; each world has a chroot of its own."""

import asyncio
import atexit
import functools
import tempfile
from collections.abc import Callable, Coroutine
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import pytest
from peers.zookeeper import ZooKeeperMissing, ZooKeeperServer

from odradek.base.chance import SeededChance
from odradek.base.clock import SystemClock, machine_short_clock
from odradek.base.execution import TurnTime
from odradek.metadata.channel import Link
from odradek.metadata.remote_session import SessionState
from odradek.metadata.store import (
    ROOT,
    Applied,
    Create,
    Created,
    Exists,
    MetadataStore,
    Operation,
    Result,
    SessionEnded,
    SessionOpened,
    StoreEvent,
    StoreReplied,
)
from odradek.metadata.zookeeper.codec import (
    Close,
    Closed,
    Connect,
    Connected,
    ConnectionCodec,
    ToClient,
    ToServer,
)
from odradek.metadata.zookeeper.ensemble import Ensemble, parse_ensemble
from odradek.metadata.zookeeper.session import SessionTimes, ZooKeeperSession
from odradek.server.edge.loop_stalls import LoopStalls
from odradek.server.process.event_loop import new_event_loop
from odradek.server.process.zookeeper_store import ZooKeeperStore

T = TypeVar("T")

TIMES = SessionTimes(timeout_ms=60_000, connection_timeout_ms=20_000, requests_in_flight_max=10)
WAIT_S = 60
_worlds = count()


@functools.cache
def shared_server() -> ZooKeeperServer:
    """A server for all worlds of this process; it is killed at the end. Raises ZooKeeperMissing."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)  # also where there is no ZooKeeper to start
    server = ZooKeeperServer(Path(folder.name))
    server.start()
    atexit.register(server.kill)
    return server


def server_or_skip() -> ZooKeeperServer:
    """The shared server; the test is left out where there is no ZooKeeper."""
    try:
        return shared_server()
    except ZooKeeperMissing as missing:
        pytest.skip(str(missing))


class ZooKeeperWorld:
    """A `SessionWorld` of connections to a server; `run` returns when all is answered and has come."""

    def __init__(
        self, server: ZooKeeperServer, times: SessionTimes = TIMES, chroot: str | None = None
    ) -> None:
        self.loop = new_event_loop()
        self._server = server
        self._times = times
        root = parse_ensemble(server.address)
        self._root = self.wait(self._made(root, times))
        self.chroot = chroot or f"/world-{next(_worlds)}"
        self.ensemble = Ensemble(root.servers, self.chroot)
        self.store = self.wait(self._made(self.ensemble, times))
        self.sessions: list[ZooKeeperSession] = []
        self._barriers: set[tuple[ZooKeeperSession, int]] = set()
        if chroot is None:
            made = self.ask(self._root, Create(self.chroot))
            assert made == Created(self.chroot), made

    def beside(self, times: SessionTimes | None = None) -> "ZooKeeperWorld":
        """Another world with the same nodes, on a loop of its own."""
        return ZooKeeperWorld(self._server, times or self._times, self.chroot)

    async def _made(self, ensemble: Ensemble, times: SessionTimes) -> ZooKeeperStore:
        stalls = LoopStalls(machine_short_clock(), SystemClock())
        return ZooKeeperStore(
            ensemble, lambda: times, SeededChance(1), TurnTime(machine_short_clock()), stalls
        )

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(asyncio.wait_for(work, WAIT_S))

    def until(self, holds: Callable[[], bool]) -> None:
        """Let the loop run until this holds."""

        async def look() -> None:
            while not holds():
                await asyncio.sleep(0.001)

        self.wait(look())

    def ask(self, store: ZooKeeperStore, operation: Operation) -> Result:
        """The result of an operation in a session of its own."""
        session, heard = store.session(), list[StoreEvent]()
        session.open(heard.append)
        self.until(lambda: bool(heard))
        session.submit(operation)
        self.until(lambda: len(heard) > 1)
        session.close()
        self.wait(store.drain())
        assert isinstance(heard[1], StoreReplied)
        return heard[1].result

    def session(self) -> MetadataStore:
        session = self.store.session()
        assert isinstance(session, ZooKeeperSession)
        self.sessions.append(session)
        return _WithBarriers(self, session)

    def run(self) -> None:
        for _ in range(2):  # what the answers have led to comes before the second answers
            self.until(self._is_quiet)
            for session in self.sessions:
                if session.state is SessionState.OPEN:
                    self._barriers.add((session, session.submit(Exists(ROOT))))
            self.until(self._is_quiet)

    def _is_quiet(self) -> bool:
        settled = (SessionState.OPEN, SessionState.IDLE, SessionState.CLOSED)
        return all(session.state in settled and not session.unanswered for session in self.sessions)

    def is_barrier(self, session: ZooKeeperSession, event: StoreEvent) -> bool:
        """Whether this is the answer to a question of `run`."""
        if not isinstance(event, StoreReplied) or (session, event.call_id) not in self._barriers:
            return False
        self._barriers.remove((session, event.call_id))
        return True

    def expire(self, session_id: int) -> None:
        """Let the server end a session: by another connection, which comes back to it and closes it."""
        session = next(
            one for one in self.sessions if one.key is not None and one.key.session_id == session_id
        )
        key = session.key
        assert key is not None
        ending = _Ending(key)
        self.loop.call_soon(self.store.dial, self.ensemble.servers[0], ending)
        self.until(lambda: ending.is_over and session.state is SessionState.IDLE)
        self.run()

    def close(self) -> None:
        for store in (self.store, self._root):
            store.close()
        self.loop.run_until_complete(asyncio.sleep(0))
        self.loop.close()


class _WithBarriers:
    """A session that keeps the answers to the operations of `ZooKeeperWorld.run` from its holder."""

    def __init__(self, world: ZooKeeperWorld, session: ZooKeeperSession) -> None:
        self._world = world
        self._session = session
        self.limits = session.limits
        # The numbers that the holder's operations have, by the session's.
        self._numbers: dict[int, int] = {}

    @property
    def lost_for_ms(self) -> int | None:
        return self._session.lost_for_ms

    def open(self, on_event: Callable[[StoreEvent], None]) -> None:
        def report(event: StoreEvent) -> None:
            if self._world.is_barrier(self._session, event):
                return
            if isinstance(event, StoreReplied):
                event = StoreReplied(self._numbers[event.call_id], event.result)
            on_event(event)

        self._session.open(report)

    def submit(self, operation: Operation) -> int:
        call_id = len(self._numbers)
        self._numbers[self._session.submit(operation)] = call_id
        return call_id

    def close(self) -> None:
        self._session.close()


class _Ending:
    """Ends another's session; see `ZooKeeperWorld.expire`."""

    def __init__(self, key: Connected) -> None:
        self.codec = ConnectionCodec("")
        self.is_over = False
        self._key = key
        self._link: Link[ToServer] | None = None

    def on_connected(self, link: Link[ToServer]) -> None:
        self._link = link
        link.send(Connect(0, self._key.timeout_ms, self._key.session_id, self._key.password))

    def on_message(self, message: ToClient) -> None:
        assert self._link is not None
        if isinstance(message, Connected):
            self._link.send(Close())
        if isinstance(message, Closed):
            self.is_over = True

    def on_lost(self, reason: str) -> None:
        self.is_over = True


class ZooKeeperEngine:
    """A `StoreEngine` of sessions with a real ZooKeeper, for the conformance suite of engines."""

    def __init__(self, world: ZooKeeperWorld) -> None:
        self.world = world
        self.limits = world.ensemble.limits
        # By number, the sessions that were opened, and all events that came for them.
        self._sessions: dict[int, MetadataStore] = {}
        self._events: list[tuple[int, StoreEvent]] = []

    def open_session(self, lease: bytes = b"") -> int:
        opened: list[int] = []
        session = self.world.session()

        def on_event(event: StoreEvent) -> None:
            if isinstance(event, SessionOpened):
                opened.append(event.session_id)
            else:
                self._events.append((opened[0], event))

        session.open(on_event)
        self.world.run()
        self._sessions[opened[0]] = session
        return opened[0]

    def leases(self) -> list[tuple[int, bytes]]:
        raise NotImplementedError

    def close_session(self, session: int) -> tuple[tuple[int, StoreEvent], ...]:
        self._events.clear()
        if any(one.key is not None and one.key.session_id == session for one in self.world.sessions):
            self.world.expire(session)
        ended = [(number, event) for number, event in self._events if isinstance(event, SessionEnded)]
        return (*ended, *(event for event in self._events if event not in ended))

    def apply(self, session: int, operation: Operation) -> Applied:
        self._events.clear()
        call_id = self._sessions[session].submit(operation)
        self.world.run()
        result: Result | None = None
        events: list[tuple[int, StoreEvent]] = []
        for number, event in self._events:
            if isinstance(event, StoreReplied) and (number, event.call_id) == (session, call_id):
                result = event.result
            else:
                assert result is None or number != session, "an event after the result that it led to"
                events.append((number, event))
        assert result is not None, "no result came"
        return Applied(result, tuple(events))

    def close(self) -> None:
        self.world.close()
