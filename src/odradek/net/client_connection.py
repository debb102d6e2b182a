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

With credentials it is connected when the broker has authenticated it (`loop_authenticator`). If the broker
limits the session's life, the connection authenticates again in time: it stops writing, awaits the answers to
what it has written, authenticates, and writes what was sent meanwhile.

Invariant: each request's callback is called once, never from within `send`. If the connection was never made,
each failure is `NotConnected`: the broker has got nothing of the request.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from odradek.base.buffers import Buffer
from odradek.net.request_pipeline import (
    Answer,
    ConnectionFailed,
    Failure,
    NotConnected,
    Outcome,
    RequestPipeline,
)
from odradek.net.security import UNPROTECTED, Security
from odradek.timer import TimedCall, Timer
from odradek.wire.message import Message

if TYPE_CHECKING:  # only connections with credentials need it
    from odradek.net.loop_authenticator import LoopAuthenticator

Connect: TypeAlias = Callable[[Callable[[], asyncio.BufferedProtocol]], Coroutine[Any, Any, object]]
"""Connects a protocol, as `loop.create_unix_connection` does for a given path. Raises OSError."""
OnOutcome: TypeAlias = Callable[[Outcome], None]


class ClientConnection(asyncio.BufferedProtocol):
    """One connection; used on the thread of its loop."""

    __slots__ = (
        "_authenticating",
        "_authenticator",
        "_connecting",
        "_deadline",
        "_is_draining",
        "_loop",
        "_pipeline",
        "_renewal",
        "_setup",
        "_timer",
        "_transport",
        "_unsent",
        "_unwritten",
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
        security: Security = UNPROTECTED,
    ) -> None:
        """Begin to connect. `address` names the broker in messages; deadlines are tasks of `timer`.

        `setup_ms` is how long connecting and authenticating may take; None: as long as the first deadline of
        a request allows. Of `security` it uses the credentials; `connect` makes an encrypted connection if it
        is to be one (`tcp`).
        """
        self._loop = loop
        self._timer = timer
        self._pipeline = RequestPipeline(address, timer.clock, client_id=client_id)
        # None before the connection is made and after it is lost.
        self._transport: asyncio.Transport | None = None
        # Whether it was made, so that the broker may have got what was sent.
        self._was_connected = False
        # The bytes of requests that were sent while it could not write: before it was connected, or while it
        # authenticates again. Empty at other times.
        self._unsent: list[Buffer] = []
        # How many requests they are.
        self._unwritten = 0
        # None without credentials.
        self._authenticator = self._new_authenticator(address, client_id, security)
        # The running authentication; None while none runs. All bytes that arrive meanwhile belong to it.
        self._authenticating: asyncio.Task[None] | None = None
        # Whether it is to authenticate again as soon as what it has written is answered.
        self._is_draining = False
        # The task that makes it authenticate again; None for a session without a limit.
        self._renewal: TimedCall | None = None
        # The callbacks of the requests that wait for outcomes, by correlation id.
        self._waiting: dict[int, OnOutcome] = {}
        # The task for the pipeline's next deadline. It may come too early, since an answer does not cancel
        # it, and is None only while nothing is in flight.
        self._deadline: TimedCall | None = None
        # The task that ends it if it is not made in time; None before and afterwards, or without a limit.
        self._setup: TimedCall | None = None
        if setup_ms is not None:
            self._limit_setup(setup_ms, f"it was not made within {setup_ms} ms")
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
        if self._writes_at_once and self._transport is not None:
            self._transport.writelines(parts)
        else:
            self._unsent += parts
            self._unwritten += 1
        if self._deadline is None or sent.deadline_ms < self._deadline.deadline_ms:
            self._await_deadline(sent.deadline_ms)

    def send_unanswered(self, request: Message, version: int) -> None:
        """Send a request that the broker does not answer: a produce with acks=0. Raises as `send` does."""
        _, parts = self._pipeline.send(request, version, 0)
        self._pipeline.forget_last()
        if self._writes_at_once and self._transport is not None:
            self._transport.writelines(parts)
        else:
            self._unsent += parts

    def close(self) -> None:
        """Close at once; requests in flight fail within this call."""
        self._end("it was closed here")

    # --- asyncio's side

    async def _connect(self, connect: Connect) -> None:
        try:
            await connect(lambda: self)
        # Of a host or port that cannot be, Python says ValueError (also for UnicodeError) and OverflowError.
        except (OSError, ValueError, OverflowError) as error:
            self._end(f"it was never made: {_reason_of(error)}")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.BaseProtocol.connection_made`."""
        # uvloop's transports have all that asyncio's have, except the ancestry.
        self._transport = cast(asyncio.Transport, transport)
        if not self.is_open:  # closed meanwhile
            self._transport.abort()
            return
        if self._authenticator is None:
            self._begin_writing()
        else:
            self._authenticating = self._loop.create_task(self._authenticate(self._authenticator))

    def get_buffer(self, sizehint: int) -> memoryview:
        """See `asyncio.BufferedProtocol.get_buffer`."""
        if self._authenticating is not None and self._authenticator is not None:
            return self._authenticator.writable()
        return self._pipeline.writable()

    def buffer_updated(self, nbytes: int) -> None:
        """See `asyncio.BufferedProtocol.buffer_updated`."""
        if not self.is_open:  # it is being closed, and everything has its outcome
            return
        if self._authenticating is None or self._authenticator is None:
            self._deliver(self._pipeline.received(nbytes))
            return
        try:
            self._authenticator.received(nbytes)
        except ConnectionFailed as failed:
            self._deliver(self._pipeline.lost(failed.message, failed.code))

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.BaseProtocol.connection_lost`."""
        self._transport = None
        self._end("the broker closed it" if exc is None else _reason_of(exc))

    # --- writing and authenticating

    @property
    def _writes_at_once(self) -> bool:
        return self._was_connected and not self._is_draining and self._authenticating is None

    def _begin_writing(self) -> None:
        """Write what was sent while it could not be written."""
        assert self._transport is not None, "it has ended"
        self._was_connected = True
        self._end_setup()
        unsent, self._unsent, self._unwritten = self._unsent, [], 0
        if unsent:
            self._transport.writelines(unsent)

    def _new_authenticator(
        self, address: str, client_id: str, security: Security
    ) -> "LoopAuthenticator | None":
        if security.credentials is None:
            return None
        from odradek.net.loop_authenticator import LoopAuthenticator

        return LoopAuthenticator(
            address,
            self._timer.clock,
            self._loop,
            security.credentials,
            client_id=client_id,
            write=lambda parts: cast(asyncio.Transport, self._transport).writelines(parts),
        )

    async def _authenticate(self, authenticator: "LoopAuthenticator") -> None:
        try:
            renew_after_ms = await authenticator.authenticate()
        except ConnectionFailed as failed:
            self._deliver(self._pipeline.lost(failed.message, failed.code))
            return
        self._authenticating = None
        self._begin_writing()
        if renew_after_ms:
            self._renewal = TimedCall(self._timer.clock.monotonic_ms() + renew_after_ms, self._renew)
            self._timer.add(self._renewal)

    def _renew(self) -> None:
        """Authenticate again, when what was written is answered; each answer has its own deadline."""
        self._renewal = None
        self._is_draining = True
        self._authenticate_if_drained()

    def _authenticate_if_drained(self) -> None:
        if self._is_draining and self.is_open and self._pipeline.in_flight == self._unwritten:
            from odradek.net.loop_authenticator import AUTHENTICATION_MS

            assert self._authenticator is not None, "only credentials are renewed"
            self._is_draining = False
            said = f"it was not authenticated again within {AUTHENTICATION_MS} ms"
            self._limit_setup(AUTHENTICATION_MS, said)
            self._authenticating = self._loop.create_task(self._authenticate(self._authenticator))

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
        self._authenticate_if_drained()

    def _failure(self, failure: Failure) -> Failure:
        if self._was_connected:
            return failure
        error = failure.error
        return Failure(failure.request, NotConnected(error.message, error.code))

    def _limit_setup(self, limit_ms: int, reason: str) -> None:
        self._setup = TimedCall(self._timer.clock.monotonic_ms() + limit_ms, partial(self._end, reason))
        self._timer.add(self._setup)

    def _end_setup(self) -> None:
        if self._setup is not None:
            self._setup.cancel()
            self._setup = None

    def _let_go(self) -> None:
        self._unsent.clear()
        self._unwritten = 0
        self._end_setup()
        if self._renewal is not None:
            self._renewal.cancel()
            self._renewal = None
        if self._authenticating is not None:
            self._authenticating.cancel()
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        self._connecting.cancel()
        if self._transport is not None:
            self._transport.abort()


def tcp(loop: asyncio.AbstractEventLoop, host: str, port: int, security: Security = UNPROTECTED) -> Connect:
    """Connects to a broker over TCP, encrypted if `security` says so."""
    if security.tls is None:
        return partial(loop.create_connection, host=host, port=port)
    return partial(loop.create_connection, host=host, port=port, ssl=security.tls, server_hostname=host)


def _reason_of(error: Exception) -> str:
    """Returns the system's words for an error, without its number; of TLS, a few words of ours."""
    import ssl  # asyncio has imported it

    if isinstance(error, ssl.SSLError):
        from odradek.net.tls import tls_fault

        return tls_fault(error)
    return ((isinstance(error, OSError) and error.strerror) or str(error)).lower()
