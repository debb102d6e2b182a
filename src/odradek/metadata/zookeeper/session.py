"""A session with ZooKeeper: a `MetadataStore` over connections to its servers, one of them in use at a time.

    IDLE      no session: before `open`, and after `SessionEnded`
    OPENING   connecting to one server after another, and asking for a session
    OPEN      connected; the session is alive, as far as is known
    AWAY      the connection is lost; connecting to one server after another, and asking for the same session
    CLOSING   everything was submitted; waiting for the session's end
    CLOSED    nothing is reported any more

    open        IDLE, CLOSED         -> OPENING
    connected   OPENING              -> OPEN     SessionOpened
                AWAY                 -> OPEN     what was on its way gets CONNECTION_LOSS, then Reconnected;
                                                 then what was submitted meanwhile is sent
                CLOSING              -> CLOSING  the session is ended at once
    expired     AWAY                 -> IDLE     SessionEnded: a server says that the session is over
    lost        OPENING, AWAY        -> same     the next server is tried
                OPEN                 -> AWAY     nothing is reported yet
                CLOSING              -> CLOSED
    too late    OPENING              -> IDLE     SessionEnded: no server has opened a session in time
    close       any                  -> CLOSING, CLOSED

Only a server can say that a session has expired. So while no server answers a session stays AWAY, however
long, and nothing is answered; a broker meanwhile serves its clients with what it knows. A server that comes
back gives the sessions that it finds on its disk their whole timeout again.

ZooKeeper forgets the watches of a connection, and they are not armed again here: `Reconnected` makes their
users read again. A server sends what a watch saw before the reply to a later operation. Only within `Reads`,
which are one request each, would an event come before the result of the read that armed its watch; it is held
back until then.
"""

import logging
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

from odradek.base.execution import Defer, Steps
from odradek.base.values import value
from odradek.metadata.channel import Link, MalformedMessage, RunSliced
from odradek.metadata.limits import above_limits
from odradek.metadata.remote_session import (
    REDIAL_MS_MAX,
    REDIAL_MS_MIN,
    Attempt,
    Call,
    OnClosed,
    RemoteSession,
    SessionState,
)
from odradek.metadata.store import (
    Children,
    Committed,
    Data,
    Existence,
    Failed,
    Multi,
    OnStoreEvent,
    Operation,
    ReadResult,
    ReadResults,
    Reads,
    Result,
    SessionEnded,
    SessionOpened,
    StoreLimits,
    StoreReplied,
    WatchFired,
)
from odradek.metadata.zookeeper.codec import (
    Close,
    Closed,
    Connect,
    Connected,
    ConnectionCodec,
    Ping,
    PlainOperation,
    Pong,
    Reply,
    Request,
    ToClient,
    ToServer,
)
from odradek.metadata.zookeeper.ensemble import Ensemble
from odradek.timer import Timer

_log = logging.getLogger(__name__)

TICKS_PER_TIMEOUT: Final = 6
"""How often within a session's timeout it sends a sign of life, and looks for those of its server."""


class ServerEnd(Protocol):
    """The session's end of one connection: a `LinkEnd`, with the codec of its frames."""

    codec: ConnectionCodec

    def on_connected(self, link: Link[ToServer]) -> None:
        """See `LinkEnd.on_connected`."""

    def on_message(self, message: ToClient) -> None:
        """See `LinkEnd.on_message`."""

    def on_lost(self, reason: str) -> None:
        """See `LinkEnd.on_lost`."""


class ServerDialer(Protocol):
    """Makes connections to servers."""

    def dial(self, server: tuple[str, int], end: ServerEnd) -> None:
        """Connect; `on_connected` follows, or `on_lost` with the reason, never before this has returned."""


@value
class SessionTimes:
    """What a session is opened with."""

    timeout_ms: int
    """`zookeeper.session.timeout.ms`; the server may answer with another one, within its own bounds."""
    connection_timeout_ms: int
    """`zookeeper.connection.timeout.ms`: how long the session may take to be opened."""
    requests_in_flight_max: int
    """`zookeeper.max.in.flight.requests`."""


class _Call(Call):
    """An operation without a reported result, which may be several requests."""

    __slots__ = ("armed", "held", "is_checked", "parts", "results")

    def __init__(self, call_id: int, operation: Operation) -> None:
        super().__init__(call_id, operation)
        self.is_checked = False
        """Whether it was compared with the limits."""
        self.parts: deque[PlainOperation] = deque()
        """The requests that were not sent; in order."""
        self.parts.extend(operation.operations if isinstance(operation, Reads) else (operation,))
        self.results: list[Result] = []
        """Those of the requests that were sent; in order."""
        self.armed: set[str] = set()
        """The paths that its answered reads watch."""
        self.held: list[WatchFired] = []
        """What those watches saw."""

    def add(self, result: Result) -> Result | None:
        """Add the result of a request; returns the call's, when that was the last one."""
        if not isinstance(self.operation, Reads):
            return result
        read = self.operation.operations[len(self.results)]
        if read.watch and not isinstance(result, Failed):
            self.armed.add(read.path)
        self.results.append(result)
        if len(self.results) < len(self.operation.operations):
            return None
        return ReadResults(tuple(map(_read_result, self.results)))


