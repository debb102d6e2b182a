"""One segment of a log: a file of batches, with its indexes by offset, time and aborted transaction.

The segment's size counts complete writes only; bytes after it, left by a failed write, are never read. The
positions of the newest batches are kept in memory, because consumers that keep up and followers read there.

A read below that size that comes back short is an OSError: somebody else cut the file, or the disk lost its
end. The next batch would be written behind a hole, so the log directory fails as on any error of the disk.

Index files may be damaged, so an index entry is only a hint: it is used if the batch at its position has its
offset and timestamp. Otherwise both indexes are rebuilt from the batches, and `repairs` gets a sentence about
it.
"""

import errno
from collections.abc import Iterator, Sequence
from struct import Struct

from odradek.base.buffers import Buffer
from odradek.base.errors import CorruptRecord
from odradek.base.ids import Offset
from odradek.records.header import CURRENT_MAGIC, HEADER_BYTES, OVERHEAD_BYTES, BatchHeader
from odradek.storage import file_names
from odradek.storage.batch_walk import walk_headers
from odradek.storage.file_slice import SLICE_BYTES_MIN, FileSlice
from odradek.storage.files import File, FileSystem
from odradek.storage.offset_index import RELATIVE_OFFSET_MAX, OffsetEntry, OffsetIndex
from odradek.storage.time_index import TimeEntry, TimeIndex
from odradek.storage.transaction_index import TransactionIndex

RECENT_BATCHES_MAX = 64
_SCAN_CHUNK_BYTES = 4096
# More bytes without an entry than restarts of Kafka explain; it resets its count at each restart.
_INTERVALS_WITHOUT_ENTRY_MAX = 8
# Base offset, length, leader epoch, magic, CRC, attributes, last offset delta: all that a scan looks at.
_SCAN = Struct(">qiibIhi")
_LENGTH_MIN = HEADER_BYTES - OVERHEAD_BYTES


