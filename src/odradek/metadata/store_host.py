"""Sessions over an engine: calls that may block run in a lane, and their results come back as events.

Invariant: calls of all sessions run one at a time, in the order of submission; before each result come the
events of everything earlier. It must not depend on the engine, nor decide anything for its users.

    session.submit(Create("/a"))   -> 0
    the lane runs it               engine.apply(7, Create("/a"))
    back on the owner's thread     another session gets WatchFired("/a", CREATED)
                                   this one gets StoreReplied(0, Created("/a"))
"""

import logging
from collections.abc import Callable

from odradek.base.execution import Background, Lane
from odradek.metadata.store import (
    NO_SESSION,
    Applied,
    Failed,
    Fault,
    OnStoreEvent,
    Operation,
    Result,
    SessionEnded,
    SessionOpened,
    StoreEngine,
    StoreEvent,
    StoreLimits,
    StoreReplied,
)

_log = logging.getLogger(__name__)


class StoreHost:
    """One engine, and the sessions of this process with it."""

    def __init__(self, engine: StoreEngine, background: Background) -> None:
        self.engine = engine
        self.lane = Lane(background)
        # The sessions that are open, by their numbers.
        self._open: dict[int, HostedSession] = {}

    def session(self, lease: bytes = b"") -> "HostedSession":
        """Returns a `MetadataStore` that is not open yet; for `lease` see `StoreEngine.open_session`."""
        return HostedSession(self, lease)

    def resumed(self, session_id: int, on_event: OnStoreEvent) -> "HostedSession":
        """Returns a session of an earlier process, which is alive in the engine; it has no watches."""
        session = HostedSession(self)
        session.resume(session_id, on_event)
        return session

    def opened(self, session: "HostedSession", session_id: int) -> None:
        """From here on events of that session go to its holder."""
        self._open[session_id] = session

    def execute(self, session_id: int, operation: Operation) -> Applied:
        """Do one operation; on whatever thread the lane runs."""
        return self.engine.apply(session_id, operation)

    def tell(self, events: tuple[tuple[int, StoreEvent], ...]) -> None:
        """Hand events to the sessions that they are for."""
        for session_id, event in events:
            session = self._open.get(session_id)
            if isinstance(event, SessionEnded):
                self._open.pop(session_id, None)
            if session is not None:
                session.on_engine_event(event)

    def end_session(self, session_id: int) -> None:
        """End a session in its turn; its holder gets no event, sessions that watch its nodes do."""
        self._open.pop(session_id, None)
        self.expire_session(session_id, _warn)

    def expire_session(self, session_id: int, failed: Callable[[Exception], None]) -> None:
        """End a session in its turn; its holder gets `SessionEnded`. After `failed` the session is alive."""
        self.lane.submit(lambda: self.engine.close_session(session_id), self.tell, failed)

    def after_earlier(self, then: Callable[[], None]) -> None:
        """Call `then` when all that was submitted so far is done."""
        self.lane.submit(lambda: None, lambda done: then(), _warn)

    def close(self) -> None:
        """Close the engine's files after all earlier calls."""
        self.lane.submit(self.engine.close, lambda done: None, _warn)


class HostedSession:
    """A `MetadataStore`."""

    def __init__(self, host: StoreHost, lease: bytes = b"") -> None:
        self._host = host
        # Kept with each session that this opens.
        self._lease = lease
        self.session_id = NO_SESSION
        """The session that is open, or was last."""
        self._last_call_id = -1
        # Takes the events; None before `open` and after `close`: nothing is reported then.
        self._on_event: OnStoreEvent | None = None
        # Whether attempts to open a session have failed since the last one that was opened.
        self._has_failed = False

    @property
    def limits(self) -> StoreLimits:
        """See `MetadataStore.limits`."""
        return self._host.engine.limits

    @property
    def lost_for_ms(self) -> None:
        """See `MetadataStore.lost_for_ms`: the engine is in this process."""

    def open(self, on_event: OnStoreEvent) -> None:
        """See `MetadataStore.open`."""
        self._on_event = on_event

        def opened(session_id: int) -> None:
            if self._on_event is None:  # closed meanwhile
                self._host.end_session(session_id)
                return
            self.session_id = session_id
            self._host.opened(self, session_id)
            if self._has_failed:
                _log.warning("there is a session with the metadata store again")
                self._has_failed = False
            self._report(SessionOpened(session_id))

        def failed(error: Exception) -> None:
            if not self._has_failed:  # its holder tries again each second
                _log.error("no session with the metadata store: %s", error)
            self._has_failed = True
            self._report(SessionEnded())

        self._host.lane.submit(lambda: self._host.engine.open_session(self._lease), opened, failed)

    def resume(self, session_id: int, on_event: OnStoreEvent) -> None:
        """Take a session that is alive in the engine, instead of opening one; no event follows."""
        self._on_event = on_event
        self.session_id = session_id
        self._host.opened(self, session_id)

    def submit(self, operation: Operation) -> int:
        """See `MetadataStore.submit`; after `close` nothing happens, and no event follows."""
        self._last_call_id += 1
        call_id, session_id = self._last_call_id, self.session_id
        if self._on_event is None:
            return call_id

        def applied(outcome: Applied) -> None:
            self._host.tell(outcome.events)
            self.on_result(call_id, outcome.result)

        self._host.lane.submit(
            lambda: self._host.execute(session_id, operation),
            applied,
            lambda error: self.on_result(call_id, Failed(Fault.STORE_FAILED, str(error))),
        )
        return call_id

    def close(self) -> None:
        """See `MetadataStore.close`."""
        if self._on_event is not None and self.session_id != NO_SESSION:
            self._host.end_session(self.session_id)
        self._on_event = None

    def on_result(self, call_id: int, result: Result) -> None:
        """Called with what an operation led to."""
        self._report(StoreReplied(call_id, result))

    def on_engine_event(self, event: StoreEvent) -> None:
        """Called with an event of the engine for this session."""
        self._report(event)

    def _report(self, event: StoreEvent) -> None:
        if self._on_event is not None:
            self._on_event(event)


def _warn(error: Exception) -> None:
    _log.warning("the session with the metadata store could not be closed: %s", error)
