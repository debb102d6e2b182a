"""Checks, locks and marks the log directories of a broker, and opens a single log.

Invariant: nothing is changed on disk before all directories are known to belong to this broker, so a refused
broker leaves them unchanged.
"""

from collections.abc import Callable, Sequence
from uuid import UUID

from odradek.base.chance import Chance, SeededChance
from odradek.base.clock import Clock, SystemClock
from odradek.base.errors import DataDirectoryError
from odradek.base.ids import BrokerId, Offset, TopicPartition
from odradek.base.settings import BrokerSettings, TopicConfig
from odradek.base.some_names import some_of
from odradek.storage import file_names
from odradek.storage.files import FileSystem
from odradek.storage.kraft_log import has_metadata_log
from odradek.storage.log import Log
from odradek.storage.log_directory import LogDirectory
from odradek.storage.meta_properties import (
    MetaProperties,
    fault_in,
    read_meta_properties,
    write_meta_properties,
)
from odradek.storage.recovery import load_log
from odradek.storage.strays import holds_log, set_aside

_PRODUCER_EXPIRATION_MS = BrokerSettings().producer_id_expiration_ms


def open_log(
    directory: str,
    topic_partition: TopicPartition,
    config: TopicConfig | None = None,
    *,
    file_system: FileSystem,
    clock: Clock | None = None,
    chance: Chance | None = None,
    clean: bool = True,
    recovery_point: Offset = 0,
    log_start_offset: Offset | None = 0,
    high_watermark: Offset = 0,
) -> Log:
    """Open (or make) one log by itself, outside any `LogManager`: for tests and tools.

    `clean=False` verifies it from `recovery_point` on (L4). StorageFailure when the disk refuses.
    """
    place = LogDirectory(
        directory,
        file_system,
        clock or SystemClock(),
        chance or SeededChance(),
        producer_expiration_ms=lambda: _PRODUCER_EXPIRATION_MS,
    )
    config = config or TopicConfig()
    try:
        loaded = load_log(
            place,
            topic_partition,
            config,
            clean=clean,
            recovery_point=recovery_point,
            log_start_offset=log_start_offset,
            high_watermark=high_watermark,
        )
        return Log(topic_partition, place, config, loaded)
    except OSError as error:
        raise place.fail(error) from error


def stored_cluster_id(file_system: FileSystem, directories: Sequence[str], node_id: BrokerId) -> str | None:
    """Returns the cluster id in the directories' `meta.properties`, or None; changes nothing.

    Raises DataDirectoryError if two of them disagree or are one, if one belongs to another broker, or if one
    has logs but no `meta.properties`. Directories that cannot be read are left out.
    """
    found: dict[str, str] = {}
    owners: dict[UUID, str] = {}
    for path in directories:
        try:
            properties = read_meta_properties(file_system, path)
            if properties is None:
                _refuse_logs_of_nobody(file_system, path)
        except OSError:
            continue
        if properties is not None and properties.directory_id is not None:
            _refuse_twin(owners.setdefault(properties.directory_id, path), path, properties.directory_id)
        if properties is None or properties.cluster_id is None:
            continue
        found[path] = properties.cluster_id
        fault = fault_in(properties, path, cluster_id=properties.cluster_id, node_id=node_id)
        if fault is not None:
            raise DataDirectoryError(fault)
    if len(set(found.values())) > 1:
        (one, first), (other, second), *_ = found.items()
        raise DataDirectoryError(f"{one} belongs to cluster {first}, {other} to cluster {second}")
    return next(iter(found.values()), None)


def _refuse_logs_of_nobody(file_system: FileSystem, path: str) -> None:
    """Raises DataDirectoryError if a directory has logs but no `meta.properties`."""
    if not file_system.exists(path):
        return
    logs = [name for name, _ in file_system.list_directory(path) if holds_log(file_system, path, name)]
    if logs:
        ways = "put that file back"
        if has_metadata_log(file_system, path):
            ways += f", let `odradek import {path}` make one if these are logs of Apache Kafka"
        raise DataDirectoryError(
            f"{path} holds {some_of(logs)} but no {file_names.META_PROPERTIES} that says whose they are:"
            f" {ways}, or name an empty directory"
        )


