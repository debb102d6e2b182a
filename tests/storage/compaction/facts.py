"""A compacted log on a disk in memory, cleaned at the test's word."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Unpack

from odradek.base.chance import SeededChance
from odradek.base.clock import ManualClock
from odradek.base.ids import TopicPartition
from odradek.base.settings import TopicConfig
from odradek.records.builder import BatchBuilder
from odradek.records.control import EndTxnMarker, build_marker
from odradek.records.framing import Record, iter_records
from odradek.records.header import BatchHeader, check_crc, iter_headers
from odradek.storage import Log, Origin
from odradek.storage.compaction.cleaning import clean
from odradek.storage.compaction.job import CleaningReport
from odradek.storage.compaction.selection import cleanable_part, job_for
from odradek.storage.memory_files import MemoryFileSystem
from odradek.storage.opening import open_log
from tests.storage.log_bench import BuilderFields, OpenOptions

PARTITION = TopicPartition("facts", 0)
DIRECTORY = f"/data/{PARTITION}"
DAY_MS = 24 * 3_600_000
COMPACTED = TopicConfig(cleanup_policy=frozenset({"compact"}), min_cleanable_dirty_ratio=0.0)

Fact = tuple[str, str | None]


def batch_of(
    facts: Sequence[Fact], *, timestamp_ms: int = 1_000, **fields: Unpack[BuilderFields]
) -> bytearray:
    """One batch of keys and values; None is a tombstone."""
    builder = BatchBuilder(**fields)
    for key, value in facts:
        builder.append(timestamp_ms, key.encode(), None if value is None else value.encode())
    return builder.build()


class PowerCut(Exception):
    """Nobody catches this: what ran is over."""


@dataclass
class Facts:
    """The log, and everything that a test wants to do to it or know of it."""

    config: TopicConfig = COMPACTED
    clock: ManualClock = field(default_factory=ManualClock)
    map_bytes: int = 1 << 20

    def __post_init__(self) -> None:
        self.disk = MemoryFileSystem(now_ms=self.clock.wall_ms)
        self.disk.make_directory("/data")
        self.disk.sync_directory("/")
        self.log = self.opened()

    def opened(self, **options: Unpack[OpenOptions]) -> Log:
        return open_log(
            "/data",
            PARTITION,
            self.config,
            file_system=self.disk,
            clock=self.clock,
            chance=SeededChance(0),
            **options,
        )

    def reopen(self, **options: Unpack[OpenOptions]) -> None:
        """As after a clean stop, or another if `clean=False`."""
        if options.get("clean", True):
            self.log.close()
        cleaned, high_watermark = self.log.cleaned_offset, self.log.high_watermark.offset
        self.log = self.opened(**options)
        self.log.mark_cleaned(cleaned)
        self.log.restore_high_watermark(high_watermark)

    def write(
        self,
        *facts: Fact,
        roll: bool = False,
        timestamp_ms: int | None = None,
        leader_epoch: int = 0,
        **fields: Unpack[BuilderFields],
    ) -> int:
        """Append one batch, of now unless it says otherwise; its first offset."""
        given_ms = self.clock.wall_ms() if timestamp_ms is None else timestamp_ms
        data = batch_of(facts, timestamp_ms=given_ms, **fields)
        first = self.log.append_as_leader(data, leader_epoch, now_ms=self.clock.wall_ms()).first_offset
        if roll:
            self.log.roll()
        return first

    def end_transaction(self, producer_id: int, *, committed: bool, roll: bool = False) -> int:
        """Append a marker; its offset."""
        marker = build_marker(
            EndTxnMarker(committed, 0),
            producer_id=producer_id,
            producer_epoch=0,
            timestamp_ms=self.clock.wall_ms(),
        )
        now_ms = self.clock.wall_ms()
        info = self.log.append_as_leader(marker, 0, origin=Origin.COORDINATOR, now_ms=now_ms)
        if roll:
            self.log.roll()
        return info.first_offset

    def cut_power(self, after: int, act: Callable[[], object], seed: int | None = None) -> bool:
        """Do something until the disk has done `after` operations; then the process dies, and with a seed the
        power goes too. Opens the log again; False when it was all done before."""
        start, cleaned = self.log.log_start_offset, self.log.cleaned_offset
        recovery_point, high_watermark = self.log.flushed_offset, self.log.high_watermark.offset
        operations = itertools.count()

        def cut(operation: str, path: str) -> None:
            if next(operations) == after:
                raise PowerCut(f"{operation} of {path}")

        self.disk.before_operation = cut
        try:
            act()
            return False
        except PowerCut:
            pass
        finally:
            self.disk.before_operation = None
        if seed is None:
            self.disk.kill()
        else:
            self.disk.crash(SeededChance(seed))
        self.log = self.opened(clean=False, recovery_point=recovery_point, log_start_offset=start)
        self.log.mark_cleaned(cleaned)
        self.log.restore_high_watermark(high_watermark)
        return True

    def settle(self) -> None:
        """All that was written is replicated and on disk."""
        self.log.restore_high_watermark(self.log.end_offset)
        self.log.flush()

    def clean(self, *, roll: bool = True) -> CleaningReport:
        """Clean the log as far as it may be."""
        if roll:
            self.log.roll()
        self.settle()
        part = cleanable_part(self.log, self.clock.wall_ms())
        job = job_for(self.log, part, now_ms=self.clock.wall_ms(), map_bytes_max=self.map_bytes)
        truncations = self.log.truncations
        swapped = []
        report = clean(job, self.disk, lambda done: swapped.append(self.log.swap_in(done, truncations)))
        assert all(swapped), "nobody else changed the log"
        self.log.mark_cleaned(report.end_offset)
        return report

    def batches(self) -> Iterator[tuple[BatchHeader, list[Record]]]:
        """Every batch from the log's start on, as readers see it."""
        offset = self.log.log_start_offset
        while offset < self.log.end_offset:
            records = self.log.read(offset, 1 << 20, self.log.end_position, at_least_one=True).held_records
            if not records:
                return
            for position, header in iter_headers(records):
                check_crc(records, header, position)
                assert header.base_offset >= offset
                yield header, list(iter_records(records, header, position))
                offset = header.next_offset

    def facts(self) -> dict[int, Fact]:
        """Offset -> key and value of every record that is not a marker."""
        return {
            record.offset: (
                (record.key or b"").decode(),
                None if record.value is None else record.value.decode(),
            )
            for header, records in self.batches()
            if not header.is_control
            for record in records
        }

    def markers(self) -> list[int]:
        """The offsets of the markers that are there."""
        return [record.offset for header, held in self.batches() if header.is_control for record in held]

    def bases(self) -> list[int]:
        return [segment.base_offset for segment in self.log.segments]

    def names(self) -> list[str]:
        return [name for name, _ in self.disk.list_directory(DIRECTORY)]
