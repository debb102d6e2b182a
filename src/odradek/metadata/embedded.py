"""The metadata store in one SQLite file, which belongs to the cluster, not to one broker.

Only one process at a time has the file open: it holds a `flock` on a file beside it. If that process is the
broker, all sessions of an earlier process are dead, and end when the file is opened. If it serves the store
to brokers (`service`), their sessions outlive it: the engine `keeps_sessions`, and the service ends those
that do not come back.

Every commit is on disk when `apply` returns (write-ahead log, synchronous=FULL), unless the engine is not
`durable`: then it outlives the process, but not a power cut.

What SQLite does not notice is checked when the file is opened:

    a changed byte in a node        each row has a checksum: the start is refused
    pages that contradict others    SQLite's own check, which it makes only when it is asked: likewise
    a write-ahead log that is cut,  the file of the lock has the number of the last transaction: the start
    changed or gone: SQLite takes   says how many are missing, and goes on behind the numbers given out
    what is before it for all
"""

import fcntl
import logging
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeVar

from odradek.base.errors import DataDirectoryError
from odradek.base.ids import NO_BROKER
from odradek.metadata import codec, paths
from odradek.metadata.controller.producer_ids import PRODUCER_ID_BLOCK_SIZE
from odradek.metadata.store import ROOT, Create, Failed, Multi, NodeStat, SetData
from odradek.metadata.tree import StoredNode, TableFailed, TreeEngine, name_of, parent_of
from odradek.records.crc import crc32c

METADATA_FILE = "metadata.db"
"""Its name, in the first log directory unless a setting says otherwise."""

SPACE_LEAST_BYTES = 1 << 20
"""With less free space than this, an error of SQLite may come from a full disk."""

STATES_PER_WRITE: Final = 500
"""How many partitions' states one write has, of those that a start changes."""

