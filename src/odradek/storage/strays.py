"""Logs whose topic the metadata store does not know: set aside under another name, never adopted.

The id in `partition.metadata`, not the name, decides which topic a log belongs to: a later topic of that name
must not start with old records. As in Kafka, the directory is renamed and stays until a person removes it;
unlike in Kafka, it is taken back at a startup at which the store knows the topic again, unless the
partition has another log, or may have one in a directory that is missing or offline.

    flights-0                 the store has no topic of that id for this broker
    flights-0.1f0c...-stray   not served; removed by hand, or `flights-0` again
"""

from collections.abc import Collection
from uuid import UUID

from odradek.base.ids import TopicPartition
from odradek.storage import file_names
from odradek.storage.expected_logs import ExpectedLogs
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
    if not _has_segment(directory.file_system, f"{directory.path}/{partition}"):
        return None
    name = file_names.stray_directory(partition, directory.chance.uuid())
    directory.file_system.rename(f"{directory.path}/{partition}", f"{directory.path}/{name}")
    directory.file_system.sync_directory(directory.path)
    return name


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


def _has_segment(file_system: FileSystem, path: str) -> bool:
    try:
        entries = file_system.list_directory(path)
    except NotADirectoryError:
        return False
    found = (file_names.offset_and_suffix(name) for name, _ in entries)
    return any(entry is not None and entry[1] == file_names.LOG for entry in found)


def _topic_id_in(directory: LogDirectory, name: str) -> UUID | None:
    path = f"{directory.path}/{name}/{file_names.PARTITION_METADATA}"
    return read_topic_id(directory.file_system, path)[0]
