"""The metadata store of a broker's process: a file of its own, or the store that a supervisor serves.

Invariant: a start that is refused has changed nothing, neither on disk nor in the store.
"""

from typing import Protocol

from odradek.base.errors import DataDirectoryError, OdradekError, SettingError
from odradek.base.settings import BrokerSettings
from odradek.metadata import codec, paths
from odradek.metadata.startup import read_document
from odradek.metadata.store import Fault, MetadataStore, StoreRefused
from odradek.metadata.store_host import StoreHost
from odradek.server.process.shell import Shell
from odradek.server.process.store_processes import Sessions, in_session
from odradek.storage.opening import stored_cluster_id
from odradek.storage.os_files import OsFileSystem


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
    if shell.settings.odradek_cluster_directory is not None:
        return await _open_served_store(shell, shell.settings.odradek_cluster_directory)
    engine = await shell.executor.run(lambda: shell.open_engine(shell.settings))
    return EmbeddedStore(shell, StoreHost(engine, shell.executor))


async def _open_served_store(shell: Shell, directory: str) -> BrokerStore:
    # Loaded only in a broker of such a cluster.
    from odradek.metadata.service.client import SessionWish
    from odradek.server.process.socket_channel import store_socket
    from odradek.server.process.store_client import StoreClient

    settings = shell.settings
    if settings.odradek_metadata_file is not None:
        raise SettingError(
            "odradek.metadata.file cannot be set together with odradek.cluster.directory: the supervisor of"
            " the cluster owns the metadata file"
        )
    files = OsFileSystem()
    stored = await shell.executor.run(lambda: stored_cluster_id(files, settings.log_dirs, settings.node_id))

    def wish() -> SessionWish:
        return SessionWish(shell.settings.broker_session_timeout_ms, shell.settings.node_id)

    client = StoreClient(store_socket(directory), wish, shell.turn_time, shell.stalls)
    try:
        await _refuse_strangers(client, settings, stored, f"the metadata store {client.path}")
    except BaseException:
        client.close()
        raise
    return client


async def _refuse_strangers(
    store: BrokerStore, settings: BrokerSettings, stored: str | None, store_name: str
) -> None:
    """Raises DataDirectoryError if the log directories belong to another cluster than the store."""
    try:
        found = await in_session(store, read_document(paths.CLUSTER_ID, codec.decode_cluster_id))
    except StoreRefused as refused:
        if refused.failed.fault is not Fault.UNREACHABLE:
            raise
        raise StoreUnreachable(f"{store_name} cannot be reached: is its supervisor running?") from None
    directories = ", ".join(settings.log_dirs)
    if stored is None:
        return
    if found is None:
        raise DataDirectoryError(
            f"{directories} belongs to cluster {stored}, but {store_name} is empty: restore its file from a"
            " backup"
        )
    if found.value != stored:
        raise DataDirectoryError(
            f"{directories} belongs to cluster {stored}, {store_name} to cluster {found.value}"
        )
