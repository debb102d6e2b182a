"""A broker whose metadata store is served by another process: here the server runs on the same loop."""

import asyncio
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from odradek.base.errors import DataDirectoryError, OdradekError, SettingError
from odradek.base.settings import SettingLayers
from odradek.metadata import paths
from odradek.metadata.embedded import EmbeddedEngine
from odradek.metadata.tree import TableFailed
from odradek.server.process import lifecycle, store_server
from odradek.server.process.broker import Broker
from odradek.server.process.broker_store import StoreUnreachable
from odradek.server.process.shell import Shell
from odradek.server.process.store_server import StoreServer, serve_store
from odradek.storage.meta_properties import write_meta_properties
from odradek.storage.os_files import OsFileSystem
from tests.server.process.socket_worlds import until

CLUSTER = "9mV0tsdqSpyTkIyXSMUJOw"


@pytest.fixture
def sockets() -> Iterator[str]:
    """A directory with a short path."""
    with tempfile.TemporaryDirectory() as directory:
        yield directory


async def start(sockets: str, log_dir: Path, **settings: str) -> Broker:
    given = {
        "listeners": "PLAINTEXT://127.0.0.1:0",
        "log.dirs": str(log_dir),
        "odradek.cluster.directory": sockets,
        **{name.replace("_", "."): value for name, value in settings.items()},
    }
    layers, _ = SettingLayers.from_static(given)
    return await lifecycle.start(Shell(layers))


def brokers_in(file: Path) -> list[str]:
    """The brokers that are registered, after the server has stopped."""
    engine = EmbeddedEngine(file, durable=False, keeps_sessions=True)
    registered = list(engine._table.child_names(paths.BROKER_IDS))
    engine.close()
    return registered


async def stopped(server: StoreServer, broker: Broker) -> None:
    await lifecycle.stop(broker)
    assert server.sessions() == [], "the session has ended before the broker"
    await server.stop()


@pytest.mark.slow
@pytest.mark.asyncio
async def test_a_broker_registers_in_the_served_store(tmp_path: Path, sockets: str) -> None:
    server = await serve_store(sockets, tmp_path / "metadata.db", durable=False)
    broker = await start(sockets, tmp_path / "logs", node_id="3")
    (session,) = server.sessions()
    assert session.broker_id == 3
    assert not (tmp_path / "logs" / "metadata.db").exists()
    await lifecycle.stop(broker)
    assert server.sessions() == []
    await server.stop()
    assert brokers_in(tmp_path / "metadata.db") == []


@pytest.mark.slow
@pytest.mark.asyncio
async def test_a_broker_goes_on_over_a_restart_of_the_server(tmp_path: Path, sockets: str) -> None:
    file = tmp_path / "metadata.db"
    server = await serve_store(sockets, file, durable=False)
    broker = await start(sockets, tmp_path / "logs")
    (before,) = server.sessions()
    await server.stop()
    assert brokers_in(file) == ["0"]
    server = await serve_store(sockets, file, durable=False)
    await asyncio.wait_for(until_connected(server), 20)
    assert server.sessions() == [before]
    await stopped(server, broker)


async def until_connected(server: StoreServer) -> None:
    await until(lambda: all(session.is_connected for session in server.sessions()))


@pytest.mark.slow
@pytest.mark.asyncio
async def test_directories_of_another_cluster_are_refused(tmp_path: Path, sockets: str) -> None:
    file, mine, other = tmp_path / "metadata.db", tmp_path / "mine", tmp_path / "other"
    server = await serve_store(sockets, file, durable=False)
    other.mkdir()
    write_meta_properties(OsFileSystem(), str(other), cluster_id=CLUSTER, node_id=0, directory_id=UUID(int=1))
    with pytest.raises(DataDirectoryError) as refused:
        await start(sockets, other)
    assert str(refused.value) == (
        f"{other} belongs to cluster {CLUSTER}, but the metadata store {sockets}/store.sock is empty:"
        " restore its file from a backup"
    )
    broker = await start(sockets, mine, node_id="1")
    with pytest.raises(DataDirectoryError) as refused:
        await start(sockets, other)
    cluster = broker.core.image.cluster_id
    assert str(refused.value) == (
        f"{other} belongs to cluster {CLUSTER}, the metadata store {sockets}/store.sock to cluster {cluster}"
    )
    assert [path.name for path in other.iterdir()] == ["meta.properties"]
    await stopped(server, broker)


