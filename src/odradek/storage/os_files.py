"""The file-system port on the machine's own files.

Thousands of partitions have more files than a process may have open. So at most `descriptors_max` files hold
a descriptor; to open one more, an idle file is closed, and opened again at its next use. The clock algorithm
finds an idle file: files queue in the order of their opening, and a file that was used since it was last
checked moves to the back of the queue.

    queue: A B C (full), B was used     opening D: A is idle, closed  ->  B C D
                                        opening E: B was used, spared ->  C closed  ->  D B E
"""

import errno
import fcntl
import os
import shutil
import stat
import struct
from collections.abc import Callable
from weakref import ReferenceType, ref

from odradek.base.buffers import Buffer

DESCRIPTORS_MAX = 4096
PINNED_SHARE = 2
_CLOSED = -1
_LOCK_ATTEMPTS_MAX = 10
_ENDLESS_BYTES = 1 << 62
_ONE_BYTE = bytearray(1)


def _sync_descriptor(descriptor: int) -> None:
    """Force a file's content to the disk itself, past the drive's cache where the system tells them apart."""
    full_sync = getattr(fcntl, "F_FULLFSYNC", None)
    if full_sync is not None:
        fcntl.fcntl(descriptor, full_sync)
    else:
        os.fdatasync(descriptor)


def _open_regular(path: str, flags: int) -> int:
    """Open a file; raises OSError, and never waits, where a pipe, a device or a directory is in its place."""
    descriptor = os.open(path, flags | os.O_NONBLOCK, 0o644)
    try:
        kind = stat.S_IFMT(os.fstat(descriptor).st_mode)
        if kind != stat.S_IFREG:
            error = errno.EISDIR if kind == stat.S_IFDIR else errno.ESPIPE
            raise OSError(error, "Not a regular file", path)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


class OsFile:
    """A file of `OsFileSystem`; see `File`."""

    __slots__ = ("_descriptor", "_descriptors", "_flags", "_pinned", "path", "used")

    def __init__(self, path: str, flags: int, descriptors: "Descriptors") -> None:
        self.path = path
        self.used = False  # since the clock hand last passed
        self._flags = flags
        self._descriptor = _CLOSED
        self._descriptors = descriptors
        # The present pin, shared by further callers of `pin`; only its users keep it alive.
        self._pinned: ReferenceType[OsPinnedFile] | None = None

    def read_at(self, size_bytes: int, position: int) -> bytes:
        """See `File.read_at`."""
        self.used = True
        descriptor = self._descriptor
        return os.pread(self._open() if descriptor < 0 else descriptor, size_bytes, position)

    def is_in_memory(self, size_bytes: int, position: int) -> bool:
        """See `File.is_in_memory`."""
        return _is_in_memory(self._open(), size_bytes, position)

    def write_at(self, data: Buffer, position: int) -> None:
        """See `File.write_at`."""
        self.used = True
        descriptor = self._descriptor if self._descriptor >= 0 else self._open()
        written = os.pwrite(descriptor, data, position)
        while written < len(data):  # a disk that fills up takes a part first and refuses the rest
            rest = memoryview(data)[written:]
            count = os.pwrite(descriptor, rest, position + written)
            if count == 0:
                raise OSError(errno.EIO, "the system wrote nothing", self.path)
            written += count

    def size_bytes(self) -> int:
        """See `File.size_bytes`."""
        return os.fstat(self._open()).st_size

    def truncate(self, size_bytes: int) -> None:
        """See `File.truncate`."""
        os.ftruncate(self._open(), size_bytes)
        pinned = None if self._pinned is None else self._pinned()
        if pinned is not None:
            pinned.cut(size_bytes)
            self._pinned = None

    def sync(self) -> None:
        """See `File.sync`."""
        _sync_descriptor(self._open())

    def detached_sync(self) -> Callable[[], None]:
        """See `File.detached_sync`: on a duplicate, since the descriptor itself may be closed meanwhile."""
        duplicate = os.dup(self._open())

        def sync_and_close() -> None:
            try:
                _sync_descriptor(duplicate)
            finally:
                os.close(duplicate)

        return sync_and_close

    def pin(self) -> "OsPinnedFile | None":
        """See `File.pin`."""
        pinned = None if self._pinned is None else self._pinned()
        if pinned is None:
            if not self._descriptors.may_pin():
                return None
            pinned = OsPinnedFile(os.dup(self._open()), self._descriptors)
            self._pinned = ref(pinned)
        return pinned

    def close(self) -> None:
        """See `File.close`."""
        if self._descriptor >= 0:
            self._descriptors.forget(self)
            os.close(self._descriptor)
            self._descriptor = _CLOSED

    def _open(self) -> int:
        if self._descriptor < 0:
            self._descriptors.make_room()
            self._descriptor = _open_regular(self.path, self._flags)
            self._flags &= ~os.O_CREAT  # only the first opening makes the file
            self._descriptors.remember(self)
        self.used = True
        return self._descriptor


