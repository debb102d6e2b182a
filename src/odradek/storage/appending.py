"""Appends to a log: the only way to add records to it (R6, X2, X5, X6).

    append_as_leader    validate (records) -> check producers -> assign offsets -> write
    append_as_follower  check CRC and order -> write
    write               sync a truncation -> roll -> segment -> LEO -> epochs, producers, transactions

Invariant: an append that raises a LogError has written nothing.
"""

from collections.abc import Iterator, Sequence

from odradek.base.buffers import Buffer
from odradek.base.errors import CorruptRecord, RecordListTooLarge
from odradek.base.ids import LeaderEpoch, Offset
from odradek.records.header import BatchHeader, check_crc, iter_headers
from odradek.records.offsets import assign_offsets
from odradek.records.validation import ValidatedRecords, rules_of, validate
from odradek.storage.append_info import AppendInfo, duplicate_info, leader_info
from odradek.storage.disk_access import on_disk
from odradek.storage.first_batch import has_room, least_base, make_room
from odradek.storage.log_flusher import LogFlusher
from odradek.storage.log_parts import LogParts
from odradek.storage.lost_offsets import empty_batches
from odradek.storage.offset_index import RELATIVE_OFFSET_MAX
from odradek.storage.origin import Origin
from odradek.storage.positions import LogPosition
from odradek.storage.producer_replay import check_batches, remember_batches
from odradek.storage.rolling import begin_segment, must_roll


