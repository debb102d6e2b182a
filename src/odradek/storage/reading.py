"""Reads a broker's log directory from another process: without locks or changes, while the broker runs.

Used by `odradek log dump` and Spark's source of segment files. A batch that is being written may be
visible in part, so an incomplete batch ends the log and is not an error.

    partition = PartitionFiles("/var/lib/odradek/orders-0")
    for position, header, batch in partition.batches(start_offset=1200): ...
"""

from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from odradek.base.errors import CorruptRecord
from odradek.base.ids import Offset, ProducerId, TopicPartition
from odradek.records.control import read_marker
from odradek.records.header import HEADER_BYTES, BatchHeader, check_crc
from odradek.storage import file_names
from odradek.storage.batch_walk import walk_batches
from odradek.storage.checkpoint import read_offsets
from odradek.storage.files import FileSystem
from odradek.storage.offset_index import OffsetEntry, OffsetIndex
from odradek.storage.os_files import OsFileSystem, is_locked
from odradek.storage.producer_snapshot import parse_snapshot
from odradek.storage.producer_state import ProducerEntry
from odradek.storage.time_index import TimeEntry, TimeIndex
from odradek.storage.transaction_index import AbortedTransaction, TransactionIndex


@dataclass(frozen=True, slots=True)
class SegmentFiles:
    """One segment as it was found."""

    base_offset: Offset
    size_bytes: int
    path: str
    """Of the `.log` file."""


def topic_partitions(log_directory: str, file_system: FileSystem | None = None) -> list[TopicPartition]:
    """The partitions that have a log in a log directory."""
    disk = file_system or OsFileSystem(read_only=True)
    names = [name for name, size_bytes in disk.list_directory(log_directory) if size_bytes < 0]
    found = [
        file_names.topic_partition_of(name) for name in names if not file_names.is_deleted_directory(name)
    ]
    return sorted(partition for partition in found if partition is not None)


def is_in_use(log_directory: str) -> bool:
    """Whether a running broker, Odradek's or Apache Kafka's, holds a log directory."""
    held = is_locked(f"{log_directory}/{file_names.LOCK}")
    if held is not None:
        return held
    disk = OsFileSystem(read_only=True)
    return disk.exists(f"{log_directory}/{file_names.LOCK}") and not disk.exists(
        f"{log_directory}/{file_names.CLEAN_SHUTDOWN}"
    )