class OsPinnedFile:
    """A pinned file of `OsFileSystem`; see `PinnedFile`. Its descriptor is closed with its last user."""

    __slots__ = ("__weakref__", "_descriptor", "_descriptors", "_valid_bytes")

    def __init__(self, descriptor: int, descriptors: "Descriptors") -> None:
        self._descriptor = descriptor
        self._descriptors = descriptors
        descriptors.pinned.add(descriptor)
        # Bytes behind this have been cut off since.
        self._valid_bytes = _ENDLESS_BYTES

    def __del__(self) -> None:
        self._descriptors.pinned.discard(self._descriptor)  # on any thread, and one step for all of them
        os.close(self._descriptor)

    def cut(self, size_bytes: int) -> None:
        """Show nothing from `size_bytes` on any more."""
        self._valid_bytes = size_bytes

    def read_at(self, size_bytes: int, position: int) -> bytes:
        """See `PinnedFile.read_at`; has the system read the next piece ahead."""
        size_bytes = min(size_bytes, self._valid_bytes - position)
        if size_bytes <= 0:
            return b""
        data = os.pread(self._descriptor, size_bytes, position)
        _read_ahead(self._descriptor, position + size_bytes, size_bytes)
        # On another thread a truncation, and new bytes behind it, may have come in between.
        valid_bytes = max(0, self._valid_bytes - position)
        return data if len(data) <= valid_bytes else data[:valid_bytes]

    def is_in_memory(self, size_bytes: int, position: int) -> bool:
        """See `File.is_in_memory`."""
        return _is_in_memory(self._descriptor, size_bytes, position)


def _is_in_memory(descriptor: int, size_bytes: int, position: int) -> bool:
    """Whether the first and the last of these bytes can be read without waiting."""
    no_wait = getattr(os, "RWF_NOWAIT", None)  # not on macOS
    if no_wait is None:
        return True
    try:
        for at in (position, position + size_bytes - 1):
            os.preadv(descriptor, (_ONE_BYTE,), at, no_wait)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno != errno.EOPNOTSUPP:
            raise  # a file system that does not tell counts as one that does not wait
    return True


def _read_ahead(descriptor: int, position: int, size_bytes: int) -> None:
    advise = getattr(os, "posix_fadvise", None)  # not on macOS, where the system reads ahead by itself
    if advise is not None:
        advise(descriptor, position, size_bytes, os.POSIX_FADV_WILLNEED)


class Descriptors:
    """The open files of one file system, in the order in which the clock hand will pass them."""

    __slots__ = ("_limit", "_open", "pinned")

    def __init__(self, limit: int) -> None:
        assert limit > 0, f"no file could ever be open: {limit}"
        self._limit = limit
        self._open: dict[OsFile, None] = {}
        self.pinned: set[int] = set()
        """Descriptors that are pinned; only their users close them."""

    def __len__(self) -> int:
        return len(self._open) + len(self.pinned)

    def may_pin(self) -> bool:
        """Whether another file may be pinned: so many at most that others can still be opened."""
        return len(self.pinned) < self._limit // PINNED_SHARE

    def remember(self, file: OsFile) -> None:
        """Note that a file holds a descriptor now."""
        self._open[file] = None

    def forget(self, file: OsFile) -> None:
        """Note that a file holds none any more."""
        self._open.pop(file, None)

    def close_all(self) -> None:
        """Close what is open; each file opens again when it is used."""
        for file in list(self._open):
            file.close()

    def make_room(self) -> None:
        """Close files until one more may be opened."""
        while self._open and len(self) >= self._limit:
            file = next(iter(self._open))
            if file.used:
                file.used = False
                self._open[file] = self._open.pop(file)
            else:
                file.close()


