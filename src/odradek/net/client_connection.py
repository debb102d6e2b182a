"""A connection to a broker on a running loop: many requests in flight, answers told apart by correlation id.

Law: it agrees on versions, sends requests and brings back answers; what to ask, and whether to ask again, is
its user's. A request that timed out ends the connection: its answer would come between later ones.

    send A (1), send B (2)      in flight: 1, 2
    answer 1                    A's caller has it
    the broker closes           B's caller gets ConnectionLost; whether B was done, nobody knows
"""

import asyncio
import struct
from typing import Final, Self, TypeVar, cast

from odradek.base.errors import MalformedRequest, OdradekError
from odradek.net.framing import Buffer, FrameReader, FrameRefused, framed
from odradek.wire.headers import RequestHeader, decode_response_header, encode_request_header
from odradek.wire.message import Message
from odradek.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from odradek.wire.versions import VERSION_LIMIT, Versions

SCRATCH_BYTES: Final = 64 * 1024
FRAME_BYTES_MAX: Final = 1 << 30
IN_FLIGHT_MAX: Final = 1_000
CORRELATION_ID_MAX: Final = 0x7FFFFFFF

_CORRELATION: Final = struct.Struct(">i")

R = TypeVar("R", bound=Message)


class ConnectionLost(OdradekError):
    """The broker could not be reached, closed the connection, or does not follow the protocol."""


class RequestTimedOut(OdradekError):
    """No answer came in time; the request may have been carried out."""


class ClientConnection(asyncio.BufferedProtocol):
    """One connection, made by `open`; used on one loop."""

    __slots__ = (
        "_client_id",
        "_in_flight",
        "_last_correlation_id",
        "_reader",
        "_served",
        "_transport",
        "address",
    )

    def __init__(self, address: str, client_id: str) -> None:
        self.address = address
        """host:port, for messages."""
        self._client_id = client_id
        self._reader = FrameReader(memoryview(bytearray(SCRATCH_BYTES)), FRAME_BYTES_MAX)
        # None before the connection is made and after it is lost.
        self._transport: asyncio.Transport | None = None
        # Who waits for which answer; in the order in which the requests were sent.
        self._in_flight: dict[int, asyncio.Future[Buffer]] = {}
        self._last_correlation_id = 0
        # The versions that the broker serves, by API key; empty until they are asked for.
        self._served: dict[int, Versions] = {}

    @classmethod
    async def open(
        cls, host: str, port: int, *, client_id: str = "odradek", timeout_ms: int = 10_000
    ) -> Self:
        """Connect and learn which versions the broker serves. Raises ConnectionLost, RequestTimedOut."""
        address = f"{host}:{port}"
        loop = asyncio.get_running_loop()
        connection = cls(address, client_id)
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await loop.create_connection(lambda: connection, host, port)
        except TimeoutError:
            raise RequestTimedOut(f"{address} took no connection within {timeout_ms} ms") from None
        except OSError as error:
            raise ConnectionLost(f"cannot connect to {address}: {error}") from error
        try:
            answer = await connection.call(
                ApiVersionsRequest(), ApiVersionsResponse, 0, timeout_ms=timeout_ms
            )
        except BaseException:  # also of a caller who was cancelled meanwhile
            connection.close()
            raise
        connection._served = {
            api.api_key: Versions(api.min_version, api.max_version) for api in answer.api_keys
        }
        return connection

    @property
    def is_open(self) -> bool:
        """Whether requests can be sent."""
        return self._transport is not None and not self._transport.is_closing()

    @property
    def in_flight(self) -> int:
        """How many requests have no answer yet."""
        return len(self._in_flight)

    def version_of(self, request: type[Message], highest: int = VERSION_LIMIT) -> int:
        """The newest version of an API that both sides know, at most `highest`; else ConnectionLost."""
        served = self._served.get(request.API_KEY, Versions(0, -1))
        version = min(served.highest, request.VERSIONS.highest, highest)
        if version < max(served.lowest, request.VERSIONS.lowest):
            raise ConnectionLost(f"{self.address} does not serve {request.__name__} in a version known here")
        return version

    async def ask(self, request: Message, response: type[R], *, timeout_ms: int = 30_000) -> R:
        """`call` in the newest version that both sides know."""
        return await self.call(request, response, self.version_of(type(request)), timeout_ms=timeout_ms)

    async def call(self, request: Message, response: type[R], version: int, *, timeout_ms: int = 30_000) -> R:
        """Send a request and return its answer; byte fields are views into the answer's frame.

        Raises ConnectionLost, RequestTimedOut.
        """
        answer = self.send(request, version)
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                frame = await answer
        except TimeoutError:
            name = type(request).__name__
            self._end(f"{name} was not answered within {timeout_ms} ms")
            raise RequestTimedOut(f"{self.address}: {name} was not answered within {timeout_ms} ms") from None
        try:
            _, position = decode_response_header(frame, request.API_KEY, version)
            return response.decode(memoryview(frame), version, position)
        except MalformedRequest as error:
            self._end(str(error))
            raise ConnectionLost(f"{self.address} answered what cannot be read: {error}") from error

    def send(self, request: Message, version: int) -> "asyncio.Future[Buffer]":
        """Send a request, now; the future gets the answer's frame, or ConnectionLost."""
        if self._transport is None or self._transport.is_closing():
            raise ConnectionLost(f"the connection to {self.address} is closed")
        assert len(self._in_flight) < IN_FLIGHT_MAX, "somebody sends without waiting for any answer"
        self._last_correlation_id = (self._last_correlation_id + 1) & CORRELATION_ID_MAX
        answer: asyncio.Future[Buffer] = asyncio.get_running_loop().create_future()
        self._in_flight[self._last_correlation_id] = answer
        header = RequestHeader(request.API_KEY, version, self._last_correlation_id, self._client_id)
        self._transport.writelines(framed(request.encode_parts(version, encode_request_header(header))))
        return answer

    def close(self) -> None:
        """Close; requests in flight fail with ConnectionLost."""
        self._end("it was closed here")

    # --- asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.BaseProtocol.connection_made`."""
        self._transport = cast(asyncio.Transport, transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        """See `asyncio.BufferedProtocol.get_buffer`."""
        return self._reader.writable()

    def buffer_updated(self, nbytes: int) -> None:
        """See `asyncio.BufferedProtocol.buffer_updated`."""
        try:
            frames = self._reader.received(nbytes)
        except FrameRefused as refused:
            self._end(str(refused))
            return
        for frame in frames:
            self._take(frame)

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.BaseProtocol.connection_lost`."""
        self._transport = None
        self._fail_all("the broker closed it" if exc is None else str(exc))

    def _take(self, frame: Buffer) -> None:
        correlation_id = _CORRELATION.unpack_from(frame)[0] if len(frame) >= _CORRELATION.size else None
        answer = self._in_flight.pop(correlation_id, None) if correlation_id is not None else None
        if answer is None:
            self._end(f"an answer to no request of ours: correlation id {correlation_id}")
        elif not answer.done():  # else its caller was cancelled
            answer.set_result(frame)

    def _end(self, reason: str) -> None:
        if self._transport is not None:
            self._transport.abort()
        self._fail_all(reason)

    def _fail_all(self, reason: str) -> None:
        in_flight, self._in_flight = self._in_flight, {}
        for answer in in_flight.values():
            if not answer.done():
                answer.set_exception(ConnectionLost(f"the connection to {self.address} is lost: {reason}"))
