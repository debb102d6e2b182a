"""The aborted transactions: Kafka's `.txnindex` (L1), one file per segment that has any.

An entry is written together with the abort marker: (producer, first offset, offset of the marker, LSO at
that moment). A read-committed consumer gets the entries that overlap the records that it reads. Since no
transaction that is aborted later can begin below the LSO of an entry, the search stops at the first entry
whose LSO is at or above the end of the records read.
"""

from collections.abc import Iterator, Sequence
from struct import Struct
from typing import NamedTuple

from odradek.base.errors import CorruptRecord
from odradek.base.ids import Offset, ProducerId
from odradek.records.crc import crc32c
from odradek.storage.files import File, FileSystem

_VERSION = 0
_ENTRY = Struct(">hqqqq")
ENTRY_BYTES = _ENTRY.size


class AbortedTransaction(NamedTuple):
    """A transaction that was rolled back: its producer, the offsets of its first record and its marker."""

    producer_id: ProducerId
    first_offset: Offset
    last_offset: Offset
    last_stable_offset: Offset
    """The LSO when the marker was written: no transaction aborted later begins below it."""


class IndexSum(NamedTuple):
    """How many entries an index has, and the CRC-32C over its file."""

    entries: int
    crc: int


NOTHING = IndexSum(0, 0)
"""Of an index without entries."""


class TransactionIndex:
    """The aborted transactions whose markers lie in one segment, by the offset of the marker."""

    __slots__ = ("_crc", "_entries", "_file", "_file_system", "_path")

    def __init__(self, file_system: FileSystem, path: str, *, is_new: bool) -> None:
        self._file_system = file_system
        self._path = path
        self._file: File | None = None  # made with the first entry
        self._entries: list[AbortedTransaction] | None = [] if is_new else None  # None: not read yet
        self._crc: int | None = None  # over the file; None: not known

    @property
    def path(self) -> str:
        """Where the file is, or would be."""
        return self._path

    def append(self, aborted: AbortedTransaction) -> None:
        """Add a transaction whose marker lies behind all others."""
        entries = self.entries()
        assert not entries or entries[-1].last_offset < aborted.last_offset, f"{self._path} goes back"
        if self._file is None:
            self._file = self._file_system.file(self._path, create=True)
        packed = _ENTRY.pack(_VERSION, *aborted)
        self._file.write_at(packed, len(entries) * ENTRY_BYTES)
        self._crc = crc32c(packed, self._crc) if self._crc is not None and entries else None
        entries.append(aborted)

    def entries(self) -> list[AbortedTransaction]:
        """All of them, in order; CorruptRecord when the file is invalid."""
        if self._entries is None:
            self._entries = list(self._read())
        return self._entries

    def checksum(self) -> IndexSum:
        """The number of entries and the CRC of the file; CorruptRecord as for `entries`."""
        entries = self.entries()
        if self._crc is None:
            self._crc = crc32c(b"".join(_ENTRY.pack(_VERSION, *aborted) for aborted in entries))
        return IndexSum(len(entries), self._crc)

    def holds(self, aborted: Sequence[AbortedTransaction]) -> bool:
        """Whether the index has exactly these entries."""
        try:
            return self.entries() == aborted
        except CorruptRecord:
            return False

    def replace(self, entries: Sequence[AbortedTransaction]) -> None:
        """Replace all entries by these."""
        self.clear()
        for aborted in entries:
            self.append(aborted)

    def collect(self, start: Offset, end: Offset, found: list[AbortedTransaction]) -> bool:
        """Add to `found` those that touch [start, end); True when no later segment can have one."""
        for aborted in self.entries():
            if aborted.last_offset >= start and aborted.first_offset < end:
                found.append(aborted)
            if aborted.last_stable_offset >= end:
                return True
        return False

    def truncate_to(self, offset: Offset) -> None:
        """Drop the transactions whose marker is at `offset` or later."""
        entries = self.entries()
        kept = sum(1 for aborted in entries if aborted.last_offset < offset)
        if kept < len(entries):
            del entries[kept:]
            self._crc = None
            self._file = self._file_system.file(self._path, create=True)
            self._file.truncate(kept * ENTRY_BYTES)

    def clear(self) -> None:
        """Drop everything, as the first step of a rebuild."""
        self._entries, self._crc = [], None
        if self._file_system.exists(self._path):
            self._file = self._file_system.file(self._path)
            self._file.truncate(0)

    def file(self) -> File | None:
        """The file, to be synced; None when nothing was ever aborted here."""
        if self._file is None and self._file_system.exists(self._path):
            self._file = self._file_system.file(self._path)
        return self._file

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def _read(self) -> Iterator[AbortedTransaction]:
        if not self._file_system.exists(self._path):
            return
        data = self._file_system.read(self._path)
        if len(data) % ENTRY_BYTES:
            raise CorruptRecord(f"{self._path} ends in the middle of an entry")
        for version, *fields in _ENTRY.iter_unpack(data):
            aborted = AbortedTransaction(*fields)
            if version > _VERSION or not 0 <= aborted.first_offset <= aborted.last_offset:
                raise CorruptRecord(f"{self._path} holds an entry that is none: {aborted}")
            yield aborted
