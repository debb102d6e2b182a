"""A session with a metadata store in another process: a `MetadataStore` over a connection that may break.

Each session has a connection of its own, because the server ends the session with the connection. The
server's process may restart: the session then outlives the connection, and comes back over the next one,
however long there was no server. Only a server ends sessions, so nobody else leads what this process leads.
If each process gave up its session meanwhile, the first one to register would be all that the cluster has,
would lead everything, and clients would forget the others.

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
    ended       OPENING, OPEN, AWAY  -> IDLE     SessionEnded: the server said so
    silent      OPENING, OPEN        -> IDLE     SessionEnded: nothing has come for the session timeout
                AWAY                 -> AWAY     it connects again
    close       any                  -> CLOSING, CLOSED

`remote_session` has what sessions with ZooKeeper do, too. A server that is connected and silent may be cut
off from this process in one direction: this process gives up the session (`SessionEnded.is_told` is False
then). The server may still hold it, so the next `open` names it and the server ends it first.

Operations above the store's limits are not sent; they are answered with TOO_LARGE in their turn.
"""

import logging
from collections.abc import Callable
from typing import Final, Protocol, TypeAlias

from odradek.base.execution import Defer, Steps
from odradek.base.ids import BrokerId
from odradek.base.values import value
from odradek.metadata.channel import Link, LinkEnd, MalformedMessage, RunSliced
from odradek.metadata.limits import above_limits
from odradek.metadata.remote_session import (
    REDIAL_MS_MAX,
    Attempt,
    Call,
    OnClosed,
    RemoteSession,
    SessionState,
)
from odradek.metadata.service.messages import (
    PROTOCOL_VERSION,
    CloseSession,
    Greeting,
    Heartbeat,
    Message,
    OpenSession,
    ResumeSession,
    SessionBegan,
    SessionKey,
    Submitted,
    ToClient,
)
from odradek.metadata.store import (
    OnStoreEvent,
    Operation,
    Reconnected,
    Result,
    SessionEnded,
    SessionOpened,
    StoreLimits,
    StoreReplied,
    WatchFired,
)
from odradek.timer import Timer

_log = logging.getLogger(__name__)

HEARTBEATS_PER_TIMEOUT: Final = 6


class Dialer(Protocol):
    """Makes connections to the server."""

    def dial(self, end: LinkEnd[ToClient, Message]) -> None:
        """Connect; `on_connected` follows, or `on_lost` with the reason, never before this has returned."""


@value
class SessionWish:
    """What a session is opened with."""

    timeout_ms: int
    broker_id: BrokerId


_Attempt: TypeAlias = Attempt[ToClient, Message]


