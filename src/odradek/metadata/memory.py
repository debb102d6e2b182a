"""The metadata store in memory, for tests and the simulator: many sessions, faults on demand.

    store = MemoryStore()
    session = store.connect(on_event)
    session.submit(Create("/a"), done)      done(Created("/a")) has been called when submit returns

    store = MemoryStore(holding=True)       nothing is executed before it is told to
    session.submit(Create("/a"), done)
    store.deliver()                         now it is

Operations of all sessions are executed in the order of submission, also under `holding`.
"""

from collections import deque
from collections.abc import Callable
from itertools import count

from odradek.metadata.store import (
    Failed,
    Fault,
    Multi,
    NodeStat,
    Operation,
    Reads,
    Result,
    SessionExpired,
    StoreEvent,
)
from odradek.metadata.tree import ROOT, Node, TreeEngine, name_of, parent_of


class MemoryTable:
    """A `NodeTable` of dictionaries; a transaction is a journal of what stood there before."""

    __slots__ = ("_children", "_journal", "_last_session", "_last_transaction", "_nodes", "_sessions")

    def __init__(self) -> None:
        # Every node by its path.
        self._nodes: dict[str, Node] = {}
        # The names of the children by path, for paths that have some; agrees with `_nodes`.
        self._children: dict[str, dict[str, None]] = {}
        # What was written over in this transaction, oldest first: (path, the node before, or None).
        self._journal: list[tuple[str, Node | None]] = []
        # The sessions that are alive (the values mean nothing).
        self._sessions: dict[int, None] = {}
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

    def get(self, path: str) -> Node | None:
        """See `NodeTable.get`."""
        return self._nodes.get(path)

    def put(self, path: str, node: Node) -> None:
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

    def add_session(self) -> int:
        """See `NodeTable.add_session`."""
        self._last_session += 1
        self._sessions[self._last_session] = None
        return self._last_session

    def has_session(self, session: int) -> bool:
        """See `NodeTable.has_session`."""
        return session in self._sessions

    def remove_session(self, session: int) -> None:
        """See `NodeTable.remove_session`."""
        del self._sessions[session]

    def close(self) -> None:
        """See `NodeTable.close`."""

    def snapshot(self) -> dict[str, tuple[bytes, NodeStat]]:
        """Every node as (data, stat) by path, sorted: for tests to compare whole stores."""
        return {path: (node.data, node.stat) for path, node in sorted(self._nodes.items())}

    def _set(self, path: str, node: Node) -> None:
        self._nodes[path] = node
        if path != ROOT:
            self._children.setdefault(parent_of(path), {})[name_of(path)] = None

    def _drop(self, path: str) -> None:
        del self._nodes[path]
        siblings = self._children[parent_of(path)]
        del siblings[name_of(path)]
        if not siblings:
            del self._children[parent_of(path)]


class MemoryStore:
    """One store that any number of sessions share. `MemorySession` is what its users hold."""

    def __init__(self, *, holding: bool = False) -> None:
        # Executes the operations; tests may call it directly.
        self.table = MemoryTable()
        self.engine = TreeEngine(self.table)
        # Whether operations wait for `deliver`.
        self.holding = holding
        # Submitted and not yet executed, oldest first.
        self._waiting: deque[tuple[MemorySession, Operation, Callable[[Result], None]]] = deque()
        # The sessions by id, for their events; those that ended stay, so that they hear of it.
        self._sessions: dict[int, MemorySession] = {}
        # Whether `deliver` is running further up the stack: callbacks do not nest.
        self._delivering = False

    def connect(self, on_event: Callable[[StoreEvent], None] = lambda event: None) -> "MemorySession":
        """Open a session whose watches and expiry go to `on_event`."""
        session = MemorySession(self, self.engine.open_session(), on_event)
        self._sessions[session.session_id] = session
        return session

    def deliver(self, at_most: int | None = None) -> int:
        """Execute what waits, oldest first, also what the callbacks submit meanwhile; returns how many."""
        if self._delivering:
            return 0
        self._delivering = True
        delivered = 0
        try:
            while self._waiting and (at_most is None or delivered < at_most):
                session, operation, done = self._waiting.popleft()
                done(self._execute(session, operation))
                delivered += 1
        finally:
            self._delivering = False
        return delivered

    @property
    def waiting(self) -> int:
        """How many operations have not been executed yet."""
        return len(self._waiting)

    def enqueue(self, session: "MemorySession", operation: Operation, done: Callable[[Result], None]) -> None:
        """Take an operation from a session; executed now unless holding."""
        self._waiting.append((session, operation, done))
        if not self.holding:
            self.deliver()

    def expire(self, session_id: int) -> None:
        """End a session as if its holder had fallen silent: it hears SessionExpired, others their watches."""
        self.tell(self.engine.close_session(session_id))

    def tell(self, events: tuple[tuple[int, StoreEvent], ...]) -> None:
        """Hand events to the sessions that they are for."""
        for session_id, event in events:
            self._sessions[session_id].on_event(event)

    def _execute(self, session: "MemorySession", operation: Operation) -> Result:
        loss = session.take_loss(operation)
        if loss is False:
            return _connection_loss(operation)
        applied = self.engine.apply(session.session_id, operation)
        self.tell(applied.events)
        return _connection_loss(operation) if loss else applied.result


class MemorySession:
    """A `MetadataStore`: one session with a `MemoryStore`."""

    __slots__ = ("_losses", "_session_id", "_store", "on_event")

    def __init__(self, store: MemoryStore, session_id: int, on_event: Callable[[StoreEvent], None]) -> None:
        self._store = store
        self._session_id = session_id
        self.on_event = on_event
        # Whose answers get lost: the first operation of which this holds, done or not.
        self._losses: list[tuple[Callable[[Operation], bool], bool]] = []

    @property
    def session_id(self) -> int:
        """See `MetadataStore.session_id`."""
        return self._session_id

    def submit(self, operation: Operation, done: Callable[[Result], None]) -> None:
        """See `MetadataStore.submit`."""
        self._store.enqueue(self, operation, done)

    def lose_answer(self, of: Callable[[Operation], bool], *, executed: bool) -> None:
        """Lose the answer of the next operation of which `of` holds, whether `executed` or not."""
        self._losses.append((of, executed))

    def lose_connection(self, *, executed: bool, after: int = 0) -> None:
        """Lose the answer of the operation that comes `after` so many more, whether `executed` or not."""
        numbers = count()
        self.lose_answer(lambda operation: next(numbers) == after, executed=executed)

    def take_loss(self, operation: Operation) -> bool | None:
        """Whether this operation, whose answer gets lost, is done all the same; None for any other."""
        for loss in self._losses:
            if loss[0](operation):
                self._losses.remove(loss)
                return loss[1]
        return None

    def expire(self) -> None:
        """Be found dead by the store."""
        self._store.expire(self.session_id)

    def close(self) -> None:
        """See `MetadataStore.close`; the closed session itself hears nothing."""
        events = self._store.engine.close_session(self.session_id)
        self._store.tell(tuple(told for told in events if told != (self.session_id, SessionExpired())))


def _connection_loss(operation: Operation) -> Failed:
    return Failed(Fault.CONNECTION_LOSS, ROOT if isinstance(operation, Multi | Reads) else operation.path)
