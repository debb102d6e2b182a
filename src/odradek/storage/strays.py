"""Logs that the metadata store does not have for this broker: never adopted, set aside or removed.

The id in `partition.metadata`, not the name, decides which topic a log belongs to: a later topic of that name
must not start with old records. A log of a topic that the store does not know is set aside. As in Kafka, the
directory is renamed and stays until a person removes it; unlike in Kafka, it is taken back at a startup at
which the store knows the topic again, unless the partition has another log, or may have one in a directory
that is missing or offline.

    flights-0                 the store has no topic of that id
    flights-0.1f0c...-stray   not served; removed by hand, or `flights-0` again

Where the store has the topic, the replica was moved to other brokers while this one was away. A live broker
is ordered to delete it then, and one that comes back does so by itself if nothing can be missing there:

    flights-0                  its replicas are elsewhere, all in sync, under a later leader epoch than it has
    flights-0.1f0c...-delete   removed
    flights-0.1f0c...-stray    some are not in sync, or the log has an epoch that the store does not know
"""

from collections.abc import Callable, Collection
from uuid import UUID

from odradek.base.ids import NO_EPOCH, TopicPartition
from odradek.storage import file_names
from odradek.storage.checkpoint import read_epochs
from odradek.storage.expected_logs import Elsewhere, ExpectedLogs
from odradek.storage.files import FileSystem
from odradek.storage.log_directory import LogDirectory
from odradek.storage.partition_metadata import read_topic_id


def holds_log(file_system: FileSystem, directory: str, name: str) -> bool:
    """Whether an entry of a log directory is named as a partition's log, and has a segment in it."""
    return file_names.topic_partition_of(name) is not None and _has_segment(
        file_system, f"{directory}/{name}"
    )


def is_stray(directory: LogDirectory, partition: TopicPartition, expected: ExpectedLogs) -> bool:
    """Whether a log is of no topic that the store has for this broker; one without an id goes by its name."""
    topic_id = expected.topic_ids.get(partition)
    return topic_id is None or _topic_id_in(directory, str(partition)) not in (None, topic_id)


def set_aside(directory: LogDirectory, partition: TopicPartition) -> str | None:
    """Rename a log as a stray; its new name. None, and nothing done, when it has no segment."""
    return _renamed(directory, partition, file_names.stray_directory)


def discard(directory: LogDirectory, partition: TopicPartition) -> str | None:
    """Rename a log as a deleted one, which is to be removed; as `set_aside`."""
    return _renamed(directory, partition, file_names.deleted_directory)


def where_moved(directory: LogDirectory, name: str, number: int, expected: ExpectedLogs) -> Elsewhere | None:
    """The partition, if the log under that name was moved to other brokers; None if the store has no such."""
    topic_id = _topic_id_in(directory, name)
    return None if topic_id is None else expected.elsewhere.get((topic_id, number))


def is_superseded(directory: LogDirectory, name: str, moved: Elsewhere) -> bool:
    """Whether the brokers that it was moved to surely have all that the log has.

    The store may be an old copy: then the log of the leader has begun a later epoch than the store knows.
    """
    path = f"{directory.path}/{name}"
    epochs, damage = read_epochs(directory.file_system, f"{path}/{file_names.LEADER_EPOCHS}")
    if damage is not None or (not epochs and _has_records(directory.file_system, path)):
        return False
    return moved.is_whole and (epochs[-1][0] if epochs else NO_EPOCH) < moved.leader_epoch


def take_back(
    directory: LogDirectory,
    name: str,
    expected: ExpectedLogs,
    present: Collection[TopicPartition] = (),
) -> TopicPartition | None:
    """Rename a stray as the log that it was, if the store knows its topic again; the partition, or None.

    `present`: the partitions that have a log in any of the broker's directories.
    """
    number, topic_id = file_names.partition_of_stray(name), _topic_id_in(directory, name)
    if number is None or topic_id is None or topic_id not in expected.topic_names:
        return None
    partition = TopicPartition(expected.topic_names[topic_id], number)
    path = f"{directory.path}/{partition}"
    if partition not in expected.topic_ids or partition in present or directory.file_system.exists(path):
        return None
    directory.file_system.rename(f"{directory.path}/{name}", path)
    directory.file_system.sync_directory(directory.path)
    return partition


def _renamed(
    directory: LogDirectory, partition: TopicPartition, new_name: Callable[[TopicPartition, UUID], str]
) -> str | None:
    if not _has_segment(directory.file_system, f"{directory.path}/{partition}"):
        return None
    name = new_name(partition, directory.chance.uuid())
    directory.file_system.rename(f"{directory.path}/{partition}", f"{directory.path}/{name}")
    directory.file_system.sync_directory(directory.path)
    return name


def _has_segment(file_system: FileSystem, path: str) -> bool:
    return bool(_segment_sizes(file_system, path))


def _has_records(file_system: FileSystem, path: str) -> bool:
    return any(_segment_sizes(file_system, path))


def _segment_sizes(file_system: FileSystem, path: str) -> list[int]:
    """The sizes of the segments in a directory, in bytes."""
    try:
        entries = file_system.list_directory(path)
    except NotADirectoryError:
        return []
    found = ((file_names.offset_and_suffix(name), size_bytes) for name, size_bytes in entries)
    return [size_bytes for named, size_bytes in found if named is not None and named[1] == file_names.LOG]


def _topic_id_in(directory: LogDirectory, name: str) -> UUID | None:
    path = f"{directory.path}/{name}/{file_names.PARTITION_METADATA}"
    return read_topic_id(directory.file_system, path)[0]