SCHEMA_VERSION = 2
"""1 had neither checksums nor the store's id."""
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
    sum           INTEGER NOT NULL,    -- CRC-32C of all of the above
    PRIMARY KEY (parent, name)
) WITHOUT ROWID;
CREATE INDEX ephemeral ON node (owner) WHERE owner <> 0;
CREATE TABLE session (
    id    INTEGER PRIMARY KEY AUTOINCREMENT,
    lease BLOB NOT NULL DEFAULT x''    -- what a later process must know of it; see `service`
);
CREATE TABLE last_transaction (number INTEGER NOT NULL);
CREATE TABLE store (id TEXT NOT NULL); -- told apart from another store at the same place
INSERT INTO last_transaction VALUES (1);
INSERT INTO store VALUES (lower(hex(randomblob(8))));
"""

_UPGRADE_FROM_1 = """
ALTER TABLE node ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
CREATE TABLE store (id TEXT NOT NULL);
INSERT INTO store VALUES (lower(hex(randomblob(8))));
"""

_Row = tuple[str, str, bytes, int, int, int, int, int]
"""A row of `node`; its checksum comes last."""

_ROWS: Final = "SELECT parent, name, data, version, created_at, owner, children_made, sum FROM node"

_REMEDY: Final = "restore it from a backup"

_SQLITE_ERRORS: Final = (sqlite3.Error, UnicodeDecodeError)
"""How SQLite fails; its own words may name damaged bytes, which Python cannot decode."""

_log = logging.getLogger(__name__)

T = TypeVar("T")


class EmbeddedEngine(TreeEngine):
    """A `StoreEngine` over one file, for one process at a time.

    Calls may come from any thread, one at a time. Raises DataDirectoryError at construction when the file
    is in use by another process, is another program's, has a newer schema, or cannot be opened.
    """

    def __init__(self, file: Path, *, durable: bool = True, keeps_sessions: bool = False) -> None:
        table = SqliteTable(file, durable=durable)
        self.lost_transactions = table.lost_transactions
        """How many of the last transactions before this start are not in the file, at least."""
        if self.lost_transactions:
            _log.warning(
                "the metadata file %s lacks its last %d changes (its write-ahead log was damaged, or it is an"
                " older copy): topics, settings and partitions' leaders are as they were before these; %s",
                file,
                self.lost_transactions,
                _REMEDY,
            )
        try:
            super().__init__(table)
            if not keeps_sessions:
                self._end_stale_sessions()
            if self.lost_transactions:
                self._pass_lost_producer_ids()
                self._pass_lost_leader_epochs()
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

    def _pass_lost_producer_ids(self) -> None:
        """Skip the blocks that the lost transactions may have taken, at most one each.

        Two producers of one id would have batches refused, or taken for repeated ones and left out.
        """
        node = self._table.get(paths.PRODUCER_ID_BLOCK)
        try:
            last = None if node is None else codec.decode_producer_id_block(node.data)
        except codec.MalformedNode:
            return  # said when a block is needed
        skipped = self.lost_transactions * PRODUCER_ID_BLOCK_SIZE
        end = skipped - 1 if last is None else last.last + skipped
        block = codec.ProducerIdBlockDocument(NO_BROKER, end - PRODUCER_ID_BLOCK_SIZE + 1, end)
        data = codec.encode_producer_id_block(block)
        write = (
            Create(paths.PRODUCER_ID_BLOCK, data) if last is None else SetData(paths.PRODUCER_ID_BLOCK, data)
        )
        self._store(write)

    def _pass_lost_leader_epochs(self) -> None:
        """Raise each leader epoch by the number of lost transactions: each may have begun one.

        An epoch that began again would have other records than those which the brokers' logs have of it, and
        nothing would tell them apart; and markers of transactions would come from an epoch that is over.
        """
        lost = self.lost_transactions
        raised = [
            SetData(path, codec.encode_state_document(replace(state, leader_epoch=state.leader_epoch + lost)))
            for path, state in self._states()
        ]
        for begin in range(0, len(raised), STATES_PER_WRITE):
            self._store(Multi(tuple(raised[begin : begin + STATES_PER_WRITE])))

    def _states(self) -> Iterator[tuple[str, codec.StateDocument]]:
        """The states of all partitions, with their paths."""
        for name in self._table.child_names(paths.TOPICS):
            for number in self._table.child_names(paths.partitions(name)):
                path = f"{paths.partitions(name)}/{number}/state"
                node = self._table.get(path)
                with suppress(codec.MalformedNode):  # said when the image is loaded
                    if node is not None:
                        yield path, codec.decode_state(node.data)

    def _store(self, write: Create | SetData | Multi) -> None:
        """Write before the first session of a broker begins. Raises TableFailed."""
        session = self.open_session()
        result = self.apply(session, write).result
        if isinstance(result, Failed):
            raise TableFailed(f"{result.path}: {result.fault.value}")
        self.close_session(session)

    def _end_stale_sessions(self) -> None:
        for session, _ in self.leases():
            self.close_session(session)


class SqliteTable:
    """A `NodeTable` in a SQLite file. Raises DataDirectoryError at construction, as `EmbeddedEngine`."""

    __slots__ = ("_database", "_file", "_last_transaction", "_lock", "_store_id", "lost_transactions")

    def __init__(self, file: Path, *, durable: bool = True) -> None:
        self._file = file
        # Held as long as the file is open; the system frees it when the process dies.
        self._lock = _take_lock(file)
        try:
            self._database = _open_database(file, durable=durable)
        except (*_SQLITE_ERRORS, DataDirectoryError) as error:
            os.close(self._lock)
            if isinstance(error, DataDirectoryError):
                raise
            why = f"{error}{_space_left(file)}"
            raise DataDirectoryError(f"the metadata file {file} cannot be used: {why}") from None
        # Of the current transaction, or the last one; written beside the file after each commit.
        self._last_transaction = 0
        self._store_id = str(self._database.execute("SELECT id FROM store").fetchone()[0])
        self.lost_transactions = self._pass_lost_transactions()
        """How many transactions the file lacks that an earlier process has committed."""

    def begin(self) -> None:
        """See `NodeTable.begin`; takes SQLite's write lock at once."""
        self._attempt(lambda: self._database.execute("BEGIN IMMEDIATE"))

    def commit(self) -> None:
        """See `NodeTable.commit`; returns when the writes are on disk, if the table is durable."""
        try:
            self._attempt(lambda: self._database.execute("COMMIT"))
        except TableFailed:
            self._overwrite_refused()
            raise
        if self._last_transaction:
            # Not forced to disk, and not needed: it may be behind the file, but never ahead of it.
            with suppress(OSError):
                os.pwrite(self._lock, _mark(self._store_id, self._last_transaction), 0)
            self._last_transaction = 0

    def _overwrite_refused(self) -> None:
        """Write a harmless transaction where the refused one may be whole in the write-ahead log.

        SQLite leaves it there where only the fsync failed; a start after a crash would read it as committed.
        """
        with suppress(*_SQLITE_ERRORS):
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            self._database.execute("UPDATE last_transaction SET number = number + 1")

    def rollback(self) -> None:
        """See `NodeTable.rollback`."""
        self._last_transaction = 0
        if self._database.in_transaction:
            self._database.execute("ROLLBACK")

    def next_transaction(self) -> int:
        """See `NodeTable.next_transaction`; part of the transaction."""
        row = self._one("UPDATE last_transaction SET number = number + 1 RETURNING number")
        assert row is not None, "the table has one row"
        self._last_transaction = int(row[0])
        return self._last_transaction

    def get(self, path: str) -> StoredNode | None:
        """See `NodeTable.get`."""
        row = self._one(
            "SELECT data, version, created_at, owner, children_made FROM node WHERE parent = ? AND name = ?",
            *_key(path),
        )
        return None if row is None else StoredNode(row[0], NodeStat(row[1], row[2], row[3]), row[4])

    def put(self, path: str, node: StoredNode) -> None:
        """See `NodeTable.put`."""
        stat = node.stat
        row = (*_key(path), node.data, stat.version, stat.created_at, stat.owner, node.children_made)
        self._run("INSERT OR REPLACE INTO node VALUES (?, ?, ?, ?, ?, ?, ?, ?)", *row, _sum_of(row))

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

    def _pass_lost_transactions(self) -> int:
        """Compare the number of the last transaction with the mark, and go on behind both.

        Returns by how much the mark is ahead. A mark that cannot be read, or of another store, says nothing.
        """
        row = self._database.execute("SELECT number FROM last_transaction").fetchone()
        marked = _marked(os.pread(self._lock, _MARK_BYTES_MAX, 0), self._store_id)
        if marked is None or marked <= row[0]:
            return 0
        self._database.execute("UPDATE last_transaction SET number = ?", (marked,))
        return marked - int(row[0])

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
        except _SQLITE_ERRORS as error:
            raise TableFailed(f"{self._file}: {error}") from error