class _Attempt(Attempt[ToClient, ToServer]):
    """One connection of a session, to one server."""

    def __init__(self, session: "ZooKeeperSession", chroot: str, server: tuple[str, int]) -> None:
        super().__init__(session)
        self.server = server
        self.codec = ConnectionCodec(chroot)
        self.in_flight = 0
        """How many requests have no reply."""


class ZooKeeperSession(RemoteSession[ToClient, ToServer, _Call, _Attempt]):
    """A `MetadataStore`; see the module's head."""

    def __init__(
        self,
        dialer: ServerDialer,
        ensemble: Ensemble,
        timer: Timer,
        defer: Defer,
        run: RunSliced,
        times: Callable[[], SessionTimes],
        on_closed: OnClosed = lambda session: None,
        first_server: int = 0,
    ) -> None:
        """`timer` is on the machine's clock. `times` is asked at each opening.

        `on_closed` is called some time after `close`, when the session has ended. `first_server` is where in
        the ensemble the first connection goes; those after it go on from there.
        """
        super().__init__(timer, defer, run, on_closed)
        self._dialer = dialer
        self._ensemble = ensemble
        self._times = times
        # What a server knows this session by; None before it is open, and after its end.
        self._key: Connected | None = None
        # The last transaction of which this session has heard.
        self._last_zxid = 0
        # The number of the server for the next connection.
        self._next_server = first_server
        self._wish = SessionTimes(0, 0, 1)
        # When the opening began, in the time of this process.
        self._began_ms = 0
        # Why the last connection failed, for the log.
        self._last_reason = ""

    # --- the holder's side

    @property
    def limits(self) -> StoreLimits:
        """See `MetadataStore.limits`."""
        return self._ensemble.limits

    @property
    def in_flight(self) -> int:
        """How many requests of the connection in use have no reply."""
        return 0 if self._attempt is None else self._attempt.in_flight

    @property
    def awake_ms(self) -> int:
        """How long this process has run since the session was opened, at the last tick."""
        return self._awake.now_ms

    @property
    def key(self) -> Connected | None:
        """What a server knows this session by, while it is open or away: its number, timeout and password."""
        return self._key

    @property
    def last_reason(self) -> str:
        """Why the last connection failed; empty if none did."""
        return self._last_reason

    def open(self, on_event: OnStoreEvent) -> None:
        """See `MetadataStore.open`."""
        self._begin(on_event)
        self._wish = self._times()
        self._began_ms = self._awake.now_ms
        self._last_zxid = 0
        self._redial_ms = REDIAL_MS_MIN
        self._dial()
        self._plan_tick()

    # --- the connection's side

    def on_linked(self, link: Link[ToServer]) -> None:
        """See `RemoteSession.on_linked`."""
        if self._key is None:
            link.send(Connect(self._last_zxid, self._wish.timeout_ms))
        else:
            key = self._key
            link.send(Connect(self._last_zxid, self._wish.timeout_ms, key.session_id, key.password))

    def on_message(self, message: ToClient) -> None:
        """See `RemoteSession.on_message`."""
        match self.state, message:
            case _, Pong() | None:
                pass
            case SessionState.OPENING | SessionState.AWAY | SessionState.CLOSING, Connected():
                self._on_session(message)
            case SessionState.OPEN, Reply(zxid, result):
                self._last_zxid = max(zxid, self._last_zxid)
                self._on_result(result)
            case SessionState.OPEN, WatchFired(path):
                if self._calls and path in self._calls[0].armed:
                    self._calls[0].held.append(message)
                else:
                    self._report(message)
            case SessionState.CLOSING, Closed():
                self._finish_closing()
            case SessionState.CLOSING, Reply():
                self._note_reply()
            case SessionState.CLOSING, WatchFired():
                pass
            case _:
                raise MalformedMessage(f"{type(message).__name__} while the session is {self.state.value}")

    def on_lost(self, reason: str) -> None:
        """See `RemoteSession.on_lost`."""
        attempt, self._attempt = self._attempt, None
        assert attempt is not None, "a connection was in use"
        self._last_reason = f"{attempt.server[0]}:{attempt.server[1]}: {reason}"
        match self.state:
            case SessionState.OPEN:
                _log.warning("the connection to ZooKeeper is lost: %s", self._last_reason)
                self._go_away()
                self._plan_tick()
            case SessionState.OPENING | SessionState.AWAY:
                self._plan_tick()
            case SessionState.CLOSING:
                self._finish_closing()

    def _on_session(self, connected: Connected) -> None:
        """A server has answered `Connect`."""
        if connected.timeout_ms == 0:
            _log.warning("the session with ZooKeeper has expired")
            self._end()
            return
        before, self._key = self.state, connected
        if before is SessionState.CLOSING:
            self._send_all()
            return
        self.state = SessionState.OPEN
        self._plan_tick()
        if before is SessionState.OPENING:
            self._report(SessionOpened(connected.session_id))
            return
        _log.warning("the connection to ZooKeeper is back")
        self._come_back()

    def _on_result(self, result: Result) -> None:
        if not self._calls or not self._calls[0].is_sent:
            raise MalformedMessage("a result of nothing that was asked")
        self._note_reply()
        call = self._calls[0]
        whole = call.add(result)
        if whole is not None:
            self._calls.popleft()
            self._report(StoreReplied(call.call_id, whole))
            for event in call.held:
                self._report(event)
            self._report_answered()
        self._send_all()

    def _note_reply(self) -> None:
        """A request less has no reply."""
        if self._attempt is not None:
            self._attempt.in_flight -= 1

    # --- sending

    def _new_call(self, call_id: int, operation: Operation) -> _Call:
        return _Call(call_id, operation)

    @property
    def _may_be_opened_yet(self) -> bool:
        return self.state is SessionState.OPENING and self._link is not None

    def _sending(self) -> Steps[None]:
        """Send what is unsent, each operation after a look at its size, until enough is on its way."""
        try:
            while self._unsent and self.state in (SessionState.OPEN, SessionState.CLOSING):
                call, attempt = self._unsent[0], self._attempt
                if attempt is None or attempt.link is None:
                    return  # sent over the next connection
                if call is None:
                    self._unsent.popleft()
                    attempt.link.send(Close())
                    return
                if not call.is_checked:
                    answer = yield from _answer_without_server(call.operation, self.limits)
                    if self._attempt is not attempt or not self._unsent or self._unsent[0] is not call:
                        continue  # the connection was lost meanwhile
                    call.is_checked, call.answer = True, answer
                if call.answer is not None:
                    self._unsent.popleft()
                    self._defer(self._report_answered)
                    continue
                if attempt.in_flight >= self._wish.requests_in_flight_max:
                    return  # goes on with the next reply
                call.is_sent = True
                attempt.in_flight += 1
                attempt.link.send(Request(call.parts.popleft()))
                if not call.parts:
                    self._unsent.popleft()
                if self._unsent:
                    yield
        finally:
            self._is_sending = False

    # --- time

    def _plan_tick(self) -> None:
        """Plan the next look at the time; before that, a sign of life or an attempt to connect is due."""
        interval_ms = max(1, self._timeout_ms // TICKS_PER_TIMEOUT)
        if self._attempt is None:
            interval_ms = min(interval_ms, self._redial_ms)
        if self.state is SessionState.OPENING:
            left_ms = self._began_ms + self._wish.connection_timeout_ms - self._awake.now_ms
            interval_ms = min(interval_ms, max(1, left_ms))
        self._plan(interval_ms)

    @property
    def _timeout_ms(self) -> int:
        return self._wish.timeout_ms if self._key is None else self._key.timeout_ms

    def _on_tick(self, now_ms: int) -> None:
        attempt, link = self._attempt, self._link
        if self.state is SessionState.OPENING and now_ms - self._began_ms >= self._wish.connection_timeout_ms:
            why = f": {self._last_reason}" if self._last_reason else ""
            _log.warning("no session with ZooKeeper at %s within %d ms%s", self._ensemble, now_ms, why)
            self._end()
            return
        if attempt is None:
            self._redial_ms = min(2 * self._redial_ms, REDIAL_MS_MAX)
            self._dial()
        elif now_ms - self._heard_ms >= self._silence_ms_max:
            self._give_up(attempt)
        elif self.state in (SessionState.OPEN, SessionState.CLOSING) and link is not None and self._key:
            link.send(Ping())
        if self.state not in (SessionState.IDLE, SessionState.CLOSED):
            self._plan_tick()

    @property
    def _silence_ms_max(self) -> int:
        """How long a server may say nothing: another one must be found before the session expires."""
        whole_ms = self._timeout_ms
        if self.state in (SessionState.OPEN, SessionState.CLOSING):
            return 2 * whole_ms // 3
        return max(1, whole_ms // len(self._ensemble.servers))

    def _give_up(self, attempt: _Attempt) -> None:
        """Leave a server that does not answer."""
        self._attempt = attempt
        self.on_lost("no answer")
        if attempt.link is not None:
            attempt.link.abort()

    def _dial(self) -> None:
        servers = self._ensemble.servers
        server = servers[self._next_server % len(servers)]
        self._next_server += 1
        self._heard_ms = self._awake.now_ms
        self._attempt = _Attempt(self, self._ensemble.chroot, server)
        self._dialer.dial(server, self._attempt)

    # --- the end

    def _end(self) -> None:
        """The session is over, or could not be opened."""
        was_closed = self.state is SessionState.CLOSING
        self._leave()
        self.state = SessionState.IDLE
        self._report(SessionEnded())
        if was_closed:
            self._finish_closing()

    def _leave(self) -> None:
        self._key = None
        super()._leave()


def _answer_without_server(operation: Operation, limits: StoreLimits) -> Steps[Result | None]:
    """The result of an operation that no server is asked for."""
    if isinstance(operation, Multi) and not operation.operations:
        return Committed(())
    return (yield from above_limits(operation, limits))


def _read_result(result: Result) -> ReadResult:
    assert isinstance(result, Data | Children | Existence | Failed), result
    return result
