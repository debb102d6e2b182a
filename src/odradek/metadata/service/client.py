"""A session with a metadata store in another process: a `MetadataStore` over a connection that may break.

Each session has a connection of its own, because the server ends the session with the connection. The
server's process may restart: the session then outlives the connection, and comes back over the next one.

    IDLE      no session: before `open`, and after `SessionEnded`
    OPENING   connecting, greeted, asking for a session
    OPEN      the session is alive, as far as is known
    AWAY      the connection is lost; connecting and asking for the same session again
    CLOSING   everything was submitted; waiting for the server to end the session
    CLOSED    nothing is reported any more

    open        IDLE, CLOSED         -> OPENING
    began       OPENING              -> OPEN     SessionOpened
    lost        OPENING              -> IDLE     SessionEnded; the owner opens again, later
                OPEN                 -> AWAY     nothing is reported yet
                CLOSING              -> CLOSED
    came back   AWAY                 -> OPEN     what was on its way gets CONNECTION_LOSS, then Reconnected;
                                                 then what was submitted meanwhile is sent
    ended       OPENING, OPEN, AWAY  -> IDLE     SessionEnded: the server said so, or the lease has run out
    close       any                  -> CLOSING, CLOSED

While AWAY nothing is answered, as in `memory.MemorySession` when it is cut off: the outcomes come when it is
known whether the session lives. A lease runs out when nothing has come from the server for the session
timeout. The server may still hold the session then, so the next `open` names it and the server ends it first.

Operations above the store's limits are not sent; they are answered with TOO_LARGE in their turn.
"""

import logging
from collections import deque
from collections.abc import Callable
from enum import Enum
from itertools import takewhile
from typing import Final, Protocol

from odradek.base.execution import Defer, Steps
from odradek.base.ids import BrokerId
from odradek.base.values import value
from odradek.metadata.service.awake_time import AwakeTime
from odradek.metadata.service.channel import Link, LinkEnd, RunSliced
from odradek.metadata.service.layout import MalformedMessage
from odradek.metadata.service.messages import (
    PROTOCOL_VERSION,
    CloseSession,
    Greeting,
    Heartbeat,
    OpenSession,
    ResumeSession,
    SessionBegan,
    SessionKey,
    Submitted,
    ToClient,
)
from odradek.metadata.store import (
    READS_MAX,
    ROOT,
    Create,
    Failed,
    Fault,
    Multi,
    OnStoreEvent,
    Operation,
    Reads,
    Reconnected,
    Result,
    SessionEnded,
    SessionOpened,
    SetData,
    StoreEvent,
    StoreLimits,
    StoreReplied,
    WatchFired,
)
from odradek.metadata.tree import size_of
from odradek.timer import TimedCall, Timer

_log = logging.getLogger(__name__)

HEARTBEATS_PER_TIMEOUT: Final = 6
REDIAL_MS_MIN: Final = 100
REDIAL_MS_MAX: Final = 1_000
_CHECKED_PER_STEP: Final = 1_000


class Dialer(Protocol):
    """Makes connections to the server."""

    def dial(self, end: LinkEnd[ToClient]) -> None:
        """Connect; `on_connected` follows, or `on_lost` with the reason, never before this has returned."""


class SessionState(Enum):
    """See the module's head."""

    IDLE = "idle"
    OPENING = "opening"
    OPEN = "open"
    AWAY = "away"
    CLOSING = "closing"
    CLOSED = "closed"


@value
class SessionWish:
    """What a session is opened with."""

    timeout_ms: int
    broker_id: BrokerId


class _Call:
    """An operation without a reported result."""

    __slots__ = ("call_id", "is_sent", "operation", "refusal")

    def __init__(self, call_id: int, operation: Operation) -> None:
        self.call_id = call_id
        self.operation = operation
        self.is_sent = False
        """Whether it went out over a connection: its outcome is unknown when that is lost."""
        self.refusal: Failed | None = None
        """Its result, if it is above the limits and is not sent."""


class _Attempt:
    """One connection of a session, from the attempt to make it on; the session ignores all but the last."""

    def __init__(self, session: "ClientSession") -> None:
        self._session = session
        self.link: Link | None = None

    def on_connected(self, link: Link) -> None:
        """See `LinkEnd.on_connected`."""
        self.link = link
        if not self._session.uses(self):
            link.abort()

    def on_message(self, message: ToClient) -> None:
        """See `LinkEnd.on_message`."""
        if self._session.uses(self):
            self._session.on_message(message)

    def on_lost(self, reason: str) -> None:
        """See `LinkEnd.on_lost`."""
        self.link = None
        if self._session.uses(self):
            self._session.on_lost(reason)


