"""Frames: four bytes of length, big-endian, then as many bytes of payload.

Law: it is told where bytes were put and hands out whole frames; it reads no socket and no payload.

The owner asks where to put the next bytes, puts some there, and says how many:

    writable()        the scratch buffer, which all readers of one thread share
    received(9)       it held 00000002 AB CD 0000 00      -> [b"AB CD"], three bytes of a length are kept
    writable()        the scratch buffer again, from the fourth byte on
    received(6)       .. .. .. 05 11 22 33 44 ..          -> [], a frame of 5 bytes has begun
    writable()        the one byte that this frame still lacks, in a buffer of its own
    received(1)                                           -> [b"11 22 33 44 55"]

A frame that lies whole in the scratch buffer is copied out of it, once; any other is received in place,
into a buffer that becomes the frame. So no frame shares memory with another, whoever keeps one keeps nothing
else alive, and an idle connection holds no buffer at all.

A length is a claim: a frame's own buffer starts at FRAME_RESERVED_BYTES at most and doubles as bytes really
come, so that a peer occupies no more than twice what it has sent.
"""

import struct
from collections.abc import Sequence
from typing import Final, TypeAlias

from odradek.base.errors import OdradekError

Buffer: TypeAlias = bytes | bytearray | memoryview

LENGTH_BYTES: Final = 4
SCRATCH_BYTES: Final = 256 * 1024
FRAME_RESERVED_BYTES: Final = 256 * 1024
JOINED_BYTES_MAX: Final = 4096

_LENGTH: Final = struct.Struct(">i")

# What people point at a broker by mistake, by the first bytes that it sends.
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
    """A length that no frame may have; whatever follows on this connection means nothing."""


class FrameReader:
    """Cuts what one peer sends into frames of at most `frame_bytes_max` bytes."""

    __slots__ = ("_filled_bytes", "_frame", "_frame_bytes", "_frame_bytes_max", "_head", "_scratch")

    def __init__(self, scratch: memoryview, frame_bytes_max: int) -> None:
        """`scratch` may be shared with other readers: each uses it only between `writable` and `received`."""
        assert len(scratch) > LENGTH_BYTES, "the scratch buffer holds a length and some of a frame"
        self._scratch = scratch
        self._frame_bytes_max = frame_bytes_max
        # The first bytes of a length that was cut short; fewer than LENGTH_BYTES, and empty while in a frame.
        self._head = b""
        # The buffer of the frame that is being received, at most as large as the frame; None between frames.
        self._frame: bytearray | None = None
        # How large that frame is, and how much of it is here.
        self._frame_bytes = 0
        self._filled_bytes = 0

    @property
    def is_amid_frame(self) -> bool:
        """Whether the peer began a frame that it has not ended."""
        return self._frame is not None or bool(self._head)

    def writable(self) -> memoryview:
        """Where to put the next bytes: never empty, and valid until `received`."""
        frame = self._frame
        if frame is not None:
            if self._filled_bytes == len(frame):
                frame.extend(bytes(min(len(frame), self._frame_bytes - len(frame))))
            return memoryview(frame)[self._filled_bytes :]
        head = self._head
        if head:
            self._scratch[: len(head)] = head
            return self._scratch[len(head) :]
        return self._scratch

    def received(self, size_bytes: int) -> Sequence[Buffer]:
        """Take `size_bytes` more, put where `writable` said; the frames that they complete, in order.

        Raises FrameRefused for a negative length or one above `frame_bytes_max`. The frames before it in the
        same bytes are lost: the peer does not follow the protocol.
        """
        if self._frame is not None:
            self._filled_bytes += size_bytes
            if self._filled_bytes < self._frame_bytes:
                return ()
            frame, self._frame = self._frame, None
            return (frame,)
        end = len(self._head) + size_bytes
        self._head = b""
        return self._cut(end)

    def _cut(self, end: int) -> Sequence[Buffer]:
        """The frames in the first `end` bytes of the scratch buffer; keeps what begins another one."""
        scratch = self._scratch
        frames: list[Buffer] = []
        position = 0
        while end - position >= LENGTH_BYTES:
            (frame_bytes,) = _LENGTH.unpack_from(scratch, position)
            if not 0 <= frame_bytes <= self._frame_bytes_max:
                raise FrameRefused(self._refusal(frame_bytes, bytes(scratch[position : position + 4])))
            begin = position + LENGTH_BYTES
            position = begin + frame_bytes
            if position > end:
                self._begin_frame(frame_bytes, scratch[begin:end])
                return frames
            frames.append(bytes(scratch[begin:position]))
        self._head = bytes(scratch[position:end])
        return frames

    def _begin_frame(self, frame_bytes: int, beginning: memoryview) -> None:
        here = len(beginning)
        frame = bytearray(min(frame_bytes, max(here, FRAME_RESERVED_BYTES)))
        frame[:here] = beginning
        self._frame = frame
        self._frame_bytes = frame_bytes
        self._filled_bytes = here

    def _refusal(self, frame_bytes: int, first: bytes) -> str:
        for beginning, name in _OTHER_PROTOCOLS:
            if first.startswith(beginning):
                return f"this is {name}, not Kafka's protocol"
        if frame_bytes < 0:
            return f"a frame of {frame_bytes} bytes"
        return f"a frame of {frame_bytes} bytes; the most is {self._frame_bytes_max}"


def framed(parts: Sequence[Buffer]) -> list[Buffer]:
    """A frame whose payload is `parts`, at least one, for one gathering write.

    The length joins the first part where that is small, since a piece more costs more than its copy; no other
    part is copied.
    """
    length = _LENGTH.pack(sum(map(len, parts)))
    first = parts[0]
    if len(first) > JOINED_BYTES_MAX:
        return [length, *parts]
    return [length + first, *parts[1:]]
