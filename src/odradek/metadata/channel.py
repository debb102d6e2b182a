"""One connection of messages: frames are cut, decoded and encoded, in steps where they are large.

Invariant: it uses no loop and no socket, only a `Transport` (`net/server_connection`) and the port that runs
steps. Messages arrive and leave in order: the next one is decoded when the one before was handled.

    received    A B C      A is decoded and handled; B and C follow, within the turn's time or in later turns
    hold()                 nothing more is handed over, and nothing is read
    send(D)                D is encoded after what was sent before, and written as the peer reads it

A sender that gets ahead of its peer only keeps what it sent. A channel that `waits_for_reader` hands over no
message meanwhile, so that a client that does not read its answers asks nothing more. A malformed frame ends
the connection, with the reason.
"""

import logging
from collections import deque
from collections.abc import Callable
from typing import Final, Generic, Protocol, TypeAlias, TypeVar

from odradek.base.buffers import Buffer
from odradek.base.errors import OdradekError
from odradek.base.execution import Steps
from odradek.net.framing import FrameReader, FrameRefused, framed
from odradek.net.server_connection import Transport

_log = logging.getLogger(__name__)

M = TypeVar("M")
M_contra = TypeVar("M_contra", contravariant=True)
S = TypeVar("S")
S_co = TypeVar("S_co", covariant=True)
S_contra = TypeVar("S_contra", contravariant=True)

RunSliced: TypeAlias = Callable[[Steps[None], Callable[[Exception], None]], None]
"""`Slices.run`: runs steps, and calls back with what they raise."""

PIECE_BYTES: Final = 64 * 1024
"""How much is written at once: a transport copies what the peer does not take."""


class MalformedMessage(OdradekError):
    """Bytes that are no message of the connection's protocol, or a message that must not come now; the
    connection cannot continue."""


class Link(Protocol[S_contra]):
    """A connection over which messages `S` are sent, as the cores use it. No method calls back."""

    peer_pid: int
    """The process at the other end; 0 where that is not known."""

    def send(self, message: S_contra) -> None:
        """Send a message after the earlier ones; nothing happens when the connection has ended."""

    def take_heard(self) -> bool:
        """Whether bytes have come since the last call."""

    def hold(self) -> None:
        """Hand over no more messages until `release`."""

    def release(self) -> None:
        """Hand over messages again."""

    def close(self) -> None:
        """End the connection when everything is sent; `on_lost` follows."""

    def abort(self) -> None:
        """End the connection at once; `on_lost` follows."""


class LinkEnd(Protocol[M_contra, S_co]):
    """The owner of a connection: gets messages `M`, and sends messages `S`."""

    def on_connected(self, link: Link[S_co]) -> None:
        """Called first, unless the connection could not be made."""

    def on_message(self, message: M_contra) -> None:
        """Called with each message in order. Raises MalformedMessage for one that must not come now."""

    def on_lost(self, reason: str) -> None:
        """Called last, and also when the connection could not be made."""


