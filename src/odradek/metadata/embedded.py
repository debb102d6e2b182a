"""The metadata store in one SQLite file, which belongs to the cluster, not to one broker.

Only one process at a time has the file open: it holds a `flock` on a file beside it. If that process is the
broker, all sessions of an earlier process are dead, and end when the file is opened. If it serves the store
to brokers (`service`), their sessions outlive it: the engine `keeps_sessions`, and the service ends those
that do not come back.

Every commit is on disk when `apply` returns (write-ahead log, synchronous=FULL), unless the engine is not
`durable`: then it outlives the process, but not a power cut.
"""

import fcntl
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from odradek.base.errors import DataDirectoryError
from odradek.metadata import codec, paths
from odradek.metadata.store import ROOT, NodeStat
from odradek.metadata.tree import StoredNode, TableFailed, TreeEngine, name_of, parent_of

METADATA_FILE = "metadata.db"
"""Its name, in the first log directory unless a setting says otherwise."""

SPACE_LEAST_BYTES = 1 << 20
"""With less free space than this, an error of SQLite may come from a full disk."""

SCHEMA_VERSION = 1
# Marks the file as Odradek's for file(1) and for `open`: the letters "odra".
APPLICATION_ID = 0x6F647261

_SCHEMA = """
CREATE TABLE node (
    parent        TEXT NOT NULL,       -- the path one step up; '' for the root
    name          TEXT NOT NULL,       -- the last part of the path; '' for the root
    data          BLOB NOT NULL,
    version       INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,    -- the transaction that made it
    owner         INTEGER NOT NULL,    -- the session of an ephemeral node, else 0
    children_made INTEGER NOT NULL,
    PRIMARY KEY (parent, name)
) WITHOUT ROWID;
CREATE INDEX ephemeral ON node (owner) WHERE owner <> 0;
CREATE TABLE session (
    id    INTEGER PRIMARY KEY AUTOINCREMENT,
    lease BLOB NOT NULL DEFAULT x''    -- what a later process must know of it; see `service`
);
CREATE TABLE last_transaction (number INTEGER NOT NULL);
INSERT INTO last_transaction VALUES (1);
INSERT INTO node VALUES ('', '', x'', 0, 1, 0, 0);
"""

T = TypeVar("T")


class EmbeddedEngine(TreeEngine):
    """A `StoreEngine` over one file, for one process at a time.

    Calls may come from any thread, one at a time. Raises DataDirectoryError at construction when the file
    is in use by another process, is another program's, has a newer schema, or cannot be opened.
    """

    def __init__(self, file: Path, *, durable: bool = True, keeps_sessions: bool = False) -> None:
        table = SqliteTable(file, durable=durable)
        try:
            super().__init__(table)
            if not keeps_sessions:
                self._end_stale_sessions()
        except TableFailed as failed:
            table.close()
            raise DataDirectoryError(
                f"the metadata file {file} cannot be used: {failed}{_space_left(file)}"
            ) from None

    def cluster_id(self) -> str | None:
        """The cluster that the store is of; None for a new one, and for one that cannot be read."""
        node = self._table.get(paths.CLUSTER_ID)
        try:
            return None if node is None else codec.decode_cluster_id(node.data)
        except codec.MalformedNode:
            return None  # said when the image is loaded

    def _end_stale_sessions(self) -> None:
        for session, _ in self.leases():
            self.close_session(session)