def open_directories(
    settings: BrokerSettings,
    *,
    cluster_id: str,
    file_system: FileSystem,
    clock: Clock,
    chance: Chance,
    producer_expiration_ms: Callable[[], int],
) -> list[LogDirectory]:
    """Check, lock and mark every directory of `log.dirs`; one whose disk fails is offline.

    Raises DataDirectoryError if one is in use or belongs to another broker, or if none works; then nothing
    was changed.
    """
    paths = list(dict.fromkeys(path.rstrip("/") or "/" for path in settings.log_dirs))
    directories = [
        LogDirectory(path, file_system, clock, chance, producer_expiration_ms=producer_expiration_ms)
        for path in paths
    ]
    found = {directory.path: _look_at(directory, cluster_id, settings.node_id) for directory in directories}
    _lock_all(directories)
    for directory in directories:
        if directory.failure is None:
            _take_over(directory, found[directory.path], cluster_id, settings.node_id)
    require_one_online(directories)
    return directories


def require_one_online(directories: Sequence[LogDirectory]) -> None:
    """Raises DataDirectoryError, with each directory's reason, if all of them are offline."""
    failures = [directory.failure for directory in directories if directory.failure is not None]
    if len(failures) == len(directories):
        raise DataDirectoryError(f"no log directory can be used: {'; '.join(failures)}")


def _look_at(directory: LogDirectory, cluster_id: str, node_id: BrokerId) -> MetaProperties | None:
    try:
        found = read_meta_properties(directory.file_system, directory.path)
        if found is None:
            _refuse_logs_of_nobody(directory.file_system, directory.path)
    except OSError as error:
        directory.fail(error)
        return None
    fault = fault_in(found, directory.path, cluster_id=cluster_id, node_id=node_id)
    if fault is not None:
        raise DataDirectoryError(fault)
    return found


def _refuse_twin(one: str, other: str, directory_id: UUID) -> None:
    """Raises DataDirectoryError if two paths lead to one directory, or to a directory and its copy."""
    if one.rstrip("/") != other.rstrip("/"):
        raise DataDirectoryError(
            f"{one} and {other} have the same directory.id {directory_id}: they are one directory, or one is"
            " a copy of the other; name only one of them in log.dirs"
        )


def _lock_all(directories: Sequence[LogDirectory]) -> None:
    """Lock those that exist, then make and lock the others; all or none."""
    file_system = directories[0].file_system
    for directory in sorted(directories, key=lambda directory: not file_system.exists(directory.path)):
        if directory.failure is not None:
            continue
        try:
            if not file_system.exists(directory.path):
                file_system.make_directory(directory.path)
                file_system.sync_directory(directory.path.rpartition("/")[0] or "/")
            directory.lock = file_system.lock(f"{directory.path}/{file_names.LOCK}")
        except OSError as error:
            directory.fail(error)
            continue
        if directory.lock is None:
            ours = [locked.path for locked in directories if locked.lock is not None]
            for locked in directories:
                locked.release_lock()
            or_ours = f", or is the same directory as {' or '.join(ours)}" if ours else ""
            raise DataDirectoryError(f"{directory.path} is in use by another broker{or_ours}")


def _take_over(
    directory: LogDirectory, found: MetaProperties | None, cluster_id: str, node_id: BrokerId
) -> None:
    directory_id: UUID | None = found.directory_id if found is not None else None
    try:
        if found is None or directory_id is None:
            directory_id = directory.chance.uuid()
            write_meta_properties(
                directory.file_system,
                directory.path,
                cluster_id=cluster_id,
                node_id=node_id,
                directory_id=directory_id,
            )
        directory.directory_id = directory_id
        directory.is_new = found is None
        if not directory.is_new:
            directory.take_clean_shutdown_mark()
    except OSError as error:
        directory.fail(error)
        directory.release_lock()


def make_log(
    directory: LogDirectory,
    topic_partition: TopicPartition,
    config: TopicConfig,
    topic_id: UUID | None,
    reached_offset: Offset = 0,
) -> Log:
    """Create the log of a partition that had reached that offset; an entry of that name is set aside.

    Raises StorageFailure if the disk fails.
    """
    try:
        if directory.file_system.exists(f"{directory.path}/{topic_partition}"):
            set_aside(directory, topic_partition)
        loaded = load_log(directory, topic_partition, config, recovery_point=reached_offset)
        log = Log(topic_partition, directory, config, loaded)
    except OSError as error:
        raise directory.fail(error) from error
    if topic_id is not None:
        log.set_topic_id(topic_id)
    return log
