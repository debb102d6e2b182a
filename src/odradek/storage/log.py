"""The public interface of one partition's log; `log_parts` lists the files that implement it.

`log_offsets` holds its offsets. The log must not know requests, replicas or leaders: the caller decides who
may append and how far a reader may read. Every OSError is raised as StorageFailure, after which the log's
whole directory is offline (`disk_access`).
"""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from odradek.base.buffers import Buffer
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, OffsetOutOfRange
from odradek.base.ids import LeaderEpoch, Offset, ProducerId, TopicPartition
from odradek.base.settings import TopicConfig
from odradek.base.uuids import render_uuid
from odradek.records.validation import ValidatedRecords, ValidationRules
from odradek.records.work import RecordSteps
from odradek.storage import file_names
from odradek.storage.append_info import AppendInfo
from odradek.storage.appending import LogAppender
from odradek.storage.cleaned_segment import CleanedSegment
from odradek.storage.disk_access import on_disk, reads_disk, reads_disk_in_steps
from odradek.storage.first_batch import has_room, least_base, make_room
from odradek.storage.flushing import FlushState, PendingFlush
from odradek.storage.log_directory import LogDirectory
from odradek.storage.log_flusher import LogFlusher
from odradek.storage.log_offsets import LogOffsets
from odradek.storage.log_parts import LogParts
from odradek.storage.origin import Origin
from odradek.storage.partition_metadata import write_topic_id
from odradek.storage.positions import EpochEnd, LogPosition, TimestampOffset
from odradek.storage.producer_state import ProducerStates
from odradek.storage.reads import HOLDS_ALL, LogRead, read_log
from odradek.storage.recovery import LoadedLog
from odradek.storage.retention import Retired, retire
from odradek.storage.rolling import draw_jitter, roll
from odradek.storage.segment import Segment
from odradek.storage.succession import succeed
from odradek.storage.swapping import swap_in
from odradek.storage.time_lookup import max_timestamp_offset, offset_for_timestamp
from odradek.storage.truncation import truncate_fully, truncate_to


