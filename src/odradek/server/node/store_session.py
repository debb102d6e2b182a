"""This broker's session with the metadata store: opened, reopened after it ended, shared by its users.

Only this module opens and closes the session. Each operation has a callback of its own; events of the session
and of its watches go to every user. The rule of ports holds: no call here calls back before it returns, and
each result and each event arrives as an event of its own.

    submit(operation, replied)     replied(result), once; or the session ends first, and nothing comes
    the connection is back         every user gets Reconnected, and reads again the nodes that it had watched
    the session ends               every user gets SessionEnded, the outcome of all operations without a
                                   result; a new session is opened, and on SessionOpened the broker rejoins
    close                          nothing more is reported, whatever the store still sends

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
"""How long after a failed attempt to open a session the next attempt is made."""

SessionEvent: TypeAlias = SessionOpened | WatchFired | Reconnected | SessionEnded
"""The events for a session's users: all events of the store but results, which go to their callers."""


class SessionUser(Protocol):
    """Part of the broker that reads, watches or writes nodes."""

    def on_session_event(self, event: SessionEvent) -> None:
        """Called with each event of the session, in order, including those of other users' watches."""


class StoreSession:
    """The session of one broker; see the module's head."""

    def __init__(self, store: MetadataStore, timer: Timer) -> None:
        self._store = store
        self._timer = timer
        # In the order in which they joined, which is the order in which they get events.
        self._users: list[SessionUser] = []
        # The callbacks for results, by the store's number; only operations of the open session.
        self._callers: dict[int, Callable[[Result], None]] = {}
        # Whether there is an open session: the last one that was opened has not ended.
        self._is_open = False
        self.ended = 0
        """How many sessions have ended that were open, as the metadata store or its client says."""
        # The next attempt, if the last one has failed.
        self._reopening: TimedCall | None = None
        # Whether `close` was called: nothing more is reported, and no session is opened.
        self._is_closed = False

    @property
    def limits(self) -> StoreLimits:
        """The limits of the store for one operation."""
        return self._store.limits

    @property
    def is_connected(self) -> bool:
        """Whether there is a session, and a connection for it as far as is known."""
        return self._is_open and self._store.lost_for_ms is None

    def is_lost(self, after_ms: int) -> bool:
        """Whether there is no session, or its connection was lost `after_ms` or longer ago.

        A session with ZooKeeper ends only by ZooKeeper's word, so it may be lost for ever.
        """
        lost_for_ms = self._store.lost_for_ms
        return not self._is_open or (lost_for_ms is not None and lost_for_ms >= after_ms)

    def join(self, user: SessionUser) -> None:
        """Give `user` the events from now on."""
        self._users.append(user)

    def leave(self, user: SessionUser) -> None:
        """Give `user` no more events."""
        self._users.remove(user)

    def open(self) -> None:
        """Begin the first session; `SessionOpened` follows, or `SessionEnded` and further attempts."""
        assert not self._is_open, "one session at a time"
        self._store.open(self._on_event)

    def submit(self, operation: Operation, replied: Callable[[Result], None]) -> None:
        """Submit an operation; `replied` is called once with its result, unless the session ends first."""
        self._callers[self._store.submit(operation)] = replied

    def close(self) -> None:
        """End the session cleanly: its ephemeral nodes vanish now, and no callback is called any more."""
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
                self._report(event)
            case SessionEnded():
                was_open, self._is_open = self._is_open, False
                self.ended += was_open
                self._callers.clear()
                self._report(event)
                self._open_again(at_once=was_open)
            case _:
                self._report(event)

    def _report(self, event: SessionEvent) -> None:
        for user in list(self._users):
            if user in self._users:  # a user called before may have removed it
                user.on_session_event(event)

    def _open_again(self, *, at_once: bool) -> None:
        """Open another session: at once after one that ended, later after an attempt that failed."""
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
