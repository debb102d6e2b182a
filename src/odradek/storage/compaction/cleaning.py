"""Cleans one log in two passes over its closed segments, in a separate process.

    1. the dirty part        key -> offset of its last record, until the end or until the map is full
    2. all up to there       several small segments become one, as large as `segment.bytes` allows:
                             kept records (`batch_filter`) go to `.cleaned` files, synced, then announced

It reads closed segments, which no longer change, and writes files that are not part of the log yet.
`Log.swap_in` checks whether the log has changed since. A cleaning may stop at any point without harm.
"""

from collections.abc import Callable, Iterator, Sequence

from odradek.base.errors import CorruptRecord
from odradek.base.ids import Offset
from odradek.records.control import read_marker
from odradek.records.framing import body_of
from odradek.records.header import BatchHeader, check_crc, read_header
from odradek.storage import file_names, time_index
from odradek.storage.batch_walk import walk_batches
from odradek.storage.cleaned_segment import CleanedSegment, SegmentExtent
from odradek.storage.compaction.batch_filter import BatchFilter
from odradek.storage.compaction.job import CleaningJob, CleaningReport
from odradek.storage.compaction.offset_map import OffsetMap
from odradek.storage.compaction.record_walk import walk_records
from odradek.storage.compaction.transactions import TransactionFates
from odradek.storage.files import FileSystem
from odradek.storage.offset_index import RELATIVE_OFFSET_MAX
from odradek.storage.segment import Segment
from odradek.storage.transaction_index import AbortedTransaction, TransactionIndex

# Swapping in one result costs the broker 85 µs per replaced segment, on a busy machine.
REPLACED_AT_ONCE_MAX = 10
_WRITE_CHUNK_BYTES = 1024 * 1024


def clean(
    job: CleaningJob,
    file_system: FileSystem,
    on_segment: Callable[[CleanedSegment], None],
    pace: Callable[[int], None] = lambda size_bytes: None,
) -> CleaningReport:
    """Do a job; calls `on_segment` for each finished segment, in the order of their offsets.

    Calls `pace` with all bytes read and written; it may wait. Raises CorruptRecord, InvalidRecord or
    UnsupportedCompression if the log is damaged, OSError if the disk fails; segments announced before may
    still be swapped in.
    """
    return _Cleaning(job, file_system, on_segment, pace).run()


def group_segments(job: CleaningJob, end_offset: Offset) -> Iterator[tuple[SegmentExtent, ...]]:
    """Groups of adjacent segments, based below `end_offset`, that together fit into one segment."""
    group: list[SegmentExtent] = []
    for segment, end in job.ranges():
        if segment.base_offset >= end_offset:
            break
        if group and not _has_room(job, group, segment, end):
            yield tuple(group)
            group = []
        group.append(segment)
    if group:
        yield tuple(group)


def _has_room(job: CleaningJob, group: Sequence[SegmentExtent], segment: SegmentExtent, end: Offset) -> bool:
    size_bytes = sum(member.size_bytes for member in group) + segment.size_bytes
    entries_max = size_bytes // (job.index_interval_bytes + 1) + 1
    return (
        len(group) < REPLACED_AT_ONCE_MAX
        and size_bytes <= job.segment_bytes
        and entries_max * time_index.ENTRY_BYTES <= job.segment_index_bytes
        and end - 1 - group[0].base_offset <= RELATIVE_OFFSET_MAX
    )


