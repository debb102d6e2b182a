"""The metadata store in memory, for tests and the simulator: many sessions, faults on demand.

    store = MemoryStore()
    session = store.connect(on_event)       open at once
    session.submit(Create("/a"))            -> 0; nothing is executed before `deliver`
    store.deliver()                         on_event(StoreReplied(0, Created("/a")))

Each session has two queues: requests in transit to the store, and events in transit to the session's holder.
A simulator delivers from any of them step by step; `deliver` delivers all, in the order of submission.

    first.submit(Create("/a"))          to the store
    steps() -> [first's]                executed: first gets a result, second, which watches, an event
    steps() -> [first's, second's]      either may come first; what a holder then does is another step
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count

from odradek.base.chance import Chance
from odradek.metadata.store import (
    NO_SESSION,
    ROOT,
    Failed,
    Fault,
    Multi,
    NodeStat,
    OnStoreEvent,
    Operation,
    Reads,
    Reconnected,
    SessionEnded,
    SessionOpened,
    StoreEvent,
    StoreLimits,
    StoreReplied,
    WatchFired,
)
from odradek.metadata.tree import StoredNode, TableFailed, TreeEngine, name_of, parent_of


class MemoryTable:
    """A `NodeTable` of dictionaries; a transaction is a journal of what stood there before."""

    __slots__ = (
        "_children",
        "_journal",
        "_last_session",
        "_last_transaction",
        "_nodes",
        "_sessions",
        "writes",
    )

    def __init__(self) -> None:
        self.writes = 0
        """How often a node was written or removed; as long as it stays the same, no node changes."""
        # Every node by its path.
        self._nodes: dict[str, StoredNode] = {}
        # The names of the children by path, for paths that have some; agrees with `_nodes`.
        self._children: dict[str, dict[str, None]] = {}
        # What was written over in this transaction, oldest first: (path, the node before, or None).
        self._journal: list[tuple[str, StoredNode | None]] = []
        # The sessions that are alive, each with its lease.
        self._sessions: dict[int, bytes] = {}
        # The numbers given out last; neither ever falls, not even by a rollback.
        self._last_session = 0
        self._last_transaction = 0

    def begin(self) -> None:
        """See `NodeTable.begin`."""
        assert not self._journal, "one transaction at a time"

    def commit(self) -> None:
        """See `NodeTable.commit`."""
        self._journal.clear()

    def rollback(self) -> None:
        """See `NodeTable.rollback`."""
        for path, before in reversed(self._journal):
            if before is None:
                self._drop(path)
            else:
                self._set(path, before)
        self._journal.clear()

    def next_transaction(self) -> int:
        """See `NodeTable.next_transaction`."""
        self._last_transaction += 1
        return self._last_transaction

    @property
    def last_transaction(self) -> int:
        """The number given out last; whoever looks again may see by it whether something has changed."""
        return self._last_transaction

    def get(self, path: str) -> StoredNode | None:
        """See `NodeTable.get`."""
        return self._nodes.get(path)

    def put(self, path: str, node: StoredNode) -> None:
        """See `NodeTable.put`."""
        self._journal.append((path, self._nodes.get(path)))
        self._set(path, node)

    def remove(self, path: str) -> None:
        """See `NodeTable.remove`."""
        self._journal.append((path, self._nodes[path]))
        self._drop(path)

    def child_names(self, path: str) -> tuple[str, ...]:
        """See `NodeTable.child_names`."""
        return tuple(sorted(self._children.get(path, ())))

    def has_children(self, path: str) -> bool:
        """See `NodeTable.has_children`."""
        return path in self._children

    def owned_by(self, session: int) -> list[str]:
        """See `NodeTable.owned_by`; O(nodes)."""
        return sorted(path for path, node in self._nodes.items() if node.stat.owner == session)

    def add_session(self, lease: bytes) -> int:
        """See `NodeTable.add_session`."""
        self._last_session += 1
        self._sessions[self._last_session] = lease
        return self._last_session

    def has_session(self, session: int) -> bool:
        """See `NodeTable.has_session`."""
        return session in self._sessions

    def leases(self) -> list[tuple[int, bytes]]:
        """See `NodeTable.leases`."""
        return list(self._sessions.items())

    def remove_session(self, session: int) -> None:
        """See `NodeTable.remove_session`."""
        del self._sessions[session]

    def close(self) -> None:
        """See `NodeTable.close`."""

    def sessions(self) -> list[int]:
        """The sessions that are alive, oldest first."""
        return list(self._sessions)

    def snapshot(self) -> dict[str, tuple[bytes, NodeStat]]:
        """Every node as (data, stat) by path, sorted: for tests to compare whole stores."""
        return {path: (node.data, node.stat) for path, node in sorted(self._nodes.items())}

    def _set(self, path: str, node: StoredNode) -> None:
        self.writes += 1
        self._nodes[path] = node
        if path != ROOT:
            self._children.setdefault(parent_of(path), {})[name_of(path)] = None

    def _drop(self, path: str) -> None:
        self.writes += 1
        del self._nodes[path]
        siblings = self._children[parent_of(path)]
        del siblings[name_of(path)]
        if not siblings:
            del self._children[parent_of(path)]


class MemoryStore:
    """One store that any number of sessions share. `MemorySession` is what its users hold."""

    def __init__(self, limits: StoreLimits | None = None, now_ms: Callable[[], int] = lambda: 0) -> None:
        """`now_ms` is the time by which it is known how long a session is cut off."""
        self.now_ms = now_ms
        self.table = MemoryTable()
        self.engine = TreeEngine(self.table, limits)
        """Executes the operations; tests may call it directly."""
        # The sessions that have something on its way.
        self._busy: dict[MemorySession, None] = {}
        # Where the events of the sessions that are open go, by their numbers.
        self._open: dict[int, Callable[[StoreEvent], None]] = {}
        # Numbers what is submitted, over all sessions.
        self._numbers = count()
        # Whether `deliver` is running further up the stack.
        self._delivering = False

    def session(self) -> "MemorySession":
        """Returns a `MetadataStore` that is not open yet."""
        return MemorySession(self)

    def connect(self, on_event: OnStoreEvent = lambda event: None) -> "MemorySession":
        """A session that is open already."""
        session = self.session()
        session.open_at_once(on_event)
        return session

    @property
    def has_waiting(self) -> bool:
        """Whether `deliver` would do anything."""
        return bool(self._busy_ones())

    def steps(self) -> list[Callable[[], None]]:
        """What may happen next, at most two things for each session; in one history always in one order."""
        found: list[Callable[[], None]] = []
        for session in self._busy_ones():
            if session.is_cut:
                continue
            if session.has_requests:
                found.append(session.execute_next)
            if session.has_events and not session.is_held:
                found.append(session.report_next)
        return found

    def deliver(self, at_most: int | None = None) -> int:
        """Execute what waits, oldest first, also what is submitted meanwhile; returns how many requests.

        What happened reaches the holders before the next request is executed. Inside an event that it
        delivers it does nothing: the outer call continues.
        """
        if self._delivering:
            return 0
        self._delivering = True
        executed = 0
        try:
            self._report_all()
            while at_most is None or executed < at_most:
                oldest = min(
                    (session for session in self._busy_ones() if session.has_requests),
                    key=lambda session: session.oldest_request,
                    default=None,
                )
                if oldest is None:
                    break
                oldest.execute_next()
                executed += 1
                self._report_all()
        finally:
            self._delivering = False
        return executed

    def _report_all(self) -> None:
        while holders := [session for session in self._busy_ones() if session.has_events]:
            for session in holders:
                session.report_next()

    def expire(self, session_id: int) -> None:
        """Expire a session: its holder gets SessionEnded, other sessions the events of their watches."""
        self.tell(self.engine.close_session(session_id))

    def _busy_ones(self) -> list["MemorySession"]:
        for session in [one for one in self._busy if not (one.has_requests or one.has_events)]:
            del self._busy[session]
        return list(self._busy)

    # --- the sessions' side

    def note_busy(self, session: "MemorySession") -> None:
        """Called when something of a session is on its way."""
        self._busy[session] = None

    def next_number(self) -> int:
        """The place of a request in the order of submission."""
        return next(self._numbers)

    def opened(self, session_id: int, tell: Callable[[StoreEvent], None]) -> None:
        """From here on the events of that session go to `tell`."""
        self._open[session_id] = tell

    def closed(self, session_id: int) -> None:
        """A session is closed by its holder, who gets no event."""
        self._open.pop(session_id, None)
        self.tell(self.engine.close_session(session_id))

    def tell(self, events: Iterable[tuple[int, StoreEvent]]) -> None:
        """Send events on their way to the holders of the sessions that they are for."""
        for session_id, event in events:
            tell = self._open.get(session_id)
            if isinstance(event, SessionEnded):
                self._open.pop(session_id, None)
            if tell is not None:
                tell(event)


@dataclass(slots=True, eq=False)
class _Holder:
    """The client that opened a session."""

    on_event: OnStoreEvent
    has_closed: bool = False
    """Whether nothing is reported any more."""


class MemorySession:
    """A `MetadataStore`: one session at a time with a `MemoryStore`."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self.session_id = NO_SESSION
        """The session that is open, or was last."""
        # Since when nothing is delivered; None while it is.
        self._cut_ms: int | None = None
        self.is_held = False
        """Whether its holder takes no events: its process stands still."""
        self._last_call_id = -1
        # None before `open` and after `close`: nothing is reported then.
        self._holder: _Holder | None = None
        # On their way to the store, oldest first, each with its place in the order of submission.
        self._requests: deque[tuple[int, Callable[[], None]]] = deque()
        # On their way to a holder, oldest first; none of them for one that has closed.
        self._events: deque[tuple[_Holder, StoreEvent]] = deque()
        # Whose answers get lost: the first operation of which this holds, done or not.
        self._losses: list[tuple[Callable[[Operation], bool], bool]] = []

    # --- the holder's side

    @property
    def limits(self) -> StoreLimits:
        """See `MetadataStore.limits`."""
        return self._store.engine.limits

    def open(self, on_event: OnStoreEvent) -> None:
        """See `MetadataStore.open`."""
        holder = self._holder = _Holder(on_event)
        self._request(lambda: self._begin(holder))

    def open_at_once(self, on_event: OnStoreEvent) -> None:
        """Open without an event, for tests that hold the session."""
        self._holder = _Holder(on_event)
        self._begin(self._holder)
        self._events.clear()

    def submit(self, operation: Operation) -> int:
        """See `MetadataStore.submit`; after `close` nothing happens, and no event follows."""
        self._last_call_id += 1
        call_id, session_id, holder = self._last_call_id, self.session_id, self._holder
        if holder is not None:
            self._request(lambda: self._execute(holder, call_id, session_id, operation))
        return call_id

    def close(self) -> None:
        """See `MetadataStore.close`."""
        if self._holder is not None:
            self._holder.has_closed = True
            self._holder = None
            self._events.clear()
            self._request(lambda: self._store.closed(self.session_id))

    @property
    def lost_for_ms(self) -> int | None:
        """See `MetadataStore.lost_for_ms`: as if its holder noticed a cut at once."""
        return None if self._cut_ms is None else self._store.now_ms() - self._cut_ms

    # --- faults

    @property
    def is_cut(self) -> bool:
        """Whether nothing is delivered between it and its store in `steps`: a simulator's fault."""
        return self._cut_ms is not None

    @is_cut.setter
    def is_cut(self, is_cut: bool) -> None:
        if is_cut != self.is_cut:
            self._cut_ms = self._store.now_ms() if is_cut else None

    def lose_answer(self, of: Callable[[Operation], bool], *, executed: bool) -> None:
        """Lose the answer of the next operation of which `of` holds, whether `executed` or not."""
        self._losses.append((of, executed))

    def lose_connection(self, *, executed: bool, after: int = 0) -> None:
        """Lose the answer of the operation that comes `after` so many more, whether `executed` or not."""
        numbers = count()
        self.lose_answer(lambda operation: next(numbers) == after, executed=executed)

    def reconnect(self, chance: Chance) -> None:
        """The connection broke, and is back: of the operations on their way some, by chance, are executed.

        None of them is answered. The watches are forgotten, with what they had to tell (`Reconnected`).
        """
        self._events = deque(
            (holder, _lost_on_its_way(event))
            for holder, event in self._events
            if not isinstance(event, WatchFired)
        )
        is_alive = self._store.table.has_session(self.session_id)
        if is_alive:
            self._store.engine.forget_watches(self.session_id)
        if self._requests:
            executed = chance.below(len(self._requests) + 1)
            for index in range(len(self._requests)):
                self.lose_answer(lambda operation: True, executed=index < executed)
        elif self._holder is not None and is_alive:
            self._report(self._holder, Reconnected())

    def expire(self) -> None:
        """End as an expired session does."""
        self._store.expire(self.session_id)

    def lose_holder(self, chance: Chance) -> None:
        """The holder dies: of what is on its way some arrives, by chance, then the store ends the session."""
        if self._holder is None and not self._requests:
            return
        kept = chance.below(len(self._requests) + 1)
        while len(self._requests) > kept:
            self._requests.pop()
        if self._holder is not None:
            self._holder.has_closed = True
            self._holder = None
        self._events.clear()
        self._request(lambda: self._store.closed(self.session_id))

    # --- the store's side

    @property
    def has_requests(self) -> bool:
        """Whether `execute_next` has something to do."""
        return bool(self._requests)

    @property
    def oldest_request(self) -> int:
        """The place of the next request in the order of submission; there is one."""
        return self._requests[0][0]

    @property
    def has_events(self) -> bool:
        """Whether `report_next` has something to do."""
        return bool(self._events)

    def execute_next(self) -> None:
        """Let the store execute the oldest request; what follows from it is on its way then."""
        self._requests.popleft()[1]()

    def report_next(self) -> None:
        """Let the holder have the oldest event."""
        holder, event = self._events.popleft()
        holder.on_event(event)

    def _report(self, holder: "_Holder", event: StoreEvent) -> None:
        """Send an event on its way to a holder."""
        if not holder.has_closed:
            self._events.append((holder, event))
            self._store.note_busy(self)

    def _request(self, execute: Callable[[], None]) -> None:
        self._requests.append((self._store.next_number(), execute))
        self._store.note_busy(self)

    def _begin(self, holder: "_Holder") -> None:
        try:
            self.session_id = self._store.engine.open_session()
        except TableFailed:
            self._report(holder, SessionEnded())
            return
        self._store.opened(self.session_id, lambda event: self._report(holder, event))
        self._report(holder, SessionOpened(self.session_id))

    def _execute(self, holder: "_Holder", call_id: int, session_id: int, operation: Operation) -> None:
        loss = self._take_loss(operation)
        if loss is not False:
            applied = self._store.engine.apply(session_id, operation)
            self._store.tell(applied.events)
        if loss is None:
            self._report(holder, StoreReplied(call_id, applied.result))
        else:
            self._store.engine.forget_watches(session_id)
            self._report(holder, StoreReplied(call_id, _connection_loss(operation)))
            self._report(holder, Reconnected())

    def _take_loss(self, operation: Operation) -> bool | None:
        """Whether this operation, whose answer gets lost, is still executed; None for any other."""
        for loss in self._losses:
            if loss[0](operation):
                self._losses.remove(loss)
                return loss[1]
        return None


def _lost_on_its_way(event: StoreEvent) -> StoreEvent:
    """What the holder gets of an event whose connection broke: of an answer only that there is none."""
    if isinstance(event, StoreReplied):
        return StoreReplied(event.call_id, Failed(Fault.CONNECTION_LOSS, ROOT))
    return event


def _connection_loss(operation: Operation) -> Failed:
    return Failed(Fault.CONNECTION_LOSS, ROOT if isinstance(operation, Multi | Reads) else operation.path)
