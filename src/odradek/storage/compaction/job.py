"""The input and the results of a cleaning: plain values that can be sent to another process as JSON.

broker -> cleaner     one CleaningJob
cleaner -> broker     a CleanedSegment for each that is ready to be swapped in, then a CleaningReport
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from odradek.base.ids import Offset, ProducerId
from odradek.storage.transaction_index import AbortedTransaction


class SegmentExtent(NamedTuple):
    """A closed segment as the job saw it."""

    base_offset: Offset
    size_bytes: int


class LastBatch(NamedTuple):
    """Where a producer that the log knows stands: its last batch has to stay, if only as a header."""

    producer_id: ProducerId
    producer_epoch: int
    last_offset: Offset
    """Of its last data batch; -1 when only markers of this epoch are known."""


@dataclass(frozen=True, slots=True)
class CleaningJob:
    """One log to be cleaned."""

    directory: str
    """Of the log itself."""
    segments: tuple[SegmentExtent, ...]
    """All that may be touched, in order: closed, on disk, and below the LSO."""
    end_offset: Offset
    """The base offset of the segment behind them."""
    first_dirty_offset: Offset
    """An earlier cleaning has been through everything below."""
    now_ms: int
    """Wall clock; decides about delete horizons."""
    delete_retention_ms: int
    """How long tombstones and markers stay from the cleaning on that first sees that they could go."""
    segment_bytes: int
    segment_index_bytes: int
    index_interval_bytes: int
    map_bytes_max: int
    """The buffer for the offset map."""
    last_batches: tuple[LastBatch, ...]
    aborted_behind: tuple[AbortedTransaction, ...]
    """Transactions rolled back by a marker at or behind `end_offset` that may have records below it."""

    def ranges(self) -> Iterator[tuple[SegmentExtent, Offset]]:
        """Each segment with the offset at which the next one begins."""
        ends = [segment.base_offset for segment in self.segments[1:]] + [self.end_offset]
        return zip(self.segments, ends, strict=False)  # without any segment there is one end too many

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


@dataclass(frozen=True, slots=True)
class CleanedSegment:
    """A segment that lies on disk, synced, in `.cleaned` files named by the first of those it replaces."""

    replaced: tuple[SegmentExtent, ...]
    """The segments whose place it takes; neighbours, in order."""
    size_bytes: int
    """What has been kept of them; may be 0."""

    @property
    def base_offset(self) -> Offset:
        """The base offset of the first of those it replaces, which becomes its own."""
        return self.replaced[0].base_offset

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> "CleanedSegment":
        """The segment whose `asdict` went through JSON."""
        return cls(tuple(SegmentExtent(*row) for row in fields["replaced"]), fields["size_bytes"])


@dataclass(slots=True)
class CleaningReport:
    """What a cleaning did, for the checkpoint and for people."""

    end_offset: Offset
    """Everything below has now been cleaned; lower than the job's when the offset map was full before."""
    keys: int = 0
    """Different keys in the part that was dirty."""
    records_read: int = 0
    records_kept: int = 0
    bytes_read: int = 0
    """Of both passes."""
    bytes_written: int = 0
    segments_replaced: int = 0
    segments_made: int = 0

    def __str__(self) -> str:
        return (
            f"cleaned up to offset {self.end_offset}: {self.records_kept} of {self.records_read} records "
            f"kept, {self.segments_replaced} segments became {self.segments_made}"
        )
