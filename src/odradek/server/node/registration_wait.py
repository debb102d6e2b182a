"""How long a broker that cannot register waits for the session that holds its id.

A broker that starts again may find the registration of its former life: the metadata store ends that session
after its timeout. Another broker that runs with the same id keeps its session alive, so one bound tells the
two cases apart:

    refused, not waiting     one line in the log; the time begins
    refused again            nothing: the time goes on
    registered               the time ends
    the time is over         `given_up`: a start fails; a broker that runs already keeps trying

`metadata.controller.core` tries again whenever the node of the other session has gone. Orders that a
controller sends for the other registration meanwhile are refused (R16).
"""

import logging
from collections.abc import Callable
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import BrokerId
from odradek.timer import TimedCall, Timer

_log = logging.getLogger(__name__)

MARGIN_MS: Final = 3_000
"""How long after its timeout a session may stand: ZooKeeper counts in ticks, of 2 s by default."""


class RegistrationWait:
    """The wait of one broker; see the module's head."""

    def __init__(
        self,
        broker_id: BrokerId,
        timer: Timer,
        session_timeout_ms: Callable[[], int],
        given_up: Callable[[ApiError], None],
    ) -> None:
        """`given_up` is called from the timer, once for each wait that takes too long."""
        self._broker_id = broker_id
        self._timer = timer
        self._session_timeout_ms = session_timeout_ms
        self._given_up = given_up
        # Whether the id is held by another session, as far as is known.
        self._is_waiting = False
        # Ends the wait; None while there is none, and after it took too long.
        self._limit: TimedCall | None = None

    def begin(self) -> None:
        """Called when a registration was refused because of another session."""
        if self._is_waiting:
            return
        self._is_waiting = True
        limit_ms = self._session_timeout_ms() + MARGIN_MS
        _log.warning(
            "broker %d waits until its former session with the metadata store ends (at most %d ms)",
            self._broker_id,
            limit_ms,
        )
        self._limit = TimedCall(self._timer.clock.monotonic_ms() + limit_ms, lambda: self._on_limit(limit_ms))
        self._timer.add(self._limit)

    def end(self) -> None:
        """Called when this broker is registered. A broker that stops ends its timers with its life."""
        self._is_waiting = False
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None

    def _on_limit(self, limit_ms: int) -> None:
        self._limit = None
        self._given_up(
            ApiError(
                ErrorCode.DUPLICATE_BROKER_REGISTRATION,
                f"another broker with the id {self._broker_id} is running: its session with the metadata"
                f" store has not ended within {limit_ms} ms",
            )
        )
