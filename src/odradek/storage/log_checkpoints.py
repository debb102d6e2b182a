"""The checkpoint files of the log directories: reads them at startup, and prepares their writes (R12).

    replication-offset-checkpoint        HW of each log, every 5 s
    recovery-point-offset-checkpoint     the flushed offset, every 60 s, and after a truncation, also one
                                         that a killed process had made (X6)
    log-start-offset-checkpoint          of logs that start inside a segment, every 60 s
    cleaner-offset-checkpoint            the offset cleaned up to, after each cleaning

A copy of a log that is moved to another directory has its lines in the files of that directory, as in Kafka.
They are on disk before the copy becomes the log (`log_moves`).

A file is written only if its content has changed, or may be lost in a power cut. A write is returned as a
value that holds the offsets of that moment; the caller runs it on another thread, and says when it begins and
how it ends.

    gathered    a few logs in each step      a log that is deleted meanwhile is left out
    begun       in flight                    what the broker's thread writes meanwhile wins (`Precedence`)
    written     on disk                      not written again until it changes

Invariant: once a log has been made, no file gets a line of an earlier log of that name.
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

    __slots__ = (
        "_directories",
        "_gatherings",
        "_hosted",
        "_in_flight",
        "_precedences",
        "_unsynced",
        "_written",
    )

    def __init__(self, directories: Sequence[LogDirectory], hosted: HostedLogs) -> None:
        self._directories = directories
        self._hosted = hosted
        self._precedences = {
            f"{directory.path}/{name}": Precedence() for directory in directories for name in _FILES
        }
        """By path: what the broker's thread writes while a write is in flight."""
        self._written: dict[str, dict[TopicPartition, Offset]] = {}
        """The content of each file by path; missing and damaged files are absent."""
        self._in_flight: dict[str, CheckpointWrite] = {}
        """By path, the write that has begun and not ended."""
        self._unsynced: dict[str, None] = {}
        """The files that `forget` has replaced, as long as a power cut may bring their last content back."""
        self._gatherings: list[_Gathering] = []
        """The offsets that are being collected: a log that is made anew leaves them."""

    def read(
        self, directory: LogDirectory, name: str
    ) -> tuple[Mapping[TopicPartition, Offset], Damage | None]:
        """Returns a file's offsets at startup, and its damage; no offsets if it is missing or damaged.

        Kafka makes `cleaner-offset-checkpoint` without content, and it stays so until the first cleaning.
        """
        path = f"{directory.path}/{name}"
        offsets, damage = read_offsets(directory.file_system, path)
        if damage is not None and name == file_names.CLEANED_OFFSETS and not directory.file_system.read(path):
            damage = None
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
        precedences = [
            self._precedences[f"{one.path}/{file_names.RECOVERY_POINTS}"] for one in self._directories
        ]
        counts: list[int] = []
        due: list[CheckpointWrite] = []
        while counts != (now := [one.count for one in precedences]):
            counts = now
            due = yield from self._due(file_names.RECOVERY_POINTS, lambda log: log.flushed_offset)
        return due

    def log_start_offsets(self) -> Steps[list[CheckpointWrite]]:
        """`log-start-offset-checkpoint` where it has changed."""
        return self._due(
            file_names.LOG_START_OFFSETS,
            lambda log: log.log_start_offset if log.starts_inside_segment else None,
        )

    def cleaned_offsets(self) -> Steps[list[CheckpointWrite]]:
        """`cleaner-offset-checkpoint` of every directory where it has changed."""
        return self._due(file_names.CLEANED_OFFSETS, lambda log: log.cleaned_offset or None)

    def begin(self, write: CheckpointWrite) -> None:
        """Called when a write is given to another thread; a file has one such write at a time."""
        assert write.path not in self._in_flight, f"{write.path} has two writers"
        self._in_flight[write.path] = write

    def written(self, write: CheckpointWrite) -> None:
        """Called when a checkpoint is on disk: it is not written again until it changes."""
        self._in_flight.pop(write.path, None)
        if not write.is_outdated:
            self._written[write.path] = write.offsets
            self._unsynced.pop(write.path, None)

    def failed(self, write: CheckpointWrite) -> None:
        """Called when a write has failed: its offsets are due again."""
        self._in_flight.pop(write.path, None)

    def write_recovery_points(self, directory: LogDirectory) -> None:
        """X6: write one directory's recovery points, now, on this thread. Raises OSError."""
        path = f"{directory.path}/{file_names.RECOVERY_POINTS}"
        gathering = _Gathering()
        exhaust(self._gather(gathering, lambda log: log.flushed_offset))
        offsets = gathering.of(directory)
        self._take_precedence(path, offsets)
        write_offsets(directory.file_system, path, offsets)
        self._written[path] = offsets
        self._unsynced.pop(path, None)

    def lower_recovery_points(self, directory: LogDirectory) -> None:
        """X6: at startup, write recovery points that are above the ends of their logs anew. Raises OSError.

        A process was killed after it had truncated a log, and before it wrote its recovery point. The log
        would grow past it, and after a power cut batches below it would count as flushed that are not. The
        lines of logs that are gone stay. Nothing is written where no line is too high.
        """
        path = f"{directory.path}/{file_names.RECOVERY_POINTS}"
        written = self._written.get(path, {})
        lowered = {
            one: min(offset, self._flushed_in(directory, one, offset)) for one, offset in written.items()
        }
        if lowered != written:
            write_offsets(directory.file_system, path, lowered)
            self._written[path] = lowered

    def _flushed_in(
        self, directory: LogDirectory, topic_partition: TopicPartition, otherwise: Offset
    ) -> Offset:
        log = self._hosted.get(topic_partition)
        return log.flushed_offset if log is not None and log.place is directory else otherwise

    def forget(self, topic_partition: TopicPartition) -> None:
        """Remove the lines of an earlier log, so that they do not apply to a new log of that name.

        The lines of other logs that are gone are removed with them: when ten thousand logs are deleted and
        made again, each file is written once. Not synced, as this is the broker's thread. A kill does not
        undo the removal. Nor does a power cut after the next periodic write, which is due even if nothing has
        changed. After an earlier one the new log may get the old line: a high watermark or recovery point
        above its end makes it skip offsets, and a log start above its end drops its records.
        """
        for gathering in self._gatherings:
            gathering.leave_out(topic_partition)
        for directory in self._directories:
            for name in _FILES if directory.failure is None else ():
                path = f"{directory.path}/{name}"
                newest = written = self._written.get(path, {})
                in_flight = self._in_flight.get(path)
                if in_flight is not None and not in_flight.is_outdated:
                    newest = in_flight.offsets
                if topic_partition in written or topic_partition in newest:
                    self._write_hosted(directory, path, newest)

    def _write_hosted(
        self, directory: LogDirectory, path: str, newest: Mapping[TopicPartition, Offset]
    ) -> None:
        """Replace a file by its newest content without the logs that are gone, whatever is in flight."""
        offsets = {one: offset for one, offset in newest.items() if self._hosted.is_in(one, directory)}
        self._take_precedence(path, offsets)
        try:
            write_offsets(directory.file_system, path, offsets, durable=False)
        except OSError as error:
            directory.fail(error)
        self._written[path] = offsets
        self._unsynced[path] = None

    def _take_precedence(self, path: str, offsets: dict[TopicPartition, Offset]) -> None:
        precedence = self._precedences[path]
        precedence.offsets = offsets
        precedence.count += 1

    def _due(self, name: str, offset_of: Callable[[Log], Offset | None]) -> Steps[list[CheckpointWrite]]:
        """The writes of the files that have changed; to be begun before the next step."""
        gathering = _Gathering()
        self._gatherings.append(gathering)
        try:
            yield from self._gather(gathering, offset_of)
            due = []
            for directory in self._directories:
                path = f"{directory.path}/{name}"
                offsets = gathering.of(directory)
                if directory.failure is None and (yield from self._differs(path, offsets)):
                    due.append((directory, path, offsets))
        finally:
            self._gatherings.remove(gathering)
        writes = []
        for directory, path, offsets in due:
            precedence = self._precedences[path]
            writes.append(
                CheckpointWrite(
                    directory.path, path, offsets, directory.file_system, precedence, precedence.count
                )
            )
        return writes

    def _gather(self, gathering: "_Gathering", offset_of: Callable[[Log], Offset | None]) -> Steps[None]:
        """Collect the offsets of all logs, and of copies; one that is deleted meanwhile is left out."""
        hosted = self._hosted

        def look_at(log: Log) -> None:
            name = log.topic_partition
            if hosted.get(name) is log or hosted.copy_of(name) is log:
                offset = offset_of(log)
                if offset is not None:
                    gathering.of(log.place)[name] = offset

        yield from stepwise([*hosted.all(), *hosted.copies()], look_at)

    def _differs(self, path: str, offsets: Mapping[TopicPartition, Offset]) -> Steps[bool]:
        """Whether a file must be written: compared in steps, as there may be many offsets."""
        written = self._written.get(path)
        if path in self._unsynced or written is None or len(written) != len(offsets):
            return True
        lines = list(offsets.items())  # a copy: a log may be made anew between two steps
        differences = yield from stepwise(lines, lambda line: written.get(line[0]) != line[1])
        return any(differences)


class _Gathering:
    """The offsets that are being collected for one kind of file."""

    __slots__ = ("_by_directory",)

    def __init__(self) -> None:
        # By the directory's path.
        self._by_directory: dict[str, dict[TopicPartition, Offset]] = {}

    def of(self, directory: LogDirectory) -> dict[TopicPartition, Offset]:
        """The lines of one directory's file."""
        return self._by_directory.setdefault(directory.path, {})

    def leave_out(self, topic_partition: TopicPartition) -> None:
        """Drop the line of a log."""
        for offsets in self._by_directory.values():
            offsets.pop(topic_partition, None)
