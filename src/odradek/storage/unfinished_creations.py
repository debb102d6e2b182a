"""Logs whose creation a failing disk interrupted, while the broker made the log in another directory.

A full disk may take the directory of a new log, but not its content. Its directory goes offline, and the log
is made elsewhere. When the first one is online again, two directories have a log of the partition:

    no record in one of them      it is renamed to ...-delete, the other is the log
    no record in any              one with its topic's id is kept
    records in both               a person has to decide: see `directory_loading`

An empty log that had records by a checkpoint of its directory lost them, and is no such remnant. Where a
directory is missing or offline, the log may be in that one: a remnant without an id is then left alone.
"""

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from odradek.base.ids import TopicPartition
from odradek.base.topic_names import KRAFT_METADATA_TOPIC
from odradek.storage import file_names
from odradek.storage.log_directory import LogDirectory

HasReached: TypeAlias = Callable[[LogDirectory, TopicPartition], bool]
"""Whether a log had records, by the checkpoints of its directory or for all that can be read of them."""

_OF_EVERY_LOG: Final = (
    file_names.PARTITION_METADATA,
    file_names.PARTITION_METADATA + file_names.TEMPORARY,
    file_names.LEADER_EPOCHS,
)


def undo_creations(
    directories: Sequence[LogDirectory], has_reached: HasReached
) -> dict[str, list[TopicPartition]]:
    """Discard the remnants of partitions that have a log elsewhere; returns which, by directory.

    Called before logs are opened. A disk that fails takes its directory offline.
    """
    undone: dict[str, list[TopicPartition]] = {}
    for partition, places in _places(directories).items():
        if len(places) == 1:
            continue
        remnants = [one for one in places if _is_empty(one, partition) and not has_reached(one, partition)]
        if len(remnants) == len(places):
            named = [one for one in places if has_topic_id(one, partition)]
            remnants.remove((named or places)[0])
        if len(places) - len(remnants) > 1:
            continue
        for place in remnants:
            try:
                name = file_names.deleted_directory(partition, place.chance.uuid())
                place.file_system.rename(f"{place.path}/{partition}", f"{place.path}/{name}")
                place.file_system.sync_directory(place.path)
            except OSError as error:
                place.fail(error)
            undone.setdefault(place.path, []).append(partition)
    return undone


def is_remnant(directory: LogDirectory, partition: TopicPartition, has_reached: HasReached) -> bool:
    """Whether a log is what an interrupted creation left: it has neither records nor its topic's id."""
    return (
        not has_topic_id(directory, partition)
        and _is_empty(directory, partition)
        and not has_reached(directory, partition)
    )


def has_topic_id(directory: LogDirectory, partition: TopicPartition) -> bool:
    """Whether a log has the file with its topic's id, which is made last."""
    return directory.file_system.exists(f"{directory.path}/{partition}/{file_names.PARTITION_METADATA}")


def _places(directories: Sequence[LogDirectory]) -> dict[TopicPartition, list[LogDirectory]]:
    """The directories that have a log, by partition."""
    found: dict[TopicPartition, list[LogDirectory]] = {}
    for directory in directories:
        if directory.failure is not None:
            continue
        try:
            names = directory.file_system.list_directory(directory.path)
        except OSError as error:
            directory.fail(error)
            continue
        for name, size_bytes in names:
            partition = file_names.topic_partition_of(name) if size_bytes < 0 else None
            if partition is not None and partition.topic != KRAFT_METADATA_TOPIC:
                found.setdefault(partition, []).append(directory)
    return found


def _is_empty(directory: LogDirectory, partition: TopicPartition) -> bool:
    """Whether there is no segment but an empty first one, and nothing that is not of every log."""
    try:
        entries = directory.file_system.list_directory(f"{directory.path}/{partition}")
    except OSError as error:
        directory.fail(error)
        return False
    for name, size_bytes in entries:
        segment = file_names.offset_and_suffix(name)
        if segment is None and name not in _OF_EVERY_LOG:
            return False
        if segment is not None and (segment[0] > 0 or (segment[1] == file_names.LOG and size_bytes > 0)):
            return False
    return True