def peek_cluster_id(file: Path) -> str | None:
    """The cluster that an existing file belongs to, read without a lock and without leaving a trace.

    None when the file does not say, or not yet: what a crash left in the write-ahead log is not looked at.
    """
    if not file.is_file():
        return None  # SQLite would wait at a pipe for a writer
    try:
        # mode=ro alone would still make the files of the write-ahead log.
        database = sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
        try:
            statement = "SELECT data FROM node WHERE parent = ? AND name = ?"
            row = database.execute(statement, _key(paths.CLUSTER_ID)).fetchone()
        finally:
            database.close()
        return None if row is None else codec.decode_cluster_id(row[0])
    except (*_SQLITE_ERRORS, codec.MalformedNode):
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
    if file.exists() and not file.is_file():
        raise DataDirectoryError(f"the metadata file {file} cannot be used: not a regular file; move it away")
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
        if is_new:
            # It will hold the sessions' secrets; the write-ahead log gets the same mode.
            os.chmod(file, 0o600)
        database.execute("PRAGMA journal_mode = WAL")
        database.execute(f"PRAGMA synchronous = {'FULL' if durable else 'OFF'}")
        if is_new:
            database.executescript(
                f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA application_id = {APPLICATION_ID};"
                f" PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;"
            )
            return database
        if "lease" not in _columns(database, "session"):
            # A file from before sessions had leases.
            database.execute("ALTER TABLE session ADD COLUMN lease BLOB NOT NULL DEFAULT x''")
        if "sum" not in _columns(database, "node"):
            _upgrade_from_1(database)
        _check(database, file)
    except BaseException:
        database.close()
        raise
    return database


def _columns(database: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in database.execute(f"PRAGMA table_info({table})")]


def _upgrade_from_1(database: sqlite3.Connection) -> None:
    """Add what version 1 lacks; its rows are taken to be right."""
    database.executescript(f"BEGIN IMMEDIATE; {_UPGRADE_FROM_1}")
    rows: list[_Row] = database.execute(_ROWS).fetchall()
    database.executemany(
        "UPDATE node SET sum = ? WHERE parent = ? AND name = ?",
        [(_sum_of(row[:-1]), row[0], row[1]) for row in rows],
    )
    database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    database.execute("COMMIT")


def _check(database: sqlite3.Connection, file: Path) -> None:
    """Raises DataDirectoryError if a byte of the file was changed, as far as that can be seen."""
    (found,) = database.execute("PRAGMA integrity_check(1)").fetchone()
    if found != "ok":
        raise DataDirectoryError(
            f"the metadata file {file} is damaged ({' '.join(found.split())}): {_REMEDY}"
        )
    latest = 0
    for *row, checksum in database.execute(_ROWS):
        if checksum != _sum_of(tuple(row)):
            path = f"{'' if row[0] == ROOT else row[0]}/{row[1]}"
            why = f"the node {path!r} does not match its checksum"
            raise DataDirectoryError(f"the metadata file {file} is damaged ({why}): {_REMEDY}")
        latest = max(latest, row[4])
    numbers = [row[0] for row in database.execute("SELECT number FROM last_transaction")]
    ids = [row[0] for row in database.execute("SELECT id FROM store")]
    if len(numbers) != 1 or not isinstance(numbers[0], int) or numbers[0] < latest or len(ids) != 1:
        raise DataDirectoryError(
            f"the metadata file {file} is damaged (its last transaction is unknown): {_REMEDY}"
        )


def _sum_of(row: tuple[object, ...]) -> int:
    """The checksum of a row of `node`; of any values, since a damaged row may have other types."""
    parent, name, data, *numbers = row
    keys = f"{parent!r} {name!r} {numbers!r} ".encode("utf-8", "surrogatepass")
    return crc32c(keys + (data if isinstance(data, bytes) else repr(data).encode()))


_MARK_BYTES_MAX: Final = 100


def _mark(store_id: str, number: int) -> bytes:
    """What is kept beside the file: the store, its last transaction, and a checksum; always as long."""
    text = f"{store_id} {number:020d}"
    return f"{text} {crc32c(text.encode()):08x}\n".encode()


def _marked(mark: bytes, store_id: str) -> int | None:
    """The transaction that a mark names; None if it is no mark of this store."""
    parts = mark.decode("ascii", "replace").split()
    if len(parts) != 3 or parts[0] != store_id or not parts[1].isdigit():
        return None
    number = int(parts[1])
    return number if _mark(store_id, number) == mark else None


def _key(path: str) -> tuple[str, str]:
    return ("", "") if path == ROOT else (parent_of(path), name_of(path))
