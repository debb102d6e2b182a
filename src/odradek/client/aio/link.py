"""A lasting link to one broker: it connects, learns the broker's versions, sends, and connects again.

    send(A)                 connecting begins; A waits
    versions are known      A is sent
    the connection breaks   A's outcome is a failure; the next connection is made after `reconnect.backoff.ms`
    send(B)                 B waits until then

Invariant: each request has one outcome, given in an event of its own. While no connection can be made, what
waits fails with each attempt, and at the end of its own time: it never waits longer than one attempt and one
backoff.
"""

import asyncio
import logging
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Final

from odradek.base.error_codes import ErrorCode, known_code
from odradek.base.errors import ApiError
from odradek.base.ids import NO_BROKER
from odradek.client.core.backoff import Backoff
from odradek.client.core.cluster_view import Node
from odradek.client.core.requests import Outcome, Send
from odradek.client.refusal import name_of
from odradek.net.client_connection import ClientConnection, Connect, tcp
from odradek.net.request_pipeline import Answer, ConnectionFailed, NotConnected, decode_answer
from odradek.net.request_pipeline import Outcome as WireOutcome
from odradek.net.security import UNPROTECTED, Security
from odradek.timer import TimedCall, Timer
from odradek.wire.apis import APIS
from odradek.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from odradek.wire.versions import Versions

OnOutcome = Callable[[Outcome], None]

SETUP_MS: Final = 10_000
"""`socket.connection.setup.timeout.ms`."""
_NEVER_MADE: Final = "it was never made: "
"""What `ClientConnection` says before the reason."""

_log: Final = logging.getLogger("odradek.client")


@dataclass(frozen=True, slots=True)
class LinkOptions:
    """What all links of a client share."""

    loop: asyncio.AbstractEventLoop
    timer: Timer
    client_id: str
    backoff: Backoff
    """`reconnect.backoff.ms` and its maximum."""
    setup_ms: int = SETUP_MS
    security: Security = UNPROTECTED

    def connect_to(self, node: Node) -> Connect:
        """How to connect a protocol to a broker."""
        connect = tcp(self.loop, node.host, node.port, self.security)

        async def connected(made: Callable[[], asyncio.BufferedProtocol]) -> object:
            try:
                return await connect(made)
            except OSError as error:
                raise _plain(error) from error

        return connected


