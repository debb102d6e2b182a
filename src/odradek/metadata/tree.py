"""The semantics of the store's operations, written once for every engine that keeps its own nodes.

Such an engine is a `TreeEngine`, which implements versions, parents, sessions and watches, over a
`NodeTable`, which only keeps rows and can roll a batch of them back. (ZooKeeper has its own implementation.)

    Create("/a"), Create("/a/b_", sequential)   ->  /a and /a/b_0000000000
    Multi(SetData("/a", ...), Delete("/x"))     ->  Failed(NO_NODE, "/x", index=1), and /a is as it was
"""

import logging
from typing import NamedTuple, Protocol

from odradek.base.errors import OdradekError
from odradek.metadata.store import (
    ANY_VERSION,
    NO_SESSION,
    READS_MAX,
    ROOT,
    Applied,
    Check,
    Checked,
    Children,
    Committed,
    Create,
    Created,
    Data,
    Delete,
    Deleted,
    Existence,
    Exists,
    Failed,
    Fault,
    GetChildren,
    GetData,
    Multi,
    NodeChange,
    NodeStat,
    Operation,
    ReadOperation,
    ReadResult,
    ReadResults,
    Reads,
    SessionEnded,
    SetData,
    StoreEvent,
    StoreLimits,
    WriteOperation,
    WriteResult,
    Written,
)
from odradek.metadata.watches import WatchTable

_log = logging.getLogger(__name__)


class StoredNode(NamedTuple):
    """One node as a table keeps it; replaced as a whole, never changed."""

    data: bytes
    stat: NodeStat
    # How many children were ever made: the number of the next sequential one.
    children_made: int = 0


class TableFailed(OdradekError):
    """A table could not read or write; its transaction is to be rolled back."""


class NodeTable(Protocol):
    """Rows of nodes and sessions. Writes come between `begin` and `commit` or `rollback`.

    Every method may raise TableFailed, `rollback` excepted.
    """

    def begin(self) -> None:
        """Start a transaction; there is at most one."""

    def commit(self) -> None:
        """Make the transaction's writes last."""

    def rollback(self) -> None:
        """Take the transaction's writes back, also after a failed commit."""

    def next_transaction(self) -> int:
        """A number above all that this returned before, over the life of the store."""

    def get(self, path: str) -> StoredNode | None:
        """The node at `path`."""

    def put(self, path: str, node: StoredNode) -> None:
        """Insert or replace the node at `path`."""

    def remove(self, path: str) -> None:
        """Remove the node at `path`."""

    def child_names(self, path: str) -> tuple[str, ...]:
        """The names of the children of `path`, sorted."""

    def has_children(self, path: str) -> bool:
        """Whether `path` has a child."""

    def owned_by(self, session: int) -> list[str]:
        """The paths of a session's ephemeral nodes, sorted."""

    def add_session(self, lease: bytes) -> int:
        """Begin a session under an id that was never used in this store, and keep its lease."""

    def has_session(self, session: int) -> bool:
        """Whether the session is alive."""

    def leases(self) -> list[tuple[int, bytes]]:
        """The sessions that are alive, oldest first, each with its lease."""

    def remove_session(self, session: int) -> None:
        """End a session; the caller removes its nodes."""

    def close(self) -> None:
        """Close files and release locks."""


