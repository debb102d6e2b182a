"""The sessions that one process serves to others: connections, leases, and the engine's host under them.

A session belongs to a connection. It ends when its client closes it, when the connection ends (the client's
process has died), or when nothing has come over the connection for the session timeout (it stands still). In
the last case the client learns of it when it runs again: `SessionEnded` waits for it, and its operations are
answered with SESSION_EXPIRED.

    NEW       greeted; no session yet
    OPENING   the engine begins a session
    OPEN      the session is alive
    ENDED     the session has expired, or was refused; operations get SESSION_EXPIRED
    CLOSED    the client has closed the session

    OpenSession       NEW           -> OPENING; then OPEN, or ENDED if the engine fails
    ResumeSession     NEW           -> OPEN, or ENDED
    lease runs out    OPEN          -> ENDED
    CloseSession      OPEN, ENDED   -> CLOSED, and the connection ends when the session has

When this process ends, the sessions stay in the engine, each with its lease. The next process keeps them for
one session timeout, except those of processes that have died since, and of an earlier boot of the machine. A
client that comes back in time and shows the session's secret goes on; its watches are gone. The others end.

Leases are measured in the time in which this process runs (`awake_time`): a stopped server ends no session.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterable
from enum import Enum
from hmac import compare_digest
from typing import Final

from odradek.base.ids import BrokerId
from odradek.base.values import value
from odradek.metadata.awake_time import AwakeTime
from odradek.metadata.channel import Link, MalformedMessage
from odradek.metadata.service.lease import Lease, decode_lease
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
    ToServer,
)
from odradek.metadata.store import (
    Reconnected,
    SessionEnded,
    SessionOpened,
    StoreEvent,
    StoreReplied,
    WatchFired,
)
from odradek.metadata.store_host import HostedSession, StoreHost
from odradek.timer import TimedCall, Timer

_log = logging.getLogger(__name__)

UNANSWERED_MAX: Final = 64
"""How many operations of a connection wait for the engine before nothing more is read from it."""
TICK_MS: Final = 100


@value
class ServedSession:
    """A session that is alive, for the owner of the server."""

    session_id: int
    broker_id: BrokerId
    pid: int
    """The process that holds it; 0 where the system does not say."""
    is_connected: bool
    """False for a session of an earlier server, whose holder has not come back yet."""


class _State(Enum):
    """See the module's head."""

    NEW = "new"
    OPENING = "opening"
    OPEN = "open"
    ENDED = "over"
    CLOSED = "closed"


