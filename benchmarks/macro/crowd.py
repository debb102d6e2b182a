"""Many connections on one thread, each with one request in flight: a load that costs its driver little.

exchange({0: a, 1: b}, answered)    sends both; each answer goes to answered(index, answer), which
                                    returns the connection's next request, or None to end
"""

import select
import socket
import struct
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self, TypeAlias

from benchmarks.macro.fetching import connect
from odradek.wire.headers import RequestHeader, encode_request_header
from odradek.wire.message import Message

CLIENT_ID = "bench"
RECEIVED_BYTES_MAX = 1 << 18
TIMEOUT_S = 60.0
LENGTH = struct.Struct(">i")
CORRELATION_ID_AT = 8  # behind length, API key and version

Frame: TypeAlias = bytes | bytearray
Answered: TypeAlias = Callable[[int, bytes], Frame | None]


class Crowd:
    """Connections to one loopback port, by number; all of them closed at the end of the block."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._sockets: list[socket.socket] = []
        self._by_descriptor: dict[int, int] = {}
        # The received part of an incomplete answer; most connections have none.
        self._begun: dict[int, bytes] = {}
        self._epoll = select.epoll()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in self._sockets:
            each.close()
        self._epoll.close()

    def __len__(self) -> int:
        return len(self._sockets)

    def connect(self) -> int:
        """Open another connection; returns its number."""
        index = len(self._sockets)
        connection = connect(self._port)
        connection.settimeout(None)  # read only when there is something, so it never blocks for long
        self._sockets.append(connection)
        self._by_descriptor[connection.fileno()] = index
        self._epoll.register(connection, select.EPOLLIN)
        return index

    def ask(self, index: int, frame: Frame) -> bytes:
        """One request on one connection, and its answer without the length."""
        got: list[bytes] = []

        def answered(_: int, answer: bytes) -> None:
            got.append(answer)

        self.exchange({index: frame}, answered)
        return got[0]

    def exchange(
        self, first: Mapping[int, Frame], answered: Answered, *, timeout_s: float = TIMEOUT_S
    ) -> None:
        """Send the requests in their order, then continue until no connection has one in flight.

        Raises AssertionError when the broker closes one, or is silent for `timeout_s`.
        """
        sockets, by_descriptor, poll = self._sockets, self._by_descriptor, self._epoll.poll
        for index, frame in first.items():
            sockets[index].sendall(frame)
        under_way = len(first)
        while under_way:
            events = poll(timeout_s)
            assert events, f"{under_way} requests are not answered after {timeout_s} s"
            for descriptor, _ in events:
                index = by_descriptor[descriptor]
                connection = sockets[index]
                answer = self._answer(index, connection.recv(RECEIVED_BYTES_MAX))
                if answer is None:
                    continue
                following = answered(index, answer)
                if following is None:
                    under_way -= 1
                else:
                    connection.sendall(following)

    def _answer(self, index: int, received: bytes) -> bytes | None:
        assert received, f"the broker closed connection {index}"
        if self._begun:
            received = self._begun.pop(index, b"") + received
        if len(received) >= LENGTH.size:
            (size_bytes,) = LENGTH.unpack_from(received)
            if len(received) == LENGTH.size + size_bytes:
                return received[LENGTH.size :]
        self._begun[index] = received
        return None


def frame_of(request: Message, version: int, correlation_id: int = 0) -> bytearray:
    """A request's bytes with their length in front; its correlation id stands at CORRELATION_ID_AT."""
    header = RequestHeader(request.API_KEY, version, correlation_id, CLIENT_ID)
    frame = encode_request_header(header) + request.encode(version)
    return bytearray(LENGTH.pack(len(frame)) + frame)