class ClientSession:
    """A `MetadataStore`; see the module's head."""

    def __init__(
        self,
        dialer: Dialer,
        timer: Timer,
        defer: Defer,
        run: RunSliced,
        wish: Callable[[], SessionWish],
        on_closed: Callable[["ClientSession"], None] = lambda session: None,
    ) -> None:
        """`timer` is on the machine's clock. `wish` is asked at each opening.

        `on_closed` is called some time after `close`, when the server has ended the session.
        """
        self._dialer = dialer
        self._timer = timer
        self._defer = defer
        self._run = run
        self._wish = wish
        self._on_closed = on_closed
        self.state = SessionState.IDLE
        self._limits = StoreLimits()
        # Takes the events; None before `open` and after `close`.
        self._on_event: OnStoreEvent | None = None
        self._last_call_id = -1
        # The session that is open or away; None in the other states.
        self._key: SessionKey | None = None
        # A session that was given up without the server's word; the server ends it before the next one.
        self._former: SessionKey | None = None
        # The connection in use, or being made.
        self._attempt: _Attempt | None = None
        # Operations without a reported result, in the order of submission; sent ones come first.
        self._calls: deque[_Call] = deque()
        # What is still to be sent, in order; None: the session is to be closed.
        self._unsent: deque[_Call | None] = deque()
        self._is_sending = False
        # What this session was opened with.
        self._timeout_ms = 0
        # The time of the leases; when the server was heard last in it.
        self._awake = AwakeTime(timer.clock)
        self._heard_ms = 0
        # The next tick, and after how long it was planned; None where nothing depends on time.
        self._next_tick: TimedCall | None = None
        self._planned_ms = 0
        self._redial_ms = REDIAL_MS_MIN
        self.heartbeats_unanswered = 0
        """How many heartbeats of this connection have no answer."""

    # --- the holder's side

    @property
    def limits(self) -> StoreLimits:
        """See `MetadataStore.limits`: those of the last connection; before the first one the defaults."""
        return self._limits

    @property
    def session_id(self) -> int | None:
        """The session that is open or away."""
        return None if self._key is None else self._key.session_id

    @property
    def is_closing(self) -> bool:
        """Whether it was closed, and the server has not ended the session yet."""
        return self.state is SessionState.CLOSING

    @property
    def unanswered(self) -> int:
        """How many operations have no reported result."""
        return len(self._calls)

    def open(self, on_event: OnStoreEvent) -> None:
        """See `MetadataStore.open`."""
        assert self.state in (SessionState.IDLE, SessionState.CLOSED), f"opened while {self.state.value}"
        self._on_event = on_event
        self._become(SessionState.OPENING)
        self._timeout_ms = self._wish().timeout_ms
        self._awake = AwakeTime(self._timer.clock)
        self._heard_ms = self._awake.now_ms
        self._dial()
        self._plan_tick()

    def submit(self, operation: Operation) -> int:
        """See `MetadataStore.submit`; after `close` nothing happens, and no event follows."""
        self._last_call_id += 1
        call_id = self._last_call_id
        if self._on_event is None:
            return call_id
        if self.state not in (SessionState.OPEN, SessionState.AWAY):
            expired = StoreReplied(call_id, Failed(Fault.SESSION_EXPIRED, _path_of(operation)))
            self._defer(lambda: self._report(expired))
            return call_id
        call = _Call(call_id, operation)
        self._calls.append(call)
        self._unsent.append(call)
        self._send_all()
        return call_id

    def close(self) -> None:
        """See `MetadataStore.close`; `on_closed` follows when the server has ended the session."""
        if self.state is SessionState.CLOSED or self.state is SessionState.CLOSING:
            return
        self._on_event = None
        self._calls.clear()
        if self.state is SessionState.OPEN:
            self._become(SessionState.CLOSING)
            self._unsent.append(None)
            self._send_all()
        else:
            self._leave()
            self._become(SessionState.CLOSED)
            self._defer(lambda: self._on_closed(self))

    def abandon(self) -> None:
        """End the connection at once, as the end of this process would do; nothing is reported any more."""
        self._on_event = None
        self._leave()
        self._become(SessionState.CLOSED)

    def send_heartbeat(self) -> None:
        """Tell the server that this process lives; the session does so itself, in time."""
        if self.state is SessionState.OPEN:
            self.heartbeats_unanswered += 1
            self._link.send(Heartbeat())

    # --- the connection's side

    def uses(self, attempt: _Attempt) -> bool:
        """Whether this is the last connection that was made, and is wanted."""
        return self._attempt is attempt

    def on_message(self, message: ToClient) -> None:
        """Called with each message of the server. Raises MalformedMessage for one that must not come now."""
        match self.state, message:
            case _, Heartbeat():
                self.heartbeats_unanswered = max(0, self.heartbeats_unanswered - 1)
            case SessionState.OPENING | SessionState.AWAY, Greeting():
                self._on_greeting(message)
            case SessionState.OPENING, SessionBegan(key):
                self._key, self._former = key, None
                self._become(SessionState.OPEN)
                self._report(SessionOpened(key.session_id))
            case SessionState.AWAY, Reconnected():
                self._on_reconnected()
            case SessionState.OPEN, StoreReplied(call_id, result):
                self._on_result(call_id, result)
            case SessionState.OPEN, WatchFired():
                self._report(message)
            case SessionState.OPENING | SessionState.OPEN | SessionState.AWAY, SessionEnded():
                self._key = None
                self._end()
            case SessionState.CLOSING, StoreReplied() | WatchFired() | SessionEnded():
                pass
            case _:
                raise MalformedMessage(f"{type(message).__name__} while the session is {self.state.value}")

    def on_lost(self, reason: str) -> None:
        """Called when the connection in use has ended, or could not be made."""
        self._attempt = None
        match self.state:
            case SessionState.OPENING:
                _log.warning("no session with the metadata store: %s", reason)
                self._end()
            case SessionState.OPEN:
                _log.warning("the connection to the metadata store is lost: %s", reason)
                self._become(SessionState.AWAY)
                self._redial_ms = REDIAL_MS_MIN
                self._plan_tick()
            case SessionState.AWAY:
                self._plan_tick()
            case SessionState.CLOSING:
                self._finish_closing()

    def _on_greeting(self, greeting: Greeting) -> None:
        if greeting.version != PROTOCOL_VERSION:
            raise MalformedMessage(
                f"the metadata store speaks version {greeting.version} of its protocol, this broker"
                f" {PROTOCOL_VERSION}: restart the older of the two"
            )
        self._limits = greeting.limits
        self.heartbeats_unanswered = 0
        if self._key is None:
            self._link.send(OpenSession(self._timeout_ms, self._wish().broker_id, self._former))
        else:
            self._link.send(ResumeSession(self._key))

    def _on_reconnected(self) -> None:
        self._become(SessionState.OPEN)
        self._plan_tick()
        _log.warning("the connection to the metadata store is back")
        # Taken first: what the holder submits meanwhile goes out over the new connection.
        lost = list(takewhile(lambda call: call.is_sent or call.refusal is not None, self._calls))
        for _ in lost:
            self._calls.popleft()
        for call in lost:
            outcome = call.refusal or Failed(Fault.CONNECTION_LOSS, _path_of(call.operation))
            self._report(StoreReplied(call.call_id, outcome))
        self._report(Reconnected())
        self._send_all()

    def _on_result(self, call_id: int, result: Result) -> None:
        if not self._calls or self._calls[0].call_id != call_id or not self._calls[0].is_sent:
            raise MalformedMessage(f"a result of call {call_id}, which is not the next one")
        self._calls.popleft()
        self._report(StoreReplied(call_id, result))
        self._report_refused()

    def _report_refused(self) -> None:
        """Report the operations that are above the limits, up to the next one whose result is awaited."""
        while self._calls and (refusal := self._calls[0].refusal) is not None:
            self._report(StoreReplied(self._calls.popleft().call_id, refusal))

    # --- sending

    @property
    def _link(self) -> Link:
        assert self._attempt is not None, "no connection in this state"
        assert self._attempt.link is not None, "no connection in this state"
        return self._attempt.link

    def _send_all(self) -> None:
        if self.state in (SessionState.OPEN, SessionState.CLOSING) and not self._is_sending:
            self._is_sending = True
            self._run(self._sending(), _raise)

    def _sending(self) -> Steps[None]:
        """Send what is unsent, each operation after a look at its size."""
        try:
            while self._unsent and self.state in (SessionState.OPEN, SessionState.CLOSING):
                call, link = self._unsent[0], self._link
                if call is not None:
                    refusal = yield from above_limits(call.operation, self._limits)
                    if not self._is_next(call, link):
                        continue  # the connection was lost meanwhile
                    call.refusal = refusal
                self._unsent.popleft()
                if call is None:
                    link.send(CloseSession())
                elif call.refusal is not None:
                    self._defer(self._report_refused)
                else:
                    call.is_sent = True
                    link.send(Submitted(call.call_id, call.operation))
                if self._unsent:
                    yield
        finally:
            self._is_sending = False

    def _is_next(self, call: _Call, link: Link) -> bool:
        is_connected = self._attempt is not None and self._attempt.link is link
        return is_connected and bool(self._unsent) and self._unsent[0] is call

    # --- time

    def _plan_tick(self) -> None:
        """Plan the next look at the lease; before that, a sign of life or an attempt to connect is due."""
        if self._next_tick is not None:
            self._next_tick.cancel()
        interval_ms = max(1, self._timeout_ms // HEARTBEATS_PER_TIMEOUT)
        if self.state is SessionState.AWAY and self._attempt is None:
            interval_ms = min(interval_ms, self._redial_ms)
        self._planned_ms = interval_ms
        deadline_ms = self._timer.clock.monotonic_ms() + interval_ms
        self._next_tick = TimedCall(deadline_ms, self._tick)
        self._timer.add(self._next_tick)

    def _tick(self) -> None:
        self._next_tick = None
        now_ms = self._awake.tick(self._planned_ms)
        link = None if self._attempt is None else self._attempt.link
        if link is not None and link.take_heard():
            self._heard_ms = now_ms
        if now_ms - self._heard_ms >= self._timeout_ms:
            if self.state is SessionState.CLOSING:
                self._finish_closing()
            else:
                _log.warning("the metadata store was silent for the session timeout, %d ms", self._timeout_ms)
                self._end()
            return
        if self.state is SessionState.AWAY and self._attempt is None:
            self._redial_ms = min(2 * self._redial_ms, REDIAL_MS_MAX)
            self._dial()
        self.send_heartbeat()
        self._plan_tick()

    def _dial(self) -> None:
        self._attempt = _Attempt(self)
        self._dialer.dial(self._attempt)

    # --- the end

    def _end(self) -> None:
        """The session is over, or could not be opened."""
        self._leave()
        self._become(SessionState.IDLE)
        self._report(SessionEnded())

    def _finish_closing(self) -> None:
        self._leave()
        self._become(SessionState.CLOSED)
        self._on_closed(self)

    def _leave(self) -> None:
        """Drop the connection and everything of the session."""
        attempt, self._attempt = self._attempt, None
        if attempt is not None and attempt.link is not None:
            attempt.link.abort()
        self._former = self._key or self._former
        self._key = None
        self._calls.clear()
        self._unsent.clear()
        if self._next_tick is not None:
            self._next_tick.cancel()
            self._next_tick = None

    def _become(self, state: SessionState) -> None:
        self.state = state

    def _report(self, event: StoreEvent) -> None:
        if self._on_event is not None:
            self._on_event(event)


def above_limits(operation: Operation, limits: StoreLimits) -> Steps[Failed | None]:
    """The failure of an operation that is above the limits of the store; None for any other."""
    match operation:
        case Multi(operations):
            size_bytes = 0
            for index, write in enumerate(operations):
                size_bytes += size_of(write)
                if isinstance(write, Create | SetData) and len(write.data) > limits.node_bytes_max:
                    return Failed(Fault.TOO_LARGE, write.path, index)
                if index % _CHECKED_PER_STEP == _CHECKED_PER_STEP - 1:
                    yield
            if len(operations) > limits.multi_operations_max or size_bytes > limits.multi_bytes_max:
                return Failed(Fault.TOO_LARGE, _path_of(operation))
        case Reads(reads):
            if not 0 < len(reads) <= READS_MAX:
                return Failed(Fault.TOO_LARGE, _path_of(operation))
        case Create(path, data) | SetData(path, data):
            if len(data) > limits.node_bytes_max:
                return Failed(Fault.TOO_LARGE, path)
    return None


def _path_of(operation: Operation) -> str:
    if isinstance(operation, Multi | Reads):
        return operation.operations[0].path if operation.operations else ROOT
    return operation.path


def _raise(error: Exception) -> None:
    raise error
