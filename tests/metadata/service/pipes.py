"""A server of the metadata store and its clients in one process, in virtual time, step by step.

Both sides are the real cores and channels; between them are pipes of bytes. Nothing happens by itself:
`steps` are what may happen next, in any order, and `settle` lets all of it happen.
"""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from odradek.base.buffers import Buffer
from odradek.base.clock import ManualClock
from odradek.base.execution import Steps
from odradek.base.held_calls import HeldCalls
from odradek.metadata.channel import Channel, LinkEnd
from odradek.metadata.service.client import ClientSession, SessionWish
from odradek.metadata.service.decoding import decode_to_client, decode_to_server
from odradek.metadata.service.encoding import encode
from odradek.metadata.service.layout import ANSWER_BYTES_MAX, REQUEST_BYTES_MAX
from odradek.metadata.service.messages import Message, ToClient
from odradek.metadata.service.server import ServedSession, StoreService
from odradek.metadata.store import StoreEngine, StoreEvent
from odradek.metadata.store_host import StoreHost
from odradek.net.framing import SCRATCH_BYTES
from odradek.timer import Timer

TIMEOUT_MS = 6_000
CHOKING_BYTES = 256 * 1024


class PipeEnd:
    """One end of a pipe: the `Transport` of a channel."""

    def __init__(self) -> None:
        self.other: PipeEnd = self
        self.protocol: Channel[Any, Any] | None = None
        self.inbox: deque[bytes] = deque()
        """What the other end has written and this one has not read."""
        self.is_reading = True
        self.is_closed = False
        self.is_lost = False
        self.is_choked = False

    def get_extra_info(self, name: str, default: object = None) -> object:
        return default

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        raise NotImplementedError

    def get_write_buffer_size(self) -> int:
        return sum(map(len, self.other.inbox))

    def write(self, data: Buffer) -> None:
        if not self.is_closed:
            self.other.inbox.append(bytes(data))
            if not self.is_choked and self.get_write_buffer_size() > CHOKING_BYTES:
                self.is_choked = True
                assert self.protocol is not None
                self.protocol.pause_writing()

    def writelines(self, list_of_data: Iterable[Buffer]) -> None:
        for data in list_of_data:
            self.write(data)

    def pause_reading(self) -> None:
        assert self.is_reading, "paused twice"
        self.is_reading = False

    def resume_reading(self) -> None:
        assert not self.is_reading, "resumed twice"
        self.is_reading = True

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True

    def abort(self) -> None:
        self.is_closed = True

    def steps(self) -> list[Callable[[], None]]:
        """What may happen at this end: bytes arrive, or it learns that the connection has ended."""
        if self.is_lost:
            return []
        has_bytes = bool(self.inbox) and not self.is_closed
        if has_bytes:
            return [self._read] if self.is_reading else []
        return [self._lose] if self.is_closed or self.other.is_closed else []

    def _read(self) -> None:
        assert self.protocol is not None
        buffer = self.protocol.get_buffer(-1)
        data = self.inbox.popleft()
        size = min(len(data), len(buffer))
        buffer[:size] = data[:size]
        if data[size:]:
            self.inbox.appendleft(data[size:])
        self.protocol.buffer_updated(size)
        if self.other.is_choked and not self.inbox and self.other.protocol is not None:
            self.other.is_choked = False
            self.other.protocol.resume_writing()

    def _lose(self) -> None:
        self.is_closed = self.is_lost = True
        assert self.protocol is not None
        self.protocol.connection_lost(None)


class Work:
    """Runs steps: the first at once, each later one when it is a step of the world."""

    def __init__(self) -> None:
        self.waiting: deque[tuple[Steps[None], Callable[[Exception], None]]] = deque()

    def run(self, steps: Steps[None], failed: Callable[[Exception], None]) -> None:
        try:
            next(steps)
        except StopIteration:
            return
        except Exception as error:
            failed(error)
            return
        self.waiting.append((steps, failed))

    def go_on(self) -> None:
        self.run(*self.waiting.popleft())


class Server:
    """One process of the server, over an engine that may be older than it."""

    def __init__(self, world: "PipeWorld") -> None:
        self.world = world
        self.calls = HeldCalls()
        self.work = Work()
        self.host = StoreHost(world.engine, self.calls)
        self.timer = Timer(world.clock)
        self.pipes: list[PipeEnd] = []
        self.came: list[ServedSession] = []
        """What `on_session` was called with."""
        self.service = StoreService(
            self.host,
            self.timer,
            boot_id=world.boot_id,
            new_secret=world.new_secret,
            is_running=lambda pid: pid not in world.dead,
            on_session=self.came.append,
        )
        self.service.begin(world.engine.leases())

    def accept(self, pid: int) -> PipeEnd:
        channel = Channel(
            self.service.connection(),
            decode_to_server,
            encode,
            self.world.scratch,
            self.work.run,
            frame_bytes_max=REQUEST_BYTES_MAX,
            waits_for_reader=True,
        )
        channel.peer_pid = pid
        pipe = PipeEnd()
        pipe.protocol = channel
        self.pipes.append(pipe)
        return pipe


