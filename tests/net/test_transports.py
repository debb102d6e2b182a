"""What a `ServerConnection` and the transport under it do together: on two loops, and in a simulation.

The broker's side answers when the test says so; the client's side is whatever the transport has there. A
simulation that passes this shows handlers and coordinators the connections that they have in a process.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from typing import Protocol

import pytest
import uvloop

from odradek.base.buffers import Buffer
from odradek.base.execution import TurnTime
from odradek.base.held_calls import HeldCalls
from odradek.base.stored_bytes import StoredBytes
from odradek.net.framing import FrameReader, framed
from odradek.net.ready_queue import ReadyQueue
from odradek.net.server_connection import PIECE_BYTES, ServerConnection
from odradek.net.socket_connection import SocketConnection
from odradek.testing.sim import World
from odradek.testing.sim.client import CLIENT_HOST, CLIENT_PORT
from odradek.testing.sim.listener import CLIENTS, SimListeners
from odradek.testing.sim.streams import Stream

BUFFER_BYTES = 65_536
LARGE = bytes(range(256)) * 16_384
"""More than the buffers of a socket and of a transport hold together."""
A, B, C = b"request A", b"request B", b"request C"
TURNS = 12
"""More turns of a loop than anything here needs."""


class Broker:
    """The handler of the connection: it notes what it is told."""

    def __init__(self) -> None:
        self.connection: ServerConnection | None = None
        self.frames: list[bytes] = []
        self.refused: list[str] = []
        self.lost = 0
        self.admits = True
        # Called with each frame.
        self.on_frame: Callable[[ServerConnection], None] = lambda connection: None

    def connection_made(self, connection: ServerConnection) -> bool:
        self.connection = connection
        return self.admits

    def frame_received(self, connection: ServerConnection, frame: Buffer) -> None:
        self.frames.append(bytes(frame))
        self.on_frame(connection)

    def connection_lost(self, connection: ServerConnection) -> None:
        self.lost += 1

    def frame_refused(self, connection: ServerConnection, reason: str) -> None:
        self.refused.append(reason)

    def answer_waits(self, connection: ServerConnection) -> None:
        """Not of interest here."""

    def answer_taken(self, connection: ServerConnection) -> None:
        """Not of interest here."""


class Client:
    """What has arrived at the client."""

    def __init__(self) -> None:
        self.answers: list[bytes] = []
        self.has_ended = False
        self._reader = FrameReader(memoryview(bytearray(65_536)), 1 << 30)

    def arrived(self, data: bytes) -> None:
        while data:
            place = self._reader.writable()
            count = min(len(place), len(data))
            place[:count] = data[:count]
            data = data[count:]
            self.answers += map(bytes, self._reader.received(count))


class Ends(Protocol):
    """Both ends of one connection."""

    broker: Broker
    client: Client

    def send(self, *payloads: bytes) -> None:
        """The client sends requests."""

    def take(self, is_taking: bool) -> None:
        """Whether the client takes what it is sent from now on; it does at first."""

    def leave(self) -> None:
        """The client ends the connection."""

    def settle(self) -> None:
        """Let everything happen that needs no time."""

    def end(self) -> None:
        """The test is over."""


class OnLoop:
    """A pair of sockets, and a loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.broker, self.client = Broker(), Client()
        self._loop = loop
        self._calls = HeldCalls()
        self._takes = True
        # The broker's end of the pair, until it is accepted.
        self._pending: socket.socket | None
        self._pending, self._socket = socket.socketpair()
        self._socket.setblocking(False)

    def _connection(self) -> SocketConnection:
        return SocketConnection(
            self.broker,
            CLIENTS,
            memoryview(bytearray(65_536)),
            ReadyQueue(self._loop.call_soon, TurnTime(lambda: 0)),
            self._calls,
            frame_bytes_min=8,
            frame_bytes_max=1 << 20,
            write_buffer_bytes=BUFFER_BYTES,
        )

    def send(self, *payloads: bytes) -> None:
        self._socket.send(b"".join(b"".join(framed([payload])) for payload in payloads))
        if self._pending is not None:
            accepted = self._loop.connect_accepted_socket(self._connection, self._pending)
            self._pending = None
            self._loop.run_until_complete(accepted)

    def take(self, is_taking: bool) -> None:
        self._takes = is_taking

    def leave(self) -> None:
        self._socket.close()

    def settle(self) -> None:
        has_moved = True
        while has_moved:
            for _ in range(TURNS):
                self._loop.run_until_complete(asyncio.sleep(0))
            has_moved = bool(self._calls.waiting or self._calls.finished)
            self._calls.complete()
            has_moved |= self._takes and self._read()

    def _read(self) -> bool:
        has_read = False
        while self._socket.fileno() >= 0:
            try:
                data = self._socket.recv(1 << 20)
            except BlockingIOError:
                return has_read
            except ConnectionResetError:
                data = b""
            if not data:
                self.client.has_ended = True
                return has_read
            self.client.arrived(data)
            has_read = True
        return has_read

    def end(self) -> None:
        self._socket.close()
        self.settle()
        self._loop.close()


