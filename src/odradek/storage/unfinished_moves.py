"""What a start does with copies of logs that were being moved to another log directory (KIP-113).

`orders-3.<id>-future` in the new directory is filled from the log in the old one, here as in Apache Kafka.
Until it is complete (`move_marks`), the log is the one to serve:

    the log is served, both were stopped cleanly    the copying goes on
    the log is served, one of them was not          the copy is removed, and made again from the beginning
    the copy ends above the log                     the log lost its end: the copy is set aside for a person
    the log is not there, or offline                the copy is left alone: its records may be the only ones

Invariant: a copy is removed only while the log that it was made from is open, and ends at or above the
copy's end.
"""

from contextlib import suppress

from odradek.base.errors import StorageFailure
from odradek.base.ids import TopicPartition
from odradek.storage import file_names
from odradek.storage.hosted_logs import HostedLogs
from odradek.storage.log import Log
from odradek.storage.log_directory import LogDirectory
from odradek.storage.log_moves import LogMoves
from odradek.storage.opening_report import OpeningReport
from odradek.storage.recovery import load_log


class UnfinishedMoves:
    """The copies that a start finds; `end` decides on them once all logs are open."""

    __slots__ = ("_begun_anew", "_found")

    def __init__(self) -> None:
        self._found: list[tuple[LogDirectory, str]] = []
        """The directory and the name of each copy."""
        self._begun_anew: list[tuple[Log, LogDirectory]] = []
        """The logs whose copies are made again, and in which directories."""

    def note(self, directory: LogDirectory, name: str) -> bool:
        """Whether an entry of a log directory is such a copy; it is then decided on by `end`."""
        if file_names.partition_of_future(name) is None:
            return False
        self._found.append((directory, name))
        return True

    def end(self, hosted: HostedLogs, report: OpeningReport) -> None:
        """Decide on every copy, and report it."""
        for directory, name in self._found:
            partition = file_names.partition_of_future(name)
            assert partition is not None, "noted by its name"
            if directory.failure is not None:
                continue  # looked at again when the directory is back
            log = hosted.get(partition)
            if log is None or log.place.failure is not None:
                report.moves_left.append(f"{directory.path}/{name}")
                continue
            try:
                self._end(directory, name, log, hosted, report)
            except OSError as error:
                directory.fail(error)
        self._found.clear()

    def begin_anew(self, moves: LogMoves) -> None:
        """Make the copies that are to be made again, empty."""
        for log, directory in self._begun_anew:
            if log.place.failure is None:
                with suppress(StorageFailure):  # the directory is offline now, which is reported
                    moves.begin(log, directory)
        self._begun_anew.clear()

    def _end(
        self, directory: LogDirectory, name: str, log: Log, hosted: HostedLogs, report: OpeningReport
    ) -> None:
        partition = log.topic_partition
        is_clean = directory.stopped_cleanly and log.place.stopped_cleanly
        # No line of a checkpoint counts for it: all of it is verified.
        loaded = load_log(
            directory,
            partition,
            log.config,
            clean=is_clean,
            log_start_offset=None,
            was_compacted=True,
            name=name,
        )
        copy = Log(partition, directory, log.config, loaded)
        is_wanted = directory is not log.place and not self._is_planned(partition, hosted)
        if copy.end_offset > log.end_offset:
            stray = file_names.stray_directory(partition, directory.chance.uuid())
            copy.rename_directory(stray)
            directory.file_system.sync_directory(directory.path)
            report.moves_ended.setdefault(directory.path, []).append(stray)
        elif is_wanted and is_clean and copy.topic_id in (None, log.topic_id):
            hosted.add_copy(copy)
            report.moves_continued.setdefault(directory.path, []).append(partition)
        else:
            copy.rename_directory(file_names.deleted_directory(partition, directory.chance.uuid()))
            directory.removals.add(copy.path, 0)
            if is_wanted:
                self._begun_anew.append((log, directory))
                report.moves_begun_anew.setdefault(directory.path, []).append(partition)

    def _is_planned(self, partition: TopicPartition, hosted: HostedLogs) -> bool:
        """Whether another copy of the log was found, which is completed, or made again."""
        anew = any(log.topic_partition == partition for log, _ in self._begun_anew)
        return anew or hosted.copy_of(partition) is not None
