"""What must hold after a damage: no wrong record served, no loss unreported, no offset given twice."""

from dataclasses import dataclass, field

from campaigns.corrupt.damage import Damage
from campaigns.corrupt.world import PARTITIONS, World, Written, WrittenRecord, batches
from odradek.base.errors import DataDirectoryError, OdradekError
from odradek.base.ids import TopicPartition
from odradek.records.builder import BatchBuilder
from odradek.records.framing import iter_records
from odradek.records.header import check_crc, iter_headers
from odradek.records.work import finish
from odradek.storage import Log

_EPOCH = 9


@dataclass
class Findings:
    """The outcome of one start."""

    wrong: list[str] = field(default_factory=list)
    """Promises that were broken."""
    refused: str | None = None
    """Why the start was refused."""
    lines: list[str] = field(default_factory=list)
    """What the start said."""
    unreadable: int = 0
    """Batches that readers refuse because of their CRC."""


def start_and_check(world: World, damage: Damage) -> Findings:
    """Start, read everything, append to every log."""
    findings = Findings()
    try:
        manager = world.start()
    except DataDirectoryError as error:
        findings.refused = str(error)
        if "\n" in findings.refused:
            findings.wrong.append(f"refused in more than one sentence: {findings.refused}")
        return findings
    findings.lines = manager.report.lines()
    for partition in PARTITIONS:
        log = manager.create(partition, is_new=False)
        log.restore_high_watermark(manager.checkpointed_high_watermark(partition))
        findings.lines += manager.take_repairs()
        _Check(findings, partition, log, world.written[partition], damage).run()
        findings.lines += manager.take_repairs()
    findings.wrong += [f"{path} went offline: {why}" for path, why in offline(manager.directories)]
    return findings


def offline(directories: list) -> list[tuple[str, str]]:  # type: ignore[type-arg]
    """The log directories that failed, and why."""
    return [(one.path, one.failure) for one in directories if one.failure is not None]


class _Check:
    """One partition."""

    def __init__(
        self, findings: Findings, partition: TopicPartition, log: Log, written: Written, damage: Damage
    ) -> None:
        self._findings = findings
        self._partition = partition
        self._log = log
        self._written = written
        # Only for a `.log`: a reader may find a batch whose CRC is wrong.
        self._log_is_damaged = damage.kind == ".log" and f"/{partition}/" in damage.path
        self._is_named = any(str(partition) in line for line in findings.lines)

    def run(self) -> None:
        """Compare the log with what was written."""
        log, written = self._log, self._written
        log.begin_epoch(_EPOCH)
        log.advance_high_watermark(log.end_position)
        seen = self._read_all()
        if log.log_start_offset < written.log_start and not self._is_named:
            self._wrong(f"deleted records are shown again, from offset {log.log_start_offset} on")
        missing = [offset for offset in written.records if offset not in seen]
        # After a kill nothing records how far a log reached beyond its checkpoints.
        told = self._is_named or self._findings.unreadable
        silent = [offset for offset in missing if offset < written.promised or not self._log_is_damaged]
        if silent and not told:
            self._wrong(f"{len(silent)} records are gone without a word, from offset {silent[0]} on")
        self._read_committed(set(seen))
        if not missing:
            self._look_up_times()
            self._ask_for_epochs()
        builder = BatchBuilder()
        builder.append(0, b"key-new", b"new")
        offset = log.append_as_leader(builder.build(), _EPOCH, now_ms=0).first_offset
        if offset < written.promised:
            self._wrong(f"offset {offset} was given out again, {written.promised} had been reached")

    def _wrong(self, what: str) -> None:
        self._findings.wrong.append(f"{self._partition}: {what}")

    def _read_all(self) -> dict[int, WrittenRecord]:
        """Every record that can be read, segment by segment where one is damaged."""
        seen: dict[int, WrittenRecord] = {}
        starts = [self._log.log_start_offset, *(segment.base_offset for segment in self._log.segments)]
        for start, end in zip(starts, [*starts[1:], self._log.end_offset], strict=True):
            try:
                for header, records in batches(self._log, max(start, self._log.log_start_offset)):
                    if header.base_offset >= max(end, start + 1):
                        break
                    if not header.is_control:
                        for record in records:
                            seen[record.offset] = (record.key, record.value, record.timestamp_ms)
            except OdradekError as error:
                self._findings.unreadable += 1
                if not self._log_is_damaged:
                    self._wrong(f"cannot be read: {error}")
        for offset, found in seen.items():
            expected = self._written.records.get(offset)
            if offset >= self._written.log_start and expected != found:
                self._wrong(f"offset {offset} holds {found!r}, {expected!r} was written")
        return seen

    def _read_committed(self, seen: set[int]) -> None:
        log, shown, offset = self._log, set[int](), self._log.log_start_offset
        try:
            while offset < log.last_stable.offset:
                read = log.read(offset, 700, log.last_stable, at_least_one=True, committed_only=True)
                if not read.records:
                    break
                for position, header in iter_headers(read.held_records):
                    check_crc(read.held_records, header, position)
                    offset = max(offset, header.next_offset)
                    is_aborted = header.is_transactional and any(
                        one.producer_id == header.producer_id
                        and one.first_offset <= header.base_offset <= one.last_offset
                        for one in read.aborted_transactions or []
                    )
                    if not header.is_control and not is_aborted:
                        shown.update(one.offset for one in iter_records(read.held_records, header, position))
        except OdradekError as error:
            if not self._log_is_damaged:
                self._wrong(f"cannot be read by a read-committed reader: {error}")
            return
        visible = shown & self._written.hidden
        if visible:
            self._wrong(f"{len(visible)} aborted records are shown, from offset {min(visible)} on")
        kept_back = {
            offset for offset in seen - self._written.hidden - shown if offset < log.last_stable.offset
        }
        if kept_back:
            self._wrong(f"{len(kept_back)} committed records are hidden, from offset {min(kept_back)} on")

    def _look_up_times(self) -> None:
        log = self._log
        times = sorted({record[2] for record in self._written.records.values()})
        for time_ms in times[:: max(1, len(times) // 12)]:
            expected = min(offset for offset, one in self._written.records.items() if one[2] >= time_ms)
            try:
                found = finish(log.offset_for_timestamp(time_ms))
            except OdradekError as error:
                self._wrong(f"time {time_ms} cannot be looked up: {error}")
                continue
            if found is None or found.offset != expected:
                self._wrong(f"time {time_ms} is at offset {expected}, found {found}")

    def _ask_for_epochs(self) -> None:
        for epoch, end in self._written.epoch_ends.items():
            found = self._log.end_offset_for_epoch(epoch)
            # Where compaction left no records, any end is right.
            between = range(min(end, found.end_offset), max(end, found.end_offset))
            is_same = found.epoch == epoch and not any(offset in between for offset in self._written.records)
            if not is_same and not self._is_named:
                self._wrong(f"epoch {epoch} ended at {end}, found {found}")
