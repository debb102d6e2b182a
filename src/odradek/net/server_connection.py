"""One client's connection: its requests are handled one at a time and answered in order.

Invariant: it never blocks, and uses no loop and no socket, only a `Transport`: on a loop one of asyncio's or
uvloop's (`socket_connection`), in a simulation one of `testing/sim/streams`; `tests/net/test_transports.py`
tests that all behave alike. It must not know what frames contain.

As in Kafka, a request that waits (for acks, for data) holds back the later ones of its connection. Between
any two requests of one connection the other connections are served: the `ReadyQueue`, which all connections
of a loop share, decides the order.

    received    A B C      A is handled at once and answers; B and C wait for their turn
    serve_next()           B is handled and parks; C waits
    answer(B)              B's answer is written; C waits for its turn
    serve_next()           C is handled

The states that stop it from handling or reading more:

    handling    a frame was handed over and not yet answered        no other frame is handled
    waiting     frames that came with it or meanwhile               while there are any, nothing is read
    choked      the peer does not read its answers                  neither handled nor read
    sending     of an answer parts are left that lie in files       no other frame is handled
    fetching    a piece of it is being read on another thread       neither handled nor sent
    queued      it waits for its turn, or its turn is now           it is not queued again

Parts of an answer that lie in files (`StoredBytes`) are read when the peer has read what came before:
PIECE_BYTES in each turn of this connection, until the peer is choked again. A piece that is not in memory is
read on another thread; other connections have their turns meanwhile.

So the memory of one connection is limited to one request being handled, the frames of one read, and the
unsent bytes: the write buffer, and the part of one answer in memory or one piece.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Protocol, cast

from odradek.base.buffers import Buffer
from odradek.base.execution import Background
from odradek.base.stored_bytes import StoredBytes
from odradek.net.framing import (
    LENGTH_BYTES,
    FrameReader,
    FrameRefused,
    Part,
    framed,
    framed_as,
    framed_small,
)
from odradek.net.ready_queue import ReadyQueue

PIECE_BYTES: Final = 512 * 1024


class Transport(Protocol):
    """The transport of a connection's bytes, with the methods of asyncio's transports.

    It calls `connection_made`, `get_buffer` and `buffer_updated`, `pause_writing` and `resume_writing`,
    `eof_received` and `connection_lost`; the last never from within `close` or `abort`.
    """

    def get_extra_info(self, name: str, default: Any = None) -> Any:  # noqa: ANN401 - whatever `name` is of
        """The peer's host and port, as "peername"."""

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Call `pause_writing` when more than `high` bytes are unsent, `resume_writing` below a quarter."""

    def get_write_buffer_size(self) -> int:
        """How many bytes are unsent."""

    def write(self, data: Buffer) -> None:
        """Send, after what was written before; `data` must not change any more."""

    def writelines(self, list_of_data: Iterable[Buffer]) -> None:
        """Send several pieces."""

    def pause_reading(self) -> None:
        """Give the connection no more bytes; not called twice."""

    def resume_reading(self) -> None:
        """Resume after `pause_reading`."""

    def is_closing(self) -> bool:
        """Whether `close` or `abort` was called, or the peer has gone."""

    def close(self) -> None:
        """Read no more, send the unsent bytes, and close."""

    def abort(self) -> None:
        """Close at once; unsent bytes are lost."""


class FrameHandler(Protocol):
    """The port that a listener's connections call; on the loop's thread, and it must not raise."""

    def connection_made(self, connection: "ServerConnection") -> bool:
        """A client connected; False refuses it."""

    def frame_received(self, connection: "ServerConnection", frame: Buffer) -> None:
        """Handle a request; exactly one `answer`, `answer_nothing` or `close` must follow, now or later."""

    def connection_lost(self, connection: "ServerConnection") -> None:
        """The connection is gone; also called for a refused one, never without `connection_made` before."""

    def frame_refused(self, connection: "ServerConnection", reason: str) -> None:
        """The connection is being closed: the peer breaks the protocol, or its answer cannot be sent."""

    def answer_waits(self, connection: "ServerConnection") -> None:
        """The last answer waits for the peer, or to be read from files; `answer_taken` follows."""

    def answer_taken(self, connection: "ServerConnection") -> None:
        """The write buffer has room for the rest of the answer, or the connection is gone."""


NAME_CHARACTERS_MAX = 250
"""The length to which a client's names for itself are cut."""


