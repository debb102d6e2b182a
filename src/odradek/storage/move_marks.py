"""Which of two directories has a partition's log, while it moves from one to the other (KIP-113).

When a copy is complete, its log is renamed to `...-delete` and the copy to the name of the log. The two
names are in two directories, maybe on two disks, so no order of renames alone survives every crash with
exactly one log. Before the names change, the log and the copy therefore get a mark, two small files with
the same id, and wait for the disk:

    the log     moved-away-checkpoint   1f0c...
    the copy    moved-here-checkpoint   1f0c...

    the start finds                        the log is                       and
    the log, a copy with or without mark   the log: it is complete          the copying goes on
    no log, a copy with a mark             the copy: only its name is due   it is renamed
    two logs                               the one that came from the       the other is renamed to ...-delete
                                           other, by their marks
    two logs that no marks connect         not known                        a person has to decide

Marks that are left over say nothing without their counterpart, so nobody has to remove them. While any
directory is missing or offline a copy does not become a log, as the log may be in that directory.

Invariant: a copy whose mark counts has every record of its log that was on disk.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from odradek.base.ids import TopicPartition
from odradek.base.topic_names import KRAFT_METADATA_TOPIC
from odradek.storage import file_names
from odradek.storage.files import FileSystem, write_atomically
from odradek.storage.log_directory import LogDirectory


def mark_of(file_system: FileSystem, path: str, name: str) -> str:
    """The id in a mark; empty without one, or if a power cut took its content."""
    mark = f"{path}/{name}"
    return file_system.read(mark).decode("ascii", "replace") if file_system.exists(mark) else ""


def write_mark(file_system: FileSystem, path: str, name: str, mark: str) -> None:
    """Mark a log or a copy, and wait for the disk. Raises OSError."""
    write_atomically(file_system, f"{path}/{name}", mark.encode(), durable=True)


@dataclass(frozen=True, slots=True)
class _Found:
    """A directory that is named as a partition's log, or as a copy of it."""

    place: LogDirectory
    name: str

    def mark(self, name: str) -> str:
        """See `mark_of`; empty if the disk fails, which takes the directory offline."""
        try:
            return mark_of(self.place.file_system, f"{self.place.path}/{self.name}", name)
        except OSError as error:
            self.place.fail(error)
            return ""

    def rename(self, name: str) -> None:
        """Give it another name, and wait for the disk; a disk that fails takes its directory offline."""
        file_system, path = self.place.file_system, self.place.path
        try:
            file_system.rename(f"{path}/{self.name}", f"{path}/{name}")
            file_system.sync_directory(path)
        except OSError as error:
            self.place.fail(error)


_ByPartition: TypeAlias = dict[TopicPartition, list[_Found]]


@dataclass(frozen=True, slots=True)
class SettledMoves:
    """What the directories hold when no move is left between its two names."""

    done: dict[str, list[TopicPartition]]
    """By directory, the logs that have moved there."""
    present: Collection[TopicPartition]
    """The partitions that have a log; not looked at where there is only one directory."""
    is_whole: bool
    """Whether no other directory is missing or offline, which may have other logs."""


def settle_moves(directories: Sequence[LogDirectory], *, none_is_missing: bool) -> SettledMoves:
    """Called before logs are opened: leaves one log of each partition that had been copied completely.

    `none_is_missing`: whether every directory that this broker had is among `directories`.
    """
    settled: dict[str, list[TopicPartition]] = {}
    if len(directories) == 1:
        return SettledMoves(settled, (), is_whole=True)
    logs, copies = _find(directories)
    for partition, found in logs.items():
        if len(found) > 1:
            last = _last_of(found)
            if last is not None:
                for one in found:
                    if one is not last:
                        one.rename(file_names.deleted_directory(partition, one.place.chance.uuid()))
                settled.setdefault(last.place.path, []).append(partition)
    is_whole = none_is_missing and all(directory.failure is None for directory in directories)
    for partition, found in copies.items() if is_whole else ():
        complete = [one for one in found if one.mark(file_names.MOVED_HERE)]
        if partition not in logs and len(complete) == 1:
            complete[0].rename(str(partition))
            settled.setdefault(complete[0].place.path, []).append(partition)
    present = {*logs, *(partition for moved in settled.values() for partition in moved)}
    return SettledMoves(settled, present, is_whole)


def _find(directories: Sequence[LogDirectory]) -> tuple[_ByPartition, _ByPartition]:
    """The logs and the copies in the directories."""
    logs: _ByPartition = {}
    copies: _ByPartition = {}
    for directory in directories:
        if directory.failure is None:
            try:
                names = [
                    name for name, size in directory.file_system.list_directory(directory.path) if size < 0
                ]
            except OSError as error:
                directory.fail(error)
                continue
            for name in names:
                copied, partition = file_names.partition_of_future(name), file_names.topic_partition_of(name)
                if copied is not None:
                    copies.setdefault(copied, []).append(_Found(directory, name))
                elif partition is not None and partition.topic != KRAFT_METADATA_TOPIC:
                    logs.setdefault(partition, []).append(_Found(directory, name))
    return logs, copies


def _last_of(found: Sequence[_Found]) -> _Found | None:
    """Returns the log to which all others were moved, as the marks say; None if they do not say that."""
    came_from = {mark for one in found if (mark := one.mark(file_names.MOVED_HERE))}
    last = [one for one in found if one.mark(file_names.MOVED_AWAY) not in came_from]
    return last[0] if len(last) == 1 else None
