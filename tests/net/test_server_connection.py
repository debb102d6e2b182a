import asyncio
import weakref
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import pytest

from odradek.base.buffers import Buffer
from odradek.base.execution import TURN_NS, TurnTime
from odradek.base.held_calls import HeldCalls
from odradek.base.stored_bytes import StoredBytes
from odradek.net.framing import framed
from odradek.net.ready_queue import ReadyQueue
from odradek.net.server_connection import PIECE_BYTES, ServerConnection

T = TypeVar("T")


class MemoryTransport(asyncio.Transport):
    """What a connection writes ends in `sent`; it drains when the test says so."""

    def __init__(self, *, peer: tuple[str, int] = ("10.0.0.1", 4000)) -> None:
        super().__init__({"peername": peer})
        self.sent = bytearray()
        self.is_reading_now = True
        self.closed: str | None = None
        self.high = 0
        self.unsent = 0

    def write(self, data: Any) -> None:
        self.writelines([data])

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
        self.waiting_answers: list[str] = []
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

    def answer_waits(self, connection: ServerConnection) -> None:
        self.waiting_answers.append("waits")

    def answer_taken(self, connection: ServerConnection) -> None:
        self.waiting_answers.append("taken")


class Turns:
    """The loop, turned by the test; a request takes as long as the test says."""

    def __init__(self) -> None:
        self.now_ns = 0
        self.due: list[Callable[[], None]] = []
        self.ready = ReadyQueue(self.due.append, TurnTime(lambda: self.now_ns))

    def turn(self) -> bool:
        """Run what is due in this turn; whether there was something."""
        due, self.due[:] = self.due[:], []
        for call in due:
            call()
        return bool(due)

    def take_half_a_slice(self) -> None:
        self.now_ns += TURN_NS // 2

    def turn_all(self) -> int:
        """Turn until nothing is due; how often that was."""
        turns = 0
        while self.turn():
            turns += 1
        return turns