class TreeEngine:
    """A `StoreEngine` over a `NodeTable`. One call at a time, from any thread."""

    def __init__(self, table: NodeTable, limits: StoreLimits | None = None) -> None:
        self.limits = limits or StoreLimits()
        # What is stored. Holds a root node at all times.
        self._table = table
        # Armed watches, of live sessions only.
        self._watches = WatchTable()
        # Whether the table failed, and has not committed anything since: a failure is logged once.
        self._is_failing = False
        if table.get(ROOT) is None:
            table.begin()
            table.put(ROOT, StoredNode(b"", NodeStat(0, table.next_transaction(), NO_SESSION)))
            table.commit()

    def open_session(self, lease: bytes = b"") -> int:
        """See `StoreEngine.open_session`. Raises TableFailed."""
        self._table.begin()
        try:
            session = self._table.add_session(lease)
            self._table.commit()
        except TableFailed:
            self._table.rollback()
            raise
        return session

    def leases(self) -> list[tuple[int, bytes]]:
        """See `StoreEngine.leases`. Raises TableFailed."""
        return self._table.leases()

    def close_session(self, session: int) -> tuple[tuple[int, StoreEvent], ...]:
        """See `StoreEngine.close_session`. Raises TableFailed."""
        if not self._table.has_session(session):
            return ()
        self._watches.drop_session(session)
        touched: list[tuple[str, NodeChange]] = []
        self._table.begin()
        try:
            for path in self._table.owned_by(session):
                self._remove(path, touched)
            self._table.remove_session(session)
            self._table.commit()
        except TableFailed:
            self._table.rollback()
            raise
        return ((session, SessionEnded()), *self._watches.fire(touched))

    def apply(self, session: int, operation: Operation) -> Applied:
        """See `StoreEngine.apply`."""
        try:
            if not self._table.has_session(session):
                return Applied(Failed(Fault.SESSION_EXPIRED, _path_of(operation)))
            match operation:
                case GetData() | GetChildren() | Exists():
                    return Applied(self._read(session, operation))
                case Reads(reads):
                    if not 0 < len(reads) <= READS_MAX:
                        return Applied(Failed(Fault.TOO_LARGE, _path_of(operation)))
                    return Applied(ReadResults(tuple(self._read(session, read) for read in reads)))
                case Multi(operations):
                    if self._is_too_large(operations):
                        return Applied(Failed(Fault.TOO_LARGE, _path_of(operation)))
                    return self._write(session, operations, alone=False)
                case _:
                    return self._write(session, (operation,), alone=True)
        except TableFailed as failed:
            self._note_failure(failed)
            return Applied(Failed(Fault.STORE_FAILED, _path_of(operation)))

    def _note_failure(self, failed: TableFailed) -> None:
        if not self._is_failing:
            self._is_failing = True
            _log.error(
                "the metadata store failed: %s. Topics, settings and in-sync replicas cannot be changed until"
                " it works again: free space on its disk, or mend it. Records are not concerned.",
                failed,
            )

    def close(self) -> None:
        """See `StoreEngine.close`."""
        self._table.close()

    def forget_watches(self, session: int) -> None:
        """Disarm every watch of a session: its connection broke, and it will read again what it watches."""
        self._watches.drop_session(session)

    def _is_too_large(self, operations: tuple[WriteOperation, ...]) -> bool:
        size_bytes = sum(map(size_of, operations))
        return len(operations) > self.limits.multi_operations_max or size_bytes > self.limits.multi_bytes_max

    def _read(self, session: int, operation: ReadOperation) -> ReadResult:
        node = self._table.get(operation.path)
        if isinstance(operation, Exists):
            if operation.watch:
                self._watches.arm_data(operation.path, session)
            return Existence(node.stat if node is not None else None)
        if node is None:
            return Failed(Fault.NO_NODE, operation.path)
        if isinstance(operation, GetData):
            if operation.watch:
                self._watches.arm_data(operation.path, session)
            return Data(node.data, node.stat)
        names = self._table.child_names(operation.path)
        if operation.watch:
            self._watches.arm_children(operation.path, session)
        return Children(names)

    def _write(self, session: int, operations: tuple[WriteOperation, ...], *, alone: bool) -> Applied:
        touched: list[tuple[str, NodeChange]] = []
        results: list[WriteResult] = []
        self._table.begin()
        try:
            transaction = self._table.next_transaction()
            for index, operation in enumerate(operations):
                result = self._write_one(session, transaction, operation, touched)
                if isinstance(result, Failed):
                    self._table.rollback()
                    return Applied(Failed(result.fault, result.path, index))
                results.append(result)
            self._table.commit()
        except TableFailed:
            self._table.rollback()
            raise
        if self._is_failing:
            self._is_failing = False
            _log.warning("the metadata store works again")
        events = tuple(self._watches.fire(touched))
        return Applied(results[0] if alone else Committed(tuple(results)), events)

    def _write_one(
        self, session: int, transaction: int, operation: WriteOperation, touched: list[tuple[str, NodeChange]]
    ) -> WriteResult | Failed:
        if isinstance(operation, Create):
            return self._create(session, transaction, operation, touched)
        path = operation.path
        node = self._table.get(path)
        if node is None:
            return Failed(Fault.NO_NODE, path)
        if operation.version not in (ANY_VERSION, node.stat.version):
            return Failed(Fault.BAD_VERSION, path)
        match operation:
            case Check():
                return Checked()
            case Delete():
                if self._table.has_children(path):
                    return Failed(Fault.NOT_EMPTY, path)
                self._remove(path, touched)
                return Deleted()
            case SetData(_, data):
                if len(data) > self.limits.node_bytes_max:
                    return Failed(Fault.TOO_LARGE, path)
                version = node.stat.version + 1
                self._table.put(path, node._replace(data=data, stat=node.stat._replace(version=version)))
                touched.append((path, NodeChange.DATA_CHANGED))
                return Written(version)

    def _create(
        self, session: int, transaction: int, create: Create, touched: list[tuple[str, NodeChange]]
    ) -> Created | Failed:
        path = create.path
        above = parent_of(path)
        parent = self._table.get(above)
        if parent is None:
            return Failed(Fault.NO_NODE, path)
        if parent.stat.owner != NO_SESSION:
            return Failed(Fault.NO_CHILDREN_FOR_EPHEMERALS, path)
        if create.sequential:
            path = f"{path}{parent.children_made:010d}"
        if self._table.get(path) is not None:
            return Failed(Fault.NODE_EXISTS, path)
        if len(create.data) > self.limits.node_bytes_max:
            return Failed(Fault.TOO_LARGE, path)
        owner = session if create.ephemeral else NO_SESSION
        self._table.put(above, parent._replace(children_made=parent.children_made + 1))
        self._table.put(path, StoredNode(create.data, NodeStat(0, transaction, owner)))
        touched.append((path, NodeChange.CREATED))
        touched.append((above, NodeChange.CHILDREN_CHANGED))
        return Created(path)

    def _remove(self, path: str, touched: list[tuple[str, NodeChange]]) -> None:
        assert path != ROOT, "the root stays"
        self._table.remove(path)
        touched.append((path, NodeChange.DELETED))
        touched.append((parent_of(path), NodeChange.CHILDREN_CHANGED))


def parent_of(path: str) -> str:
    """The path one step up; `path` is not the root."""
    assert path[0] == "/", f"not a path: {path}"
    assert path[-1] != "/", f"not a node's path: {path}"
    return path[: path.rindex("/")] or ROOT


def size_of(operation: WriteOperation) -> int:
    """How many bytes of a `Multi` a write counts for."""
    data = operation.data if isinstance(operation, Create | SetData) else b""
    return len(operation.path) + len(data)


def name_of(path: str) -> str:
    """The last part of a path that is not the root."""
    return path[path.rindex("/") + 1 :]


def _path_of(operation: Operation) -> str:
    if isinstance(operation, Multi | Reads):
        return operation.operations[0].path if operation.operations else ROOT
    return operation.path
