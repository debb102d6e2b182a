"""The file-system port in memory: a disk that can be full, failing or read-only, and that can lose power.

It keeps two states: what programs see, and what is on disk. `sync` and `sync_directory` copy the first to the
second; `crash` returns to the second. Each write since the last sync is then lost, kept or torn, as `chance`
decides, because that is what a page cache does:

    write "aa" at 0, sync, write "bb" at 2, write "cc" at 4, crash
        no chance given: "aa"          with chance: "aa", "aab", "aabb", "aa\\0\\0cc", "aabbc", ...

Names that were created, renamed or removed return to their state at the last `sync_directory`; with chance
some of the later changes to a directory are kept, always the earliest ones:

    rename a.tmp a, rename b.tmp b, crash
        no chance given: a.tmp, b.tmp       with chance also: a, b.tmp, or a, b; never a.tmp, b
"""

import errno
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from odradek.base.buffers import Buffer
from odradek.base.chance import Chance

# The size that `space` returns for an unlimited disk.
_ENDLESS_BYTES = 1 << 62


@dataclass(slots=True)
class Fault:
    """An error to come: the `after`-th next operation of that kind on a matching path fails."""

    operation: str
    """`read`, `write`, `truncate`, `sync`, `create`, `rename`, `remove`, `list`, `make_directory`,
    `space`, `lock`."""
    error: int
    """The errno to raise, such as `errno.EIO`."""
    path_part: str = ""
    """The fault is for paths that contain this."""
    after: int = 0
    """How many matching operations still succeed."""
    times: int = 1
    """How many then fail; -1 for all."""


@dataclass(slots=True, eq=False)
class _FileNode:
    content: bytearray = field(default_factory=bytearray)
    durable: bytearray = field(default_factory=bytearray)
    # Since the last sync, in order: (position, data) for a write, (size, None) for a truncation.
    unsynced: list[tuple[int, bytes | None]] = field(default_factory=list)
    modified_ms: int = 0
    # What is pinned of the present content; None after a truncation.
    pinned: "MemoryPinnedFile | None" = None


@dataclass(slots=True, eq=False)
class _DirectoryNode:
    children: "dict[str, _FileNode | _DirectoryNode]" = field(default_factory=dict)
    durable: "dict[str, _FileNode | _DirectoryNode]" = field(default_factory=dict)
    # What was done since the last sync, in order: what each name stands for, None when it is gone.
    unsynced: "list[dict[str, _FileNode | _DirectoryNode | None]]" = field(default_factory=list)

    def change(self, names: "dict[str, _FileNode | _DirectoryNode | None]") -> None:
        """Change what some names stand for, at once."""
        self.unsynced.append(names)
        _rename(self.children, names)


def _rename(
    children: "dict[str, _FileNode | _DirectoryNode]",
    names: "dict[str, _FileNode | _DirectoryNode | None]",
) -> None:
    for name, node in names.items():
        if node is None:
            children.pop(name, None)
        else:
            children[name] = node


def _apply(content: bytearray, position: int, data: bytes | None) -> None:
    if data is None:
        del content[position:]
        position, data = position, b""
    if len(content) < position:
        content.extend(bytes(position - len(content)))
    content[position : position + len(data)] = data


class MemoryPinnedFile:
    """A pinned file of `MemoryFileSystem`; see `PinnedFile`."""

    __slots__ = ("_disk", "_node", "_path", "_valid_bytes")

    def __init__(self, node: _FileNode, disk: "MemoryFileSystem", path: str) -> None:
        self._node = node
        self._disk = disk
        self._path = path
        self._valid_bytes = _ENDLESS_BYTES

    def cut(self, size_bytes: int) -> None:
        """Show nothing from `size_bytes` on any more."""
        self._valid_bytes = size_bytes

    def read_at(self, size_bytes: int, position: int) -> bytes:
        """See `PinnedFile.read_at`."""
        self._disk.check("read", self._path)
        return bytes(self._node.content[position : min(position + size_bytes, self._valid_bytes)])

    def is_in_memory(self, size_bytes: int, position: int) -> bool:
        """See `File.is_in_memory`."""
        return self._path not in self._disk.cold_paths