class InWorld(Client):
    """A connection of a simulation, and a node that serves nobody else."""

    def __init__(self) -> None:
        super().__init__()
        self.broker = broker = Broker()
        self.client: Client = self
        self.is_alive = True
        self._world = World()
        node = self._world.node(1)

        class Listeners(SimListeners):
            def connection_made(self, connection: ServerConnection) -> bool:
                return broker.connection_made(connection) and super().connection_made(connection)

            def frame_received(self, connection: ServerConnection, frame: Buffer) -> None:
                broker.frame_received(connection, frame)

            def connection_lost(self, connection: ServerConnection) -> None:
                super().connection_lost(connection)
                broker.connection_lost(connection)

            def frame_refused(self, connection: ServerConnection, reason: str) -> None:
                broker.frame_refused(connection, reason)

            def answer_waits(self, connection: ServerConnection) -> None:
                """Not of interest here."""

            def answer_taken(self, connection: ServerConnection) -> None:
                """Not of interest here."""

        node.listeners = Listeners(node)
        node.listeners.admitted.add(CLIENTS)
        self._stream = Stream(self._world.links, self, (CLIENT_HOST, CLIENT_PORT), (CLIENT_HOST, 1), CLIENTS)

    @property
    def has_room(self) -> bool:
        return True

    def on_open(self) -> None:
        """It begins by sending."""

    def on_taken(self, count: int) -> None:
        """Not of interest here."""

    def on_bytes(self, data: bytes) -> None:
        self.arrived(data)

    def on_end(self, reason: str) -> None:
        self.has_ended = True

    def send(self, *payloads: bytes) -> None:
        for payload in payloads:
            self._stream.send(b"".join(framed([payload])))

    def take(self, is_taking: bool) -> None:
        if is_taking:
            self._world.heal()
        else:
            self._world.cut(1, CLIENT_HOST, one_way=True)

    def leave(self) -> None:
        self._stream.close()

    def settle(self) -> None:
        self._world.settle()

    def end(self) -> None:
        """Nothing to do."""


KINDS: dict[str, Callable[[], Ends]] = {
    "asyncio": lambda: OnLoop(asyncio.SelectorEventLoop()),
    "uvloop": lambda: OnLoop(uvloop.new_event_loop()),
    "simulation": InWorld,
}


@pytest.fixture(params=KINDS)
def ends(request: pytest.FixtureRequest) -> Iterator[Ends]:
    made = KINDS[request.param]()
    yield made
    made.end()


def sent(ends: Ends, *payloads: bytes) -> ServerConnection:
    """Send requests and let them arrive; the broker's side of the connection."""
    ends.send(*payloads)
    ends.settle()
    assert ends.broker.connection is not None
    return ends.broker.connection


def test_requests_are_handled_one_at_a_time_and_answered_in_order(ends: Ends) -> None:
    connection = sent(ends, A, B, C)
    assert ends.broker.frames == [A], "B waits until A is answered"
    connection.answer([b"a1", b"a2"])
    ends.settle()
    assert ends.broker.frames == [A, B]
    connection.answer_nothing()
    ends.settle()
    connection.answer([b"c"])
    ends.settle()
    assert (ends.broker.frames, ends.client.answers) == ([A, B, C], [b"a1a2", b"c"])


def test_the_handler_may_answer_before_it_returns(ends: Ends) -> None:
    ends.broker.on_frame = lambda connection: connection.answer([b"at once"])
    sent(ends, A, B)
    assert ends.client.answers == [b"at once", b"at once"]


def test_a_connection_knows_where_it_is_from(ends: Ends) -> None:
    connection = sent(ends, A)
    assert (connection.listener, connection.requests, connection.is_handling) == (CLIENTS, 1, True)
    assert connection.bytes_in == len(A) + 4


def test_what_a_request_parked_ends_with_its_connection(ends: Ends) -> None:
    connection = sent(ends, A)
    ended: list[str] = []
    connection.when_lost(lambda: ended.append("A"))
    ends.leave()
    ends.settle()
    assert (ended, ends.broker.lost, connection.is_open) == (["A"], 1, False)


def test_what_was_answered_is_not_parked_any_more(ends: Ends) -> None:
    connection = sent(ends, A)
    ended: list[str] = []
    connection.when_lost(lambda: ended.append("A"))
    connection.answer([b"a"])
    ends.settle()
    ends.leave()
    ends.settle()
    assert (ended, ends.broker.lost, ends.client.answers) == ([], 1, [b"a"])


