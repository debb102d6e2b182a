"""A file of fixed-size entries of two rising numbers: the common body of the offset and the time index.

Both columns only ever grow, so either can be searched. Entries are appended to a window in memory that is
written to the file now and then; older ones are looked up in the file itself, so an index costs a few
kilobytes of memory however large it is:

    file:    e0 e1 e2 ... e511 | window: e512 e513 ... e640       search 5xx -> window, else
             ^ bisected by single reads, the last 512 entries at once

Losing the entries of the window does no harm: recovery rebuilds the index of every segment that was not
fully flushed from the log (L4). An index that Kafka preallocated ends in zeros, which are not entries: the
first entry of a segment is never for byte 0 of the log.
"""

from array import array
from bisect import bisect_right
from struct import Struct

from odradek.storage.files import File, FileSystem

WINDOW_ENTRIES_MAX = 512
_PAGE_ENTRIES = 512
_UNLOADED = -1


class IndexEntries:
    """The entries of one index file, numbered from 0."""

    __slots__ = (
        "_count",
        "_file",
        "_file_system",
        "_firsts",
        "_seconds",
        "_struct",
        "_window_start",
        "_written",
    )

    def __init__(self, file_system: FileSystem, path: str, struct: Struct, *, is_new: bool) -> None:
        self._file_system = file_system
        self._file: File = file_system.file(path)
        self._struct = struct
        # Entries in all, of which the first `_written` are in the file and those from `_window_start` in
        # memory; `_window_start` ≤ `_written` ≤ `_count`. -1 until the file has been looked at.
        self._count = 0 if is_new else _UNLOADED
        self._written = 0
        self._window_start = 0
        self._firsts = array("q")
        self._seconds = array("q")

    @property
    def path(self) -> str:
        """Where the file is."""
        return self._file.path

    def __len__(self) -> int:
        if self._count == _UNLOADED:
            self._load()
        return self._count

    def append(self, first: int, second: int) -> None:
        """Add an entry at the end."""
        if self._count == _UNLOADED:
            self._load()
        self._firsts.append(first)
        self._seconds.append(second)
        self._count += 1
        if len(self._firsts) > 2 * WINDOW_ENTRIES_MAX:
            self.write_out()
            del self._firsts[:WINDOW_ENTRIES_MAX]
            del self._seconds[:WINDOW_ENTRIES_MAX]
            self._window_start += WINDOW_ENTRIES_MAX

    def entry(self, number: int) -> tuple[int, int]:
        """Both columns of one entry."""
        assert 0 <= number < len(self), f"{self.path} has no entry {number}"
        in_window = number - self._window_start
        if in_window >= 0:
            return self._firsts[in_window], self._seconds[in_window]
        return self._read(number, 1)[0]

    def last(self) -> tuple[int, int] | None:
        """The newest entry, or None."""
        return self.entry(self._count - 1) if len(self) else None

    def count_up_to(self, value: int, column: int) -> int:
        """How many entries have at most `value` in `column`: the number of the first one above it."""
        if self._count == _UNLOADED:
            self._load()
        window = self._seconds if column else self._firsts
        if self._window_start == 0 or (window and window[0] <= value):
            return self._window_start + bisect_right(window, value)
        low, high = 0, self._window_start
        while high - low > _PAGE_ENTRIES:
            middle = (low + high) // 2
            if self._read(middle, 1)[0][column] <= value:
                low = middle
            else:
                high = middle
        page = self._read_page(low, high - low)
        entry_at, size = self._struct.unpack_from, self._struct.size
        return low + bisect_right(
            range(0, len(page), size), value, key=lambda position: entry_at(page, position)[column]
        )

    def truncate(self, count: int) -> None:
        """Keep the first `count` entries."""
        if count >= len(self):
            return
        in_window = max(0, count - self._window_start)
        del self._firsts[in_window:]
        del self._seconds[in_window:]
        self._window_start = min(self._window_start, count)
        self._count = count
        if self._written > count:
            self._written = count
            self._file.truncate(count * self._struct.size)

    def clear(self) -> None:
        """Remove all entries, whatever the file held."""
        self._file = self._file_system.file(self.path, create=True)
        self._file.truncate(0)
        self._count = self._written = self._window_start = 0
        self._firsts, self._seconds = array("q"), array("q")

    def write_out(self) -> None:
        """Write the window's entries to the file, which is created if missing."""
        if self._count == _UNLOADED:
            return
        unwritten = self._written - self._window_start
        data = b"".join(map(self._struct.pack, self._firsts[unwritten:], self._seconds[unwritten:]))
        if self._written == 0:
            self._file = self._file_system.file(self.path, create=True)
        if data:
            self._file.write_at(data, self._written * self._struct.size)
        self._written = self._count

    def seal(self) -> File:
        """Write everything and free the memory; returns the file, to be synced."""
        self.write_out()
        if self._count != _UNLOADED:
            self._window_start = self._count
            self._firsts, self._seconds = array("q"), array("q")
        return self._file

    def close(self) -> None:
        """Close the file; the window must be written or no longer needed."""
        self._file.close()

    def size_in_file(self) -> int:
        """Bytes of the file; -1 when it is missing."""
        return self._file.size_bytes() if self._file_system.exists(self.path) else -1

    def has_whole_file(self) -> bool:
        """Whether the file exists and has only whole entries."""
        size = self.size_in_file()
        return size >= 0 and size % self._struct.size == 0

    def _load(self) -> None:
        size = self.size_in_file()
        self._count = self._filled(size // self._struct.size) if size > 0 else 0
        self._written = self._window_start = self._count

    def _filled(self, capacity: int) -> int:
        """How many entries precede the zeros of a preallocated file."""
        nothing = (0, 0)
        if capacity == 0 or self._read(capacity - 1, 1)[0] != nothing:
            return capacity
        low, high = 0, capacity
        while low < high:
            middle = (low + high) // 2
            if self._read(middle, 1)[0] != nothing:
                low = middle + 1
            else:
                high = middle
        return low

    def _read(self, number: int, count: int) -> list[tuple[int, int]]:
        entries: list[tuple[int, int]] = list(self._struct.iter_unpack(self._read_page(number, count)))
        return entries

    def _read_page(self, number: int, count: int) -> bytes:
        size = self._struct.size
        data = self._file.read_at(count * size, number * size)
        if len(data) % size:  # another process cut the file; the whole entries still count
            data = data[: len(data) - len(data) % size]
        return data
