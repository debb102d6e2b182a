"""The result of an append: the offsets of its batches."""

from collections.abc import Sequence
from dataclasses import dataclass

from odradek.base.ids import LeaderEpoch, Offset
from odradek.records.header import BatchHeader
from odradek.storage.producer_state import RememberedBatch


@dataclass(slots=True)
class AppendInfo:
    """The offsets of one append's batches; for a duplicate, those of the first append."""

    first_offset: Offset
    """Offset of the first record; -1 when nothing was appended."""
    last_offset: Offset
    """Offset of the last record; -1 when nothing was appended."""
    max_timestamp: int
    """Largest record timestamp in ms; -1 when there is none."""
    log_append_time_ms: int
    """The time given to all records under `message.timestamp.type=LogAppendTime`, else -1."""
    log_start_offset: Offset
    """The log's start at the time of the append."""
    leader_epoch: LeaderEpoch
    """Leader epoch of the last batch."""
    record_count: int
    """Offsets covered: last - first + 1 (R8's messages in)."""
    size_bytes: int
    """Bytes written; 0 for a duplicate."""
    duplicate: bool = False
    """Whether the producer repeated a batch: nothing was written, the offsets are of its first append."""
    rolled: bool = False
    """Whether a new segment was begun, so that the one before is to be flushed."""
    flush_due: bool = False
    """Whether a flush is due, after a roll or because `flush.messages` is reached."""

    def note(self, headers: Sequence[BatchHeader], size_bytes: int) -> None:
        """Add batches that were written after those noted before."""
        if self.first_offset < 0:
            self.first_offset = headers[0].base_offset
        self.last_offset = headers[-1].last_offset
        self.max_timestamp = max(self.max_timestamp, *(header.max_timestamp for header in headers))
        self.leader_epoch = headers[-1].leader_epoch
        self.record_count = self.last_offset - self.first_offset + 1
        self.size_bytes += size_bytes


def leader_info(
    headers: Sequence[BatchHeader], append_time_ms: int | None, log_start_offset: Offset, size_bytes: int
) -> AppendInfo:
    """The result for batches that a leader has just assigned offsets to and written."""
    newest = headers[-1]
    first, last = headers[0].base_offset, newest.base_offset + newest.last_offset_delta
    max_timestamp = newest.max_timestamp
    if len(headers) > 1:
        max_timestamp = max([header.max_timestamp for header in headers])
    return AppendInfo(
        first,
        last,
        max_timestamp,
        -1 if append_time_ms is None else append_time_ms,
        log_start_offset,
        newest.leader_epoch,
        last - first + 1,
        size_bytes,
    )


def duplicate_info(batch: RememberedBatch, log_start_offset: Offset, leader_epoch: LeaderEpoch) -> AppendInfo:
    """The result for a batch that the log already has: the offsets of its first append."""
    return AppendInfo(
        batch.first_offset,
        batch.last_offset,
        batch.timestamp_ms,
        batch.timestamp_ms,
        log_start_offset,
        leader_epoch,
        0,
        0,
        duplicate=True,
    )
