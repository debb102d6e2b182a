"""One partition's log: it owns the segments and every offset that describes them.

Its offsets are in `log_offsets`, which holds them in order. The log must not know
requests, replicas or leaders: the caller decides who may append and how far a reader may see.
Every OSError comes out as StorageFailure, after which the log's whole directory is offline.

    append_as_leader   validate (records) -> check producers -> give offsets -> roll -> write -> remember
    append_as_follower check CRC and order -> roll -> write -> remember
    read               reads.py      truncate: truncation.py      open: recovery.py
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast
from uuid import UUID

from odradek.base.buffers import Buffer
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, FileUnavailable, LogError, OffsetOutOfRange, RecordListTooLarge
from odradek.base.ids import LeaderEpoch, Offset, ProducerId, TopicPartition
from odradek.base.settings import TopicConfig
from odradek.records.header import BatchHeader
from odradek.records.offsets import assign_offsets
from odradek.records.validation import ValidatedRecords, rules_of, validate
from odradek.records.work import RecordSteps
from odradek.storage import file_names
from odradek.storage.appending import AppendInfo, duplicate_info, follower_batches, leader_info
from odradek.storage.files import is_of_the_disk
from odradek.storage.flushing import FlushState, PendingFlush
from odradek.storage.log_description import describe_log
from odradek.storage.log_directory import LogDirectory
from odradek.storage.log_offsets import LogOffsets
from odradek.storage.log_parts import LogParts
from odradek.storage.lost_offsets import empty_batches
from odradek.storage.offset_index import RELATIVE_OFFSET_MAX
from odradek.storage.origin import Origin
from odradek.storage.partition_metadata import write_topic_id
from odradek.storage.positions import EpochEnd, LogPosition, TimestampOffset
from odradek.storage.producer_replay import check_batches, remember_batches, write_snapshot
from odradek.storage.producer_state import ProducerStates
from odradek.storage.reads import HOLDS_ALL, LogRead, aborted_among, read_batches
from odradek.storage.recovery import LoadedLog
from odradek.storage.retention import count_expendable
from odradek.storage.rolling import must_roll
from odradek.storage.segment import Segment
from odradek.storage.time_lookup import max_timestamp_offset, offset_for_timestamp
from odradek.storage.truncation import truncate_fully, truncate_to

if TYPE_CHECKING:
    from odradek.storage.compaction.job import CleanedSegment

_P = ParamSpec("_P")
_R = TypeVar("_R")


def _on_disk(method: "Callable[Concatenate[Log, _P], _R]") -> "Callable[Concatenate[Log, _P], _R]":
    """A method that touches the disk: refused while the directory is offline, an OSError takes it there."""

    @wraps(method)
    def guarded(log: "Log", *args: _P.args, **kwargs: _P.kwargs) -> _R:
        if log.place.failure is not None:
            raise log.place.offline()
        try:
            return method(log, *args, **kwargs)
        except OSError as error:
            raise log.place.fail(error) from error

    return cast("Callable[Concatenate[Log, _P], _R]", guarded)


def _reads_disk(method: "Callable[Concatenate[Log, _P], _R]") -> "Callable[Concatenate[Log, _P], _R]":
    """A method that only reads: FileUnavailable where a file cannot be read though the disk works."""

    @wraps(method)
    def guarded(log: "Log", *args: _P.args, **kwargs: _P.kwargs) -> _R:
        if log.place.failure is not None:
            raise log.place.offline()
        try:
            return method(log, *args, **kwargs)
        except OSError as error:
            raise _unreadable(log, error) from error

    return cast("Callable[Concatenate[Log, _P], _R]", guarded)


def _unreadable(log: "Log", error: OSError) -> LogError:
    """Returns the error for a failed read: the directory is offline, or one file cannot be read."""
    if is_of_the_disk(error):
        return log.place.fail(error)
    return FileUnavailable(f"{log.topic_partition} cannot be read: {error}")


def _reads_disk_in_steps(
    method: "Callable[Concatenate[Log, _P], RecordSteps[_R]]",
) -> "Callable[Concatenate[Log, _P], RecordSteps[_R]]":
    """`_reads_disk` for work: what a step meets on the disk comes out of that step."""

    @wraps(method)
    def guarded(log: "Log", *args: _P.args, **kwargs: _P.kwargs) -> RecordSteps[_R]:
        if log.place.failure is not None:
            raise log.place.offline()
        try:
            return (yield from method(log, *args, **kwargs))
        except OSError as error:
            raise _unreadable(log, error) from error

    return cast("Callable[Concatenate[Log, _P], RecordSteps[_R]]", guarded)


class Log:
    """The log of one partition (L1-L7). Owned by one thread; opened by `LogManager` or `open_log`."""

    def __init__(
        self, topic_partition: TopicPartition, place: LogDirectory, config: TopicConfig, loaded: LoadedLog
    ) -> None:
        self.topic_partition = topic_partition
        self.place = place
        self.config = config
        self.topic_id: UUID | None = loaded.topic_id
        self.recovery = loaded.report  # what opening it found
        was_closed = loaded.report.clean and not loaded.is_new and loaded.report.is_uneventful()
        flushes = FlushState(loaded.recovery_point, place.clock.monotonic_ms(), names_are_synced=was_closed)
        self._segments = segments = loaded.segments
        self._producers: ProducerStates = loaded.producers
        self._epochs = loaded.epochs
        self._flushes = flushes
        active = segments.active
        end = LogPosition(loaded.end_offset, active.base_offset, active.size_bytes)
        start = None if loaded.log_start_offset == end.offset else segments.locate(loaded.log_start_offset)
        self._offsets = offsets = LogOffsets(loaded.log_start_offset, start or end, end)
        self._parts = LogParts(
            topic_partition,
            place,
            segments,
            loaded.producers,
            loaded.epochs,
            offsets,
            flushes,
            loaded.transaction_sums,
        )
        # Offsets below this one have been given out; above LEO only while some are lost and not yet passed.
        self._reached_offset = loaded.reached_offset if loaded.reached_offset > end.offset else 0
        # How a clean stop left it; while it is still so, closing has nothing to bring to disk.
        self._closed_at = (offsets.end, flushes.names_made) if was_closed else None
        self._roll_jitter_ms = self._next_jitter_ms()  # taken off segment.ms for the active segment
        self.client_rules = rules_of(config)  # what clients' batches are held to
        self._own_rules = rules_of(config, from_client=False)

    @property
    def log_start_offset(self) -> Offset:
        """The first offset that may be read."""
        return self._offsets.log_start

    @property
    def last_stable(self) -> LogPosition:
        """LSO: below it every transaction is decided and its marker is below HW."""
        return self._offsets.last_stable

    @property
    def high_watermark(self) -> LogPosition:
        """HW: below it every record is on all in-sync replicas."""
        return self._offsets.high_watermark

    @property
    def end_offset(self) -> Offset:
        """LEO: the offset of the next record."""
        return self._offsets.end

    @property
    def end_position(self) -> LogPosition:
        """The position of LEO: behind the last byte of the active segment."""
        return self._offsets.end_position

    @property
    def cleaned_offset(self) -> Offset:
        """Compaction has been through everything below (L5)."""
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
        """In order, the active one last; for compaction, which replaces some through `swap_in`."""
        return self._segments

    @property
    def truncations(self) -> int:
        """How often the log was truncated since it was opened."""
        return self._flushes.generation

    @property
    def latest_epoch(self) -> LeaderEpoch:
        """The leader epoch of the last batch or assignment, or -1."""
        return self._epochs.latest

    @property
    def flushed_offset(self) -> Offset:
        """All records below this offset are on disk (the recovery point)."""
        return self._flushes.flushed_offset

    @property
    def size_bytes(self) -> int:
        """Bytes of all segments."""
        return self._segments.size_bytes

    @property
    def starts_inside_segment(self) -> bool:
        """Whether the log start is not simply the first segment's base, and has to be written down (R12)."""
        return self.log_start_offset > self._segments.first.base_offset

    @property
    def producers(self) -> ProducerStates:
        """The producers that this log knows (DescribeProducers reads it; only the log changes it)."""
        return self._producers

    # Appending.

    @_on_disk
    def append_as_leader(
        self,
        batches: Buffer | ValidatedRecords,
        leader_epoch: LeaderEpoch,
        *,
        origin: Origin = Origin.CLIENT,
        now_ms: int,
    ) -> AppendInfo:
        """Validate, give offsets and write. A batch that the producer repeats is answered as a duplicate.

        Raises a LogError; nothing is written then.
        """
        if isinstance(batches, ValidatedRecords):
            records = batches
        else:
            rules = self.client_rules if origin is Origin.CLIENT else self._own_rules
            records = validate(batches, rules, now_ms)
        duplicate = check_batches(self._producers, records, origin)
        if duplicate is not None:
            return duplicate_info(duplicate, self._offsets.log_start, leader_epoch)
        size_bytes = len(records.data)
        if size_bytes > self.config.segment_bytes:
            raise RecordListTooLarge(
                f"{size_bytes} bytes of batches do not fit in a segment of {self.config.segment_bytes} bytes"
            )
        append_time_ms = now_ms if self.config.message_timestamp_type == "LogAppendTime" else None
        offsets = self._offsets
        if self._reached_offset:
            self._pass_lost_offsets(leader_epoch, now_ms)
        assign_offsets(records, offsets.end, leader_epoch, append_time_ms)
        rolled = self._write(records.data, records.headers, now_ms)
        info = leader_info(records.headers, append_time_ms, offsets.log_start, size_bytes)
        info.rolled = rolled
        info.flush_due = rolled or offsets.end - self._flushes.flushed_offset >= self.config.flush_messages
        return info

    @_on_disk
    def append_as_follower(self, batches: Buffer) -> AppendInfo:
        """Write a leader's batches with their own offsets (X2); a last batch that is cut short is left out.

        CorruptRecord when a CRC fails (X5) or an offset lies below LEO; nothing is written then.
        """
        now_ms = self.place.clock.wall_ms()
        info = AppendInfo(-1, -1, -1, -1, self.log_start_offset, self.latest_epoch, 0, 0)
        groups = follower_batches(batches, self.end_offset, self.config.segment_bytes)
        for data, headers in groups:
            info.rolled |= self._write(data, headers, now_ms)
            info.note(headers, len(data))
        info.flush_due = info.rolled or self._is_flush_due()
        return info

    def _settle_cut(self) -> None:
        """X6: a truncation is on disk, recovery point included, before anything is appended behind it."""
        self.flush()
        self.place.write_recovery_points()

    def _pass_lost_offsets(self, leader_epoch: LeaderEpoch, now_ms: int) -> None:
        """Offsets that were given out once and lost are not given out again; see `lost_offsets`."""
        reached_offset, self._reached_offset = self._reached_offset, 0
        for batch, header in empty_batches(self._offsets.end, reached_offset, leader_epoch):
            self._write(batch, [header], now_ms)

    def _write(self, data: Buffer, headers: Sequence[BatchHeader], now_ms: int) -> bool:
        """Write batches that have their offsets, remember what they say; True when a segment was begun."""
        last = headers[-1]
        last_offset = last.base_offset + last.last_offset_delta
        flushes = self._flushes
        if flushes.names_synced < flushes.cut_at_name:
            self._settle_cut()
        active = self._segments.active
        rolled = must_roll(
            active, self.config, self._roll_jitter_ms, len(data), last_offset, last.max_timestamp, now_ms
        )
        offsets = self._offsets
        if rolled:
            # At LEO, also where a leader's compacted batches begin later: see `recovery` on gaps.
            reachable = last_offset - offsets.end <= RELATIVE_OFFSET_MAX
            self._begin_segment(offsets.end if reachable else headers[0].base_offset)
            active = self._segments.active
        active.append(data, headers)
        offsets.append_up_to(LogPosition(last_offset + 1, active.base_offset, active.size_bytes))
        for header in headers:
            if header.leader_epoch > self._epochs.latest:
                self._epochs.assign(header.leader_epoch, header.base_offset)
                self._parts.save_epochs()
        remember_batches(self._producers, headers, data, active.transaction_index)
        return rolled

    # Reading.

    @_reads_disk
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
        """L3: batches from the one that holds `start_offset`, below `bound` (LEO, HW or LSO).

        OffsetOutOfRange below the log start or above LEO. `at_least_one` returns the first batch whole even
        when it is larger than `max_bytes`. More than `held_bytes_max` is not read but comes as `StoredBytes`.
        """
        if max_bytes < 0:
            raise ApiError(ErrorCode.INVALID_FETCH_SIZE, f"a read of {max_bytes} bytes")
        offsets = self._offsets
        if not offsets.log_start <= start_offset <= offsets.end:
            raise self._out_of_range(start_offset)
        found = None
        if max_bytes > 0 and start_offset < bound.offset:
            found = read_batches(
                self._segments,
                start_offset,
                max_bytes,
                bound,
                at_least_one=at_least_one,
                held_bytes_max=held_bytes_max,
            )
        if found is None:
            nothing = bound if start_offset == bound.offset else self._parts.locate(start_offset)
            return LogRead(nothing, b"", aborted_transactions=[] if committed_only else None)
        if committed_only:
            found.aborted_transactions = aborted_among(self._segments, found, offsets.end)
        return found

    @_reads_disk
    def position_of(self, offset: Offset) -> LogPosition:
        """Where `offset` lies; OffsetOutOfRange below the log start or above LEO."""
        offsets = self._offsets
        if not offsets.log_start <= offset <= offsets.end:
            raise self._out_of_range(offset)
        return self._parts.locate(offset)

    @_reads_disk_in_steps
    def offset_for_timestamp(self, timestamp_ms: int) -> RecordSteps[TimestampOffset | None]:
        """L6: find the first record whose timestamp is at least `timestamp_ms`."""
        return offset_for_timestamp(self._segments, timestamp_ms, self.log_start_offset)

    @_reads_disk_in_steps
    def max_timestamp_offset(self) -> RecordSteps[TimestampOffset | None]:
        """L6 (-3): find the first record that has the largest timestamp of the log."""
        return max_timestamp_offset(self._segments, self.log_start_offset)

    def _out_of_range(self, offset: Offset) -> OffsetOutOfRange:
        held = f"{self._offsets.log_start} to {self._offsets.end}"
        return OffsetOutOfRange(f"{self.topic_partition} has offsets from {held}, not {offset}")

    # High watermark, last stable offset, log start.

    @_on_disk
    def restore_high_watermark(self, offset: Offset) -> None:
        """Set HW to what the checkpoint says, clamped to [log start, LEO] (R12); also to move it back."""
        offsets = self._offsets
        within = min(max(offset, offsets.log_start), offsets.end)
        self._parts.stand_at(self._parts.locate(within))

    @_on_disk
    def advance_high_watermark(self, position: LogPosition) -> bool:
        """R11: move HW to `position`, never back; True when it moved (also onto a newer segment)."""
        current = self._offsets.high_watermark
        if position[:2] <= current[:2]:
            return False
        self._parts.stand_at(position)
        return True

    @_on_disk
    def advance_log_start(self, offset: Offset) -> bool:
        """A follower's log start follows the leader's (R11); True when it rose. At most HW."""
        return self._parts.raise_log_start(offset)

    def delete_records_before(self, offset: Offset) -> Offset:
        """DeleteRecords: raise the log start to `offset` and return it; OffsetOutOfRange above HW."""
        if not 0 <= offset <= (most := self.high_watermark.offset):
            raise OffsetOutOfRange(f"{self.topic_partition} can be deleted up to HW {most}, not to {offset}")
        self.advance_log_start(offset)
        return self.log_start_offset

    # Truncation.

    @_on_disk
    def truncate_to(self, offset: Offset) -> bool:
        """X4: drop all batches that hold `offset` or later ones. Returns False when there were none."""
        if not truncate_to(self._parts, offset):
            return False
        self._roll_jitter_ms = self._next_jitter_ms()
        return True

    @_on_disk
    def truncate_fully_and_start_at(self, offset: Offset) -> None:
        """X3: drop everything; the log is empty and starts at `offset`."""
        truncate_fully(self._parts, offset)

    # Epochs.

    def end_offset_for_epoch(self, epoch: LeaderEpoch) -> EpochEnd:
        """Where `epoch` ends here, or the largest epoch below it (X4, OffsetForLeaderEpoch)."""
        return self._epochs.end_offset_for(epoch, self.end_offset)

    def epoch_of(self, offset: Offset) -> LeaderEpoch:
        """The leader epoch in force at `offset`, or -1."""
        return self._epochs.epoch_of(offset)

    @_on_disk
    def begin_epoch(self, epoch: LeaderEpoch) -> Offset:
        """R5b: this broker leads under `epoch`, which begins at LEO. Returns that offset.

        Offsets that were lost are passed over before anything is appended.
        """
        start = self._offsets.end
        if self._epochs.assign(epoch, start):
            self._parts.save_epochs()
        if self._reached_offset:
            self._pass_lost_offsets(epoch, self.place.clock.wall_ms())
        return start

    # Segments: rolling, retention, compaction.

    @_on_disk
    def roll(self) -> Offset:
        """L2: begin a new segment at LEO, unless the active one is empty; its base offset."""
        if self._segments.active.size_bytes:
            self._begin_segment(self._offsets.end)
            base_offset = self._segments.active.base_offset
            self._offsets.append_up_to(LogPosition(self._offsets.end, base_offset, 0))
        return self._segments.active.base_offset

    @_on_disk
    def delete_old_segments(self, now_ms: int) -> int:
        """L5: drop the segments that retention no longer keeps; how many were dropped."""
        segments = list(self._segments)
        count = count_expendable(
            segments,
            self.config,
            log_start_offset=self.log_start_offset,
            high_watermark=self.high_watermark.offset,
            log_end_offset=self.end_offset,
            now_ms=now_ms,
        )
        if count == len(segments):
            self.roll()
        for segment in segments[:count]:
            self._segments.discard(segment)
        if count:
            self._oldest_segments_gone()
        return count

    def _oldest_segments_gone(self) -> None:
        first = self._segments.first.base_offset
        self._parts.relocate(first)
        self.advance_log_start(first)

    @_on_disk
    def swap_in(self, cleaned: "CleanedSegment", truncations: int) -> bool:
        """L5: put what compaction made of some segments in their place; no offset changes by that.

        False, and nothing done, when one of them is no longer what it was, or the log has been truncated
        since there had been `truncations`.
        """
        replaced = self._segments.closed_alike(cleaned.replaced)
        if replaced is None or truncations != self.truncations:
            return False
        self._segments.replace(replaced, cleaned.size_bytes)
        self._flushes.names_made += 1
        self._parts.relocate(replaced[-1].base_offset + 1)
        self._parts.save_transaction_sums()
        return True

    def mark_cleaned(self, offset: Offset) -> None:
        """L5: compaction has been through everything below `offset`."""
        self._offsets.mark_cleaned(offset)

    def _begin_segment(self, base_offset: Offset) -> None:
        self._parts.begin_segment(base_offset)
        self._roll_jitter_ms = self._next_jitter_ms()

    def _next_jitter_ms(self) -> int:
        most_ms = min(self.config.segment_jitter_ms, self.config.segment_ms)
        return self.place.chance.below(most_ms) if most_ms > 0 else 0

    # Flushing.

    @_on_disk
    def pending_flush(self, up_to: Offset | None = None) -> PendingFlush | None:
        """What must be synced for all records below `up_to` (LEO) to be on disk; None when nothing must."""
        end_offset = self.end_offset if up_to is None else min(up_to, self.end_offset)
        if end_offset <= self._flushes.flushed_offset and not self._flushes.has_new_names:
            return None
        return self._pending(end_offset)

    def _pending(self, end_offset: Offset, *, is_last: bool = False) -> PendingFlush:
        place, pending = self.place, self._flushes.pending
        return pending(self.topic_partition, self._segments, place.file_system, end_offset, is_last=is_last)

    def mark_flushed(self, flush: PendingFlush) -> None:
        """The flush has run: raise `flushed_offset`."""
        self._flushes.has_run(flush, self.place.clock.monotonic_ms())
        if flush.is_last:
            self._closed_at = (self.end_offset, self._flushes.names_made)

    @_on_disk
    def flush(self) -> None:
        """Force everything to disk, now, on this thread."""
        flush = self.pending_flush()
        if flush is not None:
            flush.run()
            self.mark_flushed(flush)

    def is_flush_due(self, monotonic_ms: int) -> bool:
        """Whether `flush.ms` asks for a flush by now."""
        unflushed = self.end_offset > self._flushes.flushed_offset
        return unflushed and monotonic_ms - self._flushes.last_flush_ms >= self.config.flush_ms

    def _is_flush_due(self) -> bool:
        return self._offsets.end - self._flushes.flushed_offset >= self.config.flush_messages

    # The log as a whole.

    def update_config(self, config: TopicConfig) -> None:
        """Go on under other settings."""
        self.config = config
        self._segments.config = config
        self._segments.active.index_interval_bytes = config.index_interval_bytes
        self.client_rules = rules_of(config)
        self._own_rules = rules_of(config, from_client=False)

    @_on_disk
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
        self._flushes.names_made += 1

    def forget_producer(self, producer_id: ProducerId) -> bool:
        """See `ProducerStates.forget`."""
        return self._producers.forget(producer_id)

    def expire_producers(self, now_ms: int) -> int:
        """Forget producers that have written nothing for `producer.id.expiration.ms`; how many."""
        return self._producers.expire(now_ms)

    @_on_disk
    def seal(self) -> PendingFlush | None:
        """The clean stop, no append may follow: what to sync before `close`, None when nothing must."""
        if self._closed_at == (self.end_offset, self._flushes.names_made):
            return None
        self._segments.active.seal()
        write_snapshot(self._producers, self.place.file_system, self.path, self.end_offset, durable=False)
        self._parts.save_transaction_sums()
        self._flushes.names_made += 1
        return self._pending(self.end_offset, is_last=True)

    @_on_disk
    def close(self) -> None:
        """Let go of the files; what `seal` asked for, unless it was done, is done now, on this thread."""
        flush = self.seal()
        if flush is not None:
            flush.run()
            self.mark_flushed(flush)
        self._segments.close()

    def rename_directory(self, name: str) -> None:
        """Go on under another name in the same log directory."""
        path = f"{self.directory}/{name}"
        self._segments.close()
        self.place.file_system.rename(self.path, path)
        self._segments.move_to(path)

    def describe(self) -> Mapping[str, Any]:
        """Returns a description of the log, for tests, the admin listener and the CLI."""
        return describe_log(self)
