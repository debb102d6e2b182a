"""A log beside a plain list of batches: whatever is done to both, they hold the same.

The disk may crash at any time. What was flushed must then be there, in order and undamaged; of what was not,
any part from the front may be, and the model takes over how much.
"""

from typing import Unpack

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from odradek.base.chance import SeededChance
from odradek.base.clock import ManualClock
from odradek.base.ids import TopicPartition
from odradek.base.settings import TopicConfig
from odradek.records.builder import BatchBuilder
from odradek.records.header import check_crc, iter_headers
from odradek.records.work import finish
from odradek.storage import Log
from odradek.storage.memory_files import MemoryFileSystem
from odradek.storage.opening import open_log
from tests.storage.log_bench import BuilderFields, OpenOptions

CONFIG = TopicConfig(
    segment_bytes=600, index_interval_bytes=120, segment_index_bytes=96, retention_ms=-1, retention_bytes=1500
)
PARTITION = TopicPartition("model", 0)
PRODUCER = 9


class Batch:
    """What the model knows of a batch: its offsets, its epoch, the time of its records."""

    def __init__(self, base_offset: int, records: int, epoch: int, timestamp_ms: int) -> None:
        self.base_offset = base_offset
        self.next_offset = base_offset + records
        self.epoch = epoch
        self.timestamp_ms = timestamp_ms


