"""The data directory to be damaged, on a disk in memory, and the records that its readers must see."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import TypeAlias
from uuid import UUID

from odradek.base.chance import SeededChance
from odradek.base.clock import ManualClock
from odradek.base.errors import LogError
from odradek.base.execution import exhaust
from odradek.base.ids import TopicPartition
from odradek.base.settings import BrokerSettings, TopicConfig
from odradek.records.builder import BatchBuilder
from odradek.records.control import EndTxnMarker, build_marker
from odradek.records.framing import Record, iter_records
from odradek.records.header import BatchHeader, check_crc, iter_headers
from odradek.storage import Log, LogManager, Origin
from odradek.storage.compaction.cleaning import clean
from odradek.storage.compaction.selection import cleanable_part, job_for
from odradek.storage.memory_files import MemoryFileSystem

ROOT = "/data"
ORDERS = [TopicPartition("orders", number) for number in range(2)]
PAYMENTS = TopicPartition("payments", 0)
FACTS = TopicPartition("facts", 0)
OFFSETS = TopicPartition("__consumer_offsets", 0)
PARTITIONS = [*ORDERS, PAYMENTS, FACTS, OFFSETS]
_COMPACTED = frozenset({"compact"})
_CLUSTER = "9mV0tsdqSpyTkIyXSMUJOw"


def config_of(topic: str) -> TopicConfig:
    """Small segments, so that there are many, with several index entries each."""
    policy = _COMPACTED if topic in (FACTS.topic, OFFSETS.topic) else frozenset({"delete"})
    return TopicConfig(
        segment_bytes=1500, index_interval_bytes=200, retention_ms=-1, cleanup_policy=policy, flush_ms=1 << 40
    )


WrittenRecord: TypeAlias = tuple[bytes | None, bytes | None, int]
"""Key, value and timestamp."""


@dataclass
class Written:
    """The contents of one partition."""

    records: dict[int, WrittenRecord] = field(default_factory=dict)
    """By offset."""
    hidden: set[int] = field(default_factory=set)
    """Offsets of records of aborted and of open transactions."""
    epoch_ends: dict[int, int] = field(default_factory=dict)
    """Where each leader epoch ended."""
    log_start: int = 0
    end: int = 0
    promised: int = 0
    """No later record may get an offset below this one."""


class World:
    """A disk with one log directory on it."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.clock = ManualClock()
        self.disk = MemoryFileSystem(now_ms=self.clock.wall_ms)
        self.written = {partition: Written() for partition in PARTITIONS}
        self._time_ms = self.clock.wall_ms()
        self._epoch = 0

    def start(self) -> LogManager:
        """Open the log directory; DataDirectoryError when it is refused."""
        return LogManager.open(
            BrokerSettings(log_dirs=(ROOT,)),
            cluster_id=_CLUSTER,
            file_system=self.disk,
            clock=self.clock,
            chance=SeededChance(1),
            config_of=config_of,
        )

    def fill(self, *, clean_stop: bool) -> None:
        """Two runs of a broker: the first ends cleanly, the second as `clean_stop` says."""
        manager = self.start()
        self._lead(manager)
        self._write(manager, rounds=12)
        manager.close(1)
        manager = self.start()
        self._lead(manager)
        self._write(manager, rounds=12)
        self._compact(manager)
        self._write(manager, rounds=3)
        self._log(manager, ORDERS[1]).delete_records_before(7)
        if not clean_stop:
            self._checkpoint(manager)
            self._write(manager, rounds=2)
        self._remember(manager, clean_stop=clean_stop)
        if clean_stop:
            manager.close(2)
        else:
            self.disk.kill()

    def _lead(self, manager: LogManager) -> None:
        self._epoch += 3
        for number, partition in enumerate(PARTITIONS):
            is_new = self._epoch == 3
            log = manager.create(partition, UUID(int=number + 1), is_new=is_new)
            log.restore_high_watermark(manager.checkpointed_high_watermark(partition))
            log.begin_epoch(self._epoch)

    def _write(self, manager: LogManager, rounds: int) -> None:
        for _ in range(rounds):
            for partition in ORDERS:
                self._append(self._log(manager, partition), records=self.random.randint(1, 4))
            for partition in (FACTS, OFFSETS):
                self._append(self._log(manager, partition), records=2, keys=5)
            self._transact(manager)
        for partition in PARTITIONS:
            log = self._log(manager, partition)
            log.advance_high_watermark(log.end_position)

    def _transact(self, manager: LogManager) -> None:
        """Producers 11 and 12 write in turns; the last transaction of 13 stays open."""
        log = self._log(manager, PAYMENTS)
        producer_id = self.random.choice([11, 12])
        for _ in range(2):
            self._append(log, records=2, producer_id=producer_id)
        if self.random.random() < 0.2:
            self._append(log, records=1, producer_id=11 + 12 - producer_id)
        for ended in (11, 12):
            entry = log.producers.get(ended)
            if entry is None or entry.transaction_first_offset is None:
                continue
            committed = self.random.random() < 0.5
            if not committed:
                self._hide(log, ended, entry.transaction_first_offset)
            marker = build_marker(
                EndTxnMarker(committed, 0), producer_id=ended, producer_epoch=0, timestamp_ms=self._time_ms
            )
            log.append_as_leader(marker, self._epoch, origin=Origin.COORDINATOR, now_ms=self._time_ms)

    def _hide(self, log: Log, producer_id: int, first_offset: int) -> None:
        for header, records in batches(log, first_offset):
            if header.producer_id == producer_id and not header.is_control:
                self.written[PAYMENTS].hidden.update(record.offset for record in records)

    def _append(self, log: Log, *, records: int, keys: int = 0, producer_id: int = -1) -> None:
        self._time_ms += self.random.randint(1, 50)
        self.clock.advance(1)
        if producer_id >= 0:
            entry = log.producers.get(producer_id)
            builder = BatchBuilder(
                producer_id=producer_id,
                producer_epoch=0,
                base_sequence=0 if entry is None else entry.last_sequence + 1,
                is_transactional=True,
            )
        else:
            builder = BatchBuilder()
        for _ in range(records):
            key = b"key-%d" % self.random.randrange(keys) if keys else None
            builder.append(self._time_ms, key, self.random.randbytes(self.random.randint(5, 60)))
        log.append_as_leader(builder.build(), self._epoch, now_ms=self._time_ms)

    def _compact(self, manager: LogManager) -> None:
        log = self._log(manager, FACTS)
        log.roll()
        log.flush()
        part = cleanable_part(log, self.clock.wall_ms())
        job = job_for(log, part, now_ms=self.clock.wall_ms(), map_bytes_max=1 << 20)
        truncations = log.truncations
        report = clean(job, self.disk, lambda done: swapped(log.swap_in(done, truncations)))
        log.mark_cleaned(report.end_offset)
        for write in exhaust(manager.checkpoints.cleaned_offsets()):
            write.run()
            manager.checkpoints.written(write)

    def _checkpoint(self, manager: LogManager) -> None:
        for partition in PARTITIONS:
            self._log(manager, partition).flush()
        for write in [
            *exhaust(manager.checkpoints.high_watermarks()),
            *exhaust(manager.checkpoints.recovery_points()),
            *exhaust(manager.checkpoints.log_start_offsets()),
        ]:
            write.run()
            manager.checkpoints.written(write)

    def _remember(self, manager: LogManager, *, clean_stop: bool) -> None:
        for partition, written in self.written.items():
            log = self._log(manager, partition)
            written.log_start, written.end = log.log_start_offset, log.end_offset
            written.promised = log.end_offset if clean_stop else log.flushed_offset
            written.records = {
                record.offset: (record.key, record.value, record.timestamp_ms)
                for header, records in batches(log, log.log_start_offset)
                if not header.is_control
                for record in records
                if record.offset >= log.log_start_offset
            }
            written.epoch_ends = {
                epoch: log.end_offset_for_epoch(epoch).end_offset for epoch in (3, 6) if log.latest_epoch >= 6
            }

    @staticmethod
    def _log(manager: LogManager, partition: TopicPartition) -> Log:
        log = manager.get(partition)
        assert log is not None, f"{partition} is not there"
        return log


def swapped(done: bool) -> None:
    """No other writer changed the log."""
    assert done, "the compacted segment was not taken"


def batches(log: Log, offset: int) -> Iterator[tuple[BatchHeader, list[Record]]]:
    """Every batch from `offset` on, its CRC checked as a client does; LogError where one is damaged."""
    while offset < log.end_offset:
        data = log.read(offset, 4096, log.end_position, at_least_one=True).held_records
        if not data:
            return
        before = offset
        for position, header in iter_headers(data):
            check_crc(data, header, position)
            yield header, list(iter_records(data, header, position))
            offset = max(offset, header.next_offset)
        if offset == before:
            raise LogError(f"a read at {offset} came no further")