class Link:
    """See the module; used on the thread of its loop."""

    def __init__(self, node: Node, options: LinkOptions, done: OnOutcome) -> None:
        """`node.id` is NO_BROKER where only the address is known. `done` gets every outcome."""
        self.node = node
        self._options = options
        self._done = done
        # None before the first one and from the end of one to the beginning of the next.
        self._connection: ClientConnection | None = None
        # What the broker serves, by API key; None while that is not known, and nothing is sent.
        self._served: dict[int, Versions] | None = None
        # The requests that wait for a connection, each with the task that ends it when its time is over.
        self._waiting: dict[Send, TimedCall] = {}
        # How many connections in a row were never usable, the last failure, and when the next may be made.
        self._failures = 0
        self._failure: ApiError | None = None
        self._not_before_ms = 0
        # The task that makes the next connection; None while it need not be made or one exists.
        self._reconnect: TimedCall | None = None
        self._is_closed = False

    @property
    def is_ready(self) -> bool:
        """Whether a request is sent at once."""
        return self._served is not None

    @property
    def is_backing_off(self) -> bool:
        """Whether its last connection failed and the next one may not be made yet."""
        return self._connection is None and self._not_before_ms > self._now_ms

    @property
    def failures(self) -> int:
        """How many connections in a row were never usable."""
        return self._failures

    @property
    def load(self) -> int:
        """How many requests have no outcome yet."""
        return len(self._waiting) + (0 if self._connection is None else self._connection.in_flight)

    def send(self, send: Send, timeout_ms: int) -> None:
        """Send a request, now or when it is connected."""
        self._drop_broken()
        if self._served is not None:
            self._write(send, timeout_ms)
            return
        expiry = TimedCall(self._now_ms + timeout_ms, partial(self._expire, send, timeout_ms))
        self._waiting[send] = expiry
        self._options.timer.add(expiry)
        if self._connection is None and self._reconnect is None:
            if self._not_before_ms <= self._now_ms:
                self._open()
            else:
                self._reconnect = TimedCall(self._not_before_ms, self._open)
                self._options.timer.add(self._reconnect)

    def close(self) -> None:
        """Close at once; what has no outcome fails, in events of their own."""
        self._is_closed = True
        if self._reconnect is not None:
            self._reconnect.cancel()
        if self._connection is not None:
            self._connection.close()
        self._fail_waiting(NotConnected("the client was closed"))

    # --- connecting

    @property
    def _now_ms(self) -> int:
        return self._options.timer.clock.monotonic_ms()

    def _open(self) -> None:
        self._reconnect = None
        options = self._options
        connection = ClientConnection(
            str(self.node),
            options.connect_to(self.node),
            options.loop,
            options.timer,
            client_id=options.client_id,
            setup_ms=options.setup_ms,
            security=options.security,
        )
        self._connection = connection

        def learn(outcome: WireOutcome) -> None:
            self._learn(connection, outcome)

        connection.send(ApiVersionsRequest(), 0, options.setup_ms, learn)

    def _learn(self, connection: ClientConnection, outcome: WireOutcome) -> None:
        """Take the versions that the broker serves, and send what waits; or give up this connection."""
        if self._is_closed or connection is not self._connection:
            return
        if not isinstance(outcome, Answer):
            self._broke(self._in_words(outcome.error))
            return
        try:
            answer = decode_answer(str(self.node), outcome, ApiVersionsResponse)
        except ConnectionFailed as failed:
            connection.close()
            self._broke(failed)
            return
        if answer.error_code != ErrorCode.NONE:
            connection.close()
            said = name_of(known_code(answer.error_code))
            self._broke(ConnectionFailed(f"{self.node} does not tell what it serves: {said}"))
            return
        self._served = {one.api_key: Versions(one.min_version, one.max_version) for one in answer.api_keys}
        if self._failures:
            name = self._options.client_id
            _log.info("client %s: %s is connected again, after %d failures", name, self.node, self._failures)
        self._failures, self._failure = 0, None
        for send, expiry in self._take_waiting():
            self._write(send, max(1, expiry.deadline_ms - self._now_ms))

    def _drop_broken(self) -> None:
        if self._connection is not None and not self._connection.is_open:
            self._connection = self._served = None

    def _in_words(self, error: ConnectionFailed) -> ConnectionFailed:
        """Why no connection can be used: the address, and what is wrong there."""
        reason = str(error).removeprefix(f"the connection to {self.node} is lost: ")
        if reason.startswith(_NEVER_MADE):
            said = f"cannot connect to {self.node}: {reason.removeprefix(_NEVER_MADE)}"
        elif error.code is ErrorCode.NETWORK_EXCEPTION and not isinstance(error, NotConnected):
            # It was connected, and the broker has not even answered the first request.
            kind = self._options.security.protocol
            said = f"{self.node} does not answer as a {kind} listener of a broker does: {reason}"
        else:  # the login was refused, or the broker is held up
            return error
        return type(error)(said, error.code)

    def _broke(self, error: ConnectionFailed) -> None:
        self._connection = self._served = None
        self._not_before_ms = self._now_ms + self._options.backoff.after(self._failures)
        # What comes after the first is the same again, ten times a second.
        level = logging.DEBUG if self._failures else logging.INFO
        _log.log(level, "client %s: %s; it is tried again", self._options.client_id, error)
        self._failures += 1
        self._failure = error
        self._fail_waiting(error)

    def _fail_waiting(self, error: ApiError) -> None:
        for send, _ in self._take_waiting():
            self._later(Outcome(send, error=error, node=self.node.id))

    def _take_waiting(self) -> Iterable[tuple[Send, TimedCall]]:
        waiting, self._waiting = self._waiting, {}
        for expiry in waiting.values():
            expiry.cancel()
        return waiting.items()

    def _expire(self, send: Send, timeout_ms: int) -> None:
        """The time of a request is over before there is a connection."""
        del self._waiting[send]
        was_connected = self._connection is not None and self._connection.was_connected
        verb = "did not answer" if was_connected else "could not be connected to"
        late = NotConnected(f"{self.node} {verb} within {timeout_ms / 1000:g} s")
        self._done(Outcome(send, error=self._failure or late, node=self.node.id))

    # --- sending

    def _version_of(self, send: Send) -> int | None:
        assert self._served is not None
        kind = type(send.request)
        served = self._served.get(kind.API_KEY, Versions(0, -1))
        version = min(served.highest, kind.VERSIONS.highest, send.highest)
        return version if version >= max(served.lowest, kind.VERSIONS.lowest, send.lowest) else None

    def _write(self, send: Send, timeout_ms: int) -> None:
        version = self._version_of(send)
        connection = self._connection
        assert connection is not None
        if version is None:
            self._later(Outcome(send, error=_not_served(send, self.node), node=self.node.id))
            return

        def finish(outcome: WireOutcome) -> None:
            self._finish(send, version, outcome)

        try:
            if send.is_answered:
                connection.send(send.request, version, timeout_ms, finish)
            else:
                connection.send_unanswered(send.request, version)
                self._later(Outcome(send, version=version, node=self.node.id))
        except ConnectionFailed as failed:
            self._later(Outcome(send, error=failed, version=version, node=self.node.id))
        except Exception as fault:  # it cannot be encoded: it alone fails, and other requests go on
            name = type(send.request).__name__.removesuffix("Request")
            error = ApiError(
                ErrorCode.INVALID_REQUEST, f"{name} cannot be sent, a value does not fit: {fault}"
            )
            self._later(Outcome(send, error=error))

    def _finish(self, send: Send, version: int, outcome: WireOutcome) -> None:
        was_connected = self._connection is not None
        self._drop_broken()
        if not isinstance(outcome, Answer):
            if was_connected and self._connection is None and not self._is_closed:
                _log.info("client %s: %s", self._options.client_id, outcome.error)
            self._done(Outcome(send, error=outcome.error, version=version, node=self.node.id))
            return
        try:
            response = decode_answer(str(self.node), outcome, APIS[send.request.API_KEY].response_class)
        except ConnectionFailed as failed:
            self._done(Outcome(send, error=failed, version=version, node=self.node.id))
            return
        self._done(Outcome(send, response, version=version, node=self.node.id))

    def _later(self, outcome: Outcome) -> None:
        self._options.loop.call_soon(self._done, outcome)


def _plain(error: OSError) -> OSError:
    """The system's words for a connection that was refused; asyncio puts addresses into its own."""
    numbers = dict.fromkeys(map(int, re.findall(r"\[Errno (\d+)\] Connect call failed", str(error))))
    words = ", ".join(os.strerror(one) for one in numbers)
    return OSError(next(iter(numbers)), words) if numbers else error


def _not_served(send: Send, node: Node) -> ConnectionFailed:
    name = type(send.request).__name__
    said = f"{node} does not serve {name} in a version known here"
    return ConnectionFailed(said, ErrorCode.UNSUPPORTED_VERSION)


def unknown_node(host: str, port: int) -> Node:
    """A bootstrap server: its id is not known."""
    return Node(NO_BROKER, host, port)