class LogAppender:
    """Appends to one log."""

    __slots__ = (
        "_epochs",
        "_flusher",
        "_flushes",
        "_offsets",
        "_own_rules",
        "_parts",
        "_producers",
        "_reached_offset",
        "_segments",
        "client_rules",
        "place",
        "topic_partition",
    )

    def __init__(self, parts: LogParts, flusher: LogFlusher, reached_offset: Offset) -> None:
        self.topic_partition, self.place = parts.topic_partition, parts.place
        self._parts = parts
        # Copies of references that only `succeed` changes, because each append uses them.
        self._segments, self._producers, self._epochs = parts.segments, parts.producers, parts.epochs
        self._offsets, self._flushes = parts.offsets, parts.flushes
        self._flusher = flusher
        self._reached_offset = reached_offset if reached_offset > parts.offsets.end else 0
        """Offsets below it were assigned; 0 unless some of their records are lost and not yet skipped."""
        self.follow_config()

    def succeed(self, appender: "LogAppender") -> None:
        """Go on where the appender of the log stopped that this log was a copy of."""
        self._producers, self._epochs = self._parts.producers, self._parts.epochs
        self._reached_offset = appender._reached_offset  # noqa: SLF001 - of this class

    def follow_config(self) -> None:
        """Called when the settings of the log have changed."""
        config = self._parts.config
        self.client_rules = rules_of(config)
        """The rules for clients' batches."""
        self._own_rules = rules_of(config, from_client=False)

    @on_disk
    def append_as_leader(
        self, batches: Buffer | ValidatedRecords, leader_epoch: LeaderEpoch, origin: Origin, now_ms: int
    ) -> AppendInfo:
        """See `Log.append_as_leader`."""
        if isinstance(batches, ValidatedRecords):
            records = batches
        else:
            rules = self.client_rules if origin is Origin.CLIENT else self._own_rules
            records = validate(batches, rules, now_ms)
        duplicate = check_batches(self._producers, records, origin)
        offsets, config = self._offsets, self._parts.config
        if duplicate is not None:
            return duplicate_info(duplicate, offsets.log_start, leader_epoch)
        size_bytes = len(records.data)
        if size_bytes > config.segment_bytes:
            raise RecordListTooLarge(
                f"{size_bytes} bytes of batches do not fit in a segment of {config.segment_bytes} bytes"
            )
        append_time_ms = now_ms if config.message_timestamp_type == "LogAppendTime" else None
        if self._reached_offset:
            self._pass_lost_offsets(leader_epoch, now_ms)
        assign_offsets(records, offsets.end, leader_epoch, append_time_ms)
        rolled = self._write(records.data, records.headers, now_ms)
        info = leader_info(records.headers, append_time_ms, offsets.log_start, size_bytes)
        info.rolled = rolled
        info.flush_due = rolled or offsets.end - self._flushes.flushed_offset >= config.flush_messages
        return info

    @on_disk
    def append_as_follower(self, batches: Buffer) -> AppendInfo:
        """See `Log.append_as_follower`."""
        now_ms, offsets, config = self.place.clock.wall_ms(), self._offsets, self._parts.config
        info = AppendInfo(-1, -1, -1, -1, offsets.log_start, self._epochs.latest, 0, 0)
        self.forget_lost_offsets()
        least = least_base(self._parts, batches)
        for data, headers in follower_batches(batches, least, config.segment_bytes):
            if not has_room(self._parts, headers[0].base_offset):
                make_room(self._parts, least)
            info.rolled |= self._write(data, headers, now_ms)
            info.note(headers, len(data))
        info.flush_due = info.rolled or offsets.end - self._flushes.flushed_offset >= config.flush_messages
        return info

    @on_disk
    def begin_epoch(self, epoch: LeaderEpoch) -> Offset:
        """See `Log.begin_epoch`."""
        start = self._offsets.end
        if self._epochs.assign(epoch, start):
            # Saved before its first batch: a broker that takes over 1,000 partitions writes no 1,000 files.
            self._parts.has_unsaved_epoch = True
        if self._reached_offset and not self._flushes.is_cut:  # else the first append does it
            self._pass_lost_offsets(epoch, self.place.clock.wall_ms())
        return start

    def forget_lost_offsets(self) -> None:
        """Called when the log has become a prefix of its leader's: from now on that one assigns offsets."""
        self._reached_offset = 0

    def _pass_lost_offsets(self, leader_epoch: LeaderEpoch, now_ms: int) -> None:
        """Skip offsets that were assigned and whose records are lost; see `lost_offsets`."""
        reached_offset, self._reached_offset = self._reached_offset, 0
        for batch, header in empty_batches(self._offsets.end, reached_offset, leader_epoch):
            self._write(batch, [header], now_ms)

    def _bring_cut_to_disk(self) -> None:
        """X6: sync a truncation and write the recovery point, before anything is appended after it.

        A broker appends once that was done in the background, and does not come here.
        """
        self._flusher.flush()
        self.place.write_recovery_points()
        self._flushes.settle(self._flushes.generation)

    def _write(self, data: Buffer, headers: Sequence[BatchHeader], now_ms: int) -> bool:
        """Write batches that have offsets, and update the log's state; True when a segment was begun."""
        last = headers[-1]
        last_offset = last.base_offset + last.last_offset_delta
        flushes = self._flushes
        if flushes.is_cut:
            self._bring_cut_to_disk()
        active, parts, offsets = self._segments.active, self._parts, self._offsets
        if parts.has_unsaved_epoch:
            parts.save_epochs()
        rolled = must_roll(
            active, parts.config, parts.roll_jitter_ms, len(data), last_offset, last.max_timestamp, now_ms
        )
        if rolled:
            # At LEO, also where a leader's compacted batches begin later: see `recovery` on gaps.
            reachable = last_offset - offsets.end <= RELATIVE_OFFSET_MAX
            begin_segment(parts, offsets.end if reachable else headers[0].base_offset)
            active = self._segments.active
        active.append(data, headers)
        offsets.append_up_to(LogPosition(last_offset + 1, active.base_offset, active.size_bytes))
        for header in headers:
            if header.leader_epoch > self._epochs.latest:
                # The first batch may begin below the log start: see `first_batch`.
                self._epochs.assign(header.leader_epoch, max(header.base_offset, offsets.log_start))
                parts.save_epochs()
        remember_batches(self._producers, headers, data, active.transaction_index)
        return rolled


def follower_batches(
    batches: Buffer, end_offset: Offset, segment_bytes: int
) -> Iterator[tuple[Buffer, list[BatchHeader]]]:
    """Yields a leader's batches in runs that fit into one segment; checks all batches before the first run.

    Raises CorruptRecord if a CRC fails or an offset does not rise from `end_offset` on (X2, X5).
    """
    found = list(iter_headers(batches))
    for position, header in found:
        check_crc(batches, header, position)
        if header.base_offset < end_offset or header.last_offset < header.base_offset:
            raise CorruptRecord(f"the leader sent offset {header.base_offset} where {end_offset} is next")
        end_offset = header.next_offset
    return _runs(memoryview(batches), found, segment_bytes)


def _runs(
    whole: memoryview, found: list[tuple[int, BatchHeader]], segment_bytes: int
) -> Iterator[tuple[Buffer, list[BatchHeader]]]:
    start, end, run = 0, 0, list[BatchHeader]()
    for position, header in found:
        if run and position + header.size_bytes - start > segment_bytes:
            yield whole[start:end], run
            start, run = position, []
        run.append(header)
        end = position + header.size_bytes
    if run:
        yield whole[start:end], run
