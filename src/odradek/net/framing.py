"""Frames: four bytes of length, big-endian, then as many bytes of payload.

Cuts received bytes into whole frames. It must not read sockets or payloads.

The owner calls `writable` for a buffer, writes received bytes to it, and calls `received` with their number:

    writable()        the scratch buffer, which all readers of one thread share
    received(9)       it held 00000002 AB CD 0000 00      -> [b"AB CD"], three bytes of a length are kept
    writable()        the scratch buffer again, from the fourth byte on
    received(6)       .. .. .. 05 11 22 33 44 ..          -> [], a frame of 5 has begun: 4 are kept
    writable()        the scratch buffer, from its beginning
    received(1)       55                                  -> [b"11 22 33 44 55"]

Every byte is copied once, from the scratch buffer to a buffer that becomes the frame. So frames share no
memory, a reference to a frame keeps nothing else alive, and an idle connection holds no buffer.

A stated length is not trusted, and no memory is reserved for it: an incomplete frame occupies the bytes that
the peer has sent plus an eighth, whatever length it states.
"""

import struct
from collections.abc import Sequence
from typing import Final, TypeAlias

from odradek.base.buffers import Buffer
from odradek.base.errors import OdradekError
from odradek.base.stored_bytes import StoredBytes

Part: TypeAlias = Buffer | StoredBytes

LENGTH_BYTES: Final = 4
SCRATCH_BYTES: Final = 256 * 1024
JOINED_BYTES_MAX: Final = 4096

_LENGTH: Final = struct.Struct(">i")

# The first bytes of other protocols, whose clients connect to a broker by mistake.
_OTHER_PROTOCOLS: Final = (
    (b"GET ", "an HTTP request"),
    (b"POST", "an HTTP request"),
    (b"HEAD", "an HTTP request"),
    (b"PUT ", "an HTTP request"),
    (b"OPTI", "an HTTP request"),
    (b"PRI ", "an HTTP/2 request"),
    (b"SSH-", "an SSH client"),
    (b"\x16\x03", "a TLS handshake, but this listener speaks plain text"),
)


class FrameRefused(OdradekError):
    """An invalid frame length; the rest of the connection cannot be read."""


class FrameReader:
    """Cuts what one peer sends into frames of `frame_bytes_min` to `frame_bytes_max` bytes."""

    __slots__ = ("_frame", "_frame_bytes", "_frame_bytes_max", "_frame_bytes_min", "_head", "_scratch")

    def __init__(self, scratch: memoryview, frame_bytes_max: int, *, frame_bytes_min: int = 0) -> None:
        """`scratch` may be shared with other readers: each uses it only between `writable` and `received`.

        `frame_bytes_min` also limits how many frames one read can contain.
        """
        assert len(scratch) > LENGTH_BYTES, "the scratch buffer holds a length and some of a frame"
        self._scratch = scratch
        self._frame_bytes_min = frame_bytes_min
        self._frame_bytes_max = frame_bytes_max
        # The first bytes of a length that was cut short; fewer than LENGTH_BYTES, and empty while in a frame.
        self._head = b""
        # The received part of an incomplete frame, and the frame's size; None between frames.
        self._frame: bytearray | None = None
        self._frame_bytes = 0

    def writable(self) -> memoryview:
        """Where to put the next bytes: never empty, and valid until `received`."""
        head = self._head
        if head:
            self._scratch[: len(head)] = head
            return self._scratch[len(head) :]
        return self._scratch

    def received(self, size_bytes: int) -> list[Buffer]:
        """Process `size_bytes` more, written to `writable`; returns the frames that they complete, in order.

        The caller owns the list. Raises FrameRefused for a length out of bounds. Frames before it in the same
        bytes are lost, because the peer does not follow the protocol.
        """
        frame = self._frame
        if frame is None:
            if self._head:
                end = len(self._head) + size_bytes
                self._head = b""
                return self._cut([], 0, end)
            if size_bytes > LENGTH_BYTES:  # usually it is one frame
                (frame_bytes,) = _LENGTH.unpack_from(self._scratch)
                is_whole: bool = frame_bytes == size_bytes - LENGTH_BYTES
                if is_whole and self._frame_bytes_min <= frame_bytes <= self._frame_bytes_max:
                    return [bytes(self._scratch[LENGTH_BYTES:size_bytes])]
            return self._cut([], 0, size_bytes)
        missing_bytes = self._frame_bytes - len(frame)
        if size_bytes < missing_bytes:
            frame += self._scratch[:size_bytes]
            return []
        frame += self._scratch[:missing_bytes]
        self._frame = None
        return self._cut([frame], missing_bytes, size_bytes)

    def _cut(self, frames: list[Buffer], position: int, end: int) -> list[Buffer]:
        """Append the frames between two bytes of the scratch buffer; keep what begins another one."""
        scratch = self._scratch
        least_bytes, most_bytes = self._frame_bytes_min, self._frame_bytes_max
        while end - position >= LENGTH_BYTES:
            (frame_bytes,) = _LENGTH.unpack_from(scratch, position)
            if not least_bytes <= frame_bytes <= most_bytes:
                raise FrameRefused(self._refusal(frame_bytes, bytes(scratch[position : position + 4])))
            begin = position + LENGTH_BYTES
            position = begin + frame_bytes
            if position > end:
                self._frame = bytearray(scratch[begin:end])
                self._frame_bytes = frame_bytes
                return frames
            frames.append(bytes(scratch[begin:position]))
        if position < end:
            self._head = bytes(scratch[position:end])
        return frames

    def _refusal(self, frame_bytes: int, first: bytes) -> str:
        for beginning, name in _OTHER_PROTOCOLS:
            if first.startswith(beginning):
                return f"this is {name}, not Kafka's protocol"
        if frame_bytes < self._frame_bytes_min:
            return f"a frame of {frame_bytes} bytes; the least is {self._frame_bytes_min}"
        return f"a frame of {frame_bytes} bytes; the most is {self._frame_bytes_max}"


def framed(parts: Sequence[Buffer]) -> list[Buffer]:
    """A frame whose payload is `parts`, at least one, for one gathering write.

    The length is joined to the first part if that is small, since copying it costs less than another piece.
    No other part is copied.
    """
    return framed_as(sum(map(len, parts)), parts)


def framed_as(payload_bytes: int, parts: Sequence[Buffer]) -> list[Buffer]:
    """The beginning of a frame of `payload_bytes`: its length and its first parts, as `framed` has them."""
    length = _LENGTH.pack(payload_bytes)
    first = parts[0]
    if len(first) > JOINED_BYTES_MAX:
        return [length, *parts]
    return [length + first, *parts[1:]]


def framed_small(payload: Buffer) -> bytes | None:
    """A frame of one piece, the usual small answer; None where that would copy too much."""
    size_bytes = len(payload)
    return None if size_bytes > JOINED_BYTES_MAX else _LENGTH.pack(size_bytes) + payload