class PartitionFiles:
    """The files of one partition. Every call looks at the disk anew."""

    def __init__(self, directory: str, file_system: FileSystem | None = None) -> None:
        self.directory = directory.rstrip("/")
        self._disk: FileSystem = file_system or OsFileSystem(read_only=True)

    def segments(self) -> list[SegmentFiles]:
        """All segments in order; FileNotFoundError when the directory is not there."""
        found = []
        for name, size_bytes in self._disk.list_directory(self.directory):
            parts = file_names.offset_and_suffix(name)
            if parts is not None and parts[1] == file_names.LOG:
                found.append(SegmentFiles(parts[0], size_bytes, f"{self.directory}/{name}"))
        return found

    def start_offset(self) -> Offset:
        """Where the log begins: the checkpointed log start or the first segment's base."""
        segments = self.segments()
        first = segments[0].base_offset if segments else 0
        return max(first, self._checkpointed(file_names.LOG_START_OFFSETS))

    def high_watermark(self) -> Offset:
        """HW as last checkpointed: up to `replica.high.watermark.checkpoint.interval.ms` old; 0 if never."""
        return self._checkpointed(file_names.HIGH_WATERMARKS)

    def end_offset(self) -> Offset:
        """The offset behind the last whole batch."""
        segments = self.segments()
        if not segments:
            return 0
        end = segments[-1].base_offset
        for _, header, _ in self._walk(segments[-1], self._floor(segments[-1], None)):
            end = header.next_offset
        return end

    def batches(
        self, start_offset: Offset = 0, end_offset: Offset | None = None, *, verify: bool = True
    ) -> Iterator[tuple[int, BatchHeader, memoryview]]:
        """Byte position, header and bytes of each batch that holds offsets of [start, end).

        `verify` checks each CRC: CorruptRecord when one does not hold, or when there is no batch where one
        should be.
        """
        segments = self.segments()
        bases = [segment.base_offset for segment in segments]
        for segment in segments[max(0, bisect_right(bases, start_offset) - 1) :]:
            for position, header, batch in self._walk(segment, self._floor(segment, start_offset)):
                if end_offset is not None and header.base_offset >= end_offset:
                    return
                if header.last_offset >= start_offset:
                    if verify:
                        check_crc(batch, header)
                    yield position, header, batch

    def offset_index(self, base_offset: Offset) -> list[OffsetEntry]:
        """The entries of a segment's `.index`; empty when there is none."""
        index = OffsetIndex(
            self._disk, self._path(base_offset, file_names.OFFSET_INDEX), base_offset, is_new=False
        )
        entries = [index.entries.entry(number) for number in range(len(index.entries))]
        index.entries.close()
        return [OffsetEntry(base_offset + relative, position) for relative, position in entries]

    def time_index(self, base_offset: Offset) -> list[TimeEntry]:
        """The entries of a segment's `.timeindex`; empty when there is none."""
        index = TimeIndex(
            self._disk, self._path(base_offset, file_names.TIME_INDEX), base_offset, is_new=False
        )
        entries = [index.entries.entry(number) for number in range(len(index.entries))]
        index.entries.close()
        return [TimeEntry(timestamp_ms, base_offset + relative) for timestamp_ms, relative in entries]

    def aborted_transactions(self, base_offset: Offset) -> list[AbortedTransaction]:
        """The entries of a segment's `.txnindex`; CorruptRecord when it is damaged."""
        path = self._path(base_offset, file_names.TRANSACTION_INDEX)
        return TransactionIndex(self._disk, path, is_new=False).entries()

    def aborted_between(self, start_offset: Offset, end_offset: Offset) -> list[AbortedTransaction]:
        """The aborted transactions that have records in [start, end), and maybe others.

        They are those of the indexes; CorruptRecord when one of these is damaged.
        """
        segments = self.segments()
        bases = [segment.base_offset for segment in segments]
        found: list[AbortedTransaction] = []
        for base in bases[max(0, bisect_right(bases, start_offset) - 1) :]:
            for one in self.aborted_transactions(base):
                if one.last_offset >= start_offset and one.first_offset < end_offset:
                    found.append(one)
                if one.last_stable_offset >= end_offset:
                    return found
        return found

    def stable_end(self, end_offset: Offset) -> Offset:
        """Where read_committed ends in a log up to `end_offset`: where the first open transaction begins."""
        position, open_since = self._open_transactions(end_offset)
        for _, header, batch in self.batches(position, end_offset, verify=False):
            if not header.is_control and header.is_transactional:
                open_since.setdefault(header.producer_id, header.base_offset)
            elif header.is_control and read_marker(batch) is not None:
                open_since.pop(header.producer_id, None)
        return min(open_since.values(), default=end_offset)

    def _open_transactions(self, end_offset: Offset) -> tuple[Offset, dict[ProducerId, Offset]]:
        """The last readable snapshot up to `end_offset`, and the first offsets of what is open in it."""
        names = [file_names.offset_and_suffix(name) for name, _ in self._disk.list_directory(self.directory)]
        offsets = [found[0] for found in names if found and found[1] == file_names.PRODUCER_SNAPSHOT]
        for offset in sorted((one for one in offsets if one <= end_offset), reverse=True):
            with suppress(CorruptRecord):
                producers = self.producers(offset)
                first = {one.producer_id: one.transaction_first_offset for one in producers}
                return offset, {who: since for who, since in first.items() if since is not None}
        return 0, {}

    def producers(self, snapshot_offset: Offset) -> list[ProducerEntry]:
        """The producers of a `.snapshot`; CorruptRecord when it is damaged."""
        return parse_snapshot(self._disk.read(self._path(snapshot_offset, file_names.PRODUCER_SNAPSHOT)))

    def _floor(self, segment: SegmentFiles, offset: Offset | None) -> int:
        """The byte from which to scan for `offset` (None: for the end)."""
        index = OffsetIndex(
            self._disk,
            self._path(segment.base_offset, file_names.OFFSET_INDEX),
            segment.base_offset,
            is_new=False,
        )
        last = index.entries.last()
        entry = OffsetEntry(segment.base_offset, 0)
        if last is not None:
            wanted = segment.base_offset + last[0] if offset is None else offset
            entry = index.floor(wanted)
        index.entries.close()
        return entry.byte_position if entry.byte_position < segment.size_bytes else 0

    def _walk(self, segment: SegmentFiles, position: int) -> Iterator[tuple[int, BatchHeader, memoryview]]:
        file = self._disk.file(segment.path)
        try:
            for at, header, batch in walk_batches(file, position, segment.size_bytes):
                position = at + header.size_bytes
                yield at, header, batch
        except CorruptRecord:
            if not self._is_unfinished(segment, position):
                raise
        finally:
            file.close()

    def _is_unfinished(self, segment: SegmentFiles, position: int) -> bool:
        """Whether what lies at `position` of the last segment may be a batch that is being written."""
        if segment.base_offset != self.segments()[-1].base_offset:
            return False
        data = self._disk.file(segment.path).read_at(HEADER_BYTES, position)
        length = int.from_bytes(data[8:12], "big", signed=True)
        return len(data) < HEADER_BYTES or not any(data) or position + 12 + length > segment.size_bytes

    def _checkpointed(self, name: str) -> Offset:
        log_directory, _, own_name = self.directory.rpartition("/")
        partition = file_names.topic_partition_of(own_name)
        offsets, _ = read_offsets(self._disk, f"{log_directory}/{name}")
        return 0 if partition is None else offsets.get(partition, 0)

    def _path(self, base_offset: Offset, suffix: str) -> str:
        return f"{self.directory}/{file_names.segment_file(base_offset, suffix)}"
