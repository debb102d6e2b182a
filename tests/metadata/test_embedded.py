"""What the SQLite engine adds to the conformance suite: files, locks, restarts, threads, a failing disk."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from odradek.base.errors import DataDirectoryError
from odradek.metadata import codec, paths
from odradek.metadata.embedded import SCHEMA_VERSION, EmbeddedEngine, SqliteTable, peek_cluster_id
from odradek.metadata.store import (
    Children,
    Create,
    Created,
    Data,
    Delete,
    Failed,
    Fault,
    GetChildren,
    GetData,
    NodeStat,
    SetData,
    Written,
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "metadata.sqlite"


@pytest.fixture
def engine(file: Path) -> Iterator[EmbeddedEngine]:
    made = EmbeddedEngine(file)
    yield made
    made.close()


def database_of(engine: EmbeddedEngine) -> sqlite3.Connection:
    table = engine._table
    assert isinstance(table, SqliteTable)
    return table._database


def test_what_was_written_is_there_after_a_restart(file: Path) -> None:
    engine = EmbeddedEngine(file)
    session = engine.open_session()
    engine.apply(session, Create("/a", b"1"))
    engine.apply(session, SetData("/a", b"2"))
    engine.close()
    engine = EmbeddedEngine(file)
    data = engine.apply(engine.open_session(), GetData("/a")).result
    engine.close()
    assert isinstance(data, Data)
    assert data.data == b"2"
    assert data.stat == NodeStat(version=1, created_at=data.stat.created_at, owner=0)


def test_only_its_owner_may_read_the_file(engine: EmbeddedEngine, file: Path) -> None:
    engine.apply(engine.open_session(), Create("/a"))
    for one in (file, file.with_name(f"{file.name}-wal")):
        assert one.stat().st_mode & 0o777 == 0o600


def test_sessions_of_an_earlier_process_are_over(file: Path) -> None:
    engine = EmbeddedEngine(file)
    first = engine.open_session()
    engine.apply(first, Create("/a", ephemeral=True))
    engine.close()
    engine = EmbeddedEngine(file)
    second = engine.open_session()
    assert second > first
    assert engine.apply(second, GetChildren("/")).result == Children(())
    assert engine.apply(first, GetChildren("/")).result == Failed(Fault.SESSION_EXPIRED, "/")
    engine.close()


def test_transactions_go_on_counting_after_a_restart(file: Path) -> None:
    made_at = []
    for name in ("/a", "/b"):
        engine = EmbeddedEngine(file)
        session = engine.open_session()
        engine.apply(session, Create(name))
        made = engine.apply(session, GetData(name)).result
        assert isinstance(made, Data)
        made_at.append(made.stat.created_at)
        engine.close()
    assert made_at[1] > made_at[0]


def test_a_second_process_is_refused(engine: EmbeddedEngine, file: Path) -> None:
    with pytest.raises(DataDirectoryError, match="in use by another broker"):
        EmbeddedEngine(file)


def test_a_closed_file_is_free_again(file: Path) -> None:
    EmbeddedEngine(file).close()
    EmbeddedEngine(file).close()


def test_another_program_s_database_is_refused_and_left_alone(file: Path) -> None:
    database = sqlite3.connect(file)
    database.execute("CREATE TABLE theirs (x)")
    database.commit()
    database.close()
    before = file.read_bytes()
    with pytest.raises(DataDirectoryError, match="another program"):
        EmbeddedEngine(file)
    assert file.read_bytes() == before


def test_a_pipe_in_its_place_is_refused_and_never_waited_for(file: Path) -> None:
    os.mkfifo(file)
    assert peek_cluster_id(file) is None
    with pytest.raises(DataDirectoryError, match="not a regular file; move it away"):
        EmbeddedEngine(file)


def test_a_file_that_is_no_database_is_refused_and_left_alone(file: Path) -> None:
    file.write_bytes(b"not a database at all, but long enough to be looked at" * 20)
    before = file.read_bytes()
    with pytest.raises(DataDirectoryError, match="cannot be used"):
        EmbeddedEngine(file)
    assert file.read_bytes() == before


def test_an_error_on_a_full_disk_says_that_it_is_full(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_bytes(b"not a database at all, but long enough to be looked at" * 20)
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_bavail=2, f_frsize=256))
    with pytest.raises(DataDirectoryError, match=r"cannot be used: .* \(the disk has 512 bytes left\)"):
        EmbeddedEngine(file)
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_bavail=1 << 20, f_frsize=4096))
    with pytest.raises(DataDirectoryError, match=r"cannot be used: file is not a database$"):
        EmbeddedEngine(file)


def test_a_newer_schema_is_refused(file: Path) -> None:
    EmbeddedEngine(file).close()
    database = sqlite3.connect(file)
    database.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    database.close()
    with pytest.raises(DataDirectoryError, match="newer Odradek"):
        EmbeddedEngine(file)


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataDirectoryError, match="No such file"):
        EmbeddedEngine(tmp_path / "none" / "metadata.sqlite")


def test_every_commit_is_forced_to_disk(engine: EmbeddedEngine, file: Path) -> None:
    """The write-ahead log with synchronous=FULL: an acknowledged write survives a power cut."""
    database = database_of(engine)
    assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert database.execute("PRAGMA synchronous").fetchone() == (2,)


def test_calls_may_come_from_any_thread(engine: EmbeddedEngine) -> None:
    session = engine.open_session()
    with ThreadPoolExecutor(1) as first, ThreadPoolExecutor(1) as second:
        assert first.submit(engine.apply, session, Create("/a")).result().result == Created("/a")
        assert second.submit(engine.apply, session, SetData("/a", b"x")).result().result == Written(1)


def test_a_write_that_the_disk_refuses_is_a_failure_and_leaves_no_trace(engine: EmbeddedEngine) -> None:
    session = engine.open_session()
    database_of(engine).execute("PRAGMA query_only = ON")
    refused = engine.apply(session, Create("/a")).result
    assert refused == Failed(Fault.STORE_FAILED, "/a")
    database_of(engine).execute("PRAGMA query_only = OFF")
    assert engine.apply(session, Create("/a")).result == Created("/a")


def test_a_disk_that_fails_is_told_once_and_so_is_its_recovery(
    engine: EmbeddedEngine, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("WARNING")
    session = engine.open_session()
    for _ in range(2):
        database_of(engine).execute("PRAGMA query_only = ON")
        for _ in range(3):
            engine.apply(session, Create("/a"))
        database_of(engine).execute("PRAGMA query_only = OFF")
        for path in ("/a", "/b"):
            engine.apply(session, Create(path))
        engine.apply(session, Delete("/a"))
        failed, works = caplog.messages
        assert failed.startswith("the metadata store failed: ")
        assert "metadata.sqlite: attempt to write a readonly database. Topics, settings" in failed
        assert works == "the metadata store works again"
        caplog.clear()


def test_a_full_disk_is_a_failure_and_leaves_no_trace(engine: EmbeddedEngine) -> None:
    session = engine.open_session()
    pages = database_of(engine).execute("PRAGMA page_count").fetchone()[0]
    database_of(engine).execute(f"PRAGMA max_page_count = {pages}")
    refused = engine.apply(session, Create("/a", bytes(1 << 16))).result
    assert refused == Failed(Fault.STORE_FAILED, "/a")
    assert engine.apply(session, GetChildren("/")).result == Children(())


class FailingSync:
    """A database whose next commit is written to the write-ahead log, whole, and then not forced to disk."""

    def __init__(self, database: sqlite3.Connection, log: Path, written: bytes) -> None:
        """`written` is what `log` has after such a commit."""
        self._database = database
        self._log = log
        self._written: bytes | None = written

    def __getattr__(self, name: str) -> object:
        return getattr(self._database, name)

    def execute(self, statement: str, parameters: tuple[str | int | bytes, ...] = ()) -> object:
        if statement == "COMMIT" and self._written is not None:
            self._database.execute("ROLLBACK")
            with self._log.open("r+b") as log:
                log.write(self._written)
            self._written = None
            raise sqlite3.OperationalError("disk I/O error")
        return self._database.execute(statement, parameters)


def copied(file: Path, to: Path) -> Path:
    """What a crash of the process leaves: the file and its write-ahead log."""
    to.mkdir()
    for suffix in ("", "-wal"):
        shutil.copy(f"{file}{suffix}", to / f"{file.name}{suffix}")
    return to / file.name


def test_what_was_refused_because_its_fsync_failed_is_not_there_after_a_crash(
    engine: EmbeddedEngine, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = engine.open_session()
    assert engine.apply(session, Create("/a")).result == Created("/a")
    other_file = copied(file, tmp_path / "other")
    other = EmbeddedEngine(other_file, keeps_sessions=True)
    assert other.apply(session, Create("/b")).result == Created("/b")
    written = Path(f"{other_file}-wal").read_bytes()
    other.close()
    failing = FailingSync(database_of(engine), Path(f"{file}-wal"), written)
    monkeypatch.setattr(engine._table, "_database", failing)
    assert engine.apply(session, Create("/b")).result == Failed(Fault.STORE_FAILED, "/b")
    after = EmbeddedEngine(copied(file, tmp_path / "crashed"))
    assert after.apply(after.open_session(), GetChildren("/")).result == Children(("a",))
    after.close()


def test_leases_are_kept_for_a_later_process(tmp_path: Path) -> None:
    first = EmbeddedEngine(tmp_path / "metadata.db", keeps_sessions=True)
    session = first.open_session(b"a lease")
    assert first.apply(session, Create("/e", ephemeral=True)).result == Created("/e")
    first.close()
    second = EmbeddedEngine(tmp_path / "metadata.db", keeps_sessions=True)
    assert second.leases() == [(session, b"a lease")]
    assert isinstance(second.apply(session, GetData("/e")).result, Data)
    second.close()
    alone = EmbeddedEngine(tmp_path / "metadata.db")
    assert alone.leases() == []
    alone.close()


def test_a_file_from_before_there_were_leases(tmp_path: Path) -> None:
    EmbeddedEngine(tmp_path / "metadata.db").close()
    database = sqlite3.connect(tmp_path / "metadata.db")
    database.execute("ALTER TABLE session DROP COLUMN lease")
    database.execute("INSERT INTO session DEFAULT VALUES")
    database.commit()
    database.close()
    engine = EmbeddedEngine(tmp_path / "metadata.db", keeps_sessions=True)
    assert engine.leases() == [(1, b"")]
    assert engine.open_session(b"new") == 2
    engine.close()


def filled(file: Path, *, names: int = 40) -> None:
    """A store with some nodes, closed."""
    engine = EmbeddedEngine(file)
    session = engine.open_session()
    for number in range(names):
        engine.apply(session, Create(f"/node-{number:03d}", b"retention.ms=604800000"))
    engine.close()


def test_a_changed_byte_in_a_node_is_found(file: Path) -> None:
    """SQLite has no checksums: the store would be read with another setting, or another leader."""
    filled(file)
    content = file.read_bytes()
    at = content.index(
        b"retention.ms=604800000", content.index(b"/node-007") if b"/node-007" in content else 0
    )
    file.write_bytes(content[: at + 13] + b"2" + content[at + 14 :])
    with pytest.raises(DataDirectoryError, match=r"is damaged \(the node '/node-\d+' does not .* a backup$"):
        EmbeddedEngine(file)


def test_a_schema_that_is_no_text_is_refused(file: Path) -> None:
    """SQLite's words for it name the damaged bytes, which are not UTF-8."""
    filled(file)
    content = file.read_bytes()
    file.write_bytes(content.replace(b"CREATE INDEX", b"CREAT\xee INDEX", 1))
    assert peek_cluster_id(file) is None
    with pytest.raises(DataDirectoryError, match="cannot be used"):
        EmbeddedEngine(file)


