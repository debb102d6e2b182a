"""Logs of coordinators in memory, with a high watermark that may lag: for tests and the simulator.

append(a)            HW follows at once: a is settled when `append` returns
lags = True
append(b), append(c) HW stays; their outcome is not known
time_out()           b and c are settled with REQUEST_TIMED_OUT, and are still there
replicate(1)         HW passes b: b is settled
fail_over()          the next leader has what was replicated: c is gone, NOT_LEADER_OR_FOLLOWER
"""

from dataclasses import dataclass, field

from odradek.base.buffers import Buffer
from odradek.base.error_codes import ErrorCode
from odradek.base.ids import Offset, TopicPartition
from odradek.coordinator.ports import Appended, Settled
from odradek.records.framing import Record, iter_records
from odradek.records.header import iter_headers, read_header


@dataclass(slots=True)
class _Partition:
    """One log."""

    batches: list[bytes] = field(default_factory=list)
    end: Offset = 0
    high_watermark: Offset = 0
    pending: list[tuple[Offset, Settled]] = field(default_factory=list)
    """The calls that wait for HW, and at which offset; oldest first."""


class MemoryLog:
    """A `PartitionWriter` and a `PartitionReader`. Every partition exists, and is led here."""

    def __init__(self) -> None:
        self._partitions: dict[TopicPartition, _Partition] = {}
        self.failure = ErrorCode.NONE
        """Why the next appends are refused; NONE when they are not."""
        self.lags = False
        """Whether HW stays where it is until `replicate`."""
        self.is_offline = False
        """Whether the log directory has failed."""

    def append(
        self, topic_partition: TopicPartition, batch: Buffer, *, timeout_ms: int, settled: Settled
    ) -> Appended:
        """See `PartitionWriter.append`."""
        if self.failure is not ErrorCode.NONE:
            return Appended(self.failure)
        partition = self._partition(topic_partition)
        base = partition.end
        data = bytearray(batch)
        data[:8] = base.to_bytes(8, "big")
        partition.batches.append(bytes(data))
        partition.end = read_header(data).next_offset
        return Appended(ErrorCode.NONE, base, self._outcome(partition, partition.end, settled))

    def await_replication(
        self, topic_partition: TopicPartition, end_offset: Offset, *, timeout_ms: int, settled: Settled
    ) -> ErrorCode | None:
        """See `PartitionWriter.await_replication`."""
        return self._outcome(self._partition(topic_partition), end_offset, settled)

    def _outcome(self, partition: _Partition, end_offset: Offset, settled: Settled) -> ErrorCode | None:
        if not self.lags:
            partition.high_watermark = partition.end
        if partition.high_watermark >= end_offset:
            return ErrorCode.NONE
        partition.pending.append((end_offset, settled))
        return None

    def bounds(self, topic_partition: TopicPartition) -> tuple[Offset, Offset] | None:
        """See `PartitionReader.bounds`."""
        return None if self.is_offline else (0, self._partition(topic_partition).end)

    def read(self, topic_partition: TopicPartition, start: Offset, max_bytes: int) -> Buffer:
        """See `PartitionReader.read`."""
        found = bytearray()
        for batch in self._partition(topic_partition).batches:
            if read_header(batch).next_offset > start and (not found or len(found) < max_bytes):
                found += batch
        return bytes(found)

    # --- what replicas and time do

    def replicate(self, batches: int | None = None) -> None:
        """Let HW pass so many of the pending appends of each partition, or all."""
        for partition in list(self._partitions.values()):
            count = len(partition.pending) if batches is None else batches
            arrived, partition.pending = partition.pending[:count], partition.pending[count:]
            for end_offset, settled in arrived:
                partition.high_watermark = end_offset
                settled(ErrorCode.NONE)

    def catch_up(self) -> None:
        """Let HW pass everything, and lag no longer."""
        self.lags = False
        self.replicate()

    def settle(self, code: ErrorCode) -> None:
        """Let HW pass everything that is pending, with this code."""
        for partition in list(self._partitions.values()):
            arrived, partition.pending = partition.pending, []
            partition.high_watermark = partition.end
            for _, settled in arrived:
                settled(code)

    def time_out(self) -> None:
        """Let the time of everything that is pending be over."""
        for partition in list(self._partitions.values()):
            for _, settled in list(partition.pending):
                settled(ErrorCode.REQUEST_TIMED_OUT)

    def fail_over(self) -> None:
        """Let another replica lead for a moment, which has only what was replicated; then this one again."""
        for partition in list(self._partitions.values()):
            high_watermark = partition.high_watermark
            kept = [one for one in partition.batches if read_header(one).next_offset <= high_watermark]
            partition.batches = kept
            partition.end = read_header(kept[-1]).next_offset if kept else 0
            lost, partition.pending = partition.pending, []
            for _, settled in lost:
                settled(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    # --- what tests look at

    @property
    def pending(self) -> int:
        """How many appends wait for HW."""
        return sum(len(partition.pending) for partition in self._partitions.values())

    @property
    def batches(self) -> dict[TopicPartition, list[bytes]]:
        """The batches of each partition that has some; a test may damage them."""
        return {key: one.batches for key, one in self._partitions.items() if one.batches}

    def records(self) -> list[Record]:
        """Everything that was written, partition by partition."""
        return [
            record
            for partition in self._partitions.values()
            for batch in partition.batches
            for at, header in iter_headers(batch)
            for record in iter_records(batch, header, at)
        ]

    def _partition(self, topic_partition: TopicPartition) -> _Partition:
        return self._partitions.setdefault(topic_partition, _Partition())
