import asyncio
from collections.abc import Iterable
from typing import Any

import pytest

from odradek.net.framing import Buffer, framed
from odradek.net.server_connection import ServerConnection


class MemoryTransport(asyncio.Transport):
    """What a connection writes ends in `sent`; it drains when the test says so."""

    def __init__(self, *, peer: tuple[str, int] = ("10.0.0.1", 4000)) -> None:
        super().__init__({"peername": peer})
        self.sent = bytearray()
        self.is_reading_now = True
        self.closed: str | None = None
        self.high = 0
        self.unsent = 0

    def writelines(self, list_of_data: Iterable[Any]) -> None:
        for part in list_of_data:
            self.sent += part

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self.high = high or 0

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def pause_reading(self) -> None:
        assert self.is_reading_now, "asyncio calls it an error to pause twice"
        self.is_reading_now = False

    def resume_reading(self) -> None:
        assert not self.is_reading_now, "asyncio calls it an error to resume twice"
        self.is_reading_now = True

    def is_closing(self) -> bool:
        return self.closed is not None

    def close(self) -> None:
        self.closed = self.closed or "closed"

    def abort(self) -> None:
        self.closed = "aborted"


class Recorder:
    """A handler that notes what it is told, and answers when the test does."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.refused: list[str] = []
        self.lost = 0
        self.admits = True
        # With an echo every request is answered at once with its own bytes.
        self.echoes = False

    def connection_made(self, connection: ServerConnection) -> bool:
        return self.admits

    def frame_received(self, connection: ServerConnection, frame: Buffer) -> None:
        self.frames.append(bytes(frame))
        if self.echoes:
            connection.answer([frame])

    def connection_lost(self, connection: ServerConnection) -> None:
        self.lost += 1

    def frame_refused(self, connection: ServerConnection, reason: str) -> None:
        self.refused.append(reason)


class Client:
    """A connection with both of its ends in the test's hands."""

    def __init__(self) -> None:
        self.handler = Recorder()
        self.transport = MemoryTransport()
        self.connection = ServerConnection(
            self.handler,
            "PLAINTEXT",
            memoryview(bytearray(1024)),
            frame_bytes_max=100_000,
            write_buffer_bytes=1000,
        )

    def connect(self) -> "Client":
        self.connection.connection_made(self.transport)
        return self

    def send(self, data: bytes) -> None:
        while data and not self.transport.is_closing():
            place = self.connection.get_buffer(-1)
            size = min(len(place), len(data))
            place[:size] = data[:size]
            del place
            self.connection.buffer_updated(size)
            data = data[size:]


@pytest.fixture
def client() -> Client:
    return Client().connect()


def frames(*payloads: bytes) -> bytes:
    return b"".join(b"".join(framed([payload])) for payload in payloads)


def test_requests_are_handled_one_at_a_time_and_answered_in_order(client: Client) -> None:
    client.send(frames(b"A", b"B", b"C"))
    assert client.handler.frames == [b"A"], "B waits until A is answered"
    client.connection.answer([b"a"])
    assert client.handler.frames == [b"A", b"B"]
    client.connection.answer([b"b1", b"b2"])
    client.connection.answer([b"c"])
    assert client.transport.sent == frames(b"a", b"b1b2", b"c")


def test_requests_answered_at_once_are_served_without_recursion(client: Client) -> None:
    client.handler.echoes = True
    payloads = [b"%d" % number for number in range(5_000)]
    client.send(frames(*payloads))
    assert client.transport.sent == frames(*payloads)


def test_nothing_is_read_while_a_request_waits_behind_another(client: Client) -> None:
    client.send(frames(b"A"))
    assert client.transport.is_reading_now, "a client that goes away while A is parked must be noticed"
    client.send(frames(b"B"))
    assert not client.transport.is_reading_now
    client.connection.answer([b"a"])
    assert client.transport.is_reading_now


def test_a_request_without_an_answer_lets_the_next_one_through(client: Client) -> None:
    client.send(frames(b"A", b"B"))
    client.connection.answer_nothing()
    client.connection.answer([b"b"])
    assert client.transport.sent == frames(b"b")


def test_a_client_that_does_not_take_its_answers_is_not_read(client: Client) -> None:
    client.handler.echoes = True
    client.connection.pause_writing()
    client.send(frames(b"A"))
    assert client.handler.frames == []
    assert not client.transport.is_reading_now
    client.connection.resume_writing()
    assert client.transport.sent == frames(b"A")
    assert client.transport.is_reading_now


def test_what_is_no_frame_closes_the_connection_with_a_reason(client: Client) -> None:
    client.send(b"GET / HTTP/1.1\r\n\r\n")
    assert client.handler.refused == ["this is an HTTP request, not Kafka's protocol"]
    assert client.transport.closed == "closed"


def test_a_refused_connection_is_aborted() -> None:
    client = Client()
    client.handler.admits = False
    client.connect()
    assert client.transport.closed == "aborted"


def test_an_answer_after_the_client_has_gone_is_dropped(client: Client) -> None:
    client.send(frames(b"A", b"B"))
    client.connection.connection_lost(None)
    client.connection.answer([b"a"])
    assert client.transport.sent == b""
    assert client.handler.frames == [b"A"], "nobody is there to read the answer of B"
    assert client.handler.lost == 1


def test_a_handler_that_closes_gets_no_more_requests(client: Client) -> None:
    client.send(frames(b"A", b"B"))
    client.connection.close()
    client.connection.answer([b"a"])
    assert client.handler.frames == [b"A"]


def test_it_counts_what_it_moves(client: Client) -> None:
    client.handler.echoes = True
    client.send(frames(b"abc", b"de"))
    connection = client.connection
    assert (connection.requests, connection.bytes_in, connection.bytes_out) == (2, 13, 13)
    assert (connection.peer_host, connection.peer_port) == ("10.0.0.1", 4000)
    assert client.transport.high == 1000
