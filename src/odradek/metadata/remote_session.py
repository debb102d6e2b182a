"""The common part of a session with a metadata store in another process: a `MetadataStore` over connections.

`service.client` is a session with the process that owns the store's file, `zookeeper.session` one with
ZooKeeper. Their heads have the table of states; what they share is here: operations wait in the order of
submission, are sent when there is a connection, and are reported in that order.

    submitted while OPEN or AWAY      it waits; sent over the next connection, if there is none
    the connection is lost            nothing is reported yet
    the same session is back          what was sent gets CONNECTION_LOSS, then Reconnected; the rest is sent
    submitted in any other state      SESSION_EXPIRED, in an event of its own

While a session is AWAY nothing is answered, as in `memory.MemorySession` when it is cut off: the outcomes
come when it is known whether the session lives.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from enum import Enum
from itertools import takewhile
from typing import Any, Final, Generic, TypeAlias, TypeVar

from odradek.base.execution import Defer, Steps
from odradek.metadata.awake_time import AwakeTime
from odradek.metadata.channel import Link, RunSliced
from odradek.metadata.limits import path_of
from odradek.metadata.store import (
    Failed,
    Fault,
    OnStoreEvent,
    Operation,
    Reconnected,
    Result,
    StoreEvent,
    StoreReplied,
)
from odradek.timer import TimedCall, Timer

REDIAL_MS_MIN: Final = 100
REDIAL_MS_MAX: Final = 1_000

M = TypeVar("M")
S = TypeVar("S")


class SessionState(Enum):
    """See the heads of the two kinds of sessions."""

    IDLE = "idle"
    OPENING = "opening"
    OPEN = "open"
    AWAY = "away"
    CLOSING = "closing"
    CLOSED = "closed"


class Call:
    """An operation without a reported result."""

    __slots__ = ("answer", "call_id", "is_sent", "operation")

    def __init__(self, call_id: int, operation: Operation) -> None:
        self.call_id = call_id
        self.operation = operation
        self.is_sent = False
        """Whether some of it went out over a connection: its outcome is unknown when that is lost."""
        self.answer: Result | None = None
        """Its result, if it is not sent: the store would refuse it."""


class Attempt(Generic[M, S]):
    """One connection of a session, from the attempt to make it on; the session ignores all but the last.

    `M` are the messages that come, `S` those that are sent.
    """

    def __init__(self, session: "RemoteSession[M, S, Any, Any]") -> None:
        self._session = session
        self.link: Link[S] | None = None

    def on_connected(self, link: Link[S]) -> None:
        """See `LinkEnd.on_connected`."""
        self.link = link
        if self._session.uses(self):
            self._session.on_linked(link)
        else:
            link.abort()

    def on_message(self, message: M) -> None:
        """See `LinkEnd.on_message`."""
        if self._session.uses(self):
            self._session.on_message(message)

    def on_lost(self, reason: str) -> None:
        """See `LinkEnd.on_lost`."""
        self.link = None
        if self._session.uses(self):
            self._session.on_lost(reason)


CallT = TypeVar("CallT", bound=Call)
AttemptT = TypeVar("AttemptT", bound=Attempt[Any, Any])
AnySession: TypeAlias = "RemoteSession[Any, Any, Any, Any]"
OnClosed: TypeAlias = Callable[[AnySession], None]
"""Called when a session that was closed has ended."""


class RemoteSession(ABC, Generic[M, S, CallT, AttemptT]):
    """The base of a `MetadataStore`; see the module's head."""

    def __init__(self, timer: Timer, defer: Defer, run: RunSliced, on_closed: OnClosed) -> None:
        """`timer` is on the machine's clock."""
        self._timer = timer
        self._defer = defer
        self._run = run
        self._on_closed = on_closed
        self.state = SessionState.IDLE
        # Takes the events; None before `open` and after `close`.
        self._on_event: OnStoreEvent | None = None
        self._last_call_id = -1
        # The connection in use, or being made.
        self._attempt: AttemptT | None = None
        # Operations without a reported result, in the order of submission; sent ones come first.
        self._calls: deque[CallT] = deque()
        # What is still to be sent, in order; None: the session is to be closed.
        self._unsent: deque[CallT | None] = deque()
        self._is_sending = False
        # The time of this process, and when in it the server was heard last.
        self._awake = AwakeTime(timer.clock)
        self._heard_ms = 0
        # The next tick, and after how long it was planned; None where nothing depends on time.
        self._next_tick: TimedCall | None = None
        self._planned_ms = 0
        self._redial_ms = REDIAL_MS_MIN
        # When the connection of the session that is AWAY was lost, by the timer's clock.
        self._lost_ms = 0

    # --- the holder's side

    @property
    def lost_for_ms(self) -> int | None:
        """See `MetadataStore.lost_for_ms`."""
        if self.state is not SessionState.AWAY:
            return None
        return self._timer.clock.monotonic_ms() - self._lost_ms

    @property
    def is_closing(self) -> bool:
        """Whether it was closed, and the session has not ended yet."""
        return self.state is SessionState.CLOSING

    @property
    def unanswered(self) -> int:
        """How many operations have no reported result."""
        return len(self._calls)

    def submit(self, operation: Operation) -> int:
        """See `MetadataStore.submit`; after `close` nothing happens, and no event follows."""
        self._last_call_id += 1
        call_id = self._last_call_id
        if self._on_event is None:
            return call_id
        if self.state not in (SessionState.OPEN, SessionState.AWAY):
            expired = StoreReplied(call_id, Failed(Fault.SESSION_EXPIRED, path_of(operation)))
            self._defer(lambda: self._report(expired))
            return call_id
        call = self._new_call(call_id, operation)
        self._calls.append(call)
        self._unsent.append(call)
        self._send_all()
        return call_id

    def close(self) -> None:
        """See `MetadataStore.close`; `on_closed` follows when the session has ended, or cannot be reached."""
        if self.state in (SessionState.CLOSED, SessionState.CLOSING):
            return
        self._on_event = None
        self._calls.clear()
        if self.state is SessionState.OPEN:
            self.state = SessionState.CLOSING
            self._unsent.append(None)
            self._send_all()
        elif self._may_be_opened_yet:
            self.state = SessionState.CLOSING
            self._unsent.append(None)
        else:
            self._leave()
            self.state = SessionState.CLOSED
            self._defer(lambda: self._on_closed(self))

    def abandon(self) -> None:
        """End the connection at once, as the end of this process would do; nothing is reported any more."""
        self._on_event = None
        self._leave()
        self.state = SessionState.CLOSED

    # --- the connection's side

    def uses(self, attempt: Attempt[M, S]) -> bool:
        """Whether this is the last connection that was made, and is wanted."""
        return self._attempt is attempt

    def on_linked(self, link: Link[S]) -> None:
        """Called when the connection in use is made."""

    @abstractmethod
    def on_message(self, message: M) -> None:
        """Called with each message of the server. Raises MalformedMessage for one that must not come now."""

    @abstractmethod
    def on_lost(self, reason: str) -> None:
        """Called when the connection in use has ended, or could not be made."""

    # --- what the kinds of sessions do in their own ways

    @abstractmethod
    def _new_call(self, call_id: int, operation: Operation) -> CallT:
        """An operation that was submitted."""

    @abstractmethod
    def _sending(self) -> Steps[None]:
        """Send what is unsent; sets `_is_sending` to False at its end."""

    @abstractmethod
    def _on_tick(self, now_ms: int) -> None:
        """Called at the planned time; plans the next tick, if there is to be one."""

    @property
    def _may_be_opened_yet(self) -> bool:
        """Whether the server may open the session that is being opened, and must then be asked to end it."""
        return False

    # --- operations

    def _begin(self, on_event: OnStoreEvent) -> None:
        """Begin to open a session."""
        assert self.state in (SessionState.IDLE, SessionState.CLOSED), f"opened while {self.state.value}"
        self._on_event = on_event
        self.state = SessionState.OPENING
        self._awake = AwakeTime(self._timer.clock)
        self._heard_ms = self._awake.now_ms

    def _go_away(self) -> None:
        """Called when the open session has lost its connection."""
        self.state = SessionState.AWAY
        self._lost_ms = self._timer.clock.monotonic_ms()
        self._redial_ms = REDIAL_MS_MIN

    def _come_back(self) -> None:
        """Called when the session that was away is open again, over another connection."""
        # Taken first: what the holder submits meanwhile goes out over the new connection.
        lost = list(takewhile(lambda call: call.is_sent or call.answer is not None, self._calls))
        for call in lost:
            self._calls.popleft()
            if self._unsent and self._unsent[0] is call:  # of which only some was sent
                self._unsent.popleft()
        for call in lost:
            outcome = call.answer or Failed(Fault.CONNECTION_LOSS, path_of(call.operation))
            self._report(StoreReplied(call.call_id, outcome))
        self._report(Reconnected())
        self._send_all()

    def _report_answered(self) -> None:
        """Report the operations that need no server, up to the next one whose result is awaited."""
        while self._calls and (answer := self._calls[0].answer) is not None:
            self._report(StoreReplied(self._calls.popleft().call_id, answer))

    def _report(self, event: StoreEvent) -> None:
        if self._on_event is not None:
            self._on_event(event)

    def _send_all(self) -> None:
        if self.state in (SessionState.OPEN, SessionState.CLOSING) and not self._is_sending:
            self._is_sending = True
            self._run(self._sending(), _raise)

    # --- connections and time

    @property
    def _link(self) -> Link[S] | None:
        """The connection in use; None while there is none."""
        return None if self._attempt is None else self._attempt.link

    def _plan(self, interval_ms: int) -> None:
        """Plan the next tick, in place of the one that was planned."""
        if self._next_tick is not None:
            self._next_tick.cancel()
        self._planned_ms = interval_ms
        deadline_ms = self._timer.clock.monotonic_ms() + interval_ms
        self._next_tick = TimedCall(deadline_ms, self._tick)
        self._timer.add(self._next_tick)

    def _tick(self) -> None:
        self._next_tick = None
        now_ms, link = self._awake.tick(self._planned_ms), self._link
        if link is not None and link.take_heard():
            self._heard_ms = now_ms
        self._on_tick(now_ms)

    # --- the end

    def _finish_closing(self) -> None:
        self._leave()
        self.state = SessionState.CLOSED
        self._on_closed(self)

    def _drop_attempt(self) -> None:
        """Give up the connection, if there is one."""
        attempt, self._attempt = self._attempt, None
        if attempt is not None and attempt.link is not None:
            attempt.link.abort()

    def _leave(self) -> None:
        """Drop the connection and everything of the session."""
        self._drop_attempt()
        self._calls.clear()
        self._unsent.clear()
        if self._next_tick is not None:
            self._next_tick.cancel()
            self._next_tick = None


def _raise(error: Exception) -> None:
    raise error
