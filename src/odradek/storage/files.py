"""The file-system port: every operation of storage on a disk.

Paths are strings with `/`. Every failure is an OSError, also from the fakes, with the errno that the
system gives (ENOSPC, EIO, ENOENT, EROFS). What is written is visible at once and on disk only after
`sync`; a name created, renamed or removed is on disk only after `sync_directory` of its parent.
`OsFileSystem` is the real one, `MemoryFileSystem` the fake that forgets what was not synced; both pass
one conformance suite.
"""

import errno
from collections.abc import Callable
from typing import Protocol

from odradek.base.buffers import Buffer

# Error codes that concern one file or this process, not the disk.
_NOT_OF_THE_DISK = frozenset(
    {
        errno.EACCES,
        errno.EBADF,
        errno.EINVAL,
        errno.EISDIR,
        errno.EMFILE,
        errno.ENAMETOOLONG,
        errno.ENFILE,
        errno.ENOENT,
        errno.ENOMEM,
        errno.ENOTDIR,
        errno.EPERM,
        errno.ESPIPE,
    }
)


def is_of_the_disk(error: OSError) -> bool:
    """Whether a failed read means that the disk fails (EIO, EROFS, ...), not only that one file cannot be
    opened. What a failed write left behind is unknown: it always counts as a failure of the disk."""
    return error.errno not in _NOT_OF_THE_DISK


class PinnedFile(Protocol):
    """The content of a file as it was when it was pinned, readable for as long as this object lives."""

    def read_at(self, size_bytes: int, position: int) -> bytes:
        """Up to `size_bytes` from `position`; fewer at the end of the file and where it was truncated since.

        May be called from any thread.
        """

    def is_in_memory(self, size_bytes: int, position: int) -> bool:
        """See `File.is_in_memory`."""


class File(Protocol):
    """One file by its path. It may hold a descriptor or not: an idle file is opened again when needed."""

    path: str

    def read_at(self, size_bytes: int, position: int) -> bytes:
        """Up to `size_bytes` from `position`; fewer only at the end of the file."""

    def is_in_memory(self, size_bytes: int, position: int) -> bool:
        """Whether these bytes can be read without waiting for the disk; True where the system cannot tell.

        It checks only the first and the last byte, because files are read sequentially.
        """

    def write_at(self, data: Buffer, position: int) -> None:
        """Write all of `data` at `position`; when it raises, any part of it may have been written."""

    def size_bytes(self) -> int:
        """The file's size."""

    def truncate(self, size_bytes: int) -> None:
        """Cut (or extend with zeros) to `size_bytes`."""

    def sync(self) -> None:
        """Return once all that was written is on disk."""

    def detached_sync(self) -> Callable[[], None]:
        """A `sync` that may be called once from any thread, even after this file was closed or removed."""

    def pin(self) -> PinnedFile | None:
        """Keep what is written now readable after the file is removed, replaced or closed.

        Returns None if too many files are pinned. All pins of a file share one descriptor. A pin may show
        bytes appended later; it never shows bytes beyond a `truncate`, even if they are written again.
        """

    def close(self) -> None:
        """Close the descriptor; the next use opens the file again."""


class DirectoryLock(Protocol):
    """An exclusive lock on a directory, held until it is released or the process ends."""

    def release(self) -> None:
        """Release the lock."""


class FileSystem(Protocol):
    """Files and directories of one disk (or of several, under one root)."""

    def file(self, path: str, *, create: bool = False) -> File:
        """The file at `path`; `create` makes it when it is missing, else its first use raises ENOENT."""

    def read(self, path: str) -> bytes:
        """The whole content of a small file."""

    def exists(self, path: str) -> bool:
        """Whether a file or directory is there."""

    def list_directory(self, path: str) -> list[tuple[str, int]]:
        """Names and sizes of what lies in `path`, sorted by name; what is no regular file has size -1."""

    def modified_ms(self, path: str) -> int:
        """Wall-clock time of the file's last change, in ms since the epoch."""

    def make_directory(self, path: str) -> None:
        """Make `path` and its missing parents; no error when it is there."""

    def rename(self, source: str, target: str) -> None:
        """Give a file or directory another name, replacing a file of that name atomically."""

    def remove(self, path: str) -> None:
        """Remove a file, or a directory with all that is in it; no error when it is missing."""

    def sync_directory(self, path: str) -> None:
        """Return once the names in `path` are on disk."""

    def space(self, path: str) -> tuple[int, int]:
        """Total and usable bytes of the disk that `path` lies on."""

    def lock(self, path: str) -> DirectoryLock | None:
        """Lock the file at `path`, created if missing; None if another process holds the lock."""


def write_atomically(
    file_system: FileSystem, path: str, data: bytes, *, durable: bool, temporary_suffix: str = ".tmp"
) -> None:
    """Replace the file at `path` by `data`: a reader sees the old content or the new, never a mixture.

    `durable` also waits until the new content is on disk (R12); without it a power cut may bring the old
    one back. Threads that may write the same file at once need suffixes of their own.
    """
    temporary = path + temporary_suffix
    file = file_system.file(temporary, create=True)
    file.truncate(0)
    file.write_at(data, 0)
    if durable:
        file.sync()
    file.close()
    file_system.rename(temporary, path)
    if durable:
        file_system.sync_directory(path.rpartition("/")[0])
