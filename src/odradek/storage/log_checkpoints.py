"""The checkpoint files of the log directories: reads them at startup, and prepares their writes (R12).

    replication-offset-checkpoint        HW of each log, every 5 s
    recovery-point-offset-checkpoint     the flushed offset, every 60 s and after a truncation (X6)
    log-start-offset-checkpoint          of logs that start inside a segment, every 60 s
    cleaner-offset-checkpoint            the offset cleaned up to, after each cleaning

A file is written only if its content has changed. A write is returned as a value that holds the offsets of
that moment; the caller runs it on another thread.
"""

from collections.abc import Callable, Mapping, Sequence

from odradek.base.execution import Steps, exhaust, stepwise
from odradek.base.ids import Offset, TopicPartition
from odradek.storage import file_names
from odradek.storage.checkpoint import CheckpointWrite, Damage, Precedence, read_offsets, write_offsets
from odradek.storage.hosted_logs import HostedLogs
from odradek.storage.log import Log
from odradek.storage.log_directory import LogDirectory

_FILES = (
    file_names.HIGH_WATERMARKS,
    file_names.RECOVERY_POINTS,
    file_names.LOG_START_OFFSETS,
    file_names.CLEANED_OFFSETS,
)


class LogCheckpoints:
    """The checkpoints of all log directories of a broker."""

    __slots__ = ("_directories", "_hosted", "_precedences", "_written")

    def __init__(self, directories: Sequence[LogDirectory], hosted: HostedLogs) -> None:
        self._directories = directories
        self._hosted = hosted
        self._precedences = {directory.path: Precedence() for directory in directories}
        """For each directory's recovery points, which a truncation writes on the broker's thread."""
        self._written: dict[str, dict[TopicPartition, Offset]] = {}
        """The content of each file by path; missing and damaged files are absent."""

    def read(
        self, directory: LogDirectory, name: str
    ) -> tuple[Mapping[TopicPartition, Offset], Damage | None]:
        """Returns a file's offsets at startup, and its damage; no offsets if it is missing or damaged."""
        path = f"{directory.path}/{name}"
        offsets, damage = read_offsets(directory.file_system, path)
        if damage is None and directory.file_system.exists(path):
            self._written[path] = offsets
        return offsets, damage

    def is_sound(self, directory: LogDirectory, name: str) -> bool:
        """Whether a file that was read existed and was undamaged."""
        return f"{directory.path}/{name}" in self._written

    def high_watermarks(self) -> Steps[list[CheckpointWrite]]:
        """`replication-offset-checkpoint` of every directory where it has changed."""
        return self._due(file_names.HIGH_WATERMARKS, lambda log: log.high_watermark.offset)

    def recovery_points(self) -> Steps[list[CheckpointWrite]]:
        """`recovery-point-offset-checkpoint` of every directory where it has changed.

        The offsets of a log that was truncated between two steps are collected again.
        """
        counts: tuple[int, ...] = ()
        due: list[CheckpointWrite] = []
        while counts != (now := tuple(one.count for one in self._precedences.values())):
            counts = now
            due = yield from self._due(file_names.RECOVERY_POINTS, lambda log: log.flushed_offset)
        for write in due:
            write.precedence = self._precedences[write.directory]
            write.taken_at = write.precedence.count
        return due

    def log_start_offsets(self) -> Steps[list[CheckpointWrite]]:
        """`log-start-offset-checkpoint` where it has changed."""
        return self._due(
            file_names.LOG_START_OFFSETS,
            lambda log: log.log_start_offset if log.starts_inside_segment else None,
        )

    def cleaned_offsets(self, directory: LogDirectory) -> Callable[[], None]:
        """Returns a call that writes the present `cleaner-offset-checkpoint`; it may block, raise OSError and
        run on any thread."""
        offsets = exhaust(self._offsets_in(directory, lambda log: log.cleaned_offset or None))
        path = f"{directory.path}/{file_names.CLEANED_OFFSETS}"
        return lambda: write_offsets(directory.file_system, path, offsets)

    def written(self, write: CheckpointWrite) -> None:
        """Called when a checkpoint is on disk: it is not written again until it changes."""
        if not write.is_outdated:
            self._written[write.path] = write.offsets

    def write_recovery_points(self, directory: LogDirectory) -> None:
        """X6: write one directory's recovery points, now, on this thread. Raises OSError."""
        path = f"{directory.path}/{file_names.RECOVERY_POINTS}"
        offsets = exhaust(self._offsets_in(directory, lambda log: log.flushed_offset))
        precedence = self._precedences[directory.path]
        precedence.offsets = offsets
        precedence.count += 1
        write_offsets(directory.file_system, path, offsets)
        self._written[path] = offsets

    def forget(self, topic_partition: TopicPartition) -> None:
        """Remove a deleted log's lines from the files, so that they do not apply to a new log of that name.

        Not synced: the removal survives a kill, and after a power cut at worst some offsets are skipped.
        """
        for directory in self._directories:
            for name in _FILES:
                path = f"{directory.path}/{name}"
                written = self._written.get(path, {})
                if topic_partition in written and directory.failure is None:
                    offsets = {one: offset for one, offset in written.items() if one != topic_partition}
                    try:
                        write_offsets(directory.file_system, path, offsets, durable=False)
                    except OSError as error:
                        directory.fail(error)
                    self._written[path] = offsets

    def _due(self, name: str, offset_of: Callable[[Log], Offset | None]) -> Steps[list[CheckpointWrite]]:
        due = []
        for directory in self._directories:
            if directory.failure is None:
                path = f"{directory.path}/{name}"
                offsets = yield from self._offsets_in(directory, offset_of)
                if (yield from self._differs(path, offsets)):
                    due.append(CheckpointWrite(directory.path, path, offsets, directory.file_system))
        return due

    def _offsets_in(
        self, directory: LogDirectory, offset_of: Callable[[Log], Offset | None]
    ) -> Steps[dict[TopicPartition, Offset]]:
        """The offsets of the directory's logs; a log deleted meanwhile is left out."""
        offsets: dict[TopicPartition, Offset] = {}

        def look_at(log: Log) -> None:
            if log.place is directory and self._hosted.get(log.topic_partition) is log:
                offset = offset_of(log)
                if offset is not None:
                    offsets[log.topic_partition] = offset

        yield from stepwise(list(self._hosted.all()), look_at)
        return offsets

    def _differs(self, path: str, offsets: Mapping[TopicPartition, Offset]) -> Steps[bool]:
        """Whether a checkpoint file has other offsets; compared in steps, as there may be many."""
        written = self._written.get(path)
        if written is None or len(written) != len(offsets):
            return True
        differences = yield from stepwise(offsets.items(), lambda entry: written.get(entry[0]) != entry[1])
        return any(differences)