class Log:
    """The log of one partition (L1-L7). Owned by one thread; opened by `LogManager` or `open_log`."""

    def __init__(
        self, topic_partition: TopicPartition, place: LogDirectory, config: TopicConfig, loaded: LoadedLog
    ) -> None:
        self.topic_partition = topic_partition
        self.place = place
        self.topic_id: UUID | None = loaded.topic_id
        self.recovery = loaded.report  # the result of opening it
        was_closed = loaded.report.clean and not loaded.is_new and loaded.report.is_uneventful()
        flushes = FlushState(loaded.recovery_point, place.clock.monotonic_ms(), names_are_synced=was_closed)
        self._segments = segments = loaded.segments
        active = segments.active
        end = LogPosition(loaded.end_offset, active.base_offset, active.size_bytes)
        start = None if loaded.log_start_offset == end.offset else segments.locate(loaded.log_start_offset)
        self._offsets = LogOffsets(loaded.log_start_offset, start or end, end)
        self._parts = parts = LogParts(
            topic_partition,
            place,
            segments,
            loaded.producers,
            loaded.epochs,
            self._offsets,
            flushes,
            loaded.transaction_sums,
            config,
        )
        draw_jitter(parts)
        self._flusher = LogFlusher(parts, was_closed=was_closed)
        self._appender = LogAppender(parts, self._flusher, loaded.reached_offset)

    @property
    def config(self) -> TopicConfig:
        """The topic's settings in force."""
        return self._parts.config

    @property
    def client_rules(self) -> ValidationRules:
        """The rules for clients' batches."""
        return self._appender.client_rules

    @property
    def log_start_offset(self) -> Offset:
        """The first offset that may be read."""
        return self._offsets.log_start

    @property
    def last_stable(self) -> LogPosition:
        """LSO: every transaction below it has ended, with its marker below HW."""
        return self._offsets.last_stable

    @property
    def high_watermark(self) -> LogPosition:
        """HW: every record below it is on all in-sync replicas."""
        return self._offsets.high_watermark

    @property
    def end_offset(self) -> Offset:
        """LEO: the offset of the next record."""
        return self._offsets.end

    @property
    def end_position(self) -> LogPosition:
        """The position of LEO: after the last byte of the active segment."""
        return self._offsets.end_position

    @property
    def cleaned_offset(self) -> Offset:
        """The offset below which compaction has cleaned the log (L5)."""
        return self._offsets.cleaned

    @property
    def directory(self) -> str:
        """The log directory (one of `log.dirs`) that holds this log."""
        return self.place.path

    @property
    def path(self) -> str:
        """The log's own directory, in the log directory."""
        return self._segments.directory

    @property
    def segments(self) -> Iterable[Segment]:
        """The segments in order, the active one last; compaction replaces some through `swap_in`."""
        return self._segments

    @property
    def truncations(self) -> int:
        """How often the log was truncated since it was opened."""
        return self._parts.flushes.generation

    @property
    def latest_epoch(self) -> LeaderEpoch:
        """The leader epoch of the last batch or assignment, or -1."""
        return self._parts.epochs.latest

    @property
    def flushed_offset(self) -> Offset:
        """All records below this offset are on disk (the recovery point)."""
        return self._parts.flushes.flushed_offset

    @property
    def size_bytes(self) -> int:
        """Bytes of all segments."""
        return self._segments.size_bytes

    @property
    def starts_inside_segment(self) -> bool:
        """Whether the log start is above the first segment's base offset, and must be checkpointed (R12)."""
        return self.log_start_offset > self._segments.first.base_offset

    @property
    def producers(self) -> ProducerStates:
        """The producers that this log knows (DescribeProducers reads it; only the log changes it)."""
        return self._parts.producers

    # Appending.

    def append_as_leader(
        self,
        batches: Buffer | ValidatedRecords,
        leader_epoch: LeaderEpoch,
        *,
        origin: Origin = Origin.CLIENT,
        now_ms: int,
    ) -> AppendInfo:
        """Validate, assign offsets and write. A batch that the producer repeats is reported as a duplicate.

        Raises a LogError; then nothing is written.
        """
        return self._appender.append_as_leader(batches, leader_epoch, origin, now_ms)

    def append_as_follower(self, batches: Buffer) -> AppendInfo:
        """Write a leader's batches with their own offsets (X2); an incomplete last batch is left out.

        The first batch of a log without records may hold LEO; the log then begins at that batch, and keeps
        its log start. Raises CorruptRecord if a CRC fails (X5) or another offset is below LEO; then nothing
        is written.
        """
        return self._appender.append_as_follower(batches)

    @on_disk
    def make_room_for(self, batches: Buffer) -> bool:
        """Let a log without records begin at a leader's first batch, if that begins below LEO and holds it.

        Returns whether that was needed: then the log has no batch yet, and is not settled (X6). Otherwise
        `append_as_follower` does it, and blocks until that is on disk. Raises CorruptRecord as it does.
        """
        base_offset = least_base(self._parts, batches)
        if has_room(self._parts, base_offset):
            return False
        make_room(self._parts, base_offset)
        return True

    # Reading.

    def read(
        self,
        start_offset: Offset,
        max_bytes: int,
        bound: LogPosition,
        *,
        at_least_one: bool,
        committed_only: bool = False,
        held_bytes_max: int = HOLDS_ALL,
    ) -> LogRead:
        """L3: read batches from the one that holds `start_offset`, below `bound` (LEO, HW or LSO).

        Raises OffsetOutOfRange below the log start or above LEO. `at_least_one` returns the first batch whole
        even if it is larger than `max_bytes`. More than `held_bytes_max` comes as `StoredBytes`, unread.
        """
        return read_log(
            self._parts, start_offset, max_bytes, bound, at_least_one, committed_only, held_bytes_max
        )

    @reads_disk
    def position_of(self, offset: Offset) -> LogPosition:
        """The position of `offset`. Raises OffsetOutOfRange below the log start or above LEO."""
        offsets = self._offsets
        if not offsets.log_start <= offset <= offsets.end:
            raise self._parts.out_of_range(offset)
        return self._parts.locate(offset)

    @reads_disk_in_steps
    def offset_for_timestamp(self, timestamp_ms: int) -> RecordSteps[TimestampOffset | None]:
        """L6: find the first record whose timestamp is at least `timestamp_ms`."""
        return offset_for_timestamp(self._segments, timestamp_ms, self.log_start_offset)

    @reads_disk_in_steps
    def max_timestamp_offset(self) -> RecordSteps[TimestampOffset | None]:
        """L6 (-3): find the first record that has the largest timestamp of the log."""
        return max_timestamp_offset(self._segments, self.log_start_offset)

    # High watermark, last stable offset, log start.

    @on_disk
    def restore_high_watermark(self, offset: Offset) -> None:
        """Set HW to the checkpointed value, clamped to [log start, LEO] (R12); may move HW back."""
        offsets = self._offsets
        within = min(max(offset, offsets.log_start), offsets.end)
        self._parts.stand_at(self._parts.locate(within))

    @on_disk
    def advance_high_watermark(self, position: LogPosition) -> bool:
        """R11: raise HW to `position`; returns whether it moved (also if only to a newer segment)."""
        current = self._offsets.high_watermark
        if position[:2] <= current[:2]:
            return False
        self._parts.stand_at(position)
        return True

    @on_disk
    def advance_log_start(self, offset: Offset) -> bool:
        """Raise a follower's log start to the leader's, at most to HW (R11); returns whether it rose."""
        return self._parts.raise_log_start(offset)

    def delete_records_before(self, offset: Offset) -> Offset:
        """DeleteRecords: raise the log start to `offset` and return it. Raises OffsetOutOfRange above HW."""
        if not 0 <= offset <= (most := self.high_watermark.offset):
            raise OffsetOutOfRange(f"{self.topic_partition} can be deleted up to HW {most}, not to {offset}")
        self.advance_log_start(offset)
        return self.log_start_offset

    # Truncation.

    @on_disk
    def truncate_to(self, offset: Offset) -> bool:
        """X4: drop all batches that hold `offset` or later ones. Returns False when there were none.

        A follower calls it with what its leader answered, also when there is nothing to drop.
        """
        self._appender.forget_lost_offsets()
        return truncate_to(self._parts, offset)

    @on_disk
    def truncate_fully_and_start_at(self, offset: Offset) -> None:
        """X3: drop everything; the log is empty and starts at `offset`."""
        truncate_fully(self._parts, offset)

    # Epochs.

    def end_offset_for_epoch(self, epoch: LeaderEpoch) -> EpochEnd:
        """The end of `epoch` in this log, or of the largest epoch below it (X4, OffsetForLeaderEpoch)."""
        return self._parts.epochs.end_offset_for(epoch, self.end_offset)

    def epoch_of(self, offset: Offset) -> LeaderEpoch:
        """The leader epoch in force at `offset`, or -1."""
        return self._parts.epochs.epoch_of(offset)

    def begin_epoch(self, epoch: LeaderEpoch) -> Offset:
        """R5b: start the leader epoch `epoch` at LEO. Returns that offset.

        Lost offsets are skipped before anything is appended.
        """
        return self._appender.begin_epoch(epoch)

    # Segments: rolling, retention, compaction.

    @on_disk
    def roll(self) -> Offset:
        """L2: begin a new segment at LEO, unless the active one is empty; returns its base offset."""
        return roll(self._parts)

    def delete_old_segments(self, now_ms: int) -> int:
        """See `retire`; returns how many segments were dropped."""
        retired = self.retire(now_ms)
        return 0 if retired is None else retired.segments

    @on_disk
    def retire(self, now_ms: int) -> Retired | None:
        """L5: drop the segments that retention no longer keeps; None where it keeps all."""
        return retire(self.topic_partition, self._parts, now_ms)

    @on_disk
    def swap_in(self, cleaned: CleanedSegment, truncations: int) -> bool:
        """L5: replace segments by their compacted successor; no offset changes.

        Returns False and does nothing if one of the segments has changed, or if the log's number of
        truncations is no longer `truncations`.
        """
        return swap_in(self._parts, cleaned, truncations)

    def mark_cleaned(self, offset: Offset) -> None:
        """L5: note that compaction has cleaned everything below `offset`."""
        self._offsets.mark_cleaned(offset)

    # Flushing.

    def pending_flush(self, up_to: Offset | None = None) -> PendingFlush | None:
        """The flush after which all records below `up_to` (default LEO) are on disk; None if they are."""
        return self._flusher.pending_flush(up_to)

    def mark_flushed(self, flush: PendingFlush) -> None:
        """Called after the flush has run: raise `flushed_offset`."""
        self._flusher.mark_flushed(flush)

    @property
    def is_settled(self) -> bool:
        """Whether the last truncation, if any, is on disk with its recovery point (X6).

        An append to a log that is not settled blocks until it is.
        """
        return not self._parts.flushes.is_cut

    def settle(self, truncations: int) -> bool:
        """Called when the flush and the recovery points after that number of truncations are on disk.

        Returns False if the log was truncated again meanwhile.
        """
        return self._parts.flushes.settle(truncations)

    def flush(self) -> None:
        """Force everything to disk, now, on this thread."""
        self._flusher.flush()

    def is_flush_due(self, monotonic_ms: int) -> bool:
        """Whether a flush is due by `flush.ms`."""
        return self._flusher.is_due(monotonic_ms)

    def seal(self) -> PendingFlush | None:
        """Start the clean stop: no append may follow. Returns the flush to run before `close`, or None."""
        return self._flusher.seal()

    def close(self) -> None:
        """Close the files; if the flush of `seal` has not run, it runs now, on this thread."""
        self._flusher.close()

    # The log as a whole.

    def update_config(self, config: TopicConfig) -> None:
        """Use these settings from now on."""
        self._parts.config = config
        self._segments.config = config
        self._segments.active.index_interval_bytes = config.index_interval_bytes
        self._appender.follow_config()

    @on_disk
    def set_topic_id(self, topic_id: UUID) -> None:
        """Write `partition.metadata`; the id of a log never changes (INCONSISTENT_TOPIC_ID)."""
        if self.topic_id == topic_id:
            return
        if self.topic_id is not None:
            raise ApiError(
                ErrorCode.INCONSISTENT_TOPIC_ID,
                f"{self.topic_partition} belongs to the topic with id {self.topic_id}, not {topic_id}",
            )
        write_topic_id(self.place.file_system, f"{self.path}/{file_names.PARTITION_METADATA}", topic_id)
        self.topic_id = topic_id
        self._parts.flushes.names_made += 1

    def forget_producer(self, producer_id: ProducerId) -> bool:
        """See `ProducerStates.forget`."""
        return self._parts.producers.forget(producer_id)

    def expire_producers(self, now_ms: int) -> int:
        """Forget producers without a write for `producer.id.expiration.ms`; returns how many."""
        return self._parts.producers.expire(now_ms)

    def rename_directory(self, name: str) -> None:
        """Rename the log's directory within its log directory."""
        path = f"{self.directory}/{name}"
        self._segments.close()
        self.place.file_system.rename(self.path, path)
        self._segments.move_to(path)
        self._parts.flushes.renamed()

    @on_disk
    def succeed(self, log: "Log") -> None:
        """Become `log`, of which this is a complete copy in another directory; see `succession`."""
        succeed(self._parts, log._parts)  # noqa: SLF001 - of this class
        self._appender.succeed(log._appender)  # noqa: SLF001

    def describe(self) -> Mapping[str, Any]:
        """Returns a description of the log, for tests, the admin listener and the CLI."""
        return {
            "partition": str(self.topic_partition),
            "topic_id": None if self.topic_id is None else render_uuid(self.topic_id),
            "directory": self.directory,
            "log_start_offset": self.log_start_offset,
            "last_stable_offset": self.last_stable.offset,
            "high_watermark": self.high_watermark.offset,
            "end_offset": self.end_offset,
            "flushed_offset": self.flushed_offset,
            "leader_epoch": self.latest_epoch,
            "segments": sum(1 for _ in self.segments),
            "size_bytes": self.size_bytes,
            "producers": len(self.producers),
            "offline": self.place.failure,
        }
