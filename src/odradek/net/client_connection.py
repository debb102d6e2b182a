"""A connection to a broker on a running loop: the shell of a `RequestPipeline`.

It moves bytes and wakes callers; the pipeline decodes the bytes. The caller decides what to request and
whether to retry.
"""

import asyncio
from collections.abc import Iterable
from typing import Self, TypeVar, cast

from odradek.base.clock import SystemClock
from odradek.base.error_codes import ErrorCode
from odradek.net.request_pipeline import (
    Answer,
    ConnectionFailed,
    Outcome,
    RequestPipeline,
    decode_answer,
)
from odradek.wire.message import Message
from odradek.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from odradek.wire.versions import VERSION_LIMIT

R = TypeVar("R", bound=Message)


class ClientConnection(asyncio.BufferedProtocol):
    """One connection, made by `open`; used on one loop."""

    __slots__ = ("_answers", "_expiry", "_pipeline", "_transport", "address")

    def __init__(self, address: str, client_id: str) -> None:
        self.address = address
        """host:port, for messages."""
        self._pipeline = RequestPipeline(address, SystemClock(), client_id=client_id)
        # None before the connection is made and after it is lost.
        self._transport: asyncio.Transport | None = None
        # The futures that wait for answers, by correlation id.
        self._answers: dict[int, asyncio.Future[Answer]] = {}
        # Armed for the pipeline's next deadline.
        self._expiry: asyncio.TimerHandle | None = None

    @classmethod
    async def open(
        cls, host: str, port: int, *, client_id: str = "odradek", timeout_ms: int = 10_000
    ) -> Self:
        """Connect and learn which versions the broker serves. Raises ConnectionFailed."""
        address = f"{host}:{port}"
        loop = asyncio.get_running_loop()
        connection = cls(address, client_id)
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await loop.create_connection(lambda: connection, host, port)
        except TimeoutError:
            raise ConnectionFailed(
                f"{address} took no connection within {timeout_ms} ms", ErrorCode.REQUEST_TIMED_OUT
            ) from None
        except OSError as error:
            raise ConnectionFailed(f"cannot connect to {address}: {error}") from error
        try:
            answer = await connection.call(
                ApiVersionsRequest(), ApiVersionsResponse, 0, timeout_ms=timeout_ms
            )
        except BaseException:  # also if the caller was cancelled meanwhile
            connection.close()
            raise
        connection._pipeline.learn_versions(answer)
        return connection

    @property
    def is_open(self) -> bool:
        """Whether requests can be sent."""
        return self._transport is not None and self._pipeline.is_open

    @property
    def in_flight(self) -> int:
        """How many requests have no answer yet."""
        return self._pipeline.in_flight

    def version_of(self, request: type[Message], highest: int = VERSION_LIMIT) -> int:
        """See `RequestPipeline.version_of`."""
        return self._pipeline.version_of(request, highest)

    async def ask(self, request: Message, response: type[R], *, timeout_ms: int = 30_000) -> R:
        """`call` in the newest version that both sides know."""
        return await self.call(request, response, self.version_of(type(request)), timeout_ms=timeout_ms)

    async def call(self, request: Message, response: type[R], version: int, *, timeout_ms: int = 30_000) -> R:
        """Send a request and return its answer; byte fields are views into the answer's frame.

        Raises ConnectionFailed.
        """
        answer = await self.send(request, version, timeout_ms=timeout_ms)
        try:
            return decode_answer(self.address, answer, response)
        except ConnectionFailed as failed:
            self._end(failed.message)
            raise

    def send(self, request: Message, version: int, *, timeout_ms: int = 30_000) -> "asyncio.Future[Answer]":
        """Send a request now; the future gets the answer or ConnectionFailed, which is raised if closed."""
        if self._transport is None:
            self._pipeline.lost("it was never made, or has ended")
        sent, parts = self._pipeline.send(request, version, timeout_ms)
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._answers[sent.correlation_id] = answer
        assert self._transport is not None, "a connection that is lost takes no request"
        self._transport.writelines(parts)
        self._arm()
        return answer

    def close(self) -> None:
        """Close; requests in flight fail with ConnectionFailed."""
        self._end("it was closed here")

    # --- asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.BaseProtocol.connection_made`."""
        self._transport = cast(asyncio.Transport, transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        """See `asyncio.BufferedProtocol.get_buffer`."""
        return self._pipeline.writable()

    def buffer_updated(self, nbytes: int) -> None:
        """See `asyncio.BufferedProtocol.buffer_updated`."""
        self._deliver(self._pipeline.received(nbytes))

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.BaseProtocol.connection_lost`."""
        self._transport = None
        self._end("the broker closed it" if exc is None else str(exc))

    def _arm(self) -> None:
        """Set the timer to the pipeline's next deadline; no timer when nothing is in flight."""
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None
        deadline_ms = self._pipeline.next_deadline_ms()
        if deadline_ms is not None:
            delay_ms = max(0, deadline_ms - SystemClock().monotonic_ms())
            self._expiry = asyncio.get_running_loop().call_later(delay_ms / 1000, self._expire)

    def _expire(self) -> None:
        self._expiry = None
        self._deliver(self._pipeline.expire())

    def _end(self, reason: str) -> None:
        self._deliver(self._pipeline.lost(reason))

    def _deliver(self, outcomes: Iterable[Outcome]) -> None:
        for outcome in outcomes:
            answer = self._answers.pop(outcome.request.correlation_id)
            if answer.done():
                continue  # its caller was cancelled
            if isinstance(outcome, Answer):
                answer.set_result(outcome)
            else:
                answer.set_exception(outcome.error)
        if not self._pipeline.is_open and self._transport is not None:
            self._transport.abort()
        self._arm()
