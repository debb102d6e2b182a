"""The metadata store in memory, for tests and the simulator: many sessions, faults on demand.

    store = MemoryStore()
    session = store.connect(on_event)       open at once
    session.submit(Create("/a"))            -> 0; nothing is executed before `deliver`
    store.deliver()                         on_event(StoreReplied(0, Created("/a")))

Operations of all sessions are executed in the order of submission.
"""

from collections import deque
from collections.abc import Callable
from itertools import count
from typing import TypeVar

from odradek.metadata.store import (
    ROOT,
    Applied,
    Failed,
    Fault,
    Multi,
    NodeStat,
    OnStoreEvent,
    Operation,
    Reads,
    Reconnected,
    Result,
    StoreLimits,
)
from odradek.metadata.store_host import HostedSession, StoreHost
from odradek.metadata.tree import Node, TreeEngine, name_of, parent_of

T = TypeVar("T")


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

    def sessions(self) -> list[int]:
        """The sessions that are alive, oldest first."""
        return list(self._sessions)

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


class HeldCalls:
    """A `Background` that holds each call until a test runs it, on the caller's thread."""

    def __init__(self) -> None:
        # Submitted and not yet run, oldest first.
        self.waiting: deque[Callable[[], None]] = deque()

    def submit(
        self, call: Callable[[], T], done: Callable[[T], None], failed: Callable[[Exception], None]
    ) -> None:
        """See `Background.submit`."""

        def run() -> None:
            try:
                result = call()
            except Exception as error:
                failed(error)
            else:
                done(result)

        self.waiting.append(run)


class MemoryStore(StoreHost):
    """One store that any number of sessions share. `MemorySession` is what its users hold."""

    def __init__(self, limits: StoreLimits | None = None) -> None:
        self.table = MemoryTable()
        self.tree = TreeEngine(self.table, limits)
        """Executes the operations; tests may call it directly."""
        self._calls = HeldCalls()
        super().__init__(self.tree, self._calls)
        # Whether `deliver` is running further up the stack.
        self._delivering = False

    def session(self) -> "MemorySession":
        """See `StoreHost.session`."""
        return MemorySession(self)

    def connect(self, on_event: OnStoreEvent = lambda event: None) -> "MemorySession":
        """A session that is open already."""
        session = self.session()
        session.open_at_once(on_event)
        return session

    @property
    def has_waiting(self) -> bool:
        """Whether `deliver` would execute anything."""
        return bool(self._calls.waiting)

    def deliver(self, at_most: int | None = None) -> int:
        """Execute what waits, oldest first, also what is submitted meanwhile; returns how many calls.

        Inside an event that it delivers it does nothing: the call further up goes on.
        """
        if self._delivering:
            return 0
        self._delivering = True
        delivered = 0
        try:
            while self._calls.waiting and (at_most is None or delivered < at_most):
                self._calls.waiting.popleft()()
                delivered += 1
        finally:
            self._delivering = False
        return delivered

    def execute(self, session_id: int, operation: Operation) -> Applied:
        """See `StoreHost.execute`; answers that are to be lost are lost here."""
        session = self._open.get(session_id)
        loss = session.take_loss(operation) if isinstance(session, MemorySession) else None
        if loss is False:
            return Applied(_connection_loss(operation))
        applied = self.tree.apply(session_id, operation)
        return Applied(_connection_loss(operation), applied.events) if loss else applied

    def expire(self, session_id: int) -> None:
        """Expire a session: its holder gets SessionEnded, other sessions the events of their watches."""
        self.tell(self.tree.close_session(session_id))


class MemorySession(HostedSession):
    """A `MetadataStore`: one session with a `MemoryStore`."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__(store)
        self._store = store
        # Whose answers get lost: the first operation of which this holds, done or not.
        self._losses: list[tuple[Callable[[Operation], bool], bool]] = []

    def open_at_once(self, on_event: OnStoreEvent) -> None:
        """Open without an event, for tests that hold the session."""
        self._on_event = on_event
        self.session_id = self._store.tree.open_session()
        self._store.opened(self, self.session_id)

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

    def on_result(self, call_id: int, result: Result) -> None:
        """See `HostedSession.on_result`; after a lost answer comes `Reconnected`, and no watch is armed."""
        is_lost = isinstance(result, Failed) and result.fault is Fault.CONNECTION_LOSS
        if is_lost:
            self._store.tree.forget_watches(self.session_id)
        super().on_result(call_id, result)
        if is_lost:
            self._report(Reconnected())

    def expire(self) -> None:
        """End as an expired session does."""
        self._store.expire(self.session_id)


def _connection_loss(operation: Operation) -> Failed:
    return Failed(Fault.CONNECTION_LOSS, ROOT if isinstance(operation, Multi | Reads) else operation.path)
