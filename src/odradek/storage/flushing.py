"""Forces a log to disk, as an effect: the log returns what to sync, and the caller waits for the disk.

    flush = log.pending_flush()      # on the owning thread: what is written but not on disk
    flush.run()                      # on any thread; blocks; raises OSError
    log.mark_flushed(flush)          # on the owning thread again

A failed `run` is never repeated: the system has dropped the unwritten pages from its cache, so a second fsync
would wrongly report success. The caller takes the directory offline (L7).

A flush syncs the batches of every segment written since the last one, and the indexes of closed segments. It
does not sync the active segment's indexes, which recovery rebuilds from the batches (L4).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from odradek.base.ids import Offset, TopicPartition
from odradek.storage import file_names
from odradek.storage.files import FileSystem
from odradek.storage.segments import Segments

InParallel: TypeAlias = Callable[[Sequence[Callable[[], None]]], Sequence[OSError | None]]
"""Runs calls that wait for the disk, in parallel or in any order; returns each call's error, in order."""


def one_after_another(calls: Sequence[Callable[[], None]]) -> Sequence[OSError | None]:
    """An `InParallel` on the caller's thread."""
    return [error_of(call) for call in calls]


def error_of(call: Callable[[], None]) -> OSError | None:
    """Run a call that waits for the disk; returns the OSError that it raised, or None."""
    try:
        call()
    except OSError as error:
        return error
    return None


@dataclass(slots=True)
class PendingFlush:
    """Everything of one log below `end_offset` that is not on disk yet."""

    topic_partition: TopicPartition
    directory: str
    """The log directory that fails when this flush fails."""
    end_offset: Offset
    """Once run, all records below this offset are on disk."""
    generation: int
    """The log's number of truncations when this was created; a later truncation makes it void."""
    names: int
    """The number of files created so far in the directory: once run, their names are on disk too."""
    syncs: list[Callable[[], None]]
    """Each forces one file or directory to disk; callable once, from any thread."""
    is_last: bool = False
    """Whether it is the flush of a clean stop: nothing is appended after `end_offset`."""

    def run(self) -> None:
        """Run all syncs, even if one fails, so that each closes its file. Raises OSError if any failed."""
        failure: OSError | None = None
        for sync in self.syncs:
            try:
                sync()
            except OSError as error:
                failure = failure or error
        if failure is not None:
            raise failure


class FlushState:
    """How much of a log is on disk."""

    __slots__ = ("flushed_offset", "generation", "is_cut", "last_flush_ms", "names_made", "names_synced")

    def __init__(self, flushed_offset: Offset, now_ms: int, *, names_are_synced: bool) -> None:
        self.flushed_offset = flushed_offset  # all records below are on disk: the recovery point
        self.last_flush_ms = now_ms  # on the monotonic clock; when `flushed_offset` last rose
        self.generation = 0  # truncations so far
        self.names_made = 1  # files created or replaced; the log's own directory is the first
        self.names_synced = int(names_are_synced)  # those of them whose names are on disk
        # The log was truncated, and neither that nor the recovery point is known to be on disk (X6).
        self.is_cut = False

    @property
    def has_new_names(self) -> bool:
        """Whether a file was made or replaced since the directory was last synced."""
        return self.names_synced < self.names_made

    def pending(
        self,
        topic_partition: TopicPartition,
        segments: Segments,
        file_system: FileSystem,
        end_offset: Offset,
        *,
        is_last: bool = False,
    ) -> PendingFlush:
        """Returns the syncs after which all records below `end_offset` are on disk.

        `is_last`: nothing will be appended, so the active segment's indexes are synced too.
        """
        return PendingFlush(
            topic_partition,
            segments.directory.rpartition("/")[0],
            end_offset,
            self.generation,
            self.names_made,
            self._syncs(segments, file_system, end_offset, is_last=is_last),
            is_last,
        )

    def _syncs(
        self, segments: Segments, file_system: FileSystem, end_offset: Offset, *, is_last: bool
    ) -> list[Callable[[], None]]:
        syncs: list[Callable[[], None]] = []
        # From the segment of the last flushed record: it may have been closed since, its indexes unsynced.
        for segment in segments.from_offset(self.flushed_offset - 1):
            if segment.base_offset >= end_offset and segment.size_bytes:
                break
            is_open = segment is segments.active and not is_last
            files = [segment.file] if is_open else segment.files()
            syncs.extend(file.detached_sync() for file in files)
        if self.has_new_names:
            directory = segments.directory
            syncs.extend(_small_file_syncs(file_system, directory, self.flushed_offset))
            syncs.append(lambda: file_system.sync_directory(directory))
            if self.names_synced == 0:  # the name of the log's own directory
                syncs.append(lambda: file_system.sync_directory(directory.rpartition("/")[0]))
        return syncs

    def has_run(self, flush: PendingFlush, now_ms: int) -> None:
        """Called when a flush succeeded: its records are on disk, unless they were truncated meanwhile."""
        if flush.generation == self.generation:
            self.flushed_offset = max(self.flushed_offset, flush.end_offset)
        self.names_synced = max(self.names_synced, flush.names)
        self.last_flush_ms = now_ms

    def truncated_to(self, offset: Offset) -> None:
        """Called after a truncation to `offset`, not yet on disk; flushes in flight are now void."""
        self.generation += 1
        self.names_made += 1
        self.flushed_offset = min(self.flushed_offset, offset)
        self.is_cut = True

    def renamed(self) -> None:
        """Called when the log's directory has another name, which is not on disk."""
        self.names_synced = 0

    def settle(self, generation: int) -> bool:
        """Called when that truncation and its recovery point are on disk; returns whether it was the last."""
        if generation != self.generation:
            return False
        self.is_cut = False
        return True


_SMALL_FILES = (file_names.LEADER_EPOCHS, file_names.PARTITION_METADATA, file_names.TRANSACTION_SUMS)


def _small_file_syncs(
    file_system: FileSystem, directory: str, flushed_offset: Offset
) -> list[Callable[[], None]]:
    """Syncs of the log's small files, whose content has to be on disk before their names are."""
    syncs = []
    for name, _ in file_system.list_directory(directory):
        snapshot = file_names.offset_of_snapshot(name)
        if name in _SMALL_FILES or (snapshot is not None and snapshot >= flushed_offset):
            file = file_system.file(f"{directory}/{name}")
            syncs.append(file.detached_sync())
            file.close()
    return syncs
