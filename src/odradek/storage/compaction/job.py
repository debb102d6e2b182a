"""The input and the results of a cleaning: plain values that can be sent to another process as JSON.

broker -> cleaner     one CleaningJob
cleaner -> broker     a CleanedSegment for each that is ready to be swapped in, then a CleaningReport
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from odradek.base.ids import Offset, ProducerId
from odradek.storage.cleaned_segment import SegmentExtent
from odradek.storage.transaction_index import AbortedTransaction


class LastBatch(NamedTuple):
    """The last batch of a producer, which compaction must keep, if only as a header."""

    producer_id: ProducerId
    producer_epoch: int
    last_offset: Offset
    """The last offset of its last data batch; -1 if only markers of this epoch are known."""


@dataclass(frozen=True, slots=True)
class CleaningJob:
    """The cleaning of one log."""

    directory: str
    """The log's own directory."""
    segments: tuple[SegmentExtent, ...]
    """The segments that may be cleaned, in order: closed, on disk, and below the LSO."""
    end_offset: Offset
    """The base offset of the next segment after them."""
    first_dirty_offset: Offset
    """Earlier cleanings have cleaned everything below it."""
    now_ms: int
    """The wall clock, for delete horizons."""
    delete_retention_ms: int
    """How long tombstones and markers are kept after the first cleaning that could remove them."""
    segment_bytes: int
    segment_index_bytes: int
    index_interval_bytes: int
    map_bytes_max: int
    """The memory for the offset map."""
    last_batches: tuple[LastBatch, ...]
    aborted_behind: tuple[AbortedTransaction, ...]
    """Transactions with an abort marker at or above `end_offset` that may have records below it."""

    def ranges(self) -> Iterator[tuple[SegmentExtent, Offset]]:
        """Each segment with the offset at which the next one begins."""
        ends = [segment.base_offset for segment in self.segments[1:]] + [self.end_offset]
        return zip(self.segments, ends, strict=False)  # without segments, `ends` has one element too many

    def to_json(self) -> str:
        """The job on one line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str | bytes) -> "CleaningJob":
        """The job that `to_json` wrote."""
        fields: dict[str, Any] = json.loads(line)
        fields["segments"] = tuple(SegmentExtent(*row) for row in fields["segments"])
        fields["last_batches"] = tuple(LastBatch(*row) for row in fields["last_batches"])
        fields["aborted_behind"] = tuple(AbortedTransaction(*row) for row in fields["aborted_behind"])
        return cls(**fields)


@dataclass(slots=True)
class CleaningReport:
    """The result of a cleaning, for the checkpoint and for people."""

    end_offset: Offset
    """Everything below it is now clean; lower than the job's `end_offset` if the offset map was full."""
    keys: int = 0
    """The number of different keys in the dirty part."""
    records_read: int = 0
    records_kept: int = 0
    bytes_read: int = 0
    """The bytes read in both passes."""
    bytes_written: int = 0
    segments_replaced: int = 0
    segments_made: int = 0

    def __str__(self) -> str:
        segments = "1 segment" if self.segments_replaced == 1 else f"{self.segments_replaced} segments"
        return (
            f"cleaned up to offset {self.end_offset}: {self.records_kept} of {self.records_read} records "
            f"kept, {segments} became {self.segments_made}"
        )
