"""One connection in the network of a world: bytes in both directions, in order, until it ends.

    opener                                            server
    send(data)    ──────── on their way, oldest first ────────►  a `ServerConnection` reads
    on_bytes      ◄──────── on their way, oldest first ────────  and writes

The opener is a client or a broker. The server's side is the same `ServerConnection` as in a broker's process,
over a `ServerSide` in place of a socket. So the order of answers, back-pressure on reading, and the effects
of a connection's end are the same.

A delivery is a step of the world. It delivers the oldest bytes of one direction, if they are due, no cut
separates the two places, and the receiver reads. The end of a connection arrives after the bytes before it:

    the opener closes or dies      what it has sent arrives, then its end
    the broker closes, or dies     what it has written arrives, then its end
    a power cut                    of what the machine had sent some arrives, by chance
    reset, abort                   what is on its way is lost; the end arrives

An opener that wants to know when the connection is accepted calls `connect` before it sends.

As with a socket, a broker that has stopped reading notices the end only when it writes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeAlias

from odradek.base.buffers import Buffer
from odradek.base.chance import Chance
from odradek.base.ids import BrokerId
from odradek.base.values import value
from odradek.net.server_connection import ServerConnection

Place: TypeAlias = BrokerId | str
"""Where one end of a connection is: a broker, or the host of clients."""

LOW_DIVISOR = 4
"""Writing continues when at most this part of the limit is unsent, as on asyncio's transports."""


@value
class End:
    """A side of the connection has ended; comes behind what that side sent before."""

    reason: str
    is_reset: bool = False
    """Whether the side ended it without regard to what was on its way."""


@value
class Opened:
    """To the server: the opener wants to know when it is accepted. To the opener: it is."""


class Opener(Protocol):
    """Who has opened a connection."""

    @property
    def is_alive(self) -> bool:
        """Whether it can take anything."""

    @property
    def has_room(self) -> bool:
        """Whether it takes bytes now; until then they wait."""

    def on_open(self) -> None:
        """The server has accepted the connection, and `Stream.connect` was called."""

    def on_bytes(self, data: bytes) -> None:
        """Bytes have come."""

    def on_taken(self, count: int) -> None:
        """The server has taken so many of the bytes sent."""

    def on_end(self, reason: str) -> None:
        """The connection has ended, and not by `Stream.close` or `Stream.reset`."""


class Server(Protocol):
    """One life of a broker, as connections to it see it."""

    @property
    def is_alive(self) -> bool:
        """Whether there is a process."""

    def admits(self, listener: str) -> bool:
        """Whether new connections are accepted."""

    def connection(self, listener: str) -> ServerConnection:
        """The broker's side of a new connection, not made yet."""

    def later(self, callback: Callable[[], None]) -> None:
        """Run `callback` in a later turn of its loop, if it lives then."""

    def run_turn(self) -> None:
        """Take the next turn of its loop; there is one."""


class Network(Protocol):
    """What a connection needs of the network around it."""

    def now_ms(self) -> int:
        """The time by which deliveries are due."""

    def is_cut(self, a: Place, b: Place) -> bool:
        """Whether nothing passes from a to b."""

    def due_ms(self, a: Place, b: Place) -> int:
        """When what a sends to b now arrives."""

    def server_at(self, place: Place) -> Server | None:
        """The life that a new connection to that place reaches; None where there is nobody."""

    def add(self, stream: Stream) -> None:
        """Called once with each connection, when it is made."""

    def note_busy(self, stream: Stream) -> None:
        """Called when something of a connection is on its way."""

    def on_delivered(self, stream: Stream, data: bytes, *, to_server: bool) -> None:
        """See `Observer.on_delivered`."""

    def on_ended(self, stream: Stream, reason: str) -> None:
        """See `Observer.on_ended`."""


