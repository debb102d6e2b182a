"""A connection to a broker on a running loop: the shell of a `RequestPipeline`.

It moves bytes and calls back; the pipeline encodes and decodes them. The caller decides what to request, in
which version, and whether to retry.

    ClientConnection(...)     begins to connect
    send(A, ...)              A's bytes are kept until it is connected; A's time runs
    connected                 A's bytes are written
    send(B, ...)              written at once
    bytes arrive              A's callback is called with the answer, in an event of its own
    B's deadline              B's callback gets the failure, and the connection is closed; so do all that wait
    `setup_ms` have passed    if it is not connected yet, it is closed: all that wait get their failures

Invariant: each request's callback is called once, never from within `send`. If the connection was never made,
each failure is `NotConnected`: the broker has got nothing of the request.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import Any, TypeAlias, cast

from odradek.base.buffers import Buffer
from odradek.net.request_pipeline import Answer, Failure, NotConnected, Outcome, RequestPipeline
from odradek.timer import TimedCall, Timer
from odradek.wire.message import Message

Connect: TypeAlias = Callable[[Callable[[], asyncio.BufferedProtocol]], Coroutine[Any, Any, object]]
"""Connects a protocol, as `loop.create_unix_connection` does for a given path. Raises OSError."""
OnOutcome: TypeAlias = Callable[[Outcome], None]


class ClientConnection(asyncio.BufferedProtocol):
    """One connection; used on the thread of its loop."""

    __slots__ = (
        "_connecting",
        "_deadline",
        "_loop",
        "_pipeline",
        "_setup",
        "_timer",
        "_transport",
        "_unsent",
        "_waiting",
        "_was_connected",
    )

    def __init__(
        self,
        address: str,
        connect: Connect,
        loop: asyncio.AbstractEventLoop,
        timer: Timer,
        *,
        client_id: str,
        setup_ms: int | None = None,
    ) -> None:
        """Begin to connect. `address` names the broker in messages; deadlines are tasks of `timer`.

        `setup_ms` is how long connecting may take; None: as long as the first deadline of a request allows.
        """
        self._loop = loop
        self._timer = timer
        self._pipeline = RequestPipeline(address, timer.clock, client_id=client_id)
        # None before the connection is made and after it is lost.
        self._transport: asyncio.Transport | None = None
        # Whether it was made, so that the broker may have got what was sent.
        self._was_connected = False
        # Written before the connection was made; empty afterwards.
        self._unsent: list[Buffer] = []
        # The callbacks of the requests that wait for outcomes, by correlation id.
        self._waiting: dict[int, OnOutcome] = {}
        # The task for the pipeline's next deadline. It may come too early, since an answer does not cancel
        # it, and is None only while nothing is in flight.
        self._deadline: TimedCall | None = None
        # The task that ends it if it is not made in time; None before and afterwards, or without a limit.
        self._setup: TimedCall | None = None
        if setup_ms is not None:
            end = partial(self._end, f"it was not made within {setup_ms} ms")
            self._setup = TimedCall(timer.clock.monotonic_ms() + setup_ms, end)
            timer.add(self._setup)
        self._connecting = loop.create_task(self._connect(connect))

    @property
    def is_open(self) -> bool:
        """Whether requests can be sent: it is being made, or was made and has not ended."""
        return self._pipeline.is_open

    @property
    def was_connected(self) -> bool:
        """Whether it was made, so that the broker may have got what was sent."""
        return self._was_connected

    @property
    def in_flight(self) -> int:
        """How many requests have no outcome yet."""
        return self._pipeline.in_flight

    def send(self, request: Message, version: int, timeout_ms: int, done: OnOutcome) -> None:
        """Send a request; `done` is called later, with its outcome.

        Raises ConnectionFailed if it is not open.
        """
        sent, parts = self._pipeline.send(request, version, timeout_ms)
        self._waiting[sent.correlation_id] = done
        if self._transport is None:
            self._unsent += parts
        else:
            self._transport.writelines(parts)
        if self._deadline is None or sent.deadline_ms < self._deadline.deadline_ms:
            self._await_deadline(sent.deadline_ms)

    def close(self) -> None:
        """Close at once; requests in flight fail within this call."""
        self._end("it was closed here")

    # --- asyncio's side

    async def _connect(self, connect: Connect) -> None:
        try:
            await connect(lambda: self)
        except OSError as error:
            self._end(f"it was never made: {_reason_of(error)}")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.BaseProtocol.connection_made`."""
        # uvloop's transports have all that asyncio's have, except the ancestry.
        self._transport = cast(asyncio.Transport, transport)
        if not self.is_open:  # closed meanwhile
            self._transport.abort()
            return
        self._was_connected = True
        self._end_setup()
        unsent, self._unsent = self._unsent, []
        if unsent:
            self._transport.writelines(unsent)

    def get_buffer(self, sizehint: int) -> memoryview:
        """See `asyncio.BufferedProtocol.get_buffer`."""
        return self._pipeline.writable()

    def buffer_updated(self, nbytes: int) -> None:
        """See `asyncio.BufferedProtocol.buffer_updated`."""
        if self.is_open:  # else it is being closed, and everything has its outcome
            self._deliver(self._pipeline.received(nbytes))

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.BaseProtocol.connection_lost`."""
        self._transport = None
        self._end("the broker closed it" if exc is None else _reason_of(exc))

    # --- outcomes

    def _await_deadline(self, deadline_ms: int) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = TimedCall(deadline_ms, self._expire)
        self._timer.add(self._deadline)

    def _expire(self) -> None:
        self._deadline = None
        self._deliver(self._pipeline.expire())
        next_ms = self._pipeline.next_deadline_ms()
        if self._deadline is None and next_ms is not None:
            self._await_deadline(next_ms)

    def _end(self, reason: str) -> None:
        self._deliver(self._pipeline.lost(reason))

    def _deliver(self, outcomes: Iterable[Outcome]) -> None:
        """Close if nothing more can be sent, then call back: what is called may open another connection."""
        if not self.is_open:
            self._let_go()
        for outcome in outcomes:
            done = self._waiting.pop(outcome.request.correlation_id)
            try:
                done(outcome if isinstance(outcome, Answer) else self._failure(outcome))
            except Exception as error:  # a bug of the caller's must not cost others their outcomes
                self._loop.call_exception_handler(
                    {"message": f"{outcome.request.name}'s outcome was not handled", "exception": error}
                )

    def _failure(self, failure: Failure) -> Failure:
        if self._was_connected:
            return failure
        error = failure.error
        return Failure(failure.request, NotConnected(error.message, error.code))

    def _end_setup(self) -> None:
        if self._setup is not None:
            self._setup.cancel()
            self._setup = None

    def _let_go(self) -> None:
        self._unsent.clear()
        self._end_setup()
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        self._connecting.cancel()
        if self._transport is not None:
            self._transport.abort()


def _reason_of(error: Exception) -> str:
    """Returns the system's words for an error, without its number."""
    return ((isinstance(error, OSError) and error.strerror) or str(error)).lower()
