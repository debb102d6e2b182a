"""Maps a timestamp to an offset: Kafka's `.timeindex` (L1, L6).

An entry (t, o) means: all records of the segment before offset o have timestamps of at most t, and t first
occurs in the batch that ends with o. An entry is added with an offset index entry if the largest timestamp
has grown, and once more when the segment is closed, so that the last entry holds the segment's maximum:

    (t=100, 1004) (t=180, 1009)     first record at or after t=150 -> search from 1004 on
"""

from struct import Struct
from typing import NamedTuple

from odradek.base.ids import Offset
from odradek.storage.files import File, FileSystem
from odradek.storage.index_entries import IndexEntries

ENTRY_BYTES = 12
_ENTRY = Struct(">qi")
_TIMESTAMP, _RELATIVE_OFFSET = 0, 1


class TimeEntry(NamedTuple):
    """A timestamp in ms, -1 for none, and the last offset of the batch that brought it."""

    timestamp_ms: int
    offset: Offset


class TimeIndex:
    """The time index of one segment."""

    __slots__ = ("_base_offset", "_last_timestamp_ms", "entries")

    def __init__(self, file_system: FileSystem, path: str, base_offset: Offset, *, is_new: bool) -> None:
        self._base_offset = base_offset
        self.entries = IndexEntries(file_system, path, _ENTRY, is_new=is_new)  # the file below
        self._last_timestamp_ms: int | None = -1 if is_new else None  # -1: no entry; None: not looked at yet

    def append_if_later(self, timestamp_ms: int, offset: Offset) -> None:
        """Add an entry, unless the last one has the same or a later timestamp."""
        if self._last_timestamp_ms is None:
            self._last_timestamp_ms = self.last().timestamp_ms
        if timestamp_ms > self._last_timestamp_ms:
            self.entries.append(timestamp_ms, offset - self._base_offset)
            self._last_timestamp_ms = timestamp_ms

    def floor(self, timestamp_ms: int) -> TimeEntry:
        """The largest entry at or below a time; the segment's beginning when there is none."""
        count = self.entries.count_up_to(timestamp_ms, _TIMESTAMP)
        return self._entry(count - 1) if count else TimeEntry(-1, self._base_offset)

    def last(self) -> TimeEntry:
        """The entry with the largest timestamp; (-1, base offset) when there is none."""
        count = len(self.entries)
        return self._entry(count - 1) if count else TimeEntry(-1, self._base_offset)

    def truncate_to(self, offset: Offset) -> None:
        """Drop the entries of `offset` and later."""
        self.entries.truncate(self.entries.count_up_to(offset - 1 - self._base_offset, _RELATIVE_OFFSET))
        self._last_timestamp_ms = None

    def clear(self) -> None:
        """Drop everything, as the first step of a rebuild."""
        self.entries.clear()
        self._last_timestamp_ms = -1

    def seal(self) -> File:
        """See `IndexEntries.seal`."""
        return self.entries.seal()

    def _entry(self, number: int) -> TimeEntry:
        timestamp_ms, relative = self.entries.entry(number)
        return TimeEntry(timestamp_ms, self._base_offset + relative)