class ClientSession(RemoteSession[ToClient, Message, Call, _Attempt]):
    """A `MetadataStore`; see the module's head."""

    def __init__(
        self,
        dialer: Dialer,
        timer: Timer,
        defer: Defer,
        run: RunSliced,
        wish: Callable[[], SessionWish],
        on_closed: OnClosed = lambda session: None,
    ) -> None:
        """`timer` is on the machine's clock. `wish` is asked at each opening.

        `on_closed` is called some time after `close`, when the server has ended the session.
        """
        super().__init__(timer, defer, run, on_closed)
        self._dialer = dialer
        self._wish = wish
        self._limits = StoreLimits()
        # The session that is open or away; None in the other states.
        self._key: SessionKey | None = None
        # A session that was given up without the server's word; the server ends it before the next one.
        self._former: SessionKey | None = None
        # What this session was opened with.
        self._timeout_ms = 0
        # How many attempts to open a session have failed since the last one that was opened.
        self._failed_attempts = 0
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

    def open(self, on_event: OnStoreEvent) -> None:
        """See `MetadataStore.open`."""
        self._begin(on_event)
        self._timeout_ms = self._wish().timeout_ms
        self._dial()
        self._plan_tick()

    def send_heartbeat(self) -> None:
        """Tell the server that this process lives; the session does so itself, in time."""
        if self.state is SessionState.OPEN:
            self.heartbeats_unanswered += 1
            self._link_now.send(Heartbeat())

    # --- the connection's side

    def on_message(self, message: ToClient) -> None:
        """See `RemoteSession.on_message`."""
        match self.state, message:
            case _, Heartbeat():
                self.heartbeats_unanswered = max(0, self.heartbeats_unanswered - 1)
            case SessionState.OPENING | SessionState.AWAY, Greeting():
                self._on_greeting(message)
            case SessionState.OPENING, SessionBegan(key):
                self._key, self._former = key, None
                self.state = SessionState.OPEN
                self._note_open()
                self._report(SessionOpened(key.session_id))
            case SessionState.AWAY, Reconnected():
                self._on_reconnected()
            case SessionState.OPEN, StoreReplied(call_id, result):
                self._on_result(call_id, result)
            case SessionState.OPEN, WatchFired():
                self._report(message)
            case SessionState.OPENING | SessionState.OPEN | SessionState.AWAY, SessionEnded():
                self._key = None
                self._end(is_told=True)
            case SessionState.CLOSING, StoreReplied() | WatchFired() | SessionEnded():
                pass
            case _:
                raise MalformedMessage(f"{type(message).__name__} while the session is {self.state.value}")

    def on_lost(self, reason: str) -> None:
        """See `RemoteSession.on_lost`."""
        self._attempt = None
        match self.state:
            case SessionState.OPENING:
                self._note_failed(reason)
                self._end(is_told=False)
            case SessionState.OPEN:
                _log.warning("the connection to the metadata store is lost: %s", reason)
                self._go_away()
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
            self._link_now.send(OpenSession(self._timeout_ms, self._wish().broker_id, self._former))
        else:
            self._link_now.send(ResumeSession(self._key))

    def _on_reconnected(self) -> None:
        self.state = SessionState.OPEN
        self._plan_tick()
        _log.warning("the connection to the metadata store is back")
        self._come_back()

    def _on_result(self, call_id: int, result: Result) -> None:
        if not self._calls or self._calls[0].call_id != call_id or not self._calls[0].is_sent:
            raise MalformedMessage(f"a result of call {call_id}, which is not the next one")
        self._calls.popleft()
        self._report(StoreReplied(call_id, result))
        self._report_answered()

    # --- sending

    @property
    def _link_now(self) -> Link[Message]:
        assert self._link is not None, "no connection in this state"
        return self._link

    def _new_call(self, call_id: int, operation: Operation) -> Call:
        return Call(call_id, operation)

    def _sending(self) -> Steps[None]:
        """Send what is unsent, each operation after a look at its size."""
        try:
            while self._unsent and self.state in (SessionState.OPEN, SessionState.CLOSING):
                call, link = self._unsent[0], self._link_now
                if call is not None:
                    answer = yield from above_limits(call.operation, self._limits)
                    if not self._is_next(call, link):
                        continue  # the connection was lost meanwhile
                    call.answer = answer
                self._unsent.popleft()
                if call is None:
                    link.send(CloseSession())
                elif call.answer is not None:
                    self._defer(self._report_answered)
                else:
                    call.is_sent = True
                    link.send(Submitted(call.call_id, call.operation))
                if self._unsent:
                    yield
        finally:
            self._is_sending = False

    def _is_next(self, call: Call, link: Link[Message]) -> bool:
        return self._link is link and bool(self._unsent) and self._unsent[0] is call

    # --- time

    def _plan_tick(self) -> None:
        """Plan the next look at the lease; before that, a sign of life or an attempt to connect is due."""
        interval_ms = max(1, self._timeout_ms // HEARTBEATS_PER_TIMEOUT)
        if self.state is SessionState.AWAY and self._attempt is None:
            interval_ms = min(interval_ms, self._redial_ms)
        self._plan(interval_ms)

    def _on_tick(self, now_ms: int) -> None:
        is_silent = now_ms - self._heard_ms >= self._timeout_ms
        match self.state:
            case SessionState.AWAY if self._attempt is None:
                self._redial_ms = min(2 * self._redial_ms, REDIAL_MS_MAX)
                self._dial()
            case SessionState.AWAY if is_silent:
                self._drop_attempt()
            case SessionState.CLOSING if is_silent:
                self._finish_closing()
                return
            case SessionState.OPENING if is_silent:
                self._note_failed(f"it was silent for {self._timeout_ms} ms")
                self._end(is_told=False)
                return
            case SessionState.OPEN if is_silent:
                _log.warning("the metadata store was silent for the session timeout, %d ms", self._timeout_ms)
                self._end(is_told=False)
                return
        self.send_heartbeat()
        self._plan_tick()

    def _dial(self) -> None:
        self._heard_ms = self._awake.now_ms
        self._attempt = Attempt(self)
        self._dialer.dial(self._attempt)

    # --- the end

    def _end(self, *, is_told: bool) -> None:
        """The session is over, or could not be opened; `is_told`: see `SessionEnded`."""
        self._leave()
        self.state = SessionState.IDLE
        self._report(SessionEnded(is_told))

    def _note_failed(self, reason: str) -> None:
        """Log the first of the attempts that fail; its holder tries again each second."""
        if not self._failed_attempts:
            _log.warning("no session with the metadata store: %s", reason)
        self._failed_attempts += 1

    def _note_open(self) -> None:
        """Log that attempts no longer fail."""
        failed, self._failed_attempts = self._failed_attempts, 0
        if failed:
            _log.warning("there is a session with the metadata store again, after %d failed attempts", failed)

    def _leave(self) -> None:
        self._former = self._key or self._former
        self._key = None
        super()._leave()