class Stream:
    """A connection; made when its opener first sends, accepted when that arrives."""

    def __init__(
        self,
        network: Network,
        opener: Opener,
        peer: tuple[str, int],
        ways: tuple[Place, Place],
        listener: str,
    ) -> None:
        """`peer` is the address that the server sees; `ways` are the places of opener and server."""
        self.between = ways
        self.peer = peer
        self.listener = listener
        self.opener = opener
        self.server_side: ServerSide | None = None
        """None before the server has accepted the connection."""
        self.is_open = True
        """Whether the opener has neither ended it nor learned of its end."""
        self.was_reset = False
        """Whether the end that the opener has learned of was a reset."""
        self._network = network
        # On their way, with the time at which they may arrive.
        self._to_server: deque[tuple[int, bytes | Opened | End]] = deque()
        self._to_opener: deque[tuple[int, bytes | Opened | End]] = deque()
        network.add(self)

    @property
    def bytes_out(self) -> int:
        """How much the server has written."""
        return 0 if self.server_side is None else self.server_side.connection.bytes_out

    # --- the opener's side

    def connect(self) -> None:
        """Begin the connection without sending; `Opener.on_open` or `Opener.on_end` follows."""
        self._put_to_server(Opened())

    def send(self, data: bytes) -> None:
        """Send the bytes of one request."""
        assert self.is_open, "the connection is closed"
        self._put_to_server(data)

    def close(self) -> None:
        """End it; what was sent still arrives."""
        if self.is_open:
            self._end("closed by its opener")
            self._put_to_server(End("closed by the other side"))

    def reset(self) -> None:
        """End it, with all that is on its way from here."""
        if self.is_open:
            self._to_server.clear()
            self.close()

    # --- faults

    def drop(self) -> None:
        """End it in the network: bytes in transit are lost, and both sides are notified of the end."""
        self._to_server.clear()
        self._to_opener.clear()
        self._put_to_server(End("reset on the way", is_reset=True))
        self._put_to_opener(End("reset on the way", is_reset=True))

    def lose(self) -> None:
        """Drop it, and let both sides notice before any other step."""
        self._to_server.clear()
        self._to_opener.clear()
        if self.server_side is not None:
            self.server_side.lose()
        if self.is_open and self.opener.is_alive:
            self._end("lost", is_reset=True)
            self.opener.on_end("lost")

    def lose_some(self, of: Place, chance: Chance) -> None:
        """Lose a random part of what the machine at that place had not sent, on a power loss."""
        for place, way in zip(self.between, (self._to_server, self._to_opener), strict=True):
            if place == of:
                kept = chance.below(len(way) + 1)
                while len(way) > kept:
                    way.pop()

    # --- what happens next

    @property
    def is_over(self) -> bool:
        """Whether nothing can come of it any more."""
        if self._to_server and (self.server_side is None or not self.server_side.is_over):
            return False
        is_heard = self.is_open and self.opener.is_alive
        return not is_heard and (self.server_side is None or self.server_side.is_over)

    @property
    def is_idle(self) -> bool:
        """Whether nothing of it is on its way."""
        return not (self._to_server or self._to_opener)

    @property
    def has_sent(self) -> bool:
        """Whether something of the opener is on its way."""
        return bool(self._to_server)

    def is_due(self, now_ms: int) -> bool:
        """Whether something has been on its way for long enough."""
        back, forth = self._to_opener, self._to_server
        return bool((back and back[0][0] <= now_ms) or (forth and forth[0][0] <= now_ms))

    def steps(self) -> list[Callable[[], None]]:
        """What may arrive now: the first of each direction."""
        found: list[Callable[[], None]] = []
        if self._to_opener and self._may_pass(self._to_opener[0][0], *reversed(self.between)):
            is_heard = self.is_open and self.opener.is_alive
            if self.opener.has_room or not is_heard:
                found.append(self.reach_opener)
        if self._to_server and self._may_pass(self._to_server[0][0], *self.between):
            side = self.server_side
            if side is None or side.is_over or side.is_reading:
                found.append(self.reach_server)
        return found

    def waiting_ms(self) -> list[int]:
        """When what takes time is due."""
        now_ms = self._network.now_ms()
        return [way[0][0] for way in (self._to_server, self._to_opener) if way and way[0][0] > now_ms]

    def reach_server(self) -> None:
        """Deliver the oldest bytes in transit to the server."""
        side = self.server_side or self._accept()
        if side is None or side.is_over:
            self._to_server.clear()
            return
        _, data = self._to_server.popleft()
        if isinstance(data, End):
            side.on_end()
        elif isinstance(data, Opened):
            self._put_to_opener(data)
        else:
            self._network.on_delivered(self, data, to_server=True)
            side.on_bytes(data)
            self.opener.on_taken(len(data))

    def reach_opener(self) -> None:
        """Deliver the oldest bytes in transit to the opener."""
        if not (self.is_open and self.opener.is_alive):  # the other machine answers with a reset
            self._to_opener.clear()
            if self.server_side is not None:
                self.server_side.on_reset()
            return
        _, data = self._to_opener.popleft()
        if isinstance(data, End):
            self._end(data.reason, is_reset=data.is_reset)
            self.opener.on_end(data.reason)
        elif isinstance(data, Opened):
            self.opener.on_open()
        else:
            self._network.on_delivered(self, data, to_server=False)
            if self.server_side is not None:
                self.server_side.on_taken(len(data))
            self.opener.on_bytes(data)

    def _end(self, reason: str, *, is_reset: bool = False) -> None:
        self.is_open, self.was_reset = False, is_reset
        self._network.on_ended(self, reason)

    def _may_pass(self, due_ms: int, a: Place, b: Place) -> bool:
        return due_ms <= self._network.now_ms() and not self._network.is_cut(a, b)

    def _accept(self) -> ServerSide | None:
        """The server's side; None if no server accepts the connection: then its opener is notified."""
        server = self._network.server_at(self.between[1])
        if isinstance(self._to_server[0][1], End):
            return None
        if server is None or not server.admits(self.listener):
            self._put_to_opener(End("connection refused", is_reset=True))
            return None
        self.server_side = side = ServerSide(self, server)
        side.accept()
        return side

    # --- the server's side

    def put_to_opener(self, data: bytes) -> None:
        """Send what the server has written."""
        self._put_to_opener(data)

    def end_to_opener(self, reason: str, *, is_reset: bool = False) -> None:
        """Send the end to the opener, after the written bytes; a reset drops those in transit first."""
        if is_reset:
            self._to_opener.clear()
        self._put_to_opener(End(reason, is_reset))

    def _put_to_opener(self, data: bytes | Opened | End) -> None:
        opener_place, server_place = self.between
        self._to_opener.append((self._network.due_ms(server_place, opener_place), data))
        self._network.note_busy(self)

    def _put_to_server(self, data: bytes | Opened | End) -> None:
        self._to_server.append((self._network.due_ms(*self.between), data))
        self._network.note_busy(self)


