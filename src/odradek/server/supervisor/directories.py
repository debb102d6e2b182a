"""Which directories are a cluster's, which are refused, and the private directory of its sockets.

    D/cluster.json      what the cluster is                    D/broker-1, D/broker-2, ...  a broker's logs
    D/metadata.db       the metadata store                     D/.lock                      one supervisor
    D/broker-1.process, D/broker-1.properties, ...             its process, see `processes`

Invariant: a start that is refused has changed nothing on disk.
"""

import fcntl
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from odradek.base.errors import DataDirectoryError
from odradek.base.system_errors import reason_of
from odradek.metadata.embedded import METADATA_FILE, peek_cluster_id
from odradek.server.process.embedded_store import CLUSTER_FILE
from odradek.server.supervisor.broker_settings import ClusterSettings
from odradek.server.supervisor.cluster_file import KeptCluster, read_cluster_file
from odradek.storage import file_names
from odradek.storage.files import DirectoryLock, FileSystem
from odradek.storage.meta_properties import read_meta_properties
from odradek.storage.opening import stored_cluster_id

SOCKET_PATH_BYTES_MAX: Final = 100
"""The systems allow 104 to 108 bytes."""
_LONGEST_SOCKET: Final = "/broker-9999.sock"
_ID_BYTES: Final = 6


def metadata_file(settings: ClusterSettings) -> Path:
    """The file of the cluster's metadata store."""
    return Path(settings.log_dirs[0]) / METADATA_FILE


def check_directories(file_system: FileSystem, settings: ClusterSettings) -> KeptCluster | None:
    """Returns what the cluster was at its last start, None for a new one; changes nothing.

    Raises DataDirectoryError for directories of a single broker, of several clusters, or of more brokers.
    """
    kept = read_cluster_file(file_system, settings.log_dirs[0])
    for path in settings.log_dirs:
        _refuse_single_broker(file_system, path, settings.count)
        if kept is None and file_system.exists(f"{path}/{CLUSTER_FILE}"):
            raise DataDirectoryError(f"{path} holds the file of this cluster: name it first in log.dirs")
    _refuse_fewer(file_system, settings, kept)
    _refuse_strangers(file_system, settings)
    return kept


def _refuse_single_broker(file_system: FileSystem, path: str, count: int) -> None:
    found = read_meta_properties(file_system, path)
    if found is not None:
        raise DataDirectoryError(
            f"{path} holds the logs of broker {found.node_id} of cluster {found.cluster_id}, which is alone"
            f" there: --brokers {count} needs a directory of its own"
        )
    stored_cluster_id(file_system, [path], 0)  # logs without an owner


def _refuse_fewer(file_system: FileSystem, settings: ClusterSettings, kept: KeptCluster | None) -> None:
    last = kept.brokers if kept is not None else 0
    for path in settings.log_dirs:
        if file_system.exists(path):
            try:
                names = {name for name, _ in file_system.list_directory(path)}
            except OSError as error:
                reason = reason_of(error)
                raise DataDirectoryError(f"cannot use the directory {path}: {reason}") from None
            while f"broker-{last + 1}" in names:
                last += 1
    missing = range(settings.count + 1, last + 1)
    if missing:
        named = " and ".join(f"broker {one}" for one in missing)
        raise DataDirectoryError(
            f"{settings.log_dirs[0]} holds a cluster of {last} brokers, and --brokers {settings.count} leaves"
            f" out {named}: start it with --brokers {last}; a broker that was drained stays, without replicas"
        )


def _refuse_strangers(file_system: FileSystem, settings: ClusterSettings) -> None:
    """Refuse directories of brokers that belong to another broker or cluster than the store."""
    file = metadata_file(settings)
    clusters: dict[str, str] = {}
    for broker_id in settings.broker_ids:
        paths = settings.directories_of(broker_id)
        cluster = stored_cluster_id(file_system, paths, broker_id)
        if cluster is not None:
            clusters.setdefault(cluster, ", ".join(paths))
    if not clusters:
        return
    if len(clusters) > 1:
        (one, first), (other, second), *_ = clusters.items()
        raise DataDirectoryError(f"{first} belongs to cluster {one}, {second} to cluster {other}")
    ((cluster, paths_of_one),) = clusters.items()
    if not file.exists():
        raise DataDirectoryError(
            f"{paths_of_one} belongs to cluster {cluster}, whose metadata file {file} does not exist"
        )
    named = peek_cluster_id(file)
    if named is not None and named != cluster:
        raise DataDirectoryError(
            f"{paths_of_one} belongs to cluster {cluster}, the metadata file {file} to cluster {named}"
        )


def lock_cluster(file_system: FileSystem, directory: str) -> DirectoryLock:
    """Lock a cluster for one supervisor. Raises DataDirectoryError if another one holds it."""
    try:
        file_system.make_directory(directory)
        lock = file_system.lock(f"{directory}/{file_names.LOCK}")
    except OSError as error:
        reason = reason_of(error)
        raise DataDirectoryError(f"cannot use the directory {directory}: {reason}") from None
    if lock is None:
        raise DataDirectoryError(f"{directory} is in use: another process serves it")
    return lock


# --- the private directory


class SocketDirectory:
    """A directory that only this user can enter, held against programs that clean up old files.

    It is not in a data directory, because the path of a socket is limited to a hundred bytes and not every
    file system has sockets; and not in $XDG_RUNTIME_DIR, which is removed when its user logs out.
    """

    def __init__(self, path: str) -> None:
        """Raises OSError if the directory cannot be opened."""
        self.path = path
        # Those who clean up leave a directory alone on which there is a lock.
        self._descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def file(self, name: str) -> Path:
        """The path of a file in it."""
        return Path(self.path) / name

    def remove(self) -> None:
        """Remove it with all that is in it, if nobody has done so; called when no broker is left."""
        for name in os.listdir(self._descriptor):
            os.unlink(name, dir_fd=self._descriptor)
        with suppress(FileNotFoundError):
            os.rmdir(self.path)
        self.close()

    def close(self) -> None:
        """Free the lock, and leave the directory as it is."""
        os.close(self._descriptor)


def socket_directory(
    kept: KeptCluster | None, parents: Callable[[], tuple[str, ...]], *, is_in_use: bool = False
) -> SocketDirectory:
    """Returns the directory of sockets that the cluster had, if it is there and private, else a new one.

    With `is_in_use` brokers live that look for it where it was: one that is gone is made there again.
    `parents` are the directories to make it in, the first one preferred. Raises DataDirectoryError.
    """
    if kept is not None and is_in_use:
        with suppress(OSError):
            os.mkdir(kept.sockets, 0o700)
    if kept is not None and is_private(kept.sockets):
        return SocketDirectory(kept.sockets)
    for parent in parents():
        path = f"{parent.rstrip('/')}/odradek-{os.urandom(_ID_BYTES).hex()}"
        if len(os.fsencode(path + _LONGEST_SOCKET)) > SOCKET_PATH_BYTES_MAX:
            continue
        try:
            os.mkdir(path, 0o700)
            return SocketDirectory(path)
        except OSError as error:
            reason = reason_of(error)
            raise DataDirectoryError(f"cannot make the directory of the sockets {path}: {reason}") from None
    raise DataDirectoryError("there is no directory for sockets whose path is short enough: set TMPDIR")


def is_private(path: str) -> bool:
    """Whether a directory is this user's, and nobody else can enter it or change what is in it."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077


def temporary_directories() -> tuple[str, ...]:
    """The directories for sockets of this user, the first one preferred."""
    return (os.environ.get("TMPDIR") or "/tmp", "/tmp")  # noqa: S108 - only for a private directory in it
