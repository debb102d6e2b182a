"""This broker's session with the metadata store: opened, opened again after it ended, shared by its users.

Nobody else opens or closes it. Operations go in with a callback of their own; what happens to the session,
and what watches see, goes to every user. The rule of ports holds: no call here calls back before it returns,
and each result and each event arrives as an event of its own.

    submit(operation, replied)     replied(result), once; or the session ends first, and nothing comes
    the connection is back         every user gets Reconnected, and reads again whatever it had watched
    the session ends               every user gets SessionEnded, the outcome of all that has no result yet;
                                   another one is opened, and with SessionOpened the broker joins anew
    close                          nothing is reported any more, whatever the store still has to say

Invariant: a result comes only in the session in which its operation was submitted.
"""

from collections.abc import Callable
from typing import Final, Protocol, TypeAlias

from odradek.metadata.store import (
    MetadataStore,
    Operation,
    Reconnected,
    Result,
    SessionEnded,
    SessionOpened,
    StoreEvent,
    StoreLimits,
    StoreReplied,
    WatchFired,
)
from odradek.timer import TimedCall, Timer

REOPENING_MS: Final = 1_000
"""How long after a session that could not be opened the next one is tried."""

SessionEvent: TypeAlias = SessionOpened | WatchFired | Reconnected | SessionEnded
"""What a session's users get: all of the store's events but results, which go to their callers."""


class SessionUser(Protocol):
    """Part of the broker that reads, watches or writes nodes."""

    def on_session_event(self, event: SessionEvent) -> None:
        """Called with each event of the session, in its order, also with those of others' watches."""


class StoreSession:
    """The session of one broker; see the module's head."""

    def __init__(self, store: MetadataStore, timer: Timer) -> None:
        self._store = store
        self._timer = timer
        # In the order in which they came, which is the order in which they get events.
        self._users: list[SessionUser] = []
        # Who gets which result, by the store's number; only of operations of the session that is open.
        self._callers: dict[int, Callable[[Result], None]] = {}
        # Whether the session that was opened last has not ended.
        self._is_open = False
        # The attempt to come, while the last one has failed.
        self._reopening: TimedCall | None = None
        # Whether `close` was called: nothing is reported, and no session opened.
        self._is_closed = False

    @property
    def limits(self) -> StoreLimits:
        """What the store takes in one operation."""
        return self._store.limits

    def join(self, user: SessionUser) -> None:
        """Give `user` the events from here on."""
        self._users.append(user)

    def leave(self, user: SessionUser) -> None:
        """Give `user` no more events."""
        self._users.remove(user)

    def open(self) -> None:
        """Begin the first session; `SessionOpened` follows, or `SessionEnded` and further attempts."""
        assert not self._is_open, "one session at a time"
        self._store.open(self._on_event)

    def submit(self, operation: Operation, replied: Callable[[Result], None]) -> None:
        """Take an operation; `replied` is called once with its result, unless the session ends first."""
        self._callers[self._store.submit(operation)] = replied

    def close(self) -> None:
        """End the session in good order: its ephemeral nodes vanish now, and nobody is called any more."""
        self._is_closed = True
        self._is_open = False
        self._users.clear()
        self._callers.clear()
        if self._reopening is not None:
            self._reopening.cancel()
        self._store.close()

    def _on_event(self, event: StoreEvent) -> None:
        if self._is_closed:
            return
        match event:
            case StoreReplied(call_id, result):
                replied = self._callers.pop(call_id, None)
                if replied is not None:  # else its session is over
                    replied(result)
            case SessionOpened():
                self._is_open = True
                self._tell(event)
            case SessionEnded():
                was_open, self._is_open = self._is_open, False
                self._callers.clear()
                self._tell(event)
                self._open_again(at_once=was_open)
            case _:
                self._tell(event)

    def _tell(self, event: SessionEvent) -> None:
        for user in list(self._users):
            if user in self._users:  # an earlier one may have sent it away
                user.on_session_event(event)

    def _open_again(self, *, at_once: bool) -> None:
        """Begin another session: at once after one that ended, later after an attempt that failed."""
        if self._is_closed:
            return
        if at_once:
            self._store.open(self._on_event)
        else:
            deadline_ms = self._timer.clock.monotonic_ms() + REOPENING_MS
            self._reopening = TimedCall(deadline_ms, self._reopen)
            self._timer.add(self._reopening)

    def _reopen(self) -> None:
        self._reopening = None
        self._store.open(self._on_event)
