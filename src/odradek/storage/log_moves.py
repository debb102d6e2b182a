"""Moves logs to other log directories of the broker: the copies, and how one becomes the log (KIP-113).

    begin      `orders-3.<id>-future` in the other directory, empty
    ...        the caller appends to it what the log has (`server/node/log_mover`)
    complete   marks, copy, checkpoints with its lines: all on disk               `marking`
    swap       in one turn: `orders-3` becomes `...-delete`, the copy `orders-3`  `swap`
    settled    both names on disk; then the old files may go                      `settling`, `release`

A crash at any time leaves one log: see `move_marks`. The log that is replaced is treated as a deleted one,
and whoever holds it finds that out as for a deleted one: `LogManager.get` returns another.

Invariant: nothing compacts a log while it has a copy, so what was cleaned in the log was cleaned in the copy.
"""

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from odradek.base.ids import TopicPartition
from odradek.storage import file_names
from odradek.storage.hosted_logs import HostedLogs
from odradek.storage.log import Log
from odradek.storage.log_directory import LogDirectory
from odradek.storage.move_marks import write_mark
from odradek.storage.recovery import load_log

Failures: TypeAlias = list[tuple[str, OSError]]
"""Log directories that failed, each with the system's error."""


class LogMoves:
    """The moves of one broker's logs; the copies themselves are in `HostedLogs`."""

    __slots__ = ("_hosted",)

    def __init__(self, hosted: HostedLogs) -> None:
        self._hosted = hosted

    def copy_of(self, topic_partition: TopicPartition) -> Log | None:
        """The copy that is to replace a log; None if that is not moved."""
        return self._hosted.copy_of(topic_partition)

    def copies(self) -> list[Log]:
        """All copies."""
        return list(self._hosted.copies())

    def begin(self, log: Log, directory: LogDirectory) -> Log:
        """Make an empty copy of a log in another directory. Raises StorageFailure if that fails."""
        assert log.place is not directory, f"{log.topic_partition} is in {directory.path} already"
        directory.check_online()
        named = log.topic_partition
        name = file_names.future_directory(named, directory.chance.uuid())
        try:
            copy = Log(named, directory, log.config, load_log(directory, named, log.config, name=name))
        except OSError as error:
            raise directory.fail(error) from error
        if log.topic_id is not None:
            copy.set_topic_id(log.topic_id)
        self._hosted.add_copy(copy)
        return copy

    def cancel(self, topic_partition: TopicPartition) -> bool:
        """Give up a move: the copy is removed soon. Returns whether there was one."""
        copy = self._hosted.remove_copy(topic_partition)
        if copy is None:
            return False
        if copy.place.failure is None:
            discard(copy)
            copy.place.removals.add(copy.path, 0)
        return True

    def leave(self, topic_partition: TopicPartition) -> None:
        """Give up a move whose log or copy is offline: the files stay, and the next start decides on them."""
        self._hosted.remove_copy(topic_partition)

    def marking(self, log: Log, copy: Log) -> Callable[[], Failures]:
        """Returns the call that marks a log and its copy, which is complete; it may run on any thread.

        It blocks, and returns the directories that failed. The caller brings the copy itself to disk before,
        and its lines in the checkpoints after it.
        """
        mark = copy.place.chance.uuid().hex
        marks = ((log, file_names.MOVED_AWAY), (copy, file_names.MOVED_HERE))
        places = [(one.place, one.path, name) for one, name in marks]

        def write() -> Failures:
            for place, path, name in places:
                try:
                    write_mark(place.file_system, path, name, mark)
                except OSError as error:
                    return [(place.path, error)]
            return []

        return write

    def swap(self, log: Log, copy: Log) -> None:
        """Let a complete copy be the log from now on. Raises StorageFailure, and then nothing has changed.

        A directory that fails while names change goes offline: where it is the new one, the log is offline.
        """
        assert self._hosted.copy_of(copy.topic_partition) is copy, f"{copy.topic_partition} has another copy"
        assert copy.flushed_offset >= log.flushed_offset, f"{copy.topic_partition}: the copy is not on disk"
        copy.succeed(log)
        self._hosted.remove_copy(copy.topic_partition)
        self._hosted.replace(copy)
        discard(log)
        try:
            copy.rename_directory(str(copy.topic_partition))
        except OSError as error:
            copy.place.fail(error)

    def settling(self, log: Log, copy: Log) -> Callable[[], Failures]:
        """Returns the call that brings the names to disk; it may block and run on any thread.

        It returns the directories that failed. `log` was replaced.
        """
        return partial(_sync, [place for place in (copy.place, log.place) if place.failure is None])

    def release(self, log: Log) -> None:
        """Let the files of a replaced log be removed; called when the names are on disk."""
        if log.place.failure is None:
            log.place.removals.add(log.path, log.config.file_delete_delay_ms)


def discard(log: Log) -> None:
    """Rename a log's directory to that of a deleted one; a disk that fails takes its directory offline."""
    try:
        log.rename_directory(file_names.deleted_directory(log.topic_partition, log.place.chance.uuid()))
    except OSError as error:
        log.place.fail(error)


def _sync(places: list[LogDirectory]) -> Failures:
    """On another thread."""
    failures: Failures = []
    for place in places:
        try:
            place.file_system.sync_directory(place.path)
        except OSError as error:
            failures.append((place.path, error))
    return failures