class MemoryFile:
    """A file of `MemoryFileSystem`; see `File`. Like a descriptor it stays with the file through renames."""

    __slots__ = ("_create", "_disk", "_node", "path")

    def __init__(self, path: str, disk: "MemoryFileSystem", *, create: bool) -> None:
        self.path = path
        self._disk = disk
        self._create = create
        self._node: _FileNode | None = None

    def read_at(self, size_bytes: int, position: int) -> bytes:
        """See `File.read_at`."""
        node = self._opened()
        self._disk.check("read", self.path)
        if position < 0:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), self.path)
        return bytes(node.content[position : position + size_bytes])

    def is_in_memory(self, size_bytes: int, position: int) -> bool:
        """See `File.is_in_memory`."""
        return self.path not in self._disk.cold_paths

    def write_at(self, data: Buffer, position: int) -> None:
        """See `File.write_at`: a full disk takes what fits before it refuses the rest."""
        node = self._opened()
        self._disk.check_writable(self.path)
        whole = bytes(data)
        fits = self._disk.room_for(node, position, len(whole))
        fault = self._disk.fault("write", self.path)
        written = whole[: len(whole) // 2] if fault else whole[:fits]
        if written:
            _apply(node.content, position, written)
            node.unsynced.append((position, written))
            node.modified_ms = self._disk.now_ms()
        if fault:
            raise OSError(fault, os.strerror(fault), self.path)
        if len(written) < len(whole):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self.path)

    def size_bytes(self) -> int:
        """See `File.size_bytes`."""
        return len(self._opened().content)

    def truncate(self, size_bytes: int) -> None:
        """See `File.truncate`."""
        node = self._opened()
        self._disk.check_writable(self.path)
        self._disk.check("truncate", self.path)
        _apply(node.content, size_bytes, None)
        if node.pinned is not None:
            node.pinned.cut(size_bytes)
            node.pinned = None
        node.unsynced.append((size_bytes, None))
        node.modified_ms = self._disk.now_ms()

    def sync(self) -> None:
        """See `File.sync`; one that fails drops what it should have written, as Linux does (L7)."""
        self.detached_sync()()

    def detached_sync(self) -> Callable[[], None]:
        """See `File.detached_sync`."""
        node = self._opened()

        def sync() -> None:
            unsynced, node.unsynced = node.unsynced, []
            self._disk.check("sync", self.path)
            for position, data in unsynced:
                _apply(node.durable, position, data)

        return sync

    def pin(self) -> "MemoryPinnedFile":
        """See `File.pin`."""
        node = self._opened()
        if node.pinned is None:
            node.pinned = MemoryPinnedFile(node, self._disk, self.path)
        return node.pinned

    def close(self) -> None:
        """See `File.close`."""
        self._node = None

    def _opened(self) -> _FileNode:
        if self._node is None:
            self._node = self._disk.open_node(self.path, create=self._create)
            self._create = False
        return self._node


class MemoryDirectoryLock:
    """A lock in the table of its file system."""

    def __init__(self, path: str, locked: set[str]) -> None:
        self._path = path
        self._locked = locked

    def release(self) -> None:
        """See `DirectoryLock.release`."""
        self._locked.discard(self._path)