class OsDirectoryLock:
    """An advisory `flock` on an open file; it ends with the process, however that ends."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def release(self) -> None:
        """See `DirectoryLock.release`."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = _CLOSED


class OsFileSystem:
    """The machine's files; see `FileSystem`. With `read_only` no file can be made or changed."""

    def __init__(self, *, descriptors_max: int = DESCRIPTORS_MAX, read_only: bool = False) -> None:
        self._descriptors = Descriptors(descriptors_max)
        self._flags = os.O_CLOEXEC | (os.O_RDONLY if read_only else os.O_RDWR)

    @property
    def open_files(self) -> int:
        """How many descriptors are held now."""
        return len(self._descriptors)

    def file(self, path: str, *, create: bool = False) -> OsFile:
        """See `FileSystem.file`."""
        if not create:
            return OsFile(path, self._flags, self._descriptors)
        file = OsFile(path, self._flags | os.O_CREAT, self._descriptors)
        file.size_bytes()
        return file

    def read(self, path: str) -> bytes:
        """See `FileSystem.read`."""
        with open(_open_regular(path, os.O_RDONLY | os.O_CLOEXEC), "rb") as file:
            return file.read()

    def exists(self, path: str) -> bool:
        """See `FileSystem.exists`."""
        return os.path.exists(path)

    def list_directory(self, path: str) -> list[tuple[str, int]]:
        """See `FileSystem.list_directory`."""
        found = []
        with os.scandir(path) as entries:
            for entry in entries:
                try:
                    about = entry.stat()
                    size_bytes = about.st_size if stat.S_ISREG(about.st_mode) else -1
                    found.append((entry.name, size_bytes))
                except FileNotFoundError:
                    continue  # removed meanwhile: a reader beside a running broker
        return sorted(found)

    def modified_ms(self, path: str) -> int:
        """See `FileSystem.modified_ms`."""
        return os.stat(path).st_mtime_ns // 1_000_000

    def make_directory(self, path: str) -> None:
        """See `FileSystem.make_directory`."""
        os.makedirs(path, exist_ok=True)

    def rename(self, source: str, target: str) -> None:
        """See `FileSystem.rename`."""
        os.replace(source, target)

    def remove(self, path: str) -> None:
        """See `FileSystem.remove`."""
        try:
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            else:
                os.unlink(path)
        except FileNotFoundError:
            pass

    def sync_directory(self, path: str) -> None:
        """See `FileSystem.sync_directory`."""
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def space(self, path: str) -> tuple[int, int]:
        """See `FileSystem.space`."""
        usage = os.statvfs(path)
        return usage.f_blocks * usage.f_frsize, usage.f_bavail * usage.f_frsize

    def lock(self, path: str) -> OsDirectoryLock | None:
        """See `FileSystem.lock`."""
        for _ in range(_LOCK_ATTEMPTS_MAX):
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _lock_for_kafka(descriptor)
                if _is_at(descriptor, path):
                    return OsDirectoryLock(descriptor)
            except (BlockingIOError, PermissionError):
                os.close(descriptor)
                return None
            except OSError:
                os.close(descriptor)
                raise
            os.close(descriptor)  # its holder has removed it meanwhile
        return None


def _is_at(descriptor: int, path: str) -> bool:
    """Whether an open file still is the one at this path."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def is_locked(path: str) -> bool | None:
    """Whether a process holds the lock of `OsFileSystem.lock`, or a JVM's; None where only taking it tells.

    Nothing is locked to find out, so a broker that starts at this moment is not kept out.
    """
    if not hasattr(fcntl, "F_OFD_GETLK"):
        return None
    try:
        descriptor = _open_regular(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        wanted = struct.pack("hhqqi4x", fcntl.F_RDLCK, 0, 0, 0, 0)
        kind: int = struct.unpack_from("h", fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, wanted))[0]
        return kind != fcntl.F_UNLCK
    finally:
        os.close(descriptor)


def _lock_for_kafka(descriptor: int) -> None:
    """Take the lock that a JVM takes, which `flock` neither sees nor keeps out. Raises OSError if it is held.

    On Linux it belongs to the open file; elsewhere to the process, which loses it with any descriptor of the
    file that it closes.
    """
    if hasattr(fcntl, "F_OFD_SETLK"):
        # struct flock: type, whence, start, length (0: all), pid.
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
    else:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