class Client:
    """One process with a session."""

    def __init__(self, world: "PipeWorld", pid: int) -> None:
        self.world = world
        self.pid = pid
        self.work = Work()
        self.timer = Timer(world.clock)
        self.deferred: deque[Callable[[], None]] = deque()
        self.pipes: list[PipeEnd] = []
        self.is_stopped = False
        """Whether its process stands still."""
        self.heard: list[StoreEvent] = []
        self.session = ClientSession(
            self,
            self.timer,
            self.deferred.append,
            self.work.run,
            lambda: SessionWish(TIMEOUT_MS, pid),
        )

    def open(self) -> None:
        self.session.open(self.heard.append)

    def dial(self, end: LinkEnd[ToClient, Message]) -> None:
        self.deferred.append(lambda: self._connect(end))

    def _connect(self, end: LinkEnd[ToClient, Message]) -> None:
        server = self.world.server
        if server is None:
            end.on_lost("nobody listens")
            return
        channel = Channel(
            end, decode_to_client, encode, self.world.scratch, self.work.run, frame_bytes_max=ANSWER_BYTES_MAX
        )
        mine, theirs = PipeEnd(), server.accept(self.pid)
        mine.protocol = channel
        mine.other, theirs.other = theirs, mine
        self.pipes.append(mine)
        assert theirs.protocol is not None
        theirs.protocol.connection_made(theirs)
        channel.connection_made(mine)


class PipeWorld:
    """A clock, an engine, at most one server, and its clients."""

    def __init__(self, engine: StoreEngine) -> None:
        self.engine = engine
        self.clock = ManualClock()
        self.scratch = memoryview(bytearray(SCRATCH_BYTES))
        self.boot_id = "boot 1"
        self.dead: list[int] = []
        """The processes that have died."""
        self.clients: list[Client] = []
        self._secrets = 0
        self.server: Server | None = None
        self.serve()

    def new_secret(self) -> bytes:
        self._secrets += 1
        return self._secrets.to_bytes(16, "big")

    def serve(self) -> Server:
        """Start a server."""
        assert self.server is None
        self.server = Server(self)
        return self.server

    def end_server(self, *, at_once: bool = True) -> None:
        """End the server's process: its connections break. With `at_once` what its lane had to do is lost."""
        assert self.server is not None
        if not at_once:
            self.server.service.close()
            self.server.calls.complete()
        for pipe in self.server.pipes:
            pipe.is_closed = pipe.is_lost = True
        self.server = None

    def client(self) -> Client:
        client = Client(self, len(self.clients) + 1)
        self.clients.append(client)
        return client

    def kill(self, client: Client) -> None:
        """End a client's process."""
        self.clients.remove(client)
        self.dead.append(client.pid)
        for pipe in client.pipes:
            pipe.is_closed = pipe.is_lost = True

    def steps(self) -> list[Callable[[], None]]:
        """What may happen next without time passing."""
        found: list[Callable[[], None]] = []
        if self.server is not None:
            if self.server.calls.waiting:
                found.append(self.server.calls.run_next)
            if self.server.calls.finished:
                found.append(self.server.calls.report_next)
            if self.server.work.waiting:
                found.append(self.server.work.go_on)
            for pipe in self.server.pipes:
                found.extend(pipe.steps())
        for client in self.clients:
            if client.is_stopped:
                continue
            if client.deferred:
                found.append(lambda client=client: client.deferred.popleft()())  # type: ignore[misc]
            if client.work.waiting:
                found.append(client.work.go_on)
            for pipe in client.pipes:
                found.extend(pipe.steps())
        return found

    def settle(self) -> None:
        """Let everything happen that needs no time."""
        while steps := self.steps():
            steps[0]()

    def tick(self, by_ms: int) -> None:
        """Let time pass, and the timers of those that run see it."""
        self.clock.advance(by_ms)
        if self.server is not None:
            self.server.timer.advance()
        for client in self.clients:
            if not client.is_stopped:
                client.timer.advance()

    def advance(self, by_ms: int, step_ms: int = 50) -> None:
        """Let time pass, and everything happen in it."""
        for _ in range(0, by_ms, step_ms):
            self.tick(step_ms)
            self.settle()