@pytest.mark.asyncio
async def test_a_store_that_nobody_serves(tmp_path: Path, sockets: str) -> None:
    with pytest.raises(StoreUnreachable) as refused:
        await start(sockets, tmp_path / "logs")
    assert isinstance(refused.value, OdradekError)
    assert str(refused.value) == (
        f"the metadata store {sockets}/store.sock cannot be reached, because there is no such file:"
        " is its supervisor running?"
    )
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(f"{sockets}/store.sock")
    with pytest.raises(StoreUnreachable, match="because nobody serves it: is its supervisor running"):
        await start(sockets, tmp_path / "logs")
    assert not (tmp_path / "logs").exists()


@pytest.mark.asyncio
async def test_a_store_whose_disk_is_full(
    tmp_path: Path, sockets: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(engine: EmbeddedEngine, lease: bytes) -> int:
        raise TableFailed("database or disk is full")

    monkeypatch.setattr(EmbeddedEngine, "open_session", fails)
    server = await serve_store(sockets, tmp_path / "metadata.db", durable=False)
    with pytest.raises(StoreUnreachable) as refused:
        await start(sockets, tmp_path / "logs")
    assert str(refused.value) == (
        f"the metadata store {sockets}/store.sock begins no session (its disk may be full):"
        " the lines of its supervisor say why"
    )
    await server.stop()


@pytest.mark.asyncio
async def test_sockets_that_somebody_has_removed_are_made_again(
    tmp_path: Path, sockets: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (store_server, lifecycle):
        monkeypatch.setattr(module, "LOOK_MS", 10)
    server = await serve_store(sockets, tmp_path / "metadata.db", durable=False)
    broker = await start(sockets, tmp_path / "logs", node_id="3")
    files = [Path(sockets) / name for name in ("store.sock", "broker-3.sock")]
    for path in files:
        path.unlink()
    await until(lambda: all(path.exists() for path in files))
    assert [path.stat().st_mode & 0o777 for path in files] == [0o600, 0o600]
    other = await start(sockets, tmp_path / "other", node_id="4")
    assert sorted(session.broker_id for session in server.sessions()) == [3, 4]
    await lifecycle.stop(other)
    await stopped(server, broker)


@pytest.mark.asyncio
async def test_a_metadata_file_of_its_own_is_refused(tmp_path: Path, sockets: str) -> None:
    with pytest.raises(SettingError, match=r"odradek\.metadata\.file cannot be set together with"):
        await start(sockets, tmp_path / "logs", odradek_metadata_file=str(tmp_path / "metadata.db"))


# --- the server's files


@pytest.mark.asyncio
async def test_only_the_same_user_reaches_the_socket(tmp_path: Path, sockets: str) -> None:
    directory = Path(sockets) / "new"
    server = await serve_store(str(directory), tmp_path / "metadata.db", durable=False)
    modes = [path.stat().st_mode & 0o777 for path in (directory, directory / "store.sock")]
    assert modes == [0o700, 0o600]
    await server.stop()


@pytest.mark.asyncio
async def test_a_directory_that_others_may_enter_is_refused(tmp_path: Path, sockets: str) -> None:
    Path(sockets).chmod(0o755)
    with pytest.raises(DataDirectoryError, match="has the mode 755: the sockets of a cluster need"):
        await serve_store(sockets, tmp_path / "metadata.db", durable=False)
    assert list(Path(sockets).iterdir()) == []
    assert not (tmp_path / "metadata.db").exists()


@pytest.mark.asyncio
async def test_a_path_that_is_too_long_for_a_socket(tmp_path: Path) -> None:
    directory = tmp_path / ("long" * 40)
    with pytest.raises(DataDirectoryError, match=r"cannot listen on .*: AF_UNIX path too long"):
        await serve_store(str(directory), tmp_path / "metadata.db", durable=False)
    EmbeddedEngine(tmp_path / "metadata.db", durable=False).close()
