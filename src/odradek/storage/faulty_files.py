"""The machine's files under the faults that a test sets, and files of a broker that a test may kill.

    files = FaultyFileSystem(pause=time.sleep)
    files.faults.is_full = True             writes raise ENOSPC, as on a full disk
    files.faults.delay_ms = 50              writes and syncs take 50 ms longer
    files.end()                             descriptors and locks are freed, as when a process dies

Without `durable` nothing is forced to the disk: for directories that are removed after the test. What a
process wrote outlives its end all the same; only a power cut would lose it.
"""

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass

from odradek.base.buffers import Buffer
from odradek.storage.os_files import DESCRIPTORS_MAX, Descriptors, OsDirectoryLock, OsFile, OsFileSystem


@dataclass(slots=True)
class DiskFaults:
    """The faults in force."""

    is_full: bool = False
    """Whether writes that would grow a file, and new files, are refused with ENOSPC."""
    full_directories: frozenset[str] = frozenset()
    """Log directories in which the same holds, as if each was a disk of its own."""
    delay_ms: int = 0
    """How much longer a write and a sync take; at least 0."""

    def is_full_at(self, path: str) -> bool:
        """Whether nothing that needs room can be written at `path`."""
        return self.is_full or any(
            path == directory or path.startswith(f"{directory}/") for directory in self.full_directories
        )


class FaultyFileSystem(OsFileSystem):
    """See the module; otherwise as `OsFileSystem`."""

    def __init__(
        self, pause: Callable[[float], None], *, durable: bool = True, descriptors_max: int = DESCRIPTORS_MAX
    ) -> None:
        """`pause` sleeps for so many seconds, on whatever thread writes."""
        super().__init__(descriptors_max=descriptors_max)
        self.faults = DiskFaults()
        self.durable = durable
        """Whether a sync waits for the disk."""
        self.has_ended = False
        """Whether the owning process counts as dead; then every operation fails."""
        self._pause = pause
        self._locks: list[OsDirectoryLock] = []

    def end(self) -> None:
        """Free what the system frees when a process dies; code that still runs can no longer write."""
        self.has_ended = True
        for lock in self._locks:
            lock.release()
        self._locks.clear()
        self._descriptors.close_all()

    def file(self, path: str, *, create: bool = False) -> OsFile:
        """See `FileSystem.file`."""
        self.check(path)
        if create and self.faults.is_full_at(path) and not os.path.exists(path):
            raise _no_space(path)
        file = FaultyFile(path, self._flags | (os.O_CREAT if create else 0), self._descriptors, self)
        if create:
            file.size_bytes()
        return file

    def make_directory(self, path: str) -> None:
        """See `FileSystem.make_directory`."""
        self.check(path)
        if self.faults.is_full_at(path) and not os.path.exists(path):
            raise _no_space(path)
        super().make_directory(path)

    def rename(self, source: str, target: str) -> None:
        """See `FileSystem.rename`."""
        self.check(source)
        super().rename(source, target)

    def remove(self, path: str) -> None:
        """See `FileSystem.remove`."""
        self.check(path)
        super().remove(path)

    def sync_directory(self, path: str) -> None:
        """See `FileSystem.sync_directory`."""
        self.check(path)
        self.delay()
        if self.durable:
            super().sync_directory(path)

    def space(self, path: str) -> tuple[int, int]:
        """See `FileSystem.space`."""
        total_bytes, usable_bytes = super().space(path)
        return total_bytes, 0 if self.faults.is_full_at(path) else usable_bytes

    def lock(self, path: str) -> OsDirectoryLock | None:
        """See `FileSystem.lock`."""
        self.check(path)
        lock = super().lock(path)
        if lock is not None:
            self._locks.append(lock)
        return lock

    # --- called by the files

    def check(self, path: str) -> None:
        """Raise OSError when the process counts as dead."""
        if self.has_ended:
            raise OSError(errno.EIO, "the broker was killed", path)

    def delay(self) -> None:
        """Wait for `delay_ms`, as for a slow disk."""
        if self.faults.delay_ms:
            self._pause(self.faults.delay_ms / 1000)


class FaultyFile(OsFile):
    """A file of `FaultyFileSystem`."""

    __slots__ = ("_files",)

    def __init__(self, path: str, flags: int, descriptors: Descriptors, files: FaultyFileSystem) -> None:
        super().__init__(path, flags, descriptors)
        self._files = files

    def write_at(self, data: Buffer, position: int) -> None:
        """See `File.write_at`."""
        files = self._files
        files.delay()
        if files.faults.is_full_at(self.path) and position + len(data) > self.size_bytes():
            raise _no_space(self.path)
        super().write_at(data, position)

    def truncate(self, size_bytes: int) -> None:
        """See `File.truncate`; room that is taken in advance counts as growth."""
        if self._files.faults.is_full_at(self.path) and size_bytes > self.size_bytes():
            raise _no_space(self.path)
        super().truncate(size_bytes)

    def sync(self) -> None:
        """See `File.sync`."""
        self.detached_sync()()

    def detached_sync(self) -> Callable[[], None]:
        """See `File.detached_sync`."""
        files = self._files
        if not files.durable:
            return files.delay
        sync = super().detached_sync()

        def delayed() -> None:
            files.delay()
            sync()

        return delayed

    def _open(self) -> int:
        self._files.check(self.path)
        return super()._open()


def _no_space(path: str) -> OSError:
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
