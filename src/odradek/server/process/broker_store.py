"""The metadata store of a broker's process: a file of its own, the store of a supervisor, or ZooKeeper.

Invariant: a start that is refused has changed nothing, neither on disk nor in the store.
"""

import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from odradek.base.errors import DataDirectoryError, OdradekError, SettingError
from odradek.base.settings import BrokerSettings
from odradek.metadata import codec, paths
from odradek.metadata.startup import read_document
from odradek.metadata.store import Fault, MetadataStore, StoreRefused, StoreSteps, ensure, read_data
from odradek.metadata.store_host import StoreHost
from odradek.server.process.shell import Shell
from odradek.server.process.store_processes import Sessions, in_session
from odradek.storage.opening import stored_cluster_id
from odradek.storage.os_files import OsFileSystem

if TYPE_CHECKING:  # loaded only in a broker of such a cluster
    from odradek.metadata.zookeeper.ensemble import Ensemble

T = TypeVar("T")

_BACKUP: Final = ": restore its file from a backup"


class BrokerStore(Sessions, Protocol):
    """Where the sessions of this process come from."""

    async def drain(self) -> None:
        """Return when the sessions that were closed have ended in the store."""

    def close(self) -> None:
        """Release files and sockets, without ending a session that is open."""


class StoreUnreachable(OdradekError):
    """Nobody serves the metadata store of the cluster."""


class EmbeddedStore:
    """A `BrokerStore` over this process's own engine."""

    def __init__(self, shell: Shell, host: StoreHost) -> None:
        self._shell = shell
        self._host = host

    def session(self) -> MetadataStore:
        """See `BrokerStore.session`."""
        return self._host.session()

    async def drain(self) -> None:
        """See `BrokerStore.drain`."""
        await self._shell.executor.drain()

    def close(self) -> None:
        """See `BrokerStore.close`."""
        self._host.close()


async def open_store(shell: Shell) -> BrokerStore:
    """Open the store that the settings name. Raises SettingError, DataDirectoryError, StoreUnreachable."""
    settings = shell.settings
    shared = _shared_store(settings)
    if shared is None:
        engine = await shell.executor.run(lambda: shell.open_engine(shell.settings))
        return EmbeddedStore(shell, StoreHost(engine, shell.executor))
    if settings.odradek_metadata_file is not None:
        raise SettingError(
            f"odradek.metadata.file cannot be set together with {shared}, which names the metadata store"
        )
    if settings.zookeeper_connect:
        return await _open_zookeeper(shell, settings.zookeeper_connect)
    assert settings.odradek_cluster_directory is not None, shared
    return await _open_served_store(shell, settings.odradek_cluster_directory)


def _shared_store(settings: BrokerSettings) -> str | None:
    """The setting that names a store which other brokers use, too; None without one. Raises SettingError."""
    if settings.zookeeper_connect and settings.odradek_cluster_directory is not None:
        raise SettingError(
            "zookeeper.connect cannot be set together with odradek.cluster.directory: each names a metadata"
            " store"
        )
    if settings.zookeeper_connect:
        return "zookeeper.connect"
    return None if settings.odradek_cluster_directory is None else "odradek.cluster.directory"


async def _open_served_store(shell: Shell, directory: str) -> BrokerStore:
    # Loaded only in a broker of such a cluster.
    from odradek.metadata.service.client import SessionWish
    from odradek.server.process.socket_channel import store_socket
    from odradek.server.process.store_client import StoreClient

    def wish() -> SessionWish:
        return SessionWish(shell.settings.broker_session_timeout_ms, shell.settings.node_id)

    client = StoreClient(store_socket(directory), wish, shell.turn_time, shell.stalls, shell.guard_of_store)
    name = f"the metadata store {client.path}"

    def unreachable() -> str:
        """A supervisor that was killed leaves the file; only a clean stop, or somebody else, removes it.

        One that is there and begins no session cannot write to its store.
        """
        if _is_served(client.path):
            return f"{name} begins no session (its disk may be full): the lines of its supervisor say why"
        reason = "nobody serves it" if client.path.exists() else "there is no such file"
        return f"{name} cannot be reached, because {reason}: is its supervisor running?"

    return await _checked(shell, client, name, unreachable, _BACKUP)