def test_what_is_parked_after_the_end_ends_at_once_and_its_answer_goes_nowhere(ends: Ends) -> None:
    connection = sent(ends, A)
    ends.leave()
    ends.settle()
    ended: list[str] = []
    connection.when_lost(lambda: ended.append("A"))
    connection.answer([b"a"])
    ends.settle()
    assert (ended, ends.client.answers, ends.broker.lost) == (["A"], [], 1)


def test_the_end_of_a_client_that_has_sent_more_is_not_noticed_before_something_is_written(
    ends: Ends,
) -> None:
    connection = sent(ends, A, B)
    ends.leave()
    ends.settle()
    assert ends.broker.lost == 0, "nothing is read while B waits"
    for _ in range(3):
        if connection.is_handling:
            connection.answer([b"x"])
        ends.settle()
    assert ends.broker.lost == 1


def test_a_client_that_takes_no_answers_is_not_served_further(ends: Ends) -> None:
    ends.take(False)
    connection = sent(ends, A, B)
    connection.answer([LARGE])
    ends.settle()
    assert (ends.broker.frames, connection.waiting_requests) == ([A], 1)
    assert connection.unsent_bytes > BUFFER_BYTES
    ends.take(True)
    ends.settle()
    assert (ends.broker.frames, connection.unsent_bytes) == ([A, B], 0)
    assert ends.client.answers == [LARGE]


class Stored(StoredBytes):
    """Bytes of a file, and how many of them were read."""

    def __init__(self, content: bytes, *, is_cold: bool) -> None:
        self.content = content
        self.read_bytes = 0
        self._is_cold = is_cold

    def __len__(self) -> int:
        return len(LARGE)

    def is_in_memory(self, size_bytes: int, position: int) -> bool:
        return not self._is_cold

    def read_at(self, size_bytes: int, position: int) -> bytes:
        data = self.content[position : position + size_bytes]
        self.read_bytes += len(data)
        return data


@pytest.mark.parametrize("is_cold", [False, True])
def test_what_lies_in_files_is_read_as_the_client_takes_it(ends: Ends, is_cold: bool) -> None:
    ends.take(False)
    connection = sent(ends, A, B)
    stored = Stored(LARGE, is_cold=is_cold)
    connection.answer([b"header", stored])
    ends.settle()
    assert stored.read_bytes <= 2 * PIECE_BYTES
    ends.take(True)
    ends.settle()
    assert ends.client.answers == [b"header" + LARGE]
    assert ends.broker.frames == [A, B]


def test_what_is_cut_off_a_file_while_it_is_sent_ends_the_connection(ends: Ends) -> None:
    connection = sent(ends, A)
    connection.answer([b"header", Stored(LARGE[: 3 * PIECE_BYTES], is_cold=False)])
    ends.settle()
    assert ends.broker.refused == ["the rest of its answer was cut off the log"]
    assert (ends.client.answers, ends.client.has_ended, ends.broker.lost) == ([], True, 1)


def test_closing_sends_what_was_answered_and_handles_no_more(ends: Ends) -> None:
    connection = sent(ends, A, B)
    connection.answer([b"header", Stored(LARGE, is_cold=False)])
    connection.close()
    ends.settle()
    assert ends.client.answers == [b"header" + LARGE]
    assert (ends.client.has_ended, ends.broker.frames, ends.broker.lost) == (True, [A], 1)


def test_aborting_ends_it_at_once_and_the_handler_learns_of_it_later(ends: Ends) -> None:
    ends.take(False)
    connection = sent(ends, A)
    connection.answer([LARGE])
    connection.abort()
    assert ends.broker.lost == 0, "a port never calls back before it returns"
    ends.settle()
    assert ends.broker.lost == 1
    ends.take(True)
    ends.settle()
    assert (ends.client.answers, ends.client.has_ended, ends.broker.lost) == ([], True, 1)


def test_a_request_that_closes_its_connection_is_the_last(ends: Ends) -> None:
    ends.broker.on_frame = lambda connection: connection.close()
    sent(ends, A, B)
    assert (ends.broker.frames, ends.client.has_ended, ends.broker.lost) == ([A], True, 1)


def test_a_connection_that_is_refused_takes_no_request(ends: Ends) -> None:
    ends.broker.admits = False
    sent(ends, A)
    assert (ends.broker.frames, ends.client.has_ended) == ([], True)


def test_what_is_no_frame_ends_the_connection_with_a_reason(ends: Ends) -> None:
    sent(ends, b"short")
    assert ends.broker.refused == ["a frame of 5 bytes; the least is 8"]
    assert (ends.client.has_ended, ends.broker.lost) == (True, 1)