def test_a_page_that_lost_its_rows_is_found(file: Path) -> None:
    """The number of cells of a page of leaves becomes 0: SQLite reads on without them."""
    filled(file, names=200)
    content = bytearray(file.read_bytes())
    page_bytes = int.from_bytes(content[16:18], "big")
    leaves = [at for at in range(page_bytes, len(content), page_bytes) if content[at] == 10]
    content[leaves[-1] + 3 : leaves[-1] + 5] = bytes(2)
    file.write_bytes(content)
    with pytest.raises(DataDirectoryError, match="is damaged"):
        EmbeddedEngine(file)


def copied_while_open(file: Path, target: Path) -> None:
    """The files as a killed process leaves them."""
    for suffix in ("", "-wal", ".lock"):
        shutil.copy(f"{file}{suffix}", f"{target}{suffix}")


@pytest.mark.parametrize("way", ["removed", "emptied", "cut", "changed"])
def test_changes_that_a_damaged_write_ahead_log_has_lost_are_counted(
    engine: EmbeddedEngine, file: Path, tmp_path: Path, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    session = engine.open_session()
    engine.apply(session, Create("/a"))
    database_of(engine).execute("PRAGMA wal_checkpoint(TRUNCATE)")
    engine.apply(session, Create("/b"))
    engine.apply(session, Create("/c", ephemeral=True))
    newest = engine.apply(session, GetData("/c")).result
    later = tmp_path / "later.sqlite"
    copied_while_open(file, later)
    log = Path(f"{later}-wal")
    content = bytearray(log.read_bytes())
    if way == "removed":
        log.unlink()
    elif way == "changed":
        content[1000] ^= 1
        log.write_bytes(content)
    else:
        log.write_bytes(content[: 0 if way == "emptied" else len(content) // 3])
    lost = EmbeddedEngine(later)
    assert lost.lost_transactions == 2
    assert f"{later} lacks its last 2 changes" in caplog.text
    session = lost.open_session()
    assert lost.apply(session, Create("/x", ephemeral=True)).result == Created("/x")
    made = lost.apply(session, GetData("/x")).result
    assert isinstance(made, Data)
    assert isinstance(newest, Data)
    assert made.stat.created_at > newest.stat.created_at, "brokers' epochs are such numbers"
    block = lost.apply(session, GetData(paths.PRODUCER_ID_BLOCK)).result
    assert isinstance(block, Data)
    assert codec.decode_producer_id_block(block.data).last == 1999, "each may have taken a thousand"
    lost.close()
    caplog.clear()
    EmbeddedEngine(later).close()
    assert caplog.text == "", "it is said once"


def test_leader_epochs_that_an_older_copy_has_lost_do_not_begin_again(file: Path, tmp_path: Path) -> None:
    """Brokers' logs have records of these epochs, and transactions have markers of them."""
    before = codec.StateDocument(2, 4, (2, 1), 1, elr=(3,), unclean_epoch=3)
    state = paths.partition_state("t", 7)
    damaged = paths.partition_state("t", 8)
    engine = EmbeddedEngine(file)
    session = engine.open_session()
    made = [paths.BROKERS, paths.TOPICS, paths.topic("t"), paths.topic("new"), paths.partitions("t")]
    for path in (*made, paths.partition("t", 7), paths.partition("t", 8)):
        engine.apply(session, Create(path))
    engine.apply(session, Create(state, codec.encode_state_document(before)))
    engine.apply(session, Create(damaged, b"nonsense"))
    engine.close()
    older = shutil.copy(file, tmp_path / "older")
    engine = EmbeddedEngine(file)
    session = engine.open_session()
    for leader_epoch in (5, 6, 7):
        data = codec.encode_state_document(replace(before, leader_epoch=leader_epoch))
        engine.apply(session, SetData(state, data))
    engine.close()
    shutil.copy(older, file)
    engine = EmbeddedEngine(file)
    lost = engine.lost_transactions
    assert lost >= 3
    session = engine.open_session()
    found = engine.apply(session, GetData(state)).result
    assert isinstance(found, Data)
    assert codec.decode_state(found.data) == replace(before, leader_epoch=4 + lost)
    found = engine.apply(session, GetData(damaged)).result
    assert isinstance(found, Data)
    assert found.data == b"nonsense"
    engine.close()


def test_a_mark_of_another_store_says_nothing(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The file was moved away, and another one is made in its place."""
    filled(file)
    file.unlink()
    EmbeddedEngine(file).close()
    Path(f"{file}.lock").write_bytes(b"\xff nonsense")
    EmbeddedEngine(file).close()
    assert caplog.text == ""


def test_a_file_of_version_1_gets_its_checksums(file: Path) -> None:
    filled(file)
    database = sqlite3.connect(file)
    database.executescript("ALTER TABLE node DROP COLUMN sum; DROP TABLE store; PRAGMA user_version = 1;")
    database.close()
    for _ in range(2):
        engine = EmbeddedEngine(file)
        assert len(database_of(engine).execute("SELECT * FROM node").fetchall()) == 41
        engine.close()