def _is_served(socket_path: Path) -> bool:
    """Whether a process listens on a socket."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(socket_path))
        except BlockingIOError:  # it accepts nothing at present
            return True
        except OSError:
            return False
    return True


async def _open_zookeeper(shell: Shell, connect: str) -> BrokerStore:
    """Find the ensemble, and make the node below which the cluster is, as Kafka does."""
    from odradek.metadata.zookeeper.ensemble import parse_ensemble

    try:
        from odradek.metadata.zookeeper.session import SessionTimes
        from odradek.server.process.zookeeper_store import ZooKeeperStore
    except ModuleNotFoundError as missing:
        raise SettingError(
            f"zookeeper.connect needs the package {missing.name}: pip install 'odradek[zookeeper]'"
        ) from None

    ensemble = parse_ensemble(connect)

    def times() -> SessionTimes:
        settings = shell.settings
        timeout_ms = settings.zookeeper_session_timeout_ms
        return SessionTimes(
            timeout_ms,
            settings.zookeeper_connection_timeout_ms or timeout_ms,
            settings.zookeeper_max_in_flight_requests,
        )

    def store_at(place: "Ensemble") -> ZooKeeperStore:
        return ZooKeeperStore(place, times, shell.chance, shell.turn_time, shell.stalls, shell.guard_of_store)

    def unreachable() -> str:
        within_ms = times().connection_timeout_ms
        return f"ZooKeeper at {ensemble} cannot be reached: no session within {within_ms} ms"

    elsewhere = ": does zookeeper.connect name the path of that cluster?"
    store = await _checked(shell, store_at(ensemble), f"ZooKeeper at {ensemble}", unreachable, elsewhere)
    if ensemble.chroot:
        above = store_at(ensemble.without_chroot)
        try:
            await _asked(above, _make_path(ensemble.chroot), unreachable)
            await above.drain()
        except BaseException:
            store.close()
            raise
        finally:
            above.close()
    return store


def _make_path(path: str) -> StoreSteps[None]:
    """Make a node and those above it, unless they are there."""
    names = path.strip("/").split("/")
    for depth in range(len(names)):
        node = "/" + "/".join(names[: depth + 1])
        if (yield from read_data(node)) is None:
            yield from ensure(node)


async def _asked(store: BrokerStore, process: StoreSteps[T], unreachable: Callable[[], str]) -> T:
    """Run a process in a session of its own. Raises StoreUnreachable."""
    try:
        return await in_session(store, process)
    except StoreRefused as refused:
        if refused.failed.fault is not Fault.UNREACHABLE:
            raise
        raise StoreUnreachable(unreachable()) from None


async def _checked(
    shell: Shell, store: BrokerStore, name: str, unreachable: Callable[[], str], remedy: str
) -> BrokerStore:
    """Returns the store; closes it if it cannot be reached, or if the log directories belong elsewhere."""
    settings, files = shell.settings, OsFileSystem()
    try:
        stored = await shell.executor.run(
            lambda: stored_cluster_id(files, settings.log_dirs, settings.node_id)
        )
        found = await _asked(store, read_document(paths.CLUSTER_ID, codec.decode_cluster_id), unreachable)
        _refuse_strangers(settings, stored, None if found is None else found.value, name, remedy)
    except BaseException:
        store.close()
        raise
    return store


def _refuse_strangers(
    settings: BrokerSettings, stored: str | None, found: str | None, name: str, remedy: str
) -> None:
    """Raises DataDirectoryError if the log directories belong to another cluster than the store."""
    directories = ", ".join(settings.log_dirs)
    if stored is None or stored == found:
        return
    if found is None:
        raise DataDirectoryError(f"{directories} belongs to cluster {stored}, but {name} is empty{remedy}")
    raise DataDirectoryError(f"{directories} belongs to cluster {stored}, {name} to cluster {found}")