class Channel(Generic[M, S]):
    """A `Link` that is a protocol for a transport; see the module's head."""

    def __init__(
        self,
        end: LinkEnd[M, S],
        decode: Callable[[Buffer], Steps[M]],
        encode: Callable[[S], Steps[list[Buffer]]],
        scratch: memoryview,
        run: RunSliced,
        *,
        frame_bytes_max: int,
        waits_for_reader: bool = False,
    ) -> None:
        """`scratch` may be shared by all channels of a thread, as in `FrameReader`."""
        self.peer_pid = 0
        self._end = end
        self._decode = decode
        self._encode = encode
        self._run = run
        self._reader = FrameReader(scratch, frame_bytes_max, frame_bytes_min=1)
        self._waits_for_reader = waits_for_reader
        # None before the connection is made and after it is lost.
        self._transport: Transport | None = None
        # Whole frames that were not decoded, oldest first; while there are any, nothing is read.
        self._frames: deque[Buffer] = deque()
        # Messages that were not encoded, oldest first.
        self._messages: deque[S] = deque()
        # Encoded bytes that the transport did not get, oldest first.
        self._unsent: deque[memoryview] = deque()
        # Whether the steps that decode, encode, or write have begun and not ended.
        self._is_decoding = self._is_encoding = self._is_writing = False
        # Whether the transport has enough unsent bytes.
        self._is_choked = False
        # Whether the owner wants no messages; whether the transport reads nothing.
        self._is_held = self._is_paused = False
        # Whether bytes have come since `take_heard`.
        self._was_heard = False
        # Whether the connection ends when everything is sent.
        self._is_closing = False
        # Why this side ended the connection; empty if it did not.
        self._failure = ""

    # --- the owner's side

    def send(self, message: S) -> None:
        """See `Link.send`."""
        if self._transport is None or self._is_closing:
            return
        self._messages.append(message)
        if not self._is_encoding:
            self._is_encoding = True
            self._run(self._encode_all(), self._fail)

    def take_heard(self) -> bool:
        """See `Link.take_heard`."""
        was_heard, self._was_heard = self._was_heard, False
        return was_heard

    def hold(self) -> None:
        """See `Link.hold`."""
        self._is_held = True
        self._steer_reading()

    def release(self) -> None:
        """See `Link.release`; messages that wait are handed over by steps, perhaps before it returns."""
        self._is_held = False
        self._go_on_decoding()

    def close(self) -> None:
        """See `Link.close`."""
        self._is_closing = True
        self._frames.clear()
        self._close_when_sent()

    def abort(self) -> None:
        """See `Link.abort`."""
        self._is_closing = True
        self._frames.clear()
        if self._transport is not None:
            self._transport.abort()

    # --- the transport's side, as `asyncio.BufferedProtocol` has it

    def connection_made(self, transport: Transport) -> None:
        """The transport is connected."""
        self._transport = transport
        self._end.on_connected(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where to put the bytes that come."""
        return self._reader.writable()

    def buffer_updated(self, nbytes: int) -> None:
        """So many bytes have come."""
        self._was_heard = True
        try:
            frames = self._reader.received(nbytes)
        except FrameRefused as refused:
            self._fail(refused)
            return
        if frames and not self._is_closing:
            self._frames.extend(frames)
            self._go_on_decoding()

    def eof_received(self) -> None:
        """The peer sends no more: the transport closes."""

    def pause_writing(self) -> None:
        """The transport has enough unsent bytes."""
        self._is_choked = True

    def resume_writing(self) -> None:
        """The peer has read most of it."""
        self._is_choked = False
        self._go_on_writing()
        self._go_on_decoding()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        self._transport = None
        self._frames.clear()
        self._messages.clear()
        self._unsent.clear()
        self._end.on_lost(self._failure or ("its other end was closed" if exc is None else str(exc)))

    # --- steps

    def _go_on_decoding(self) -> None:
        if not self._is_decoding and self._may_decode():
            self._is_decoding = True
            self._run(self._decode_all(), self._fail)
        self._steer_reading()

    def _may_decode(self) -> bool:
        waits = self._waits_for_reader and (self._is_choked or bool(self._unsent))
        return bool(self._frames) and not self._is_held and not waits

    def _decode_all(self) -> Steps[None]:
        try:
            while self._may_decode():
                message = yield from self._decode(self._frames.popleft())
                if self._transport is None or self._is_closing:
                    break
                self._end.on_message(message)
                yield
        finally:
            self._is_decoding = False
        self._steer_reading()

    def _steer_reading(self) -> None:
        wants_pause = bool(self._frames) or self._is_held
        transport = self._transport
        if transport is None or wants_pause == self._is_paused or self._is_closing:
            return
        self._is_paused = wants_pause
        if wants_pause:
            transport.pause_reading()
        else:
            transport.resume_reading()

    def _encode_all(self) -> Steps[None]:
        try:
            while self._messages:
                parts = yield from self._encode(self._messages.popleft())
                if self._transport is None:
                    break
                self._unsent.extend(map(memoryview, framed(parts)))
                self._go_on_writing()
                if self._messages:
                    yield
        finally:
            self._is_encoding = False
        self._close_when_sent()

    def _go_on_writing(self) -> None:
        if not self._is_writing and self._unsent and not self._is_choked:
            self._is_writing = True
            self._run(self._write_all(), self._fail)

    def _write_all(self) -> Steps[None]:
        """Write until the transport has enough; a peer that reads as fast holds nobody else up."""
        unsent, written_bytes = self._unsent, 0
        try:
            while unsent and not self._is_choked and self._transport is not None:
                part = unsent[0]
                if len(part) <= PIECE_BYTES:
                    unsent.popleft()
                else:
                    unsent[0] = part[PIECE_BYTES:]
                self._transport.write(part[:PIECE_BYTES])
                written_bytes += min(len(part), PIECE_BYTES)
                if written_bytes >= PIECE_BYTES:
                    written_bytes = 0
                    yield
        finally:
            self._is_writing = False
        self._close_when_sent()
        self._go_on_decoding()

    def _close_when_sent(self) -> None:
        has_all_sent = not self._messages and not self._is_encoding and not self._unsent
        if self._is_closing and has_all_sent and self._transport is not None:
            self._transport.close()

    def _fail(self, error: Exception) -> None:
        """End a connection that cannot continue: its peer broke the protocol, or this side has a bug."""
        if not isinstance(error, MalformedMessage | FrameRefused):
            _log.error("a connection of the metadata store failed", exc_info=error)
        self._failure = self._failure or str(error)
        self.abort()