class Client:
    """A connection with both of its ends in the test's hands."""

    def __init__(self, turns: Turns | None = None, handler: Recorder | None = None) -> None:
        self.turns = turns or Turns()
        self.handler = handler or Recorder()
        self.disk = HeldCalls()
        self.transport = MemoryTransport()
        self.connection = ServerConnection(
            self.handler,
            "PLAINTEXT",
            memoryview(bytearray(1024)),
            self.turns.ready,
            self.disk,
            frame_bytes_min=0,
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
    client.turns.turn_all()
    assert client.handler.frames == [b"A"], "B waits until A is answered"
    client.connection.answer([b"a"])
    client.turns.turn_all()
    assert client.handler.frames == [b"A", b"B"]
    client.connection.answer([b"b1", b"b2"])
    client.turns.turn_all()
    client.connection.answer([b"c"])
    assert client.transport.sent == frames(b"a", b"b1b2", b"c")


def test_requests_answered_at_once_are_served_without_recursion(client: Client) -> None:
    client.handler.echoes = True
    payloads = [b"%d" % number for number in range(5_000)]
    client.send(frames(*payloads))
    client.turns.turn_all()
    assert client.transport.sent == frames(*payloads)


def test_nothing_is_read_while_a_request_waits_behind_another(client: Client) -> None:
    client.send(frames(b"A"))
    assert client.transport.is_reading_now, "a client that goes away while A is parked must be noticed"
    client.send(frames(b"B"))
    assert not client.transport.is_reading_now
    client.connection.answer([b"a"])
    client.turns.turn_all()
    assert client.transport.is_reading_now


def test_a_request_without_an_answer_lets_the_next_one_through(client: Client) -> None:
    client.send(frames(b"A", b"B"))
    client.connection.answer_nothing()
    client.turns.turn_all()
    client.connection.answer([b"b"])
    assert client.transport.sent == frames(b"b")


def test_a_client_that_does_not_take_its_answers_is_not_read(client: Client) -> None:
    client.handler.echoes = True
    client.connection.pause_writing()
    client.send(frames(b"A"))
    assert client.handler.frames == []
    assert not client.transport.is_reading_now
    client.connection.resume_writing()
    client.turns.turn_all()
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
    client.turns.turn_all()
    connection = client.connection
    assert (connection.requests, connection.bytes_in, connection.bytes_out) == (2, 13, 13)
    assert (connection.peer_host, connection.peer_port) == ("10.0.0.1", 4000)
    assert client.transport.high == 1000


REQUEST_NS = 100_000


class SlowRecorder(Recorder):
    """Answers at once, and every request takes 0.1 ms."""

    def __init__(self, turns: Turns) -> None:
        super().__init__()
        self._turns = turns
        self.echoes = True

    def frame_received(self, connection: ServerConnection, frame: Buffer) -> None:
        self._turns.now_ns += REQUEST_NS
        super().frame_received(connection, frame)


def test_a_lone_request_is_handled_within_the_callback_that_read_it() -> None:
    turns = Turns()
    client = Client(turns, SlowRecorder(turns)).connect()
    for _ in range(100):
        client.send(frames(b"A"))
        turns.now_ns += REQUEST_NS
        assert not turns.due, "nobody waits: no turn of the loop is paid"
    assert len(client.handler.frames) == 100


def test_others_are_served_between_the_requests_of_one_read() -> None:
    """6,000 pipelined requests made others wait 20 s."""
    turns = Turns()
    handler = SlowRecorder(turns)
    pipelining, other = Client(turns, handler).connect(), Client(turns, handler).connect()
    pipelining.connection.get_buffer(-1)
    scratch = memoryview(bytearray(1 << 16))
    pipelining.connection._reader._scratch = scratch  # one read brings them all
    pipelining.send(frames(*[b"p"] * 6_000))
    turns.turn()
    other.send(frames(b"other"))
    assert turns.turn()
    assert handler.frames.index(b"other") <= 13, "a slice of 10, one before, and one in turn"
    turns.turn_all()
    assert handler.frames.count(b"p") == 6_000


def test_each_turn_of_the_loop_serves_one_slice() -> None:
    turns = Turns()
    clients = [Client(turns, SlowRecorder(turns)).connect() for _ in range(3)]
    for client in clients:
        client.send(frames(*[b"p"] * 100))
    began_ns, served = turns.now_ns, len(clients[0].handler.frames)
    assert turns.turn()
    assert turns.now_ns - began_ns == 1_000_000
    counts = [len(client.handler.frames) for client in clients]
    assert max(counts) - min(counts) <= 1 + served


def test_many_first_requests_of_one_poll_share_a_slice() -> None:
    turns = Turns()
    clients = [Client(turns, SlowRecorder(turns)).connect() for _ in range(1_000)]
    for client in clients:
        client.send(frames(b"A"))
    assert turns.now_ns == 1_000_000, "what is above a slice waits for the next turn"
    turns.turn_all()
    assert [client.handler.frames for client in clients] == [[b"A"]] * 1_000


def test_parked_requests_of_one_client_wait_a_turn_and_not_for_all_of_another_one() -> None:
    """100 pipelined commits beside three pipelining producers took 14.3 s."""
    turns = Turns()
    producers = [Client(turns, SlowRecorder(turns)).connect() for _ in range(3)]
    committing = Client(turns).connect()
    committing.send(frames(*[b"c"] * 100))
    for _ in range(100):
        for producer in producers:
            if producer.transport.is_reading_now:
                producer.send(frames(*[b"p"] * 100))
        committing.connection.answer([b"done"])
        turns.turn()
    assert len(committing.handler.frames) == 100
    assert turns.now_ns <= 110 * 1_000_000, "a commit costs a slice of the others' time, and no more"


def test_a_connection_lost_in_the_queue_is_passed_over() -> None:
    turns = Turns()
    client = Client(turns).connect()
    client.handler.echoes = True
    client.send(frames(b"A", b"B"))
    client.connection.connection_lost(None)
    turns.turn_all()
    assert client.handler.frames == [b"A"]
    assert len(turns.ready) == 0


def test_what_a_request_parked_ends_with_its_connection() -> None:
    client = Client().connect()
    abandoned: list[str] = []
    client.send(frames(b"A"))
    client.connection.when_lost(lambda: abandoned.append("A"))
    client.connection.answer([b"a"])
    client.send(frames(b"B"))
    client.connection.when_lost(lambda: abandoned.append("B"))
    client.connection.connection_lost(None)
    assert abandoned == ["B"], "A was answered"


def test_what_is_parked_after_the_connection_was_lost_ends_at_once() -> None:
    client = Client().connect()
    abandoned: list[str] = []
    client.send(frames(b"A"))
    client.connection.connection_lost(None)
    client.connection.when_lost(lambda: abandoned.append("A"))
    assert abandoned == ["A"]


class Stored(StoredBytes):
    """Bytes of a file, and how many of them were read."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.size_bytes = len(content)
        self.read_bytes = 0
        self.error: OSError | None = None
        self.on_read: Callable[[], None] = lambda: None
        self.is_cold = False

    def __len__(self) -> int:
        return self.size_bytes

    def is_in_memory(self, size_bytes: int, position: int) -> bool:
        return not self.is_cold

    def read_at(self, size_bytes: int, position: int) -> bytes:
        if self.error is not None:
            raise self.error
        self.on_read()
        data = self.content[position : position + size_bytes]
        self.read_bytes += len(data)
        return data


class ChokingTransport(MemoryTransport):
    """Takes what is written, and holds it back as soon as it is more than `high`."""

    def __init__(self, connection: ServerConnection) -> None:
        super().__init__()
        self._connection = connection
        self.unsent_max = 0

    def writelines(self, list_of_data: Iterable[Any]) -> None:
        before = len(self.sent)
        super().writelines(list_of_data)
        was_choked = self.unsent > self.high
        self.unsent += len(self.sent) - before
        self.unsent_max = max(self.unsent_max, self.unsent)
        if self.unsent > self.high and not was_choked:
            self._connection.pause_writing()

    def drain(self) -> None:
        self.unsent = 0
        self._connection.resume_writing()


def streaming() -> tuple[Client, ChokingTransport]:
    client = Client()
    client.transport = transport = ChokingTransport(client.connection)
    return client.connect(), transport


def test_what_an_answer_leaves_in_files_is_read_as_the_peer_takes_it() -> None:
    """40 readers that read nothing held 57 MB each."""
    client, transport = streaming()
    stored, behind = Stored(bytes(range(256)) * 20_000), Stored(b"z" * 10_000)
    client.send(frames(b"A", b"B"))
    client.connection.answer([b"header", stored, b"between", behind])
    client.turns.turn_all()
    assert stored.read_bytes == PIECE_BYTES, "the peer is choked by the first piece"
    assert client.handler.frames == [b"A"]
    assert client.connection.unsent_bytes == 4 + 6 + len(stored) + 7 + len(behind)
    while transport.unsent > transport.high:
        transport.drain()
        client.turns.turn_all()
    assert transport.sent == frames(b"header" + stored.content + b"between" + behind.content)
    assert transport.unsent_max <= transport.high + PIECE_BYTES
    assert client.handler.frames == [b"A", b"B"], "the next request is handled behind it"


def test_others_are_served_between_the_pieces_of_an_answer() -> None:
    turns = Turns()
    reading, other = Client(turns).connect(), Client(turns).connect()
    other.handler.echoes = True
    stored = Stored(bytes(20 * PIECE_BYTES))
    stored.on_read = turns.take_half_a_slice
    reading.send(frames(b"A"))
    reading.connection.answer([b"header", stored])
    other.send(frames(b"B"))
    turns.turn()
    assert other.handler.frames == [b"B"]
    assert stored.read_bytes == 2 * PIECE_BYTES, "the slice is used up"


def test_an_answer_cut_off_its_log_ends_the_connection() -> None:
    client, transport = streaming()
    stored = Stored(bytes(3 * PIECE_BYTES))
    client.send(frames(b"A"))
    client.connection.answer([b"header", stored])
    client.turns.turn_all()
    stored.content = stored.content[:PIECE_BYTES]
    transport.drain()
    client.turns.turn_all()
    assert transport.closed == "aborted"
    assert client.handler.refused == ["the rest of its answer was cut off the log"]


def test_an_answer_that_cannot_be_read_ends_the_connection() -> None:
    client, transport = streaming()
    stored = Stored(bytes(3 * PIECE_BYTES))
    stored.error = OSError("a failing disk")
    client.send(frames(b"A"))
    client.connection.answer([b"header", stored])
    client.turns.turn_all()
    assert transport.closed == "aborted"
    assert client.handler.refused == ["the rest of its answer cannot be read: a failing disk"]


def test_closing_sends_the_rest_of_an_answer_first() -> None:
    client, transport = streaming()
    stored = Stored(bytes(3 * PIECE_BYTES))
    client.send(frames(b"A", b"B"))
    client.connection.answer([b"header", stored])
    client.connection.close()
    assert client.connection.is_handling, "a stopping broker waits for it"
    for _ in range(4):
        client.turns.turn_all()
        transport.drain()
    assert transport.sent == frames(b"header" + stored.content)
    assert transport.closed == "closed"
    assert client.handler.frames == [b"A"]


def test_a_connection_lost_while_sending_lets_go_of_the_rest() -> None:
    client, transport = streaming()
    stored = Stored(bytes(3 * PIECE_BYTES))
    released = weakref.ref(stored)
    client.send(frames(b"A"))
    client.connection.answer([b"header", stored])
    del stored
    client.turns.turn_all()
    assert released() is not None
    client.connection.connection_lost(None)
    client.turns.turn_all()
    assert released() is None
    assert transport.sent[4:10] == b"header"


def test_a_piece_that_has_to_be_waited_for_is_read_on_another_thread() -> None:
    """Consumers that catch up read what only the disk has; nobody else waits for it."""
    client, transport = streaming()
    stored = Stored(bytes(range(256)) * 8_000)
    stored.is_cold = True
    client.send(frames(b"A", b"B"))
    client.connection.answer([b"header", stored])
    reads = 0
    while client.turns.turn_all() and client.disk.waiting:
        assert client.disk.waiting <= 1, "one piece at a time"
        assert client.handler.frames == [b"A"]
        reads += client.disk.waiting
        client.disk.complete()
        transport.drain()
    assert reads == 4, "2 MB in pieces"
    assert transport.sent == frames(b"header" + stored.content)
    assert client.handler.frames == [b"A", b"B"]


@pytest.mark.parametrize("ends", ["lost", "failed", "cut", "closed"])
def test_what_becomes_of_a_piece_that_is_being_read(ends: str) -> None:
    client, transport = streaming()
    stored = Stored(bytes(PIECE_BYTES))
    stored.is_cold = True
    client.send(frames(b"A"))
    client.connection.answer([b"header", stored])
    client.turns.turn_all()
    match ends:
        case "lost":
            client.connection.connection_lost(None)
        case "failed":
            stored.error = OSError("a failing disk")
        case "cut":
            stored.content = b""
        case "closed":
            client.connection.close()
    client.disk.complete()
    client.turns.turn_all()
    refusals = {
        "failed": ["the rest of its answer cannot be read: a failing disk"],
        "cut": ["the rest of its answer was cut off the log"],
    }
    assert client.handler.refused == refusals.get(ends, [])
    assert (transport.closed, transport.sent == frames(b"header" + stored.content)) == {
        "lost": (None, False),
        "failed": ("aborted", False),
        "cut": ("aborted", False),
        "closed": ("closed", True),
    }[ends]


def test_an_answer_waits_until_the_peer_has_taken_it() -> None:
    """What fits the write buffer does not wait."""
    client, transport = streaming()
    client.send(frames(b"A", b"B"))
    client.connection.answer([b"small"])
    assert client.handler.waiting_answers == []
    client.turns.turn_all()
    client.connection.answer([b"x" * (transport.high + 1)])
    assert client.handler.waiting_answers == ["waits"]
    transport.drain()
    assert client.handler.waiting_answers == ["waits", "taken"]


def test_an_answer_from_files_waits_once() -> None:
    client, transport = streaming()
    client.send(frames(b"A"))
    client.connection.answer([b"header", Stored(bytes(3 * PIECE_BYTES))])
    client.turns.turn_all()
    transport.drain()
    client.turns.turn_all()
    assert client.handler.waiting_answers == ["waits"]
    while transport.unsent > transport.high:
        transport.drain()
        client.turns.turn_all()
    assert client.handler.waiting_answers == ["waits", "taken"]


def test_an_answer_to_a_lost_connection_does_not_wait_any_more() -> None:
    client, transport = streaming()
    client.send(frames(b"A"))
    client.connection.answer([b"x" * (transport.high + 1)])
    client.connection.connection_lost(None)
    assert client.handler.waiting_answers == ["waits", "taken"]
