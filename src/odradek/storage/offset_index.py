"""Maps an offset to a byte of the segment: Kafka's `.index` (L1, L3).

Sparse: one entry every `index.interval.bytes` of log, (last offset of a batch, byte where that batch
begins), the offset relative to the segment's base. To find offset 1005, take the largest entry at or
below it and read batch headers from there:

    entries (1001, 4100) (1004, 8300) (1009, 12500)     1005 -> (1004, 8300), scan from byte 8300
"""

from struct import Struct
from typing import NamedTuple

from odradek.base.ids import Offset
from odradek.storage.files import File, FileSystem
from odradek.storage.index_entries import IndexEntries

ENTRY_BYTES = 8
RELATIVE_OFFSET_MAX = (1 << 31) - 1
_ENTRY = Struct(">ii")
_RELATIVE_OFFSET, _BYTE_POSITION = 0, 1


class OffsetEntry(NamedTuple):
    """The last offset of a batch and the byte at which that batch begins."""

    offset: Offset
    byte_position: int


class OffsetIndex:
    """The offset index of one segment."""

    __slots__ = ("_base_offset", "_last_relative", "entries")

    def __init__(self, file_system: FileSystem, path: str, base_offset: Offset, *, is_new: bool) -> None:
        self._base_offset = base_offset
        self.entries = IndexEntries(file_system, path, _ENTRY, is_new=is_new)  # the file below
        self._last_relative: int | None = -1 if is_new else None  # -1: no entry; None: not looked at yet

    def append(self, offset: Offset, byte_position: int) -> None:
        """Note that the batch which ends with `offset` begins at `byte_position`."""
        relative = offset - self._base_offset
        if self._last_relative is None:
            self._last_relative = self._read_last_relative()
        assert 0 <= relative <= RELATIVE_OFFSET_MAX, f"{offset} is out of reach of {self._base_offset}"
        assert relative > self._last_relative, f"{self.entries.path}: {offset} does not go up"
        self.entries.append(relative, byte_position)
        self._last_relative = relative

    def floor(self, offset: Offset) -> OffsetEntry:
        """The largest entry at or below `offset`; the segment's beginning when there is none."""
        count = self.entries.count_up_to(offset - self._base_offset, _RELATIVE_OFFSET)
        if count == 0:
            return OffsetEntry(self._base_offset, 0)
        relative, byte_position = self.entries.entry(count - 1)
        return OffsetEntry(self._base_offset + relative, byte_position)

    def first_at_or_after(self, byte_position: int) -> OffsetEntry | None:
        """The first entry whose batch begins at `byte_position` or later; None when there is none."""
        number = self.entries.count_up_to(byte_position - 1, _BYTE_POSITION)
        if number == len(self.entries):
            return None
        relative, position = self.entries.entry(number)
        return OffsetEntry(self._base_offset + relative, position)

    def truncate_to(self, offset: Offset) -> None:
        """Drop the entries of `offset` and later."""
        self.entries.truncate(self.entries.count_up_to(offset - 1 - self._base_offset, _RELATIVE_OFFSET))
        self._last_relative = None

    def clear(self) -> None:
        """Drop everything, as the first step of a rebuild."""
        self.entries.clear()
        self._last_relative = -1

    def seal(self) -> File:
        """See `IndexEntries.seal`."""
        return self.entries.seal()

    def _read_last_relative(self) -> int:
        last = self.entries.last()
        return -1 if last is None else last[0]
