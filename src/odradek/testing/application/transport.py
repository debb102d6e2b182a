"""A connection of the application to a broker: asyncio's transport over a simulated stream.

    arrived bytes   wait here until the protocol reads, or the next turn of the loop
    written bytes   are on their way at once; while too many are, the protocol is to pause

The protocol is called in turns of the loop only, in asyncio's order: connection_made, data_received ...,
eof_received, connection_lost.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections import deque
from typing import TYPE_CHECKING, Final, Protocol

from odradek.base.ids import BrokerId
from odradek.testing.sim.listener import CLIENTS
from odradek.testing.sim.streams import Network, Stream

if TYPE_CHECKING:
    from odradek.testing.application.loop import SimLoop

ARRIVED_BYTES_MAX: Final = 256 << 10
"""As much as arrives without being read."""
UNSENT_BYTES_HIGH: Final = 64 << 10
"""Beyond this the protocol is to pause writing."""


class Observer(Protocol):
    """Sees what passes through one connection."""

    def on_sent(self, data: bytes) -> None:
        """The application has written bytes."""

    def on_arrived(self, data: bytes) -> None:
        """Bytes of the broker have arrived."""

    def on_end(self) -> None:
        """Nothing arrives any more. Called once or several times."""


class SimTransport(asyncio.Transport):
    """One connection; also the `Opener` of its stream."""

    def __init__(
        self,
        loop: SimLoop,
        network: Network,
        protocol: asyncio.BaseProtocol,
        ways: tuple[str, BrokerId],
        addresses: tuple[tuple[str, int], tuple[str, int]],
        observer: Observer,
    ) -> None:
        """`ways` are the application's host and the broker; `addresses` are its own and the broker's."""
        super().__init__({"sockname": addresses[0], "peername": addresses[1]})
        self.stream = Stream(network, self, addresses[0], ways, CLIENTS)
        self.opened: asyncio.Future[None] = loop.create_future()
        """Ends when the broker has accepted or refused the connection."""
        self.is_alive = True
        """Whether its process lives."""
        self._loop = loop
        self._protocol = protocol
        self._observer = observer
        self._peer = addresses[1]
        # Not handed to the protocol yet; None stands for the end.
        self._arrived: deque[bytes | None] = deque()
        self._arrived_bytes = 0
        self._unsent_bytes = 0
        self._unsent_bytes_high = UNSENT_BYTES_HIGH
        self._unsent_bytes_low = UNSENT_BYTES_HIGH // 4
        self._is_paused = False
        self._has_paused_protocol = False
        # No more is read or written; connection_lost is called, or will be.
        self._is_closing = False

    # --- the stream's side

    @property
    def has_room(self) -> bool:
        """See `Opener.has_room`; the machine holds some of what its process does not read."""
        return self._arrived_bytes < ARRIVED_BYTES_MAX

    def on_open(self) -> None:
        """See `Opener.on_open`."""
        if not self.opened.done():
            self._loop.call_soon(self._protocol.connection_made, self)
            self.opened.set_result(None)

    def on_bytes(self, data: bytes) -> None:
        """See `Opener.on_bytes`."""
        self._observer.on_arrived(data)
        self._arrived_bytes += len(data)
        self._put(data)

    def on_taken(self, count: int) -> None:
        """See `Opener.on_taken`."""
        self._unsent_bytes = max(0, self._unsent_bytes - count)
        if self._has_paused_protocol and self._unsent_bytes <= self._unsent_bytes_low:
            self._loop.call_soon(self._resume_protocol)

    def on_end(self, reason: str) -> None:
        """See `Opener.on_end`."""
        self._observer.on_end()
        if not self.opened.done():
            number = errno.ECONNREFUSED
            self.opened.set_exception(ConnectionRefusedError(number, f"{os.strerror(number)}: {self._peer}"))
        elif self.stream.was_reset:
            number = errno.ECONNRESET
            self._lose(ConnectionResetError(number, f"{os.strerror(number)}: {reason}"))
        else:
            self._put(None)

    # --- the loop's side

    def _put(self, data: bytes | None) -> None:
        self._arrived.append(data)
        if not self._is_paused:
            self._loop.call_soon(self._deliver)

    def _deliver(self) -> None:
        """Hand what has arrived to the protocol, until it pauses."""
        while self._arrived and not (self._is_paused or self._is_closing):
            data = self._arrived.popleft()
            if data is None:
                if not self._end_of_file():
                    self.close()
                continue
            self._arrived_bytes -= len(data)
            if isinstance(self._protocol, asyncio.BufferedProtocol):
                self._fill(self._protocol, data)
            elif isinstance(self._protocol, asyncio.Protocol):
                self._protocol.data_received(data)

    def _end_of_file(self) -> bool:
        """Tell the protocol; returns whether it wants to keep the connection half open."""
        protocol = self._protocol
        return isinstance(protocol, asyncio.Protocol | asyncio.BufferedProtocol) and bool(
            protocol.eof_received()
        )

    @staticmethod
    def _fill(protocol: asyncio.BufferedProtocol, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            place = memoryview(protocol.get_buffer(len(rest)))
            size_bytes = min(len(place), len(rest))
            place[:size_bytes] = rest[:size_bytes]
            rest = rest[size_bytes:]
            protocol.buffer_updated(size_bytes)

    def _resume_protocol(self) -> None:
        if self._has_paused_protocol and not self._is_closing:
            self._has_paused_protocol = False
            self._protocol.resume_writing()

    def _lose(self, error: Exception | None) -> None:
        if not self._is_closing:
            self._is_closing = True
            self._loop.call_soon(self._protocol.connection_lost, error)

    # --- asyncio's side

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """See asyncio."""
        written = bytes(data)
        if self._is_closing or not self.stream.is_open or not written:
            return
        self._observer.on_sent(written)
        self.stream.send(written)
        self._unsent_bytes += len(written)
        if self._unsent_bytes > self._unsent_bytes_high and not self._has_paused_protocol:
            self._has_paused_protocol = True
            self._protocol.pause_writing()

    def can_write_eof(self) -> bool:
        """See asyncio: no."""
        return False

    def close(self) -> None:
        """See asyncio; what was written still arrives."""
        self._observer.on_end()
        self.stream.close()
        self._lose(None)

    def abort(self) -> None:
        """See asyncio."""
        self._observer.on_end()
        self.stream.reset()
        self._lose(None)

    def is_closing(self) -> bool:
        """See asyncio."""
        return self._is_closing

    def die(self) -> None:
        """The process has ended: what was written still arrives, and nothing is noticed here."""
        self.is_alive = False
        self._observer.on_end()
        self.stream.close()

    def end(self) -> None:
        """Let the protocol of a process that has ended learn that the connection is closed."""
        if not self.opened.done():
            self.opened.cancel()
        elif not self.opened.cancelled():
            self._lose(None)

    def is_reading(self) -> bool:
        """See asyncio."""
        return not (self._is_paused or self._is_closing)

    def pause_reading(self) -> None:
        """See asyncio."""
        self._is_paused = True

    def resume_reading(self) -> None:
        """See asyncio."""
        if self._is_paused:
            self._is_paused = False
            self._loop.call_soon(self._deliver)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """See asyncio."""
        if high is None:
            high = UNSENT_BYTES_HIGH if low is None else 4 * low
        self._unsent_bytes_high, self._unsent_bytes_low = high, high // 4 if low is None else low

    def get_write_buffer_limits(self) -> tuple[int, int]:
        """See asyncio: low, high."""
        return self._unsent_bytes_low, self._unsent_bytes_high

    def get_write_buffer_size(self) -> int:
        """See asyncio."""
        return self._unsent_bytes

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """See asyncio."""
        self._protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        """See asyncio."""
        return self._protocol