class ServerConnection:
    """The broker's side of a connection; everything after `connection_made` is on one thread."""

    __slots__ = (
        "_abandon",
        "_answer_waits",
        "_background",
        "_choked",
        "_fetching",
        "_handler",
        "_handling",
        "_is_closing",
        "_is_queued",
        "_is_reading",
        "_reader",
        "_ready",
        "_sending",
        "_sent_bytes",
        "_transport",
        "_waiting",
        "_write_buffer_bytes",
        "bytes_in",
        "bytes_out",
        "client_id",
        "idle_since_ms",
        "last_api_key",
        "listener",
        "peer_host",
        "peer_port",
        "queued_ns",
        "requests",
        "software",
        "was_active",
    )

    def __init__(
        self,
        handler: FrameHandler,
        listener: str,
        scratch: memoryview,
        ready: ReadyQueue,
        background: Background,
        *,
        frame_bytes_min: int,
        frame_bytes_max: int,
        write_buffer_bytes: int,
    ) -> None:
        self.listener = listener
        """The name of the listener that took the connection."""
        self.peer_host = ""
        self.peer_port = 0
        self.client_id = ""
        """As its ApiVersions request gave it, cut to NAME_CHARACTERS_MAX; empty before."""
        self.software = ""
        """The client's library and its version (KIP-511), likewise."""
        self.queued_ns = 0
        """When it was queued for the turn of its request, by the ready queue's clock; 0 where it was not."""
        self.last_api_key = -1
        """The API key of its last frame; set by the handler, unused by the connection."""
        self.requests = 0
        """How many frames were handed to the handler."""
        self.bytes_in = 0
        self.bytes_out = 0
        self.was_active = True
        """Whether anything moved since the last sweep of the connection table, which clears it."""
        self.idle_since_ms = 0
        """When the table first found it idle; meaningless while `was_active`."""
        self._handler = handler
        self._reader = FrameReader(scratch, frame_bytes_max, frame_bytes_min=frame_bytes_min)
        self._ready = ready
        self._background = background
        self._write_buffer_bytes = write_buffer_bytes
        # None before connection_made and after connection_lost; nothing is sent or handled then.
        self._transport: Transport | None = None
        # Whether the handler has a frame that it has not answered yet.
        self._handling = False
        # Abandons the parked operation of the frame being handled, if the connection is lost; or None.
        self._abandon: Callable[[], None] | None = None
        # What is left to send of an answer, the next part last, and how much of that part was sent.
        self._sending: list[Part] = []
        self._sent_bytes = 0
        # The part of which another thread is reading a piece.
        self._fetching: StoredBytes | None = None
        # Frames that are not handled yet, the next one last; nothing is read while there are any.
        self._waiting: list[Buffer] = []
        # The write buffer is above its limit.
        self._choked = False
        # Whether `answer_waits` was called and `answer_taken` not yet.
        self._answer_waits = False
        # No more frames are handled; the transport closes when nothing is left to send.
        self._is_closing = False
        # It waits in the ready queue, or `serve_next` is further up the stack and its result tells the queue.
        self._is_queued = False
        # Whether the transport reads; False exactly while frames wait or the peer is choked.
        self._is_reading = True

    # --- the transport's side

    def connection_made(self, transport: Transport) -> None:
        """A peer has connected."""
        self._transport = transport
        peer = transport.get_extra_info("peername")
        if isinstance(peer, tuple) and len(peer) >= 2:
            self.peer_host, self.peer_port = str(peer[0]), int(peer[1])
        transport.set_write_buffer_limits(high=self._write_buffer_bytes)
        if not self._handler.connection_made(self):
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended, by either side; nothing can be sent or handled any more."""
        self._transport = None
        self._waiting.clear()
        self._sending.clear()
        if self._abandon is not None:
            abandon, self._abandon = self._abandon, None
            abandon()
        if self._answer_waits:
            self._answer_waits = False
            self._handler.answer_taken(self)
        self._handler.connection_lost(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the next bytes are to be put."""
        return self._reader.writable()

    def buffer_updated(self, nbytes: int) -> None:
        """Called when `nbytes` were received into the buffer of `get_buffer`."""
        self.was_active = True
        self.bytes_in += nbytes
        try:
            frames = self._reader.received(nbytes)
        except FrameRefused as refused:
            self._handler.frame_refused(self, str(refused))
            self.close()
            return
        if not frames:
            return
        waiting = self._waiting
        if waiting:  # the transport had read more before `pause_reading`
            waiting[:0] = reversed(frames)
        else:
            self._waiting = frames
            frames.reverse()
            if not (self._is_queued or self._handling or self._choked or self._sending):
                self._ready.serve_or_add(self)
                return
        self._adjust_reading()

    def eof_received(self) -> bool:
        """Close on the client's end of file, also when it only closed its sending half."""
        return False

    def pause_writing(self) -> None:
        """The peer does not read its answers."""
        self._choked = True
        self._note_waiting_answer()
        self._adjust_reading()

    def resume_writing(self) -> None:
        """The peer has read nearly all of its answers."""
        self._choked = False
        self.was_active = True
        self._note_taken_answer()
        self._wait_for_turn()
        self._adjust_reading()

    # --- the handler's side

    @property
    def is_open(self) -> bool:
        """Whether answers can still be sent."""
        return self._transport is not None and not self._is_closing and not self._transport.is_closing()

    @property
    def is_handling(self) -> bool:
        """Whether a request is being handled, parked, or being answered."""
        return self._handling or bool(self._sending)

    @property
    def waiting_requests(self) -> int:
        """How many requests wait behind the one being handled."""
        return len(self._waiting)

    @property
    def unsent_bytes(self) -> int:
        """Bytes of answers that the peer has not read."""
        if self._transport is None:
            return 0
        return self._transport.get_write_buffer_size() + sum(map(len, self._sending)) - self._sent_bytes

    def answer(self, parts: Sequence[Part]) -> None:
        """Send the answer to the frame being handled; its parts are not copied and must no longer change.

        The first part is in memory.
        """
        assert self._handling, "an answer without a request"
        self._handling = False
        self._abandon = None
        if self._transport is None:
            return
        self.was_active = True
        first = parts[0]
        frame = framed_small(first) if len(parts) == 1 and not isinstance(first, StoredBytes) else None
        if frame is not None:
            self.bytes_out += len(frame)
            self._transport.write(frame)
        else:
            self._answer_in_pieces(self._transport, parts)
        if self._waiting or self._sending:
            self._wait_for_turn()

    def _answer_in_pieces(self, transport: Transport, parts: Sequence[Part]) -> None:
        for part in parts:
            if isinstance(part, StoredBytes):
                self._begin_sending(transport, parts)
                return
        frame = framed(cast(Sequence[Buffer], parts))
        self.bytes_out += sum(map(len, frame))
        transport.writelines(frame)

    def answer_nothing(self) -> None:
        """End the frame being handled without an answer (acks=0)."""
        assert self._handling, "no request to end"
        self._handling = False
        self._abandon = None
        self._wait_for_turn()

    def when_lost(self, abandon: Callable[[], None]) -> None:
        """Call `abandon` if the connection is lost before the frame being handled is answered."""
        assert self._handling, "nothing is at work"
        if self._transport is None:
            abandon()
        else:
            self._abandon = abandon

    def identify(self, client_id: str, software: str) -> None:
        """Store the peer's own names, for descriptions."""
        self.client_id = client_id[:NAME_CHARACTERS_MAX]
        self.software = software[:NAME_CHARACTERS_MAX]

    def close(self) -> None:
        """Handle no more frames; what was answered is still sent."""
        self._waiting.clear()
        self._is_closing = True
        if self._transport is not None and not self._sending:
            self._transport.close()

    def abort(self) -> None:
        """Close at once, with whatever was not sent."""
        self._waiting.clear()
        self._sending.clear()
        self._is_closing = True
        if self._transport is not None:
            self._transport.abort()

    # --- the ready queue's side

    def serve_next(self) -> bool:
        """See `Servable.serve_next`."""
        self._is_queued = True
        if self._sending:
            if not self._choked and self._fetching is None:
                self._send_piece()
        elif self._may_serve():
            self._handling = True
            self.requests += 1
            self._handler.frame_received(self, self._waiting.pop())
        if self._waiting or self._sending:
            self._is_queued = has_more = self._may_serve()
        else:
            self._is_queued = has_more = False
        if self._is_reading is (self._choked or bool(self._waiting)):
            self._set_reading(not self._is_reading)
        return has_more

    def _may_serve(self) -> bool:
        """Whether the next frame may be handed over now, or more of an answer be sent."""
        transport = self._transport
        if self._choked or self._fetching is not None or transport is None:
            return False
        if self._sending:
            return True
        may_handle = bool(self._waiting) and not self._handling and not self._is_closing
        return may_handle and not transport.is_closing()

    def _wait_for_turn(self) -> None:
        """Queue when there is something to do and this connection is not queued yet."""
        if not self._is_queued and self._may_serve():
            self._is_queued = True
            self._ready.add(self)

    def _note_waiting_answer(self) -> None:
        if not self._answer_waits:
            self._answer_waits = True
            self._handler.answer_waits(self)

    def _note_taken_answer(self) -> None:
        if self._answer_waits and not self._sending and not self._choked:
            self._answer_waits = False
            self._handler.answer_taken(self)

    def _begin_sending(self, transport: Transport, parts: Sequence[Part]) -> None:
        """Send what comes before the first part in a file; the rest is sent in this connection's turns."""
        payload_bytes = sum(map(len, parts))
        held = next(at for at, part in enumerate(parts) if isinstance(part, StoredBytes))
        assert held > 0, "an answer begins with its header"
        self.bytes_out += payload_bytes + LENGTH_BYTES
        self._sending = list(parts[held:])
        self._sending.reverse()
        self._sent_bytes = 0
        self._note_waiting_answer()
        transport.writelines(framed_as(payload_bytes, cast(Sequence[Buffer], parts[:held])))

    def _send_piece(self) -> None:
        """Send the next part of the answer, or a piece of it when it lies in a file."""
        if self._transport is None:
            return
        self.was_active = True
        part = self._sending[-1]
        if not isinstance(part, StoredBytes):
            self._sending.pop()
            self._transport.write(part)
        else:
            at = self._sent_bytes
            size_bytes = min(PIECE_BYTES, len(part) - at)
            try:
                if not part.is_in_memory(size_bytes, at):
                    self._fetching = part
                    self._background.submit(
                        lambda: part.read_at(size_bytes, at), self._piece_fetched, self._fetch_failed
                    )
                    return
                self._write_piece(part, part.read_at(size_bytes, at))
            except OSError as error:
                self._fetch_failed(error)
        self._end_if_sent()

    def _write_piece(self, part: StoredBytes, piece: bytes) -> None:
        """Write a piece of the part that is being sent."""
        if self._transport is None:
            return
        if len(piece) < min(PIECE_BYTES, len(part) - self._sent_bytes):
            self._give_up("the rest of its answer was cut off the log")
            return
        self._sent_bytes += len(piece)
        if self._sent_bytes == len(part):
            self._sent_bytes = 0
            self._sending.pop()
        self._transport.write(piece)

    def _piece_fetched(self, piece: bytes) -> None:
        """Called when another thread has read the next piece."""
        self._fetching = None
        if not self._sending:
            return  # the connection is gone
        part = self._sending[-1]
        assert isinstance(part, StoredBytes), "a piece is of what lies in a file"
        self.was_active = True
        self._write_piece(part, piece)
        self._end_if_sent()
        self._wait_for_turn()

    def _fetch_failed(self, error: Exception) -> None:
        """Called when the next piece cannot be read."""
        self._fetching = None
        if self._transport is not None:
            self._give_up(f"the rest of its answer cannot be read: {error}")

    def _end_if_sent(self) -> None:
        """Close once the last answer is sent, if `close` was called."""
        self._note_taken_answer()
        if self._transport is None:
            return
        if self._is_closing and not self._sending:
            self._transport.close()

    def _give_up(self, reason: str) -> None:
        """Close at once: an answer that was partly sent can only be completed or cut off."""
        self._handler.frame_refused(self, reason)
        self.abort()

    def _adjust_reading(self) -> None:
        """Read exactly while no frame waits and the peer reads its answers."""
        if self._is_reading is (self._choked or bool(self._waiting)):
            self._set_reading(not self._is_reading)

    def _set_reading(self, wanted: bool) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        self._is_reading = wanted
        if wanted:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()
