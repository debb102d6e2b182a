"""The parts of a log, and the changes that concern several of them at once.

`Log` is the public interface. Each operation on a log has a file of its own, which works on these parts:

    appending        adds records                  rolling      begins the next segment
    reads            reads from an offset          retention    drops the oldest segments
    truncation       cuts off the end              swapping     swaps in compacted segments
    log_flusher      forces the log to disk        time_lookup  finds offsets by time
"""

from dataclasses import dataclass

from odradek.base.errors import OffsetOutOfRange
from odradek.base.ids import Offset, TopicPartition
from odradek.base.settings import TopicConfig
from odradek.storage import file_names
from odradek.storage.checkpoint import write_epochs
from odradek.storage.epoch_cache import EpochCache
from odradek.storage.flushing import FlushState
from odradek.storage.log_directory import LogDirectory
from odradek.storage.log_offsets import LogOffsets
from odradek.storage.positions import LogPosition
from odradek.storage.producer_state import ProducerStates
from odradek.storage.segments import Segments
from odradek.storage.transaction_sums import Sums, sums_of, write_sums


@dataclass(slots=True)
class LogParts:
    """The parts of one log. Methods that touch the disk raise OSError."""

    topic_partition: TopicPartition
    place: LogDirectory
    segments: Segments
    producers: ProducerStates
    epochs: EpochCache
    offsets: LogOffsets
    flushes: FlushState
    transaction_sums: Sums | None
    """The sums stored for the transaction indexes; None: no transaction ever ended here."""
    config: TopicConfig
    """The settings in force."""
    roll_jitter_ms: int = 0
    """Taken off `segment.ms` for the active segment."""
    has_unsaved_epoch: bool = False
    """Whether `leader-epoch-checkpoint` lacks the newest epoch, under which nothing was appended yet."""

    def locate(self, offset: Offset) -> LogPosition:
        """The position of an offset of the log, or of LEO."""
        offsets = self.offsets
        found = None if offset == offsets.end else self.segments.locate(offset)
        return offsets.end_position if found is None else found

    def out_of_range(self, offset: Offset) -> OffsetOutOfRange:
        """Returns the error for an offset below the log start or above LEO."""
        held = f"{self.offsets.log_start} to {self.offsets.end}"
        return OffsetOutOfRange(f"{self.topic_partition} has offsets from {held}, not {offset}")

    def stand_at(self, high_watermark: LogPosition) -> None:
        """Move HW, and LSO with it."""
        offsets, last_stable = self.offsets, high_watermark
        if self.producers.holds_offsets_back:
            last_stable = self.last_stable_below(high_watermark, offsets.log_start)
        offsets.stand_at(high_watermark, last_stable)

    def raise_log_start(self, offset: Offset) -> bool:
        """Move the log start up to `offset`, at most to HW. Returns whether it moved."""
        offsets = self.offsets
        if offset <= offsets.log_start or offset > offsets.high_watermark.offset:
            return False
        offsets.start_at(offset, self.last_stable_below(offsets.high_watermark, offset))
        if self.epochs.truncate_from_start(offset):
            self.save_epochs()
        return True

    def last_stable_below(self, high_watermark: LogPosition, log_start: Offset) -> LogPosition:
        """LSO for that HW and log start."""
        producers = self.producers
        unstable = producers.first_unstable_offset
        if unstable is not None:
            producers.high_watermark_rose(high_watermark.offset)
            unstable = producers.first_unstable_offset
        if unstable is None or unstable >= high_watermark.offset:
            return high_watermark
        stable = max(unstable, log_start)
        current = self.offsets.last_stable
        return current if current.offset == stable else self.locate(stable)

    def relocate(self, below: Offset) -> None:
        """Recompute the positions of HW and LSO, after the segments based below that offset were replaced."""
        offsets = self.offsets
        high_watermark, last_stable = offsets.high_watermark, offsets.last_stable
        if high_watermark.segment_base_offset < below:
            high_watermark = self.locate(high_watermark.offset)
        if last_stable.segment_base_offset < below:
            last_stable = self.locate(last_stable.offset)
        offsets.stand_at(high_watermark, last_stable)

    def save_epochs(self) -> None:
        """Write `leader-epoch-checkpoint`."""
        path = f"{self.segments.directory}/{file_names.LEADER_EPOCHS}"
        write_epochs(self.place.file_system, path, self.epochs.entries())
        self.has_unsaved_epoch = False
        self.flushes.names_made += 1

    def save_transaction_sums(self) -> None:
        """Write down what the transaction indexes are known by, once a transaction has ended here."""
        if self.transaction_sums is not None or self.producers.has_seen_markers:
            sums = sums_of(self.segments)
            if sums != self.transaction_sums:
                write_sums(self.place.file_system, self.segments.directory, sums)
                self.transaction_sums = sums
                self.flushes.names_made += 1