class _Cleaning:
    """The stages of `clean`, for one job."""

    def __init__(
        self,
        job: CleaningJob,
        file_system: FileSystem,
        on_segment: Callable[[CleanedSegment], None],
        pace: Callable[[int], None],
    ) -> None:
        self._job = job
        self._file_system = file_system
        self._on_segment = on_segment
        self._pace = pace
        # By the base offset of a segment: the offset at which the next one begins.
        self._ends = {segment.base_offset: end for segment, end in job.ranges()}
        dirty_offsets = job.end_offset - job.first_dirty_offset
        self._latest = OffsetMap(job.map_bytes_max, dirty_offsets)
        self._report = CleaningReport(job.first_dirty_offset)

    def run(self) -> CleaningReport:
        self._remove_leftovers()
        aborted = self._aborted_transactions()
        report = self._report
        report.end_offset = self._fill_map(aborted)
        report.keys = len(self._latest)
        batches = BatchFilter(
            self._latest,
            report.end_offset,
            TransactionFates(aborted),
            self._job.last_batches,
            now_ms=self._job.now_ms,
            delete_retention_ms=self._job.delete_retention_ms,
        )
        for group in group_segments(self._job, report.end_offset):
            self._clean_group(group, batches)
        report.records_read, report.records_kept = batches.records_read, batches.records_kept
        return report

    def _remove_leftovers(self) -> None:
        """Remove files that an earlier cleaning left: not finished, or not swapped in."""
        directory = self._job.directory
        for name, _ in self._file_system.list_directory(directory):
            if name.endswith(file_names.CLEANED):
                self._file_system.remove(f"{directory}/{name}")

    def _aborted_transactions(self) -> list[AbortedTransaction]:
        found = list(self._job.aborted_behind)
        for segment in self._job.segments:
            path = self._path(segment, file_names.TRANSACTION_INDEX)
            found += TransactionIndex(self._file_system, path, is_new=False).entries()
        return found

    def _fill_map(self, aborted: list[AbortedTransaction]) -> Offset:
        """The first pass; returns the offset below which the map has the key of every dirty record."""
        start, put_records = self._job.first_dirty_offset, self._latest.put_records
        fates = TransactionFates(transaction for transaction in aborted if transaction.last_offset >= start)
        for segment, end in self._job.ranges():
            if end <= start:
                continue
            for header, batch in self._batches(segment):
                if header.last_offset < start:
                    continue
                if header.is_control:
                    marker = read_marker(batch)
                    if marker is not None:
                        fates.end(header, marker)
                    continue
                if fates.is_aborted(header):
                    continue
                for records in walk_records(body_of(batch, header), header):
                    full_at = put_records(records, header.base_offset, start)
                    if full_at is not None:
                        return full_at
        return self._job.end_offset

    def _clean_group(self, group: tuple[SegmentExtent, ...], batches: BatchFilter) -> None:
        cleaned = Segment(
            self._file_system,
            self._job.directory,
            group[0].base_offset,
            size_bytes=0,
            is_new=True,
            created_ms=self._job.now_ms,
            index_interval_bytes=self._job.index_interval_bytes,
            ending=file_names.CLEANED,
        )
        has_changed = len(group) > 1
        data, headers = bytearray(), list[BatchHeader]()
        for segment in group:
            for header, batch in self._batches(segment):
                kept = batches.keep(batch, header)
                has_changed |= kept is not batch
                if kept is not None:
                    headers.append(header if kept is batch else read_header(kept))
                    data += kept
                for aborted in batches.aborted:
                    cleaned.transaction_index.append(aborted)
                batches.aborted.clear()
                if len(data) >= _WRITE_CHUNK_BYTES:
                    self._write(cleaned, data, headers)
                    data, headers = bytearray(), []
        if headers:
            self._write(cleaned, data, headers)
        self._finish(cleaned, group, has_changed=has_changed)

    def _write(self, cleaned: Segment, data: bytearray, headers: list[BatchHeader]) -> None:
        cleaned.append(data, headers)
        self._report.bytes_written += len(data)
        self._pace(len(data))

    def _finish(self, cleaned: Segment, group: tuple[SegmentExtent, ...], *, has_changed: bool) -> None:
        """Sync a segment and announce it; an unchanged one is discarded."""
        if not has_changed:
            cleaned.close()
            for suffix in file_names.SEGMENT_SUFFIXES:
                self._file_system.remove(cleaned.path(suffix))
            return
        cleaned.seal()
        for file in cleaned.files():
            file.sync()
        cleaned.close()
        self._file_system.sync_directory(self._job.directory)
        self._report.segments_replaced += len(group)
        self._report.segments_made += 1
        self._on_segment(CleanedSegment(group, cleaned.size_bytes))

    def _batches(self, segment: SegmentExtent) -> Iterator[tuple[BatchHeader, memoryview]]:
        """Every batch of a segment, its CRC and its offsets checked.

        No CRC covers the base offset, and a wrong one lets an older record of a key win.
        """
        next_offset, end = segment.base_offset, self._ends[segment.base_offset]
        # A log of a follower may begin within a batch.
        is_first = True
        file = self._file_system.file(self._path(segment, file_names.LOG))
        unpaced_bytes = 0
        try:
            for _, header, batch in walk_batches(file, 0, segment.size_bytes):
                check_crc(batch, header)
                begins_at = header.last_offset if is_first else header.base_offset
                if begins_at < next_offset or header.last_offset >= end:
                    raise CorruptRecord(
                        f"{file.path}: the batch of the offsets {header.base_offset} to {header.last_offset} "
                        f"lies among the offsets {next_offset} to {end - 1}"
                    )
                is_first, next_offset = False, header.next_offset
                yield header, batch
                unpaced_bytes += header.size_bytes
                if unpaced_bytes >= _WRITE_CHUNK_BYTES:
                    self._note_read(unpaced_bytes)
                    unpaced_bytes = 0
        finally:
            file.close()
        self._note_read(unpaced_bytes)

    def _note_read(self, size_bytes: int) -> None:
        self._report.bytes_read += size_bytes
        self._pace(size_bytes)

    def _path(self, segment: SegmentExtent, suffix: str) -> str:
        return f"{self._job.directory}/{file_names.segment_file(segment.base_offset, suffix)}"