class ServedConnection:
    """One client: the `LinkEnd` of its connection, and the state of its session."""

    def __init__(self, service: "StoreService") -> None:
        self._service = service
        self._state = _State.NEW
        # None before the connection is made and after it is lost.
        self._link: Link[Message] | None = None
        # The session in the engine's host; None in NEW, and where it was refused.
        self._session: HostedSession | None = None
        # Its lease; None exactly where `_session` is.
        self._lease: Lease | None = None
        # The client's numbers of the operations that the engine has not answered, oldest first.
        self._call_ids: deque[int] = deque()
        # Whether the link is held, because of too many of them.
        self._is_held = False
        # When the client was heard last, in the service's time.
        self._heard_ms = 0

    @property
    def served(self) -> ServedSession | None:
        """The session, if it is alive."""
        if self._state is not _State.OPEN:
            return None
        assert self._session is not None, "an open session"
        assert self._lease is not None, "an open session"
        return ServedSession(self._session.session_id, self._lease.broker_id, self._lease.pid, True)

    def holds(self, key: SessionKey) -> bool:
        """Whether this key is that of the session, which is alive."""
        if self._state is not _State.OPEN:
            return False
        assert self._session is not None, "an open session"
        assert self._lease is not None, "an open session"
        return self._session.session_id == key.session_id and compare_digest(self._lease.secret, key.secret)

    def check_lease(self, now_ms: int) -> None:
        """Called at each tick of the service: ends the session if its client is silent."""
        link, lease = self._link, self._lease
        if link is None or lease is None or self._state is not _State.OPEN:
            return
        if link.take_heard() or self._call_ids:
            self._heard_ms = now_ms
            if self._is_held:  # its heartbeats are not read: without this one it would give the server up
                link.send(Heartbeat())
        elif now_ms - self._heard_ms >= lease.timeout_ms:
            _log.warning(
                "broker %d (process %d) was silent for %d ms: its session is over",
                lease.broker_id,
                lease.pid,
                lease.timeout_ms,
            )
            self.end()

    def leave(self) -> None:
        """End the connection, and not the session: this server is being closed."""
        if self._link is not None:
            self._link.abort()

    def end(self) -> None:
        """End the session, which is alive; the client learns of it."""
        assert self._session is not None, "a session that is alive"
        self._state = _State.ENDED
        self._service.end(self._session.session_id)

    # --- the connection's side

    def on_connected(self, link: Link[Message]) -> None:
        """See `LinkEnd.on_connected`."""
        self._link = link
        self._service.connected(self)
        link.send(Greeting(PROTOCOL_VERSION, self._service.host.engine.limits))

    def on_message(self, message: ToServer) -> None:
        """See `LinkEnd.on_message`."""
        match self._state, message:
            case _, Heartbeat():
                self._send(Heartbeat())
            case _State.NEW, OpenSession():
                self._open(message)
            case _State.NEW, ResumeSession(key):
                self._resume(key)
            case _State.OPEN | _State.ENDED, Submitted(call_id, operation) if self._session is not None:
                self._call_ids.append(call_id)
                self._session.submit(operation)
                self._steer()
            case _State.OPEN | _State.ENDED, CloseSession():
                self._close()
            case _:
                raise MalformedMessage(f"{type(message).__name__} while the session is {self._state.value}")

    def on_lost(self, reason: str) -> None:
        """See `LinkEnd.on_lost`."""
        self._link = None
        self._service.lost(self)
        if self._service.is_closed:
            return  # the session stays, for the next process
        if self._state is _State.OPENING and self._session is not None:
            self._session.close()
        elif self._state is _State.OPEN:
            served = self.served
            assert served is not None, "an open session"
            words = "the session of broker %d (process %d) is over: %s"
            _log.info(words, served.broker_id, served.pid, reason)
            self.end()

    # --- the session

    def _open(self, wanted: OpenSession) -> None:
        service, link = self._service, self._link
        assert link is not None, "a message comes over a connection"
        if wanted.former is not None:
            service.end_former(wanted.former)
        secret = service.new_secret()
        self._lease = Lease(wanted.timeout_ms, wanted.broker_id, link.peer_pid, service.boot_id, secret)
        self._state = _State.OPENING
        self._session = service.host.session(self._lease.encode())
        self._session.open(self._on_event)

    def _resume(self, key: SessionKey) -> None:
        lease = self._service.take_kept(key)
        if lease is None:
            self._state = _State.ENDED
            self._send(SessionEnded())
            return
        self._lease = lease
        self._session = self._service.host.resumed(key.session_id, self._on_event)
        self._begin()
        self._send(Reconnected())

    def _begin(self) -> None:
        self._state = _State.OPEN
        self._heard_ms = self._service.now_ms
        served = self.served
        assert served is not None, "an open session"
        self._service.began(served)

    def _close(self) -> None:
        if self._state is _State.OPEN:
            self.end()
        self._state = _State.CLOSED
        link = self._link
        assert link is not None, "a message comes over a connection"
        self._service.host.after_earlier(link.close)

    def _on_event(self, event: StoreEvent) -> None:
        """Called with what the engine's host has for the session."""
        match event:
            case SessionOpened(session_id):
                assert self._lease is not None, "a session that is being opened"
                self._begin()
                self._send(SessionBegan(SessionKey(session_id, self._lease.secret)))
            case StoreReplied(_, result):
                self._send(StoreReplied(self._call_ids.popleft(), result))
                self._steer()
            case WatchFired():
                self._send(event)
            case SessionEnded():
                if self._state is not _State.CLOSED:
                    self._state = _State.ENDED
                    self._send(event)

    def _send(self, message: Heartbeat | SessionBegan | Reconnected | StoreEvent) -> None:
        if self._link is not None and not isinstance(message, SessionOpened):
            self._link.send(message)

    def _steer(self) -> None:
        """Hold the connection while too many of its operations wait for the engine."""
        link = self._link
        if link is None:
            return
        if not self._is_held and len(self._call_ids) >= UNANSWERED_MAX:
            self._is_held = True
            link.hold()
        elif self._is_held and len(self._call_ids) <= UNANSWERED_MAX // 2:
            self._is_held = False
            link.release()


class _Kept:
    """A session of an earlier process, whose client has not come back yet."""

    def __init__(self, lease: Lease, since_ms: int) -> None:
        self.lease = lease
        self.since_ms = since_ms