class MemoryFileSystem:
    """A whole disk in memory; see `FileSystem`, and the file's head for what a crash does."""

    def __init__(self, *, now_ms: Callable[[], int] = lambda: 0, space_bytes: int | None = None) -> None:
        self.now_ms = now_ms
        self.space_bytes = space_bytes  # of all files together; None for a disk without end
        self.read_only = False  # every change is refused with EROFS
        self.faults: list[Fault] = []  # those still to come
        self.cold_paths: set[str] = set()  # files that are on the disk only, as far as programs can tell
        # Called before each operation, with its kind (see `Fault`) and path; may raise: the power goes.
        self.before_operation: Callable[[str, str], None] | None = None
        self._root = _DirectoryNode()
        self._locked: set[str] = set()

    # What a program sees.

    def file(self, path: str, *, create: bool = False) -> MemoryFile:
        """See `FileSystem.file`."""
        file = MemoryFile(path, self, create=create)
        if create:
            file.size_bytes()
        return file

    def read(self, path: str) -> bytes:
        """See `FileSystem.read`."""
        self.check("read", path)
        return bytes(self.open_node(path, create=False).content)

    def exists(self, path: str) -> bool:
        """See `FileSystem.exists`."""
        return self._find(path) is not None

    def list_directory(self, path: str) -> list[tuple[str, int]]:
        """See `FileSystem.list_directory`."""
        self.check("list", path)
        children = self._directory(path).children
        return sorted(
            (name, len(n.content) if isinstance(n, _FileNode) else -1) for name, n in children.items()
        )

    def modified_ms(self, path: str) -> int:
        """See `FileSystem.modified_ms`; a directory has none and answers 0."""
        node = self._find(path)
        if node is None:
            raise self._missing(path)
        return node.modified_ms if isinstance(node, _FileNode) else 0

    def make_directory(self, path: str) -> None:
        """See `FileSystem.make_directory`."""
        if self._find(path) is not None:
            return
        self.check_writable(path)
        self.check("make_directory", path)
        node = self._root
        for name in self._parts(path):
            child = node.children.get(name)
            if child is None:
                child = _DirectoryNode()
                node.change({name: child})
            if isinstance(child, _FileNode):
                raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
            node = child

    def rename(self, source: str, target: str) -> None:
        """See `FileSystem.rename`."""
        self.check_writable(source)
        self.check("rename", source)
        node = self._find(source)
        if node is None:
            raise self._missing(source)
        source_parent, source_name = self._parent_of(source)
        target_parent, target_name = self._parent_of(target)
        existing = target_parent.children.get(target_name)
        if isinstance(existing, _DirectoryNode) and existing.children:
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), target)
        if source_parent is target_parent:
            source_parent.change({source_name: None, target_name: node})
        else:
            target_parent.change({target_name: node})
            source_parent.change({source_name: None})

    def remove(self, path: str) -> None:
        """See `FileSystem.remove`."""
        if self._find(path) is None:
            return
        self.check_writable(path)
        self.check("remove", path)
        parent, name = self._parent_of(path)
        parent.change({name: None})

    def sync_directory(self, path: str) -> None:
        """See `FileSystem.sync_directory`."""
        directory = self._directory(path)
        self.check("sync", path)
        directory.durable = dict(directory.children)
        directory.unsynced.clear()

    def space(self, path: str) -> tuple[int, int]:
        """See `FileSystem.space`."""
        self._directory(path)
        self.check("space", path)
        total_bytes = _ENDLESS_BYTES if self.space_bytes is None else self.space_bytes
        return total_bytes, max(0, total_bytes - self.used_bytes())

    def lock(self, path: str) -> MemoryDirectoryLock | None:
        """See `FileSystem.lock`."""
        self.check("lock", path)
        if path in self._locked:
            return None
        self.file(path, create=True)
        self._locked.add(path)
        return MemoryDirectoryLock(path, self._locked)

    # Only for tests and the simulator.

    def inject(self, fault: Fault) -> None:
        """Let an operation fail."""
        self.faults.append(fault)

    def kill(self) -> None:
        """Simulate a kill of the process: locks are released, every written byte is kept."""
        self._locked.clear()

    def crash(self, chance: Chance | None = None) -> None:
        """Simulate a power cut: only synced data is certain. Files opened before must not be used again."""
        self.kill()
        self._crash_directory(self._root, chance)

    def content(self, path: str) -> bytes | None:
        """What programs see of a file, without an operation of the disk; None where there is none."""
        node = self._find(path)
        return bytes(node.content) if isinstance(node, _FileNode) else None

    def at_risk_in(self, path: str) -> set[str]:
        """The files of a directory that a power cut may change or take away."""
        directory, are_all = self._root, False
        for name in self._parts(path):
            child = directory.children[name]
            assert isinstance(child, _DirectoryNode), path
            are_all |= directory.durable.get(name) is not child
            directory = child
        return {
            name
            for name, node in directory.children.items()
            if isinstance(node, _FileNode)
            and (are_all or node.unsynced or directory.durable.get(name) is not node)
        }

    def at_risk_from(self, path: str, *, with_names: bool = True) -> int | None:
        """The first byte of a file that a power cut may change; 0 if its name may go, None where none may.

        Without `with_names` only its content counts.
        """
        directory: _FileNode | _DirectoryNode = self._root
        for name in self._parts(path):
            assert isinstance(directory, _DirectoryNode), path
            child = directory.children[name]
            if with_names and directory.durable.get(name) is not child:
                return 0
            directory = child
        assert isinstance(directory, _FileNode), path
        return min((position for position, _ in directory.unsynced), default=None)

    def may_undo_cut(self, path: str) -> bool:
        """Whether a power cut may bring back what was truncated, below what was written since."""
        node = self._find(path)
        assert isinstance(node, _FileNode), path
        is_cut = False
        for _, data in node.unsynced:
            if data is None:
                is_cut = True
            elif is_cut:
                return True
        return False

    def lingering(self, path: str) -> list[str]:
        """The names of a directory that are gone, and that a power cut may bring back."""
        directory = self._directory(path)
        return sorted(directory.durable.keys() - directory.children.keys())

    def used_bytes(self) -> int:
        """Bytes of all files that have a name."""
        return sum(len(node.content) for node in self._files(self._root))

    # For the files.

    def open_node(self, path: str, *, create: bool) -> _FileNode:
        """The file's node, made when `create` says so."""
        node = self._find(path)
        if isinstance(node, _DirectoryNode):
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        if node is None:
            if not create:
                raise self._missing(path)
            self.check_writable(path)
            self.check("create", path)
            parent, name = self._parent_of(path)
            node = _FileNode(modified_ms=self.now_ms())
            parent.change({name: node})
        return node

    def check(self, operation: str, path: str) -> None:
        """Raise the fault that waits for this operation, if one does."""
        error = self.fault(operation, path)
        if error:
            raise OSError(error, os.strerror(error), path)

    def check_writable(self, path: str) -> None:
        """Raise EROFS on a read-only disk."""
        if self.read_only:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)

    def fault(self, operation: str, path: str) -> int:
        """The errno that waits for this operation, which counts it; 0 for none."""
        if self.before_operation is not None:
            self.before_operation(operation, path)
        for fault in self.faults:
            if fault.operation == operation and fault.path_part in path:
                if fault.after > 0:
                    fault.after -= 1
                    continue
                fault.times -= 1
                if fault.times == 0:
                    self.faults.remove(fault)
                return fault.error
        return 0

    def room_for(self, node: _FileNode, position: int, size_bytes: int) -> int:
        """How many of `size_bytes` bytes at `position` fit on the disk."""
        if self.space_bytes is None:
            return size_bytes
        free = max(0, self.space_bytes - self.used_bytes())
        growth = max(0, position + size_bytes - len(node.content))
        return size_bytes if growth <= free else max(0, size_bytes - (growth - free))

    def _crash_directory(self, directory: _DirectoryNode, chance: Chance | None) -> None:
        directory.children = dict(directory.durable)
        if chance is not None:
            for names in directory.unsynced[: chance.below(len(directory.unsynced) + 1)]:
                _rename(directory.children, names)
        directory.unsynced.clear()
        directory.durable = dict(directory.children)
        for node in directory.children.values():
            if isinstance(node, _DirectoryNode):
                self._crash_directory(node, chance)
            else:
                self._crash_file(node, chance)

    def _crash_file(self, node: _FileNode, chance: Chance | None) -> None:
        content = bytearray(node.durable)
        if chance is not None:
            for position, data in node.unsynced:
                fate = chance.below(3)
                if fate == 0:
                    _apply(content, position, data)
                elif fate == 1 and data is not None:
                    _apply(content, position, data[: chance.below(len(data) + 1)])
        node.content, node.durable, node.unsynced = content, bytearray(content), []

    def _files(self, directory: _DirectoryNode) -> Iterator[_FileNode]:
        for node in directory.children.values():
            if isinstance(node, _DirectoryNode):
                yield from self._files(node)
            else:
                yield node

    def _find(self, path: str) -> _FileNode | _DirectoryNode | None:
        node: _FileNode | _DirectoryNode | None = self._root
        for name in self._parts(path):
            if not isinstance(node, _DirectoryNode):
                return None
            node = node.children.get(name)
        return node

    def _directory(self, path: str) -> _DirectoryNode:
        node = self._find(path)
        if node is None:
            raise self._missing(path)
        if isinstance(node, _FileNode):
            raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        return node

    def _parent_of(self, path: str) -> tuple[_DirectoryNode, str]:
        parent, _, name = path.rstrip("/").rpartition("/")
        return self._directory(parent), name

    @staticmethod
    def _parts(path: str) -> list[str]:
        return [part for part in path.split("/") if part]

    @staticmethod
    def _missing(path: str) -> OSError:
        return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
