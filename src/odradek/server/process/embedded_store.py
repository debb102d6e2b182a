"""The embedded metadata store of a broker: finds its file, and checks that it belongs to our log directories.

Invariant: a start that is refused has changed nothing on disk. So the directories' `meta.properties` and the
file's cluster id are read before the file is opened as a store, because opening creates a missing file.
"""

import os
from pathlib import Path
from typing import Final

from odradek.base.errors import DataDirectoryError
from odradek.base.settings import BrokerSettings
from odradek.base.system_errors import reason_of
from odradek.metadata.embedded import METADATA_FILE, EmbeddedEngine, peek_cluster_id
from odradek.metadata.store import StoreEngine
from odradek.storage.opening import stored_cluster_id
from odradek.storage.os_files import OsFileSystem

CLUSTER_FILE: Final = "cluster.json"
"""What `serve --brokers` keeps in the directory of a cluster, which has a directory for each broker."""


def open_embedded_engine(settings: BrokerSettings, *, durable: bool = True) -> StoreEngine:
    """Open the embedded store; with `durable`, each commit is forced to disk. Raises DataDirectoryError."""
    if settings.odradek_metadata_file is not None:
        file = Path(settings.odradek_metadata_file)
    else:
        file = Path(settings.log_dirs[0]) / METADATA_FILE
    stored = _refuse_strangers(settings, file)
    try:
        os.makedirs(file.parent, exist_ok=True)
    except OSError as error:
        reason = reason_of(error)
        raise DataDirectoryError(f"cannot make the directory {file.parent}: {reason}") from None
    engine = EmbeddedEngine(file, durable=durable)
    if stored is not None and engine.cluster_id() is None:
        engine.close()
        raise DataDirectoryError(
            f"{', '.join(settings.log_dirs)} belongs to cluster {stored}, but the metadata file {file} is"
            " empty: restore it from a backup"
        )
    return engine


def _refuse_strangers(settings: BrokerSettings, file: Path) -> str | None:
    """Returns the id of the cluster that the directories belong to; None for new directories.

    Raises DataDirectoryError if they belong to another broker, or to another cluster than the file.

    Ignores a directory that cannot be read; opening the logs reports the reason.
    """
    for path in settings.log_dirs:
        if (Path(path) / CLUSTER_FILE).exists():
            raise DataDirectoryError(
                f"{path} holds a cluster of several brokers: start it with --brokers, or name another one"
            )
    stored = stored_cluster_id(OsFileSystem(), settings.log_dirs, settings.node_id)
    if stored is None:
        return None
    directories = ", ".join(settings.log_dirs)
    if not file.exists():
        raise DataDirectoryError(
            f"{directories} belongs to cluster {stored}, whose metadata file {file} does not exist"
            f" ({_remedy(settings)})"
        )
    named = peek_cluster_id(file)
    if named is not None and named != stored:
        raise DataDirectoryError(
            f"{directories} belongs to cluster {stored}, the metadata file {file} to cluster {named}"
        )
    return stored


def _remedy(settings: BrokerSettings) -> str:
    """Where the missing metadata file may be: the first of `log.dirs` has it, unless their order changed."""
    for path in settings.log_dirs:
        if (Path(path) / METADATA_FILE).exists():
            return f"there is one in {path}: name that directory first, or set odradek.metadata.file"
    return f"to take over a directory of Apache Kafka: odradek import {' '.join(settings.log_dirs)}"