class StoreService:
    """All sessions of one server; see the module's head."""

    def __init__(
        self,
        host: StoreHost,
        timer: Timer,
        *,
        boot_id: str,
        new_secret: Callable[[], bytes],
        is_running: Callable[[int], bool],
        on_session: Callable[[ServedSession], None] = lambda session: None,
    ) -> None:
        """`is_running` says whether a process of that number lives.

        `on_session` is called with each session that begins or comes back.
        """
        self.host = host
        self.boot_id = boot_id
        self.new_secret = new_secret
        self._is_running = is_running
        self._on_session = on_session
        self._timer = timer
        self._awake = AwakeTime(timer.clock)
        # All connections (the values mean nothing).
        self._connections: dict[ServedConnection, None] = {}
        # By session, those of an earlier process; each is resumed, or ends.
        self._kept: dict[int, _Kept] = {}
        # Sessions that could not be ended, because the engine failed: tried again at each tick.
        self._unended: list[int] = []
        self._next_tick: TimedCall | None = None
        self.is_closed = False
        """Whether `close` was called: connections that end leave their sessions in the engine."""

    @property
    def now_ms(self) -> int:
        """The time by which leases are measured."""
        return self._awake.now_ms

    def begin(self, leases: Iterable[tuple[int, bytes]]) -> None:
        """Begin to serve; `leases` are what the engine has of an earlier process (`StoreEngine.leases`)."""
        for session_id, data in leases:
            lease = decode_lease(data)
            may_come_back = (
                lease is not None and lease.boot_id == self.boot_id and self._is_running(lease.pid)
            )
            if lease is not None and may_come_back:
                self._kept[session_id] = _Kept(lease, self.now_ms)
            else:
                self.end(session_id)
        self._plan_tick()

    def connection(self) -> ServedConnection:
        """Returns the end for a connection that a client has made."""
        return ServedConnection(self)

    def sessions(self) -> list[ServedSession]:
        """The sessions that are alive, also those whose clients have not come back yet."""
        kept = [
            ServedSession(session_id, one.lease.broker_id, one.lease.pid, False)
            for session_id, one in self._kept.items()
        ]
        connected = (connection.served for connection in self._connections)
        return sorted((*kept, *(one for one in connected if one is not None)), key=lambda one: one.session_id)

    def end_session(self, session_id: int) -> None:
        """End a session, for an owner that knows better than its lease that the holder is gone."""
        if self._kept.pop(session_id, None) is not None:
            self.end(session_id)
        for connection in self._connections:
            served = connection.served
            if served is not None and served.session_id == session_id:
                connection.end()

    def close(self) -> None:
        """End without ending any session: the next process goes on with them."""
        self.is_closed = True
        if self._next_tick is not None:
            self._next_tick.cancel()
        for connection in list(self._connections):
            connection.leave()

    # --- the connections' side

    def connected(self, connection: ServedConnection) -> None:
        """A client is connected."""
        self._connections[connection] = None

    def lost(self, connection: ServedConnection) -> None:
        """A client's connection has ended."""
        self._connections.pop(connection, None)

    def began(self, session: ServedSession) -> None:
        """A client has a session."""
        self._on_session(session)

    def take_kept(self, key: SessionKey) -> Lease | None:
        """The lease of a session that comes back; None if there is no such session, or the key is wrong."""
        kept = self._kept.get(key.session_id)
        if kept is None or not compare_digest(kept.lease.secret, key.secret):
            return None
        del self._kept[key.session_id]
        return kept.lease

    def end_former(self, key: SessionKey) -> None:
        """End a session that its client has given up."""
        if self.take_kept(key) is not None:
            self.end(key.session_id)
        for connection in self._connections:
            if connection.holds(key):
                connection.end()

    def end(self, session_id: int, *, is_first: bool = True) -> None:
        """End a session in its turn; its holder gets `SessionEnded`.

        Only the first attempt that fails is logged: while a disk is full, ten a second do.
        """

        def failed(error: Exception) -> None:
            if is_first:
                _log.warning("session %d could not be ended yet: %s", session_id, error)
            self._unended.append(session_id)

        self.host.expire_session(session_id, failed)

    def _plan_tick(self) -> None:
        self._next_tick = TimedCall(self._timer.clock.monotonic_ms() + TICK_MS, self._tick)
        self._timer.add(self._next_tick)

    def _tick(self) -> None:
        now_ms = self._awake.tick(TICK_MS)
        for connection in list(self._connections):
            connection.check_lease(now_ms)
        for session_id, kept in list(self._kept.items()):
            if now_ms - kept.since_ms >= kept.lease.timeout_ms:
                _log.warning("broker %d has not come back: its session is over", kept.lease.broker_id)
                del self._kept[session_id]
                self.end(session_id)
        unended, self._unended = self._unended, []
        for session_id in unended:
            self.end(session_id, is_first=False)
        self._plan_tick()
