"""Verifies the segments of a log batch by batch, rebuilds their indexes, cuts off invalid batches (L4).

    batch | batch | batch | batch? | batch        CRC of the fourth does not hold
                          ^ the log ends here; the rest is kept in NNN.log.corrupted-<time>

Kafka cuts at the same place and drops the rest. Odradek keeps the bytes cut off in a file next to the log,
and the report names it, because they may include whole batches; no code reads them again.
"""

from collections.abc import Sequence
from typing import Final

from odradek.base.errors import CorruptRecord
from odradek.base.ids import NO_EPOCH, NO_PRODUCER_ID, LeaderEpoch, Offset
from odradek.records.header import BatchHeader, check_crc
from odradek.storage import file_names
from odradek.storage.batch_walk import walk_batches
from odradek.storage.epoch_cache import EpochCache
from odradek.storage.files import FileSystem
from odradek.storage.loading import Cut, LogRecovery
from odradek.storage.producer_replay import remember_batch, write_snapshot
from odradek.storage.producer_state import ProducerStates
from odradek.storage.segment import Segment
from odradek.storage.segments import Segments

_COPY_CHUNK_BYTES: Final = 1024 * 1024


class Verification:
    """One pass over the last segments of a log, over the parts of the log that it fills."""

    def __init__(
        self,
        segments: Segments,
        producers: ProducerStates,
        epochs: EpochCache,
        report: LogRecovery,
        file_system: FileSystem,
        wall_ms: int,
        *,
        before: BatchHeader | None,
        gaps_below: Offset,
    ) -> None:
        """`before` is the last batch before the first segment that will be verified; `producers` likewise.

        A gap before a segment that begins at or below `gaps_below` was made by compaction.
        """
        self._segments = segments
        self._producers = producers
        self._epochs = epochs
        self._report = report
        self._file_system = file_system
        self._wall_ms = wall_ms
        self._gaps_below = gaps_below
        self._end_offset: Offset = 0
        """Behind the last batch that holds."""
        self._epoch: LeaderEpoch = NO_EPOCH if before is None else before.leader_epoch
        """Of that batch; never falls (X6)."""
        # Behind the last batch at all: in a compacted log segments may begin later than that.
        self._gap_start: Offset | None = None if before is None else before.next_offset

    def run(self, unverified: Sequence[Segment]) -> Offset:
        """Verify the log's last segments; returns the log's end offset."""
        self._end_offset = unverified[0].base_offset
        for number, segment in enumerate(unverified):
            # Only what was on disk has been compacted; any other gap is a power cut's.
            if segment.base_offset != self._end_offset and segment.base_offset > self._gaps_below:
                self._set_aside(unverified[number:], f"the offsets from {self._end_offset} on are missing")
                break
            write_snapshot(
                self._producers, self._file_system, segment.directory, segment.base_offset, durable=True
            )
            fault = self._verify(segment)
            if fault is not None:
                position, reason = fault
                self._cut(segment, position, reason)
                self._set_aside(unverified[number + 1 :], "an earlier segment was cut")
                break
            if segment is not self._segments.active:
                segment.seal()
        return self._end_offset

    def _verify(self, segment: Segment) -> tuple[int, str] | None:
        """Check every batch and build the indexes; returns where and why the valid batches end early."""
        segment.forget_indexes()
        segment.transaction_index.clear()
        position = 0
        try:
            for at, header, batch in walk_batches(segment.file, 0, segment.size_bytes):
                self._check_batch(segment, header, batch)
                self._epoch = header.leader_epoch
                segment.note(header, at)
                # As in `recovery`: what is cleaned away before the batch may have been of its epoch.
                gap_start = segment.base_offset if self._gap_start is None else self._gap_start
                self._epochs.assign(header.leader_epoch, min(gap_start, header.base_offset))
                self._gap_start = header.next_offset
                if header.producer_id != NO_PRODUCER_ID:
                    remember_batch(self._producers, header, batch, segment.transaction_index)
                self._end_offset = header.next_offset
                position = at + header.size_bytes
        except CorruptRecord as damage:
            return position, without_path(damage, segment.file.path)
        finally:
            self._report.segments_verified += 1
            self._report.bytes_verified += position
        return None

    def _check_batch(self, segment: Segment, header: BatchHeader, batch: memoryview) -> None:
        check_crc(batch, header)
        if header.base_offset < self._end_offset or header.last_offset < header.base_offset:
            raise CorruptRecord(f"offset {header.base_offset} follows offset {self._end_offset - 1}")
        if NO_EPOCH < header.leader_epoch < self._epoch:
            raise CorruptRecord(f"leader epoch {header.leader_epoch} follows epoch {self._epoch}")
        if not segment.can_hold(header.last_offset):
            raise CorruptRecord(
                f"offset {header.last_offset} is out of reach of segment {segment.base_offset}"
            )

    def _cut(self, segment: Segment, position: int, reason: str) -> None:
        size = segment.size_bytes
        kept_in = self._copy_aside(segment, position)
        segment.file.truncate(position)
        segment.file.sync()
        segment.size_bytes = position
        self._report.cuts.append(Cut(segment.file.path, position, size - position, reason, kept_in))

    def _copy_aside(self, segment: Segment, position: int) -> str | None:
        """Keep the bytes from `position` on in a file of their own, unless they are all zeros."""
        chunks = range(position, segment.size_bytes, _COPY_CHUNK_BYTES)
        if not any(any(segment.read(at, _COPY_CHUNK_BYTES)) for at in chunks):
            return None
        path = self._corrupted_path(segment)
        aside = self._file_system.file(path, create=True)
        for at in chunks:
            aside.write_at(segment.read(at, _COPY_CHUNK_BYTES), at - position)
        aside.sync()
        aside.close()
        self._file_system.sync_directory(self._segments.directory)
        return path

    def _set_aside(self, segments: Sequence[Segment], reason: str) -> None:
        """Take the segments behind a cut out of the log, and keep their batches under other names."""
        self._report.records_lost_from = self._end_offset
        for segment in segments:
            log_path, kept_in = segment.file.path, self._corrupted_path(segment)
            self._segments.release(segment)
            if segment.size_bytes:
                self._file_system.rename(log_path, kept_in)
                self._report.cuts.append(Cut(log_path, 0, segment.size_bytes, reason, kept_in))
            for suffix in (*file_names.SEGMENT_SUFFIXES, file_names.PRODUCER_SNAPSHOT):
                self._file_system.remove(segment.path(suffix))

    def _corrupted_path(self, segment: Segment) -> str:
        return f"{segment.file.path}{file_names.CORRUPTED}{self._wall_ms}"


def without_path(damage: CorruptRecord, path: str) -> str:
    """What is wrong, for a sentence that names the file already."""
    return str(damage).removeprefix(f"{path}: ")