class Segment:
    """The batches from `base_offset` on, up to the next segment's."""

    __slots__ = (
        "_bytes_since_index",
        "_file",
        "_file_system",
        "_first_timestamp",
        "_newest",
        "_recent",
        "_repairs",
        "_was_repaired",
        "base_offset",
        "created_ms",
        "directory",
        "ending",
        "index_interval_bytes",
        "offset_index",
        "size_bytes",
        "time_index",
        "transaction_index",
    )

    def __init__(
        self,
        file_system: FileSystem,
        directory: str,
        base_offset: Offset,
        *,
        size_bytes: int,
        is_new: bool,
        created_ms: int,
        index_interval_bytes: int,
        ending: str = "",
        repairs: list[str] | None = None,
    ) -> None:
        self.base_offset = base_offset
        self.ending = ending  # behind the names of its files, while it is not part of the log yet (L5)
        self.directory = directory
        self.size_bytes = size_bytes  # of whole batches; the next one goes here
        self.created_ms = created_ms
        self.index_interval_bytes = index_interval_bytes
        self.offset_index = OffsetIndex(
            file_system, self.path(file_names.OFFSET_INDEX), base_offset, is_new=is_new
        )
        self.time_index = TimeIndex(file_system, self.path(file_names.TIME_INDEX), base_offset, is_new=is_new)
        self.transaction_index = TransactionIndex(
            file_system, self.path(file_names.TRANSACTION_INDEX), is_new=is_new
        )
        self._file_system = file_system
        self._file: File = file_system.file(self.path(file_names.LOG), create=is_new)
        # The largest timestamp and the last offset of the batch that brought it; None: not looked up yet.
        self._newest: TimeEntry | None = TimeEntry(-1, base_offset) if is_new else None
        # The largest timestamp of the first batch, from which `segment.ms` counts; None: not looked up yet.
        self._first_timestamp: int | None = None
        self._bytes_since_index = 0  # written since the last entry of the offset index
        # Base offset -> byte of the newest batches, oldest first.
        self._recent: dict[Offset, int] = {}
        # One sentence for each time that the indexes were found damaged and made again; shared by all
        # segments of a log directory, emptied by `LogDirectory.take_repairs`.
        self._repairs: list[str] = [] if repairs is None else repairs
        self._was_repaired = False  # a second time would find nothing else: the batches are damaged

    def path(self, suffix: str) -> str:
        """The path of one of the segment's files."""
        return f"{self.directory}/{file_names.segment_file(self.base_offset, suffix)}{self.ending}"

    @property
    def file(self) -> File:
        """The batches' file."""
        return self._file

    @property
    def newest(self) -> TimeEntry:
        """The largest timestamp, -1 for none, and the last offset of the batch that brought it."""
        if self._newest is None:
            self._newest = self.time_index.last()
        return self._newest

    @property
    def first_timestamp(self) -> int:
        """The largest timestamp of the first batch in ms; -1 while the segment is empty."""
        if self._first_timestamp is None:
            if self.size_bytes == 0:
                return -1
            self._first_timestamp = next(self.headers())[1].max_timestamp
        return self._first_timestamp

    def append(self, data: Buffer, headers: Sequence[BatchHeader]) -> None:
        """Write whole batches after the last one; if the write fails, the segment is unchanged."""
        position = self.size_bytes
        try:
            self._file.write_at(data, position)
        except OSError:
            self._cut_torn_bytes(position)
            raise
        self.size_bytes = position + len(data)
        recent = self._recent
        for header in headers:
            recent[header.base_offset] = position
            self.note(header, position)
            position += header.size_bytes
        while len(recent) > RECENT_BATCHES_MAX:
            del recent[next(iter(recent))]

    def note(self, header: BatchHeader, position: int) -> None:
        """Update the indexes for a batch at `position`."""
        newest = self._newest if self._newest is not None else self.newest
        max_timestamp = header.max_timestamp
        if max_timestamp > newest.timestamp_ms:
            last_offset = header.base_offset + header.last_offset_delta
            self._newest = newest = TimeEntry(max_timestamp, last_offset)
        if position == 0:
            self._first_timestamp = max_timestamp
        if self._bytes_since_index > self.index_interval_bytes:
            self.offset_index.append(header.last_offset, position)
            self.time_index.append_if_later(newest.timestamp_ms, newest.offset)
            self._bytes_since_index = 0
        self._bytes_since_index += header.size_bytes

    def find(self, offset: Offset) -> int | None:
        """The byte at which the first batch begins that holds `offset` or a later one; None: no such batch.

        CorruptRecord when the way there is damaged.
        """
        recent = self._recent.get(offset)
        if recent is not None:
            return recent
        entry = self.offset_index.floor(offset)
        indexed_offset, position = entry
        if position and (indexed_offset > offset or not self._index_holds(entry)):
            self._repair(f"{self.offset_index.entries.path} names no batch at byte {position}")
            position = self.offset_index.floor(offset).byte_position
        try:
            return self._scan(offset, position)
        except CorruptRecord:
            if position == 0 or self._was_repaired:
                raise
        self._repair(f"{self.offset_index.entries.path} names a batch in the middle of another")
        return self._scan(offset, self.offset_index.floor(offset).byte_position)

    def find_time(self, timestamp_ms: int) -> Offset:
        """An offset before which no record is younger than `timestamp_ms`, by the time index."""
        entry = self.time_index.floor(timestamp_ms)
        is_entry = entry != (-1, self.base_offset)
        if is_entry and not (entry.timestamp_ms <= timestamp_ms and self._time_holds(entry)):
            self._repair(f"{self.time_index.entries.path} names no batch of time {entry.timestamp_ms}")
            entry = self.time_index.floor(timestamp_ms)
        return entry.offset

    def offset_at_or_after(self, byte_position: int) -> Offset | None:
        """An offset above all records that lie before that byte, by the offset index; None for no entry."""
        entry = self.offset_index.first_at_or_after(byte_position)
        if entry is None:
            return None
        if entry.byte_position < byte_position or not self._index_holds(entry):
            self._repair(f"{self.offset_index.entries.path} names no batch at byte {entry.byte_position}")
            entry = self.offset_index.first_at_or_after(byte_position)
        return None if entry is None else entry.offset

    def batch_size_at(self, position: int) -> int:
        """The size of the batch at `position`."""
        base_offset, length = _SCAN.unpack(self.read(position, _SCAN.size))[:2]
        if length < _LENGTH_MIN or position + OVERHEAD_BYTES + length > self.size_bytes:
            raise CorruptRecord(
                f"{self._file.path}: batch {base_offset} at byte {position} has no valid length"
            )
        return int(length) + OVERHEAD_BYTES

    def read(self, position: int, size_bytes: int) -> bytes:
        """Bytes of the file; fewer only behind the segment's size. OSError if they are missing below it."""
        data = self._file.read_at(size_bytes, position)
        if len(data) < size_bytes and position + len(data) < self.size_bytes:
            raise self._cut_short()
        return data

    def _cut_short(self) -> OSError:
        missing_bytes = self.size_bytes - self._file.size_bytes()
        reason = f"the file has lost {missing_bytes} of {self.size_bytes} bytes"
        return OSError(errno.EIO, reason, self._file.path)

    def is_in_memory(self, position: int, size_bytes: int) -> bool:
        """Whether reading these bytes would not wait for the disk."""
        return self._file.is_in_memory(size_bytes, position)

    def slice(self, position: int, size_bytes: int) -> FileSlice | None:
        """Bytes of the file, to be read when they are sent.

        None when they are too few for that, or too many files are pinned: the caller reads them or does
        without. OSError if they are missing.
        """
        if size_bytes < SLICE_BYTES_MIN:
            return None
        if self._file.size_bytes() < position + size_bytes:
            raise self._cut_short()
        pinned = self._file.pin()
        return None if pinned is None else FileSlice(pinned, position, size_bytes)

    def headers(self, position: int = 0) -> Iterator[tuple[int, BatchHeader]]:
        """Position and header of each batch from `position` on."""
        return walk_headers(self._file, position, self.size_bytes)

    def header_before(self, offset: Offset) -> BatchHeader | None:
        """The header of the last batch that begins below `offset`; None for none. The index must be right."""
        before = None
        for _, header in self.headers(self.offset_index.floor(offset - 1).byte_position):
            if header.base_offset >= offset:
                break
            before = header
        return before

    def check_end(self) -> Offset:
        """The offset behind the last batch, the base offset of an empty segment; after the files were opened.

        Indexes whose last entries do not agree with the batches are made again. CorruptRecord where the
        batches behind the last entry are damaged.
        """
        missing = self.index_files_missing()
        fault = f"{missing} is missing" if missing else None
        next_offset, newest_ms = self.base_offset, -1
        if fault is None:
            try:
                next_offset, newest_ms, fault = self._walk_end()
            except CorruptRecord as damage:
                fault = str(damage)
        if fault is None:
            fault = self._time_index_fault(next_offset, newest_ms)
        if fault is not None:
            self._repair(fault)
            next_offset = self._walk_end()[0]
        return next_offset

    def index_files_missing(self) -> str | None:
        """The path of an index file that is missing or cannot be one by its size; None when there is none."""
        if self.size_bytes == 0:
            return None
        for entries in (self.offset_index.entries, self.time_index.entries):
            if not entries.has_whole_file():
                return entries.path
        return None

    def can_hold(self, offset: Offset) -> bool:
        """Whether an offset fits in the 32 bits of the indexes (L2)."""
        return offset - self.base_offset <= RELATIVE_OFFSET_MAX

    def rebuild_indexes(self) -> None:
        """Rebuild the offset index and the time index from the batches (L4)."""
        self.forget_indexes()
        for position, header in self.headers():
            self.note(header, position)
        self.time_index.append_if_later(*self.newest)
        self.offset_index.entries.write_out()
        self.time_index.entries.write_out()

    def forget_indexes(self) -> None:
        """Empty the offset and the time index, as the first step of a rebuild."""
        self.offset_index.clear()
        self.time_index.clear()
        self._newest, self._first_timestamp, self._bytes_since_index = (
            TimeEntry(-1, self.base_offset),
            None,
            0,
        )
        self._recent.clear()

    def truncate_to(self, offset: Offset) -> Offset:
        """Drop every batch that holds `offset` or a later one; the offset at which the segment now ends."""
        position = self.find(offset)
        if position is None:
            return offset
        cut_base_offset = next(self.headers(position))[1].base_offset
        self.cut_at(position, cut_base_offset)
        return min(offset, cut_base_offset)

    def cut_at(self, position: int, offset: Offset) -> None:
        """Drop the bytes from `position` on, where the batch of `offset` began."""
        self.size_bytes = position  # first, so that no reader on another thread misses bytes
        self._file.truncate(position)
        self.offset_index.truncate_to(offset)
        self.time_index.truncate_to(offset)
        self.transaction_index.truncate_to(offset)
        self._recent.clear()
        self._newest = None if position else TimeEntry(-1, self.base_offset)
        self._first_timestamp = None
        self._bytes_since_index = 0
        last = self.offset_index.floor(self.base_offset + RELATIVE_OFFSET_MAX)
        if last.byte_position and (last.offset >= offset or not self._index_holds(last)):
            self._repair(f"{self.offset_index.entries.path} is out of order")
        else:
            self._find_newest_behind_index()

    def seal(self) -> None:
        """Close the segment for appends: complete the indexes and free their memory."""
        newest = self.newest
        if newest.timestamp_ms >= 0:
            self.time_index.append_if_later(newest.timestamp_ms, newest.offset)
        self.offset_index.seal()
        self.time_index.seal()
        self._recent.clear()

    def files(self) -> list[File]:
        """Every file that exists, batches first."""
        candidates = [self._file, self.offset_index.seal(), self.time_index.seal()]
        aborted = self.transaction_index.file()
        if aborted is not None:
            candidates.append(aborted)
        return candidates

    def modified_ms(self) -> int:
        """When the batches' file was last written, in ms of the wall clock."""
        return self._file_system.modified_ms(self._file.path)

    def close(self) -> None:
        """Close the files; the segment opens them again when it is used."""
        self._file.close()
        self.offset_index.entries.close()
        self.time_index.entries.close()
        self.transaction_index.close()

    def _repair(self, fault: str) -> None:
        """Rebuild the indexes because of a fault. Raises CorruptRecord if the batches are damaged too."""
        self._was_repaired = True
        self.rebuild_indexes()
        self._repairs.append(f"{fault}: the indexes of {self._file.path} were made again")

    def _walk_end(self) -> tuple[Offset, int, str | None]:
        """Next offset and largest timestamp of the batches from the offset index's last entry on; its fault.

        CorruptRecord where there is no batch.
        """
        path = self.offset_index.entries.path
        last = self.offset_index.floor(self.base_offset + RELATIVE_OFFSET_MAX)
        next_offset, newest_ms = self.base_offset, -1
        if last.byte_position and not self._index_holds(last):
            return next_offset, newest_ms, f"{path} names no batch at byte {last.byte_position}"
        bytes_since, is_sparse = 0, False
        for _, header in self.headers(last.byte_position):
            is_sparse |= bytes_since > _INTERVALS_WITHOUT_ENTRY_MAX * self.index_interval_bytes
            bytes_since += header.size_bytes
            next_offset, newest_ms = header.next_offset, max(newest_ms, header.max_timestamp)
        if last.byte_position and last.offset >= next_offset:
            return next_offset, newest_ms, f"{path} ends behind the log"
        if is_sparse:
            return next_offset, newest_ms, f"{path} has no entry for the last {bytes_since} bytes"
        self._bytes_since_index = bytes_since
        return next_offset, newest_ms, None

    def _time_index_fault(self, next_offset: Offset, newest_ms: int) -> str | None:
        """What is wrong with the time index's last entry, whose time must be the segment's largest."""
        last = self.time_index.last()
        path = self.time_index.entries.path
        if last.timestamp_ms < newest_ms:
            return f"{path} ends before the youngest record"
        is_entry = last != (-1, self.base_offset)
        if is_entry and not (last.offset < next_offset and self._time_holds(last)):
            return f"{path} names no batch of time {last.timestamp_ms}"
        return None

    def _time_holds(self, entry: TimeEntry) -> bool:
        """Whether the batch with an entry's offset has the timestamp that the entry says."""
        if entry.offset < self.base_offset:
            return False
        position = self.find(entry.offset)
        if position is None:
            return False
        header = next(self.headers(position))[1]
        return header.base_offset <= entry.offset and header.max_timestamp == entry.timestamp_ms

    def _index_holds(self, entry: OffsetEntry) -> bool:
        """Whether the batch of an index entry is at the entry's position."""
        offset, position = entry
        if position < 0:
            return False
        data = self.read(position, _SCAN.size)
        if len(data) < _SCAN.size:
            return False
        base_offset: Offset
        base_offset, length, _, magic, _, _, _ = _SCAN.unpack(data)
        is_batch: bool = magic == CURRENT_MAGIC and length >= _LENGTH_MIN
        is_batch &= position + OVERHEAD_BYTES + length <= self.size_bytes
        return is_batch and self.base_offset <= base_offset <= offset

    def _scan(self, offset: Offset, position: int) -> int | None:
        size = self.size_bytes
        chunk, chunk_start = b"", position
        while position < size:
            index = position - chunk_start
            if index + _SCAN.size > len(chunk):
                chunk = self.read(position, min(_SCAN_CHUNK_BYTES, size - position))
                chunk_start, index = position, 0
                if len(chunk) < _SCAN.size:
                    raise CorruptRecord(
                        f"{self._file.path}: the file ends inside the batch at byte {position}"
                    )
            base_offset, length, _, magic, _, _, last_delta = _SCAN.unpack_from(chunk, index)
            if magic != CURRENT_MAGIC or length < _LENGTH_MIN:
                raise CorruptRecord(f"{self._file.path}: no batch of format v2 at byte {position}")
            if base_offset + last_delta >= offset:
                return position
            position += OVERHEAD_BYTES + length
        return None

    def _find_newest_behind_index(self) -> None:
        """Called after a cut: batches after the last index entry may have later timestamps than the entry."""
        position = self.offset_index.floor(self.base_offset + RELATIVE_OFFSET_MAX).byte_position
        newest = self.newest
        for _, header in self.headers(position):
            if header.max_timestamp > newest.timestamp_ms:
                newest = TimeEntry(header.max_timestamp, header.last_offset)
            self._bytes_since_index += header.size_bytes
        self._newest = newest

    def _cut_torn_bytes(self, position: int) -> None:
        try:
            self._file.truncate(position)
        except OSError:
            return  # the disk is failing; recovery will cut here when it is back