class ServerSide:
    """The broker's side of a stream: the `Transport` of a `ServerConnection`."""

    def __init__(self, stream: Stream, server: Server) -> None:
        self.server = server
        """The life that accepted it."""
        self.connection = server.connection(stream.listener)
        self.is_reading = True
        """Whether the connection takes bytes."""
        self.is_over = False
        """Whether the connection was notified of the end, or its process has ended."""
        self._stream = stream
        # No more is read or written.
        self._is_closing = False
        # Written, and not taken by the opener.
        self._unsent_bytes = 0
        self._unsent_bytes_high = 0
        # Whether the connection was notified that its peer does not take its answers.
        self._is_choked = False

    def accept(self) -> None:
        """Let the broker have the connection; it may refuse it."""
        self.connection.connection_made(self)

    def die(self) -> None:
        """The process has ended; its code is not notified."""
        if not self.is_over:
            self.is_over = True
            self._stream.end_to_opener("the broker has gone")

    # --- the network's side

    def on_bytes(self, data: bytes) -> None:
        """Called with bytes that have arrived; those that the connection never reads are lost with it."""
        rest = memoryview(data)
        while rest and not self._is_closing:
            place = self.connection.get_buffer(-1)
            count = min(len(place), len(rest))
            place[:count] = rest[:count]
            rest = rest[count:]
            self.connection.buffer_updated(count)

    def on_end(self) -> None:
        """The opener has ended the connection."""
        self.connection.eof_received()
        self.on_reset()

    def on_reset(self) -> None:
        """The opener has reset the connection."""
        self._is_closing = True
        self._unsent_bytes = 0
        self.server.later(self._finish)

    def on_taken(self, count: int) -> None:
        """The opener has taken so many bytes."""
        self._unsent_bytes = max(0, self._unsent_bytes - count)
        if self._is_choked:
            self.server.later(self._resume)
        if self._is_closing and not self._unsent_bytes:
            self.server.later(self._finish)

    def lose(self) -> None:
        """The opener is gone, and the broker notices at once."""
        self._is_closing = True
        if self.server.is_alive:
            self._finish()

    def _resume(self) -> None:
        if self._is_choked and self._unsent_bytes <= self._unsent_bytes_high // LOW_DIVISOR:
            self._is_choked = False
            self.connection.resume_writing()

    def _finish(self) -> None:
        if not self.is_over:
            self.is_over = True
            self.connection.connection_lost(None)

    # --- `Transport`

    def get_extra_info(self, name: str, default: Any = None) -> Any:  # noqa: ANN401 - as the port has it
        """See `Transport.get_extra_info`."""
        return self._stream.peer if name == "peername" else default

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """See `Transport.set_write_buffer_limits`."""
        assert high is not None, "a connection sets how much may be unsent"
        assert low is None, "a connection leaves the lower limit to its transport"
        self._unsent_bytes_high = high

    def get_write_buffer_size(self) -> int:
        """See `Transport.get_write_buffer_size`."""
        return self._unsent_bytes

    def write(self, data: Buffer) -> None:
        """See `Transport.write`."""
        self.writelines([data])

    def writelines(self, list_of_data: Iterable[Buffer]) -> None:
        """See `Transport.writelines`."""
        if self._is_closing or self.is_over:
            return
        data = b"".join(list_of_data)
        self._stream.put_to_opener(data)
        self._unsent_bytes += len(data)
        if self._unsent_bytes > self._unsent_bytes_high and not self._is_choked:
            self._is_choked = True
            self.connection.pause_writing()

    def pause_reading(self) -> None:
        """See `Transport.pause_reading`."""
        assert self.is_reading, "asyncio calls it an error to pause twice"
        self.is_reading = False

    def resume_reading(self) -> None:
        """See `Transport.resume_reading`."""
        assert not self.is_reading, "asyncio calls it an error to resume twice"
        self.is_reading = True

    def is_closing(self) -> bool:
        """See `Transport.is_closing`."""
        return self._is_closing

    def close(self) -> None:
        """See `Transport.close`."""
        if not self._is_closing:
            self._is_closing = True
            self._stream.end_to_opener("closed by the broker")
            if not self._unsent_bytes:
                self.server.later(self._finish)

    def abort(self) -> None:
        """See `Transport.abort`."""
        if not self.is_over:
            self._is_closing = True
            self._unsent_bytes = 0
            self._stream.end_to_opener("reset by the broker", is_reset=True)
            self.server.later(self._finish)
