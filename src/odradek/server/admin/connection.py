"""One connection of the admin listener: a connection of uvicorn with limits of time and number.

uvicorn's own limits do not suffice: `limit_concurrency` answers 503 and keeps the connection, and
`timeout_keep_alive` does not apply before the first request, nor after the first byte of the next one. A peer
that sends half a request, or does not read its answer, would hold an open file for ever.

    opened                      a whole request must have come within REQUEST_MS
    a request has come          its answer must be read, and the next request have come, within EXCHANGE_MS
    more connections than may   closed at once
    a body in many pieces       closed at PIECES_MAX + 1: each costs some microseconds, however small it is
    a bad body, answered        closed: uvicorn would answer once more, and fail
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from odradek.server.edge.complaints import Complaints
from odradek.timer import TimedCall, Timer

REQUEST_MS: Final = 5_000
EXCHANGE_MS: Final = 30_000
HEADERS_BYTES_MAX: Final = 16 << 10
PIECES_MAX: Final = 1_000
"""Pieces (chunks, or what one read brought) of the body of a request; the listener needs hardly any body."""


@dataclass(frozen=True, slots=True)
class AdminLimits:
    """The limits that all connections of an admin listener share."""

    timer: Timer
    complaints: Complaints
    connections_max: int


class AdminConnection(H11Protocol):
    """A connection that is closed when its peer exceeds a limit."""

    def __init__(self, limits: AdminLimits, **given: Any) -> None:  # noqa: ANN401 - uvicorn's own arguments
        super().__init__(**given)
        self.logger = _RateLimited(limits.complaints)
        self.conn = _BoundedRequests(self._refuse_pieces)
        self._limits = limits
        self._deadline = TimedCall(0, self._give_up)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Called with a new connection; the connection counts from now on."""
        super().connection_made(transport)
        if len(self.connections) > self._limits.connections_max:
            self._limits.complaints.say(
                "refusing a connection of the admin listener: %d are open", self._limits.connections_max
            )
            transport.abort()
            return
        self._expect_within(REQUEST_MS)

    def handle_events(self) -> None:
        """Called when bytes arrive, and after an answer if bytes of the next request have already arrived."""
        before = self.cycle
        super().handle_events()
        if self.cycle is not before:
            self._expect_within(EXCHANGE_MS)

    def connection_lost(self, exc: Exception | None) -> None:
        """Called once, when the connection is gone."""
        self._deadline.cancel()
        super().connection_lost(exc)

    def _expect_within(self, wait_ms: int) -> None:
        timer = self._limits.timer
        self._deadline.cancel()
        self._deadline.deadline_ms = timer.clock.monotonic_ms() + wait_ms
        timer.add(self._deadline)

    def send_400_response(self, msg: str) -> None:
        """Called with bytes that are no HTTP; the request that they belong to may be answered already."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.abort()

    def _refuse_pieces(self) -> None:
        self._limits.complaints.say(
            "closing a connection of the admin listener: a body in more than %d pieces", PIECES_MAX
        )
        self.transport.abort()

    def _give_up(self) -> None:
        self._limits.complaints.say("closing a connection of the admin listener: no request came in time")
        self.transport.abort()


class _BoundedRequests(h11.Connection):
    """What arrives on one connection; reports a body in too many pieces, and takes no more then."""

    def __init__(self, on_pieces: Callable[[], None]) -> None:
        super().__init__(h11.SERVER, HEADERS_BYTES_MAX)
        self._on_pieces = on_pieces
        self._pieces = 0

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """As in h11."""
        if self._pieces > PIECES_MAX:
            return h11.NEED_DATA
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._pieces = 0
        elif isinstance(event, h11.Data):
            self._pieces += 1
            if self._pieces > PIECES_MAX:
                self._on_pieces()
                return h11.NEED_DATA
        return event


class _RateLimited(logging.Logger):
    """The logger of uvicorn's connections: limits events that a peer causes like other `Complaints`."""

    def __init__(self, complaints: Complaints) -> None:
        super().__init__(__name__, logging.WARNING)
        self._complaints = complaints

    def handle(self, record: logging.LogRecord) -> None:
        trace = record.exc_info[1] if record.exc_info else None
        self._complaints.say("the admin listener: %s", record.getMessage(), trace=trace)
