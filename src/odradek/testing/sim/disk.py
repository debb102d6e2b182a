"""A disk as one life of a broker (one process) sees it: each life on the same disk has a separate handle.

    handle = DiskHandle(disk)       what the node is given; every operation goes to the disk
    handle.close()                  its life is over: each operation raises `Died` and does nothing
    handle.faults.is_full = True    writes that need space fail (ENOSPC)
    handle.close_after(7, die)      seven more operations are done, then `die` is called, in the middle of
                                    the work under way, and the eighth operation raises `Died`

Invariant: after `close` no file that the life opened can change the disk, or read what the next life writes.
"""

import errno
import os
from collections.abc import Callable

from odradek.base.buffers import Buffer
from odradek.storage.faulty_files import DiskFaults
from odradek.storage.files import DirectoryLock, File, FileSystem, PinnedFile


class Died(BaseException):
    """Ends the code of a life that is over; a BaseException, so that no `except Exception` catches it."""


class DiskHandle:
    """A `FileSystem` that refuses everything once its life is over."""

    def __init__(
        self, disk: FileSystem, record: Callable[[str, str, int], None] = lambda kind, path, detail: None
    ) -> None:
        """`record` is called with the kind, the path and a detail of each operation, before it is done."""
        self.faults = DiskFaults()
        """The disk's faults; `sim.threads` implements the slow disk."""
        self._disk = disk
        self._record = record
        self._is_closed = False
        self.on_truncation: Callable[[str], None] = lambda path: None
        """Called with the path when a file is about to be truncated: faults strike there."""
        # How many more operations are done, and the callback after them; None without a limit.
        self._left: tuple[int, Callable[[], None]] | None = None

    def close(self) -> None:
        """Refuse every operation from now on."""
        self._is_closed = True

    def close_after(self, operations: int, die: Callable[[], None]) -> None:
        """Do this many more operations, then call `die`, which closes this handle."""
        self._left = (operations, die)

    def operate(self, kind: str, path: str, detail: int = 0) -> None:
        """Called before each operation; raises Died if the life is over."""
        if self._left is not None:
            left, die = self._left
            if left == 0:
                self._left = None
                die()
            else:
                self._left = (left - 1, die)
        if self._is_closed:
            raise Died
        self._record(kind, path, detail)

    def check_room(self, path: str) -> None:
        """Called before each write that needs space; raises OSError on a full disk."""
        if self.faults.is_full_at(path):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

    # --- `FileSystem`

    def file(self, path: str, *, create: bool = False) -> File:
        """See `FileSystem.file`."""
        if create:
            self.operate("create", path)
            if not self._disk.exists(path):
                self.check_room(path)
        return _HeldFile(self._disk.file(path, create=create), self)

    def read(self, path: str) -> bytes:
        """See `FileSystem.read`."""
        self.operate("read", path)
        return self._disk.read(path)

    def exists(self, path: str) -> bool:
        """See `FileSystem.exists`."""
        self.operate("exists", path)
        return self._disk.exists(path)

    def list_directory(self, path: str) -> list[tuple[str, int]]:
        """See `FileSystem.list_directory`."""
        self.operate("list", path)
        return self._disk.list_directory(path)

    def modified_ms(self, path: str) -> int:
        """See `FileSystem.modified_ms`."""
        self.operate("modified", path)
        return self._disk.modified_ms(path)

    def make_directory(self, path: str) -> None:
        """See `FileSystem.make_directory`."""
        self.operate("make_directory", path)
        if not self._disk.exists(path):
            self.check_room(path)
        self._disk.make_directory(path)

    def rename(self, source: str, target: str) -> None:
        """See `FileSystem.rename`."""
        self.operate("rename", f"{source} {target}")
        self._disk.rename(source, target)

    def remove(self, path: str) -> None:
        """See `FileSystem.remove`."""
        self.operate("remove", path)
        self._disk.remove(path)

    def sync_directory(self, path: str) -> None:
        """See `FileSystem.sync_directory`."""
        self.operate("sync", path)
        self._disk.sync_directory(path)

    def space(self, path: str) -> tuple[int, int]:
        """See `FileSystem.space`."""
        self.operate("space", path)
        total_bytes, usable_bytes = self._disk.space(path)
        return total_bytes, 0 if self.faults.is_full_at(path) else usable_bytes

    def lock(self, path: str) -> DirectoryLock | None:
        """See `FileSystem.lock`."""
        self.operate("lock", path)
        lock = self._disk.lock(path)
        return None if lock is None else _HeldLock(lock, self, path)


class _HeldFile:
    """A `File` of a life."""

    __slots__ = ("_file", "_handle", "path")

    def __init__(self, file: File, handle: DiskHandle) -> None:
        self.path = file.path
        self._file = file
        self._handle = handle

    def read_at(self, size_bytes: int, position: int) -> bytes:
        """See `File.read_at`."""
        self._handle.operate("read", self.path, position)
        return self._file.read_at(size_bytes, position)

    def is_in_memory(self, size_bytes: int, position: int) -> bool:
        """See `File.is_in_memory`."""
        return self._file.is_in_memory(size_bytes, position)

    def write_at(self, data: Buffer, position: int) -> None:
        """See `File.write_at`."""
        self._handle.operate("write", self.path, position)
        if position + len(data) > self._file.size_bytes():
            self._handle.check_room(self.path)
        self._file.write_at(data, position)

    def size_bytes(self) -> int:
        """See `File.size_bytes`."""
        self._handle.operate("size", self.path)
        return self._file.size_bytes()

    def truncate(self, size_bytes: int) -> None:
        """See `File.truncate`."""
        self._handle.operate("truncate", self.path, size_bytes)
        self._handle.on_truncation(self.path)
        if size_bytes > self._file.size_bytes():
            self._handle.check_room(self.path)
        self._file.truncate(size_bytes)

    def sync(self) -> None:
        """See `File.sync`."""
        self.detached_sync()()

    def detached_sync(self) -> Callable[[], None]:
        """See `File.detached_sync`."""
        sync = self._file.detached_sync()

        def held_sync() -> None:
            self._handle.operate("sync", self.path)
            sync()

        return held_sync

    def pin(self) -> PinnedFile | None:
        """See `File.pin`."""
        pinned = self._file.pin()
        return None if pinned is None else _HeldPinnedFile(pinned, self._handle, self.path)

    def close(self) -> None:
        """See `File.close`."""
        self._file.close()


class _HeldPinnedFile:
    """A `PinnedFile` of a life."""

    __slots__ = ("_file", "_handle", "_path")

    def __init__(self, file: PinnedFile, handle: DiskHandle, path: str) -> None:
        self._file = file
        self._handle = handle
        self._path = path

    def read_at(self, size_bytes: int, position: int) -> bytes:
        """See `PinnedFile.read_at`."""
        self._handle.operate("read", self._path, position)
        return self._file.read_at(size_bytes, position)

    def is_in_memory(self, size_bytes: int, position: int) -> bool:
        """See `PinnedFile.is_in_memory`."""
        return self._file.is_in_memory(size_bytes, position)


class _HeldLock:
    """A `DirectoryLock` of a life."""

    __slots__ = ("_handle", "_lock", "_path")

    def __init__(self, lock: DirectoryLock, handle: DiskHandle, path: str) -> None:
        self._lock = lock
        self._handle = handle
        self._path = path

    def release(self) -> None:
        """See `DirectoryLock.release`."""
        self._handle.operate("unlock", self._path)
        self._lock.release()