class LogModel(RuleBasedStateMachine):
    """The operations, each done to the log and to the list."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.disk = MemoryFileSystem(now_ms=self.clock.wall_ms)
        self.disk.make_directory("/data")
        self.disk.sync_directory("/")
        self.batches: list[Batch] = []
        self.start = 0
        self.high_watermark = 0
        self.flushed = 0
        self.epoch = 0
        self.sequence = 0
        self.log: Log

    @property
    def end(self) -> int:
        return self.batches[-1].next_offset if self.batches else self.base

    @initialize()
    def begin(self) -> None:
        self.base = 0  # the end of the log when it holds no batch
        self.log = self.opened()

    def opened(self, **options: Unpack[OpenOptions]) -> Log:
        return open_log(
            "/data",
            PARTITION,
            CONFIG,
            file_system=self.disk,
            clock=self.clock,
            chance=SeededChance(3),
            **options,
        )

    @rule(records=st.integers(1, 4), size=st.integers(0, 150), idempotent=st.booleans(), newer=st.booleans())
    def append(self, records: int, size: int, idempotent: bool, newer: bool) -> None:
        self.epoch += newer
        self.clock.advance(1)
        now_ms = self.clock.wall_ms()
        producer: BuilderFields = {}
        if idempotent:
            producer = {"producer_id": PRODUCER, "producer_epoch": 0, "base_sequence": self.sequence}
        builder = BatchBuilder(**producer)
        for _ in range(records):
            builder.append(now_ms, None, b"v" * size)
        data = builder.build()
        if len(data) > CONFIG.segment_bytes:
            return
        info = self.log.append_as_leader(data, self.epoch, now_ms=now_ms)
        assert (info.first_offset, info.record_count) == (self.end, records)
        self.sequence += records if idempotent else 0
        self.batches.append(Batch(self.end, records, self.epoch, now_ms))

    @rule()
    def roll(self) -> None:
        self.log.roll()

    @rule(share=st.floats(0, 1))
    def raise_high_watermark(self, share: float) -> None:
        target = self.high_watermark + int(share * (self.end - self.high_watermark))
        target = max([b.base_offset for b in self.batches if b.base_offset <= target], default=target)
        target = max(target, self.high_watermark)
        self.log.advance_high_watermark(self.log.position_of(target))
        self.high_watermark = target

    @rule()
    def raise_high_watermark_to_the_end(self) -> None:
        self.log.advance_high_watermark(self.log.end_position)
        self.high_watermark = self.end

    @rule(share=st.floats(0, 1))
    def truncate(self, share: float) -> None:
        target = self.start + int(share * (self.end - self.start))
        if not target < self.end:
            assert not self.log.truncate_to(target)
            return
        assert self.log.truncate_to(target)
        self.log.flush()  # until then a power cut may undo it, as in Kafka
        kept = [batch for batch in self.batches if batch.next_offset <= target]
        cut = [batch for batch in self.batches if batch.next_offset > target]
        self.base = cut[0].base_offset
        self.batches = kept
        self.start = min(self.start, self.end)
        self.high_watermark = min(self.high_watermark, self.end)
        self.flushed = self.end
        self.epoch += 1
        self.take_over_sequence()

    @rule(share=st.floats(0, 1))
    def delete_records(self, share: float) -> None:
        target = self.start + int(share * (self.high_watermark - self.start))
        assert self.log.delete_records_before(target) == max(self.start, target)
        self.start = max(self.start, target)

    @rule()
    def retain(self) -> None:
        """L5"""
        self.log.delete_old_segments(self.clock.wall_ms())
        assert self.start <= self.log.log_start_offset <= max(self.start, self.high_watermark)
        self.start = self.log.log_start_offset
        self.forget_before_the_first_segment()

    @rule()
    def flush(self) -> None:
        self.log.flush()
        self.flushed = self.end

    @rule()
    def reopen(self) -> None:
        """L4: a clean stop."""
        self.log.close()
        self.disk.crash()
        self.log = self.opened(log_start_offset=self.start)
        assert self.log.recovery.is_uneventful(), self.log.recovery
        self.log.restore_high_watermark(self.high_watermark)
        self.flushed = self.end

    @rule()
    def kill(self) -> None:
        """L4: nothing that was written is lost with the process."""
        self.disk.kill()
        self.log = self.opened(
            clean=False,
            recovery_point=self.flushed,
            log_start_offset=self.start,
            high_watermark=self.start,  # HW's checkpoint is no older than that of the log start
        )
        assert self.log.recovery.cuts == []
        self.log.restore_high_watermark(self.high_watermark)

    @rule(seed=st.integers(0, 1000))
    def crash(self, seed: int) -> None:
        """L4: nothing that was flushed is lost with the power."""
        self.disk.crash(SeededChance(seed))
        self.log = self.opened(
            clean=False,
            recovery_point=self.flushed,
            log_start_offset=self.start,
            high_watermark=self.start,  # HW's checkpoint is no older than that of the log start
        )
        survived = self.log.end_offset
        assert self.flushed <= survived <= max(self.end, self.start), f"{self.flushed} were flushed"
        kept = [batch for batch in self.batches if batch.next_offset <= survived]
        self.batches, self.base = ([] if survived <= self.start else kept), survived
        assert self.end == survived
        self.start = min(self.start, survived)
        self.high_watermark = min(self.high_watermark, survived)
        self.epoch += 1
        self.log.restore_high_watermark(self.high_watermark)
        self.take_over_sequence()

    @precondition(lambda self: self.log.producers.get(PRODUCER) is not None)
    @rule()
    def repeat_last_batch(self) -> None:
        entry = self.log.producers.get(PRODUCER)
        assert entry is not None
        last = entry.batches[-1]
        builder = BatchBuilder(producer_id=PRODUCER, producer_epoch=0, base_sequence=last.first_sequence)
        for _ in range(last.last_offset - last.first_offset + 1):
            builder.append(self.clock.wall_ms(), None, b"")
        info = self.log.append_as_leader(builder.build(), self.epoch, now_ms=self.clock.wall_ms())
        assert (info.duplicate, info.first_offset) == (True, last.first_offset)

    @rule(share=st.floats(0, 1))
    def look_up_a_time(self, share: float) -> None:
        """L6"""
        held = [batch for batch in self.batches if batch.next_offset > self.start]
        if not held:
            return
        asked = held[int(share * (len(held) - 1))].timestamp_ms
        first = next(batch for batch in held if batch.timestamp_ms >= asked)
        found = finish(self.log.offset_for_timestamp(asked))
        assert found == (first.timestamp_ms, max(first.base_offset, self.start), first.epoch)

    @rule(share=st.floats(0, 1), max_bytes=st.integers(1, 800))
    def read_some(self, share: float, max_bytes: int) -> None:
        """L3"""
        offset = self.start + int(share * (self.end - self.start))
        read = self.log.read(offset, max_bytes, self.log.high_watermark, at_least_one=True)
        first = next(iter_headers(read.held_records), None)
        if offset >= self.high_watermark:
            assert first is None
            return
        assert first is not None
        assert first[1].base_offset <= offset <= first[1].last_offset
        assert len(read.records) <= max(max_bytes, first[1].size_bytes)

    @invariant()
    def offsets_agree(self) -> None:
        log = self.log
        assert (log.log_start_offset, log.high_watermark.offset, log.end_offset) == (
            self.start,
            self.high_watermark,
            self.end,
        )
        assert log.log_start_offset <= log.last_stable.offset <= log.high_watermark.offset <= log.end_offset
        assert log.flushed_offset <= log.end_offset

    @invariant()
    def batches_agree(self) -> None:
        held = [batch for batch in self.batches if batch.next_offset > self.start]
        offset, found = self.start, []
        while offset < self.end:
            read = self.log.read(offset, 1 << 20, self.log.end_position, at_least_one=True)
            for position, header in iter_headers(read.held_records):
                check_crc(read.held_records, header, position)
                found.append((header.base_offset, header.next_offset, header.leader_epoch))
            assert found, f"nothing at {offset}"
            offset = found[-1][1]
        assert found == [(batch.base_offset, batch.next_offset, batch.epoch) for batch in held]

    def take_over_sequence(self) -> None:
        entry = self.log.producers.get(PRODUCER)
        self.sequence = 0 if entry is None else entry.last_sequence + 1

    def forget_before_the_first_segment(self) -> None:
        if not any(batch.next_offset > self.start for batch in self.batches):
            self.base = self.end
            self.batches = []


TestLogModel = pytest.mark.slow(LogModel.TestCase)
TestLogModel.settings = settings(
    max_examples=200,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