class SqliteTable:
    """A `NodeTable` in a SQLite file. Raises DataDirectoryError at construction, as `EmbeddedEngine`."""

    __slots__ = ("_database", "_file", "_lock")

    def __init__(self, file: Path, *, durable: bool = True) -> None:
        self._file = file
        # Held as long as the file is open; the system frees it when the process dies.
        self._lock = _take_lock(file)
        try:
            self._database = _open_database(file, durable=durable)
        except (sqlite3.Error, DataDirectoryError) as error:
            os.close(self._lock)
            if isinstance(error, DataDirectoryError):
                raise
            why = f"{error}{_space_left(file)}"
            raise DataDirectoryError(f"the metadata file {file} cannot be used: {why}") from None

    def begin(self) -> None:
        """See `NodeTable.begin`; takes SQLite's write lock at once."""
        self._attempt(lambda: self._database.execute("BEGIN IMMEDIATE"))

    def commit(self) -> None:
        """See `NodeTable.commit`; returns when the writes are on disk, if the table is durable."""
        self._attempt(lambda: self._database.execute("COMMIT"))

    def rollback(self) -> None:
        """See `NodeTable.rollback`."""
        if self._database.in_transaction:
            self._database.execute("ROLLBACK")

    def next_transaction(self) -> int:
        """See `NodeTable.next_transaction`; part of the transaction."""
        row = self._one("UPDATE last_transaction SET number = number + 1 RETURNING number")
        assert row is not None, "the table has one row"
        return int(row[0])

    def get(self, path: str) -> StoredNode | None:
        """See `NodeTable.get`."""
        row = self._one(
            "SELECT data, version, created_at, owner, children_made FROM node WHERE parent = ? AND name = ?",
            *_key(path),
        )
        return None if row is None else StoredNode(row[0], NodeStat(row[1], row[2], row[3]), row[4])

    def put(self, path: str, node: StoredNode) -> None:
        """See `NodeTable.put`."""
        self._run(
            "INSERT OR REPLACE INTO node VALUES (?, ?, ?, ?, ?, ?, ?)",
            *_key(path),
            node.data,
            node.stat.version,
            node.stat.created_at,
            node.stat.owner,
            node.children_made,
        )

    def remove(self, path: str) -> None:
        """See `NodeTable.remove`."""
        self._run("DELETE FROM node WHERE parent = ? AND name = ?", *_key(path))

    def child_names(self, path: str) -> tuple[str, ...]:
        """See `NodeTable.child_names`."""
        rows = self._all("SELECT name FROM node WHERE parent = ? ORDER BY name", path)
        return tuple(row[0] for row in rows)

    def has_children(self, path: str) -> bool:
        """See `NodeTable.has_children`."""
        return self._one("SELECT 1 FROM node WHERE parent = ? LIMIT 1", path) is not None

    def owned_by(self, session: int) -> list[str]:
        """See `NodeTable.owned_by`."""
        rows = self._all("SELECT parent, name FROM node WHERE owner = ? AND owner <> 0", session)
        return sorted(f"{'' if parent == ROOT else parent}/{name}" for parent, name in rows)

    def add_session(self, lease: bytes) -> int:
        """See `NodeTable.add_session`."""
        row = self._one("INSERT INTO session (lease) VALUES (?) RETURNING id", lease)
        assert row is not None, "the insertion returns its id"
        return int(row[0])

    def has_session(self, session: int) -> bool:
        """See `NodeTable.has_session`."""
        return self._one("SELECT 1 FROM session WHERE id = ?", session) is not None

    def remove_session(self, session: int) -> None:
        """See `NodeTable.remove_session`."""
        self._run("DELETE FROM session WHERE id = ?", session)

    def leases(self) -> list[tuple[int, bytes]]:
        """See `NodeTable.leases`."""
        return [(row[0], row[1]) for row in self._all("SELECT id, lease FROM session ORDER BY id")]

    def close(self) -> None:
        """See `NodeTable.close`; once more does nothing."""
        if self._lock >= 0:
            self._database.close()
            os.close(self._lock)
            self._lock = -1

    def _run(self, statement: str, *parameters: str | int | bytes) -> None:
        self._attempt(lambda: self._database.execute(statement, parameters))

    def _one(self, statement: str, *parameters: str | int | bytes) -> "sqlite3.Row | None":
        rows = self._all(statement, *parameters)
        return rows[0] if rows else None

    def _all(self, statement: str, *parameters: str | int | bytes) -> "list[sqlite3.Row]":
        return self._attempt(lambda: self._database.execute(statement, parameters).fetchall())

    def _attempt(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except sqlite3.Error as error:
            raise TableFailed(f"{self._file}: {error}") from error


def peek_cluster_id(file: Path) -> str | None:
    """The cluster that an existing file belongs to, read without a lock and without leaving a trace.

    None when the file does not say, or not yet: what a crash left in the write-ahead log is not looked at.
    """
    try:
        # mode=ro alone would still make the files of the write-ahead log.
        database = sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
        try:
            statement = "SELECT data FROM node WHERE parent = ? AND name = ?"
            row = database.execute(statement, _key(paths.CLUSTER_ID)).fetchone()
        finally:
            database.close()
        return None if row is None else codec.decode_cluster_id(row[0])
    except (sqlite3.Error, codec.MalformedNode):
        return None  # what is wrong with the file is said when it is opened


def _space_left(file: Path) -> str:
    """A hint for an error that a full disk may have caused: SQLite then says "disk I/O error", too."""
    try:
        space = os.statvfs(file.parent)
    except OSError:
        return ""
    free_bytes = space.f_bavail * space.f_frsize
    return f" (the disk has {free_bytes} bytes left)" if free_bytes < SPACE_LEAST_BYTES else ""


def _take_lock(file: Path) -> int:
    """Lock `file` for this process through a file beside it: SQLite's own locks end with each commit."""
    try:
        descriptor = os.open(f"{file}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise DataDirectoryError(f"the metadata file {file} cannot be used: {error.strerror}") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise DataDirectoryError(f"the metadata file {file} is in use by another broker") from None
    return descriptor


def _open_database(file: Path, *, durable: bool) -> sqlite3.Connection:
    # Statements run on whichever executor thread is free, one at a time.
    database = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    try:
        application = database.execute("PRAGMA application_id").fetchone()[0]
        version = database.execute("PRAGMA user_version").fetchone()[0]
        is_new = database.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0] == 0
        if not is_new and application != APPLICATION_ID:
            raise DataDirectoryError(f"the metadata file {file} belongs to another program")
        if version > SCHEMA_VERSION:
            raise DataDirectoryError(f"the metadata file {file} was written by a newer Odradek")
        database.execute("PRAGMA journal_mode = WAL")
        database.execute(f"PRAGMA synchronous = {'FULL' if durable else 'OFF'}")
        if is_new:
            database.executescript(
                f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA application_id = {APPLICATION_ID};"
                f" PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;"
            )
        elif "lease" not in [row[1] for row in database.execute("PRAGMA table_info(session)")]:
            # A file from before sessions had leases; brokers of that time can still use it.
            database.execute("ALTER TABLE session ADD COLUMN lease BLOB NOT NULL DEFAULT x''")
    except BaseException:
        database.close()
        raise
    return database


def _key(path: str) -> tuple[str, str]:
    return ("", "") if path == ROOT else (parent_of(path), name_of(path))
