"""Opens a log: builds the state that appends and reads need from the files of a partition's directory (L4).

After a clean stop the files are used unverified. After any other, every segment from that of the recovery
point on is verified (`verification`). In both cases, data that two files hold is compared, wrong data is
rebuilt from the batches, and the report names it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from odradek.base.errors import CorruptRecord
from odradek.base.ids import NO_EPOCH, LeaderEpoch, Offset, TopicPartition
from odradek.base.settings import TopicConfig
from odradek.records.header import BatchHeader
from odradek.storage import file_names
from odradek.storage.checkpoint import Damage, read_epochs, write_epochs
from odradek.storage.epoch_cache import EpochCache
from odradek.storage.files import FileSystem
from odradek.storage.loading import LogRecovery, clear_leftovers, load_segments
from odradek.storage.log_directory import LogDirectory
from odradek.storage.lost_offsets import LOST_OFFSETS_MAX
from odradek.storage.partition_metadata import read_topic_id
from odradek.storage.producer_replay import (
    aborted_in,
    rebuild_producers,
    remove_stray_snapshots,
)
from odradek.storage.producer_state import ProducerStates
from odradek.storage.segment import Segment
from odradek.storage.segments import Segments
from odradek.storage.transaction_index import NOTHING, IndexSum, TransactionIndex
from odradek.storage.transaction_sums import Sums, read_sums, sums_of, write_sums
from odradek.storage.verification import Verification, without_path

# Entries of `leader-epoch-checkpoint` that are held against the batches: older ones are asked for rarely.
_EPOCHS_CHECKED_MAX = 16
# Above every offset of a log.
_ANYWHERE = 1 << 63


@dataclass(slots=True)
class LoadedLog:
    """The parts of a log, loaded or created."""

    segments: Segments
    producers: ProducerStates
    epochs: EpochCache
    topic_id: UUID | None
    log_start_offset: Offset
    end_offset: Offset
    recovery_point: Offset
    reached_offset: Offset
    """Offsets below this one were assigned, whatever the log holds now."""
    transaction_sums: Sums | None
    """What is written down of the transaction indexes; None: no transaction ever ended here."""
    is_new: bool
    """Whether the log did not exist before."""
    report: LogRecovery


def load_log(
    directory: LogDirectory,
    topic_partition: TopicPartition,
    config: TopicConfig,
    *,
    clean: bool = True,
    recovery_point: Offset = 0,
    log_start_offset: Offset | None = 0,
    high_watermark: Offset = 0,
    was_compacted: bool = False,
    gaps_below: Offset | None = None,
    name: str | None = None,
) -> LoadedLog:
    """Open the partition's directory, which is made when it is missing; OSError when the disk refuses.

    The log had reached `recovery_point` and `high_watermark`; when it ends below them, records are lost.
    `log_start_offset` None: the checkpoint is gone, the leader epochs tell where the log begins.
    `was_compacted`: a cleaning has been through it, whatever its policy is today; no cleaning has been at or
    above `gaps_below`, or that is not known (None). `name`: of its directory, where that is not the
    partition's.
    """
    file_system = directory.file_system
    path = f"{directory.path}/{topic_partition if name is None else name}"
    file_system.make_directory(path)
    was_finished, damages = clear_leftovers(file_system, path, directory.clock.wall_ms())
    was_compacted |= was_finished
    report = LogRecovery(topic_partition, clean, damages=damages)
    repairs_before = len(directory.repairs)
    segments = Segments(file_system, path, config, directory.removals, directory.repairs)
    loader = _Loader(directory, segments, report, was_compacted=was_compacted, gaps_below=gaps_below)
    loader.load(recovery_point, log_start_offset, high_watermark)
    topic_id, damage = read_topic_id(file_system, f"{path}/{file_names.PARTITION_METADATA}")
    if damage is not None:
        report.damages.append(damage)
    report.rebuilt_indexes += directory.repairs[repairs_before:]
    del directory.repairs[repairs_before:]
    return LoadedLog(
        segments,
        loader.producers,
        loader.epochs,
        topic_id,
        loader.log_start_offset,
        loader.end_offset,
        loader.end_offset if report.clean else min(recovery_point, loader.end_offset),
        loader.reached_offset,
        loader.sums,
        loader.is_new,
        report,
    )


class _Loader:
    """The stages of `load_log`, over the parts that they fill."""

    def __init__(
        self,
        directory: LogDirectory,
        segments: Segments,
        report: LogRecovery,
        *,
        was_compacted: bool,
        gaps_below: Offset | None,
    ) -> None:
        self.segments = segments
        self.report = report
        self.producers = ProducerStates(directory.producer_expiration_ms)
        self.epochs = EpochCache()
        self.log_start_offset = 0
        self.end_offset = 0
        self.reached_offset = 0
        self.is_new = False
        self.sums: Sums | None = None
        self._file_system: FileSystem = directory.file_system
        self._producer_expiration_ms = directory.producer_expiration_ms
        self._wall_ms = directory.clock.wall_ms()
        # Compaction leaves gaps between segments; in any other log a gap is a loss, of which followers that
        # still have the records must learn by the log's end.
        self._may_have_gaps = was_compacted or "compact" in segments.config.cleanup_policy
        self._gaps_below: Offset = (_ANYWHERE if gaps_below is None else gaps_below) * self._may_have_gaps

    def load(self, recovery_point: Offset, checkpointed_start: Offset | None, high_watermark: Offset) -> None:
        stopped_cleanly, flushed_offset = self.report.clean, recovery_point
        log_start_offset = checkpointed_start or 0
        self._load_segments(log_start_offset)
        epochs_on_disk = self._load_epochs()
        trusted = list(self.segments)
        if not self.report.clean:
            verified = self._unverified(recovery_point)[0].base_offset
            trusted = [segment for segment in trusted if segment.base_offset < verified]
        damaged_from = self._check_ends(trusted)
        if damaged_from is not None:
            self.report.clean, recovery_point = False, min(recovery_point, damaged_from)
        if self.report.clean:
            try:
                self._take_as_it_is()
            except CorruptRecord as damage:
                self.report.clean, recovery_point = False, 0
                self.report.damages.append(Damage(self.segments.directory, str(damage), "was verified"))
        if not self.report.clean:
            verified_from = self._unverified(recovery_point)[0].base_offset
            trusted = [segment for segment in trusted if segment.base_offset < verified_from]
            self._verify_from(recovery_point)
        try:
            self._check_transactions(trusted)
        except CorruptRecord as damage:
            self.report.clean, recovery_point = False, 0
            self.report.damages.append(Damage(self.segments.directory, str(damage), "was verified"))
            self._verify_from(recovery_point)
        self._save_sums()
        self._note_lost_offsets(
            flushed_offset, high_watermark, log_start_offset, stopped_cleanly=stopped_cleanly
        )
        if epochs_on_disk and self.segments.first.size_bytes:
            first_start = epochs_on_disk[0][1]
            log_start_offset = self._start_of(
                checkpointed_start, first_start, stopped_cleanly=stopped_cleanly
            )
        if self.end_offset < log_start_offset and self.reached_offset < log_start_offset:
            self._ignore_checkpoint(file_names.LOG_START_OFFSETS, log_start_offset)
            log_start_offset = 0
        self.log_start_offset = max(log_start_offset, self.segments.first.base_offset)
        if self.end_offset < self.log_start_offset:
            self._begin_again_at(self.log_start_offset)
        if self._epochs_are_wrong():
            self._read_epochs_from_batches()
        self.epochs.truncate_from_end(self.end_offset + 1)
        self.epochs.truncate_from_start(self.log_start_offset)
        if self.epochs.entries() != epochs_on_disk or self.report.damages:
            write_epochs(self._file_system, self._epochs_path, self.epochs.entries())
        remove_stray_snapshots(self.segments, self._file_system, self.end_offset)

    def _load_segments(self, log_start_offset: Offset) -> None:
        self.report.damages += load_segments(self.segments, self._file_system, self._wall_ms)
        if len(self.segments) == 0:
            self.segments.add_new(log_start_offset, self._wall_ms)
            self.report.clean = self.is_new = True

    def _check_ends(self, segments: Sequence[Segment]) -> Offset | None:
        """Check only the last batches of each segment, and its indexes.

        Returns the offset from which the log has to be verified, because a segment is damaged or does not
        reach the next one; None if no verification is needed.
        """
        for segment in segments:
            self.end_offset = segment.base_offset
            try:
                self.end_offset = segment.check_end()
            except CorruptRecord as damage:
                self._note_damage(segment, damage)
                return segment.base_offset
            following = self.segments.after(segment)
            if following is None:
                break
            segment.close()
            next_base = following.base_offset
            if self.end_offset > next_base or (self.end_offset < next_base and not self._may_have_gaps):
                reason = f"it ends at offset {self.end_offset}, not at {next_base}"
                self.report.damages.append(Damage(segment.file.path, reason, "was verified"))
                return next_base
        return None

    def _note_lost_offsets(
        self,
        recovery_point: Offset,
        high_watermark: Offset,
        log_start_offset: Offset,
        *,
        stopped_cleanly: bool,
    ) -> None:
        """Compare the log's end with the offsets in the checkpoints."""
        end = self.end_offset
        if stopped_cleanly and end == recovery_point < high_watermark:
            # A clean stop writes both, and no HW is above LEO.
            self._ignore_checkpoint(file_names.HIGH_WATERMARKS, high_watermark)
            high_watermark = end
        reached = max(recovery_point, high_watermark)
        if reached - end > LOST_OFFSETS_MAX:
            self._ignore_checkpoint(
                file_names.RECOVERY_POINTS if reached == recovery_point else file_names.HIGH_WATERMARKS,
                reached,
            )
            reached = end
        self.reached_offset = max(reached, end)
        if max(end, log_start_offset) < reached:  # records below the log start were deleted
            self.report.records_lost_from, self.report.lost_up_to = end, reached

    def _start_of(
        self, checkpointed: Offset | None, first_epoch_start: Offset, *, stopped_cleanly: bool
    ) -> Offset:
        """Where the log begins. A log start that rose is in two files: the checkpoint of its directory and,
        where the first leader epoch begins, its own; either may be damaged."""
        first, first_batch = self.segments.first.base_offset, next(self.segments.first.headers())[1]
        if first_batch.leader_epoch == NO_EPOCH:
            return checkpointed or 0  # older than leader epochs
        if max(first, checkpointed or 0) < first_epoch_start <= first_batch.base_offset:
            # A replica of a compacted log: its leader had nothing left before that batch.
            return checkpointed or 0
        if first_epoch_start < first and stopped_cleanly:
            reason = f"it begins at offset {first}, its leader epochs at {first_epoch_start}"
            self.report.damages.append(Damage(self.segments.directory, reason, "lacks the records between"))
        if checkpointed is None:
            return min(first_epoch_start, self.end_offset)
        if max(checkpointed, first) == first_epoch_start or first_epoch_start > self.end_offset:
            return checkpointed
        if checkpointed == 0:
            if first_epoch_start <= first:
                return 0
            if not stopped_cleanly:
                # The checkpoint is written once a minute, the epochs as soon as the log start rises.
                self.report.start_taken_from_epochs = first_epoch_start
                return first_epoch_start
            reason = f"it begins at offset {first}, its leader epochs at {first_epoch_start}"
            remedy = "may show records that were deleted"
            self.report.damages.append(Damage(self.segments.directory, reason, remedy))
            self.epochs.clear()
            return 0
        if stopped_cleanly:
            self._ignore_checkpoint(file_names.LOG_START_OFFSETS, checkpointed)
            return first_epoch_start
        if checkpointed > max(first, first_epoch_start):
            # A power cut may have taken the epochs' newer file, so the records may be deleted ones.
            reason = (
                f"its checkpoint begins at offset {checkpointed}, its leader epochs at {first_epoch_start}"
            )
            remedy = f"does not show the records before offset {checkpointed}"
            self.report.damages.append(Damage(self.segments.directory, reason, remedy))
        return max(checkpointed, first_epoch_start)

    def _ignore_checkpoint(self, name: str, offset: Offset) -> None:
        log_directory = self.segments.directory.rpartition("/")[0]
        reason = f"it has offset {offset} for {self.report.topic_partition}"
        self.report.damages.append(Damage(f"{log_directory}/{name}", reason))

    def _epochs_are_wrong(self) -> bool:
        """Whether the batches contradict the last entries of `leader-epoch-checkpoint`."""
        start, end = self.log_start_offset, self.end_offset
        first, last = self._header_from(start), self._header_before(end) if end > start else None
        if first is None or last is None or last.leader_epoch == NO_EPOCH:
            return False
        reason = ""
        for offset, found in (
            (max(start, first.base_offset), first.leader_epoch),
            (last.last_offset, last.leader_epoch),
        ):
            known = self.epochs.epoch_of(offset)
            if found not in (known, NO_EPOCH):
                reason = f"it has epoch {known} for offset {offset}, the batch has {found}"
        entries = self.epochs.entries()[-_EPOCHS_CHECKED_MAX:]
        for epoch, epoch_start in entries:
            if start < epoch_start < end and not self._begins_at(epoch, epoch_start):
                reason = reason or f"epoch {epoch} does not begin at offset {epoch_start}"
        if not reason:
            return False
        if not entries:
            reason = "it is missing or empty"
        if not any(damage.path == self._epochs_path for damage in self.report.damages):  # said already
            self.report.damages.append(Damage(self._epochs_path, reason, "was made again from the batches"))
        return True

    def _header_before(self, offset: Offset) -> BatchHeader | None:
        """The last batch of the log that begins below an offset; None for none."""
        for segment in reversed(self.segments.up_to(offset)):
            header = segment.header_before(offset)
            if header is not None:
                return header
        return None

    def _begins_at(self, epoch: LeaderEpoch, offset: Offset) -> bool:
        """Whether the batch before `offset` is of an older epoch and the one there, or behind, is not."""
        before, there = self._header_before(offset), self._header_from(offset)
        return (before is None or before.leader_epoch < epoch) and (
            there is None or there.leader_epoch >= epoch
        )

    def _header_from(self, offset: Offset) -> BatchHeader | None:
        """The first batch of the log that holds `offset` or a later one; None for none."""
        for segment in self.segments.from_offset(offset):
            position = segment.find(offset)
            if position is not None:
                return next(segment.headers(position))[1]
        return None

    def _check_transactions(self, trusted: Sequence[Segment]) -> None:
        """Check that no `.txnindex` has lost an abort; rebuild a doubtful one from the batches."""
        self.sums, damage = read_sums(self._file_system, self.segments.directory)
        if damage is not None:
            self.report.damages.append(damage)
        if self.sums is None and not (
            self.producers.has_seen_markers
            or any(segment.transaction_index.file() is not None for segment in trusted)
        ):
            return
        for segment in trusted:
            index = segment.transaction_index
            fault = "nothing is known of it"
            if self.sums is not None:
                fault = _transaction_fault(index, self.sums.get(segment.base_offset))
            if not fault:
                continue
            aborted = aborted_in(
                segment, self.segments, self._file_system, self._producer_expiration_ms, self._wall_ms
            )
            if not index.holds(aborted):
                index.replace(aborted)
                self.report.damages.append(Damage(index.path, fault, "was made again from the batches"))

    def _save_sums(self) -> None:
        if self.sums is not None or self.producers.has_seen_markers:
            sums = sums_of(self.segments)
            if sums != self.sums:
                write_sums(self._file_system, self.segments.directory, sums)
                self.sums = sums

    def _note_damage(self, segment: Segment, damage: CorruptRecord) -> None:
        path = segment.file.path
        self.report.damages.append(Damage(path, without_path(damage, path), "was verified"))

    @property
    def _epochs_path(self) -> str:
        return f"{self.segments.directory}/{file_names.LEADER_EPOCHS}"

    def _load_epochs(self) -> list[tuple[LeaderEpoch, Offset]]:
        entries, damage = read_epochs(self._file_system, self._epochs_path)
        if damage is not None:
            self.report.damages.append(damage)
        self.epochs = EpochCache(entries)
        return entries

    def _take_as_it_is(self) -> None:
        self._rebuild_producers(self.end_offset)

    def _rebuild_producers(self, end: Offset) -> None:
        damages = rebuild_producers(self.producers, self.segments, self._file_system, end, self._wall_ms)
        self.report.damages.extend(damages)

    def _unverified(self, recovery_point: Offset) -> list[Segment]:
        """From the segment of the last record before the recovery point: it may have been the active one when
        that was flushed, so that its indexes were not."""
        return self.segments.from_offset(recovery_point - 1)

    def _verify_from(self, recovery_point: Offset) -> None:
        unverified = self._unverified(recovery_point)
        base_offset = unverified[0].base_offset
        before = self._header_before(base_offset)
        self._rebuild_producers(base_offset)
        verification = Verification(
            self.segments,
            self.producers,
            self.epochs,
            self.report,
            self._file_system,
            self._wall_ms,
            before=before,
            gaps_below=self._gaps_below,
        )
        self.end_offset = verification.run(unverified)
        self._settle_earlier_cut()

    def _settle_earlier_cut(self) -> None:
        """X6: a process that was killed may have cut off the log's end, and the disk may not know it yet."""
        active = self.segments.active
        active.file.sync()
        self._file_system.sync_directory(self.segments.directory)

    def _begin_again_at(self, offset: Offset) -> None:
        for segment in list(self.segments):
            self.segments.discard(segment)
        self.segments.add_new(offset, self._wall_ms)
        self.end_offset = offset
        self.producers.clear()
        self.epochs.clear()

    def _read_epochs_from_batches(self) -> None:
        """Read the epochs from the batches; what the file says of a gap between two of them stays.

        Where compaction has left a gap and the file says nothing, an epoch begins at the gap's start: a
        replica that asks for the end of the epoch before then cuts too much, which it gets again, and never
        too little.
        """
        known = self.epochs.entries()
        self.epochs.clear()
        epoch, end = NO_EPOCH, self.log_start_offset
        for segment in self.segments:
            for _, header in segment.headers():
                if header.leader_epoch > epoch:
                    start = min(end, header.base_offset)
                    for known_epoch, known_start in known:
                        if (
                            epoch < known_epoch <= header.leader_epoch
                            and start <= known_start <= header.base_offset
                        ):
                            self.epochs.assign(known_epoch, known_start)
                    self.epochs.assign(header.leader_epoch, start)
                    epoch = header.leader_epoch
                end = header.next_offset
        for known_epoch, known_start in known:
            if known_epoch > epoch and known_start >= end:
                self.epochs.assign(known_epoch, known_start)


def _transaction_fault(index: TransactionIndex, known: IndexSum | None) -> str:
    """Why a transaction index is not the one that was written; empty when it is."""
    try:
        found = index.checksum()
    except CorruptRecord as damage:
        return str(damage).removeprefix(f"{index.path} ")
    written = known or NOTHING
    if found.entries != written.entries:
        return f"it has {found.entries} entries, {written.entries} were written"
    return "" if found == written else "its CRC is not the one that was written"
