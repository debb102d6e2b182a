"""The logs of coordinators: implements the coordinators' ports on the replica manager."""

from typing import Final

from odradek.base.buffers import Buffer
from odradek.base.error_codes import ErrorCode
from odradek.base.ids import Offset, TopicPartition
from odradek.coordinator.ports import Appended, Settled
from odradek.replication.append import ACKS_ALL
from odradek.replication.outcomes import AppendOutcome, AppendOutcomes
from odradek.replication.produce_status import ProduceStatus
from odradek.replication.replica_manager import ReplicaManager
from odradek.storage import Origin

NOTHING: Final = b""


class CoordinatorLog:
    """A `PartitionWriter` and a `PartitionReader`."""

    def __init__(self, replicas: ReplicaManager) -> None:
        self._replicas = replicas

    def append(
        self, topic_partition: TopicPartition, batch: Buffer, *, timeout_ms: int, settled: Settled
    ) -> Appended:
        """See `PartitionWriter.append`."""
        (status,) = self._replicas.write(
            {topic_partition: batch}, acks=ACKS_ALL, origin=Origin.COORDINATOR, internal_allowed=True
        )
        if not status.is_appended:
            return Appended(status.outcome.error_code)
        base_offset = status.outcome.base_offset
        return Appended(ErrorCode.NONE, base_offset, self._await_acks(status, timeout_ms, settled))

    def await_replication(
        self, topic_partition: TopicPartition, end_offset: Offset, *, timeout_ms: int, settled: Settled
    ) -> ErrorCode | None:
        """See `PartitionWriter.await_replication`."""
        status = ProduceStatus(
            topic_partition,
            AppendOutcome(ErrorCode.REQUEST_TIMED_OUT),
            required_offset=end_offset,
            waits_for_replicas=True,
            acks_pending=True,
        )
        return self._await_acks(status, timeout_ms, settled)

    def _await_acks(self, status: ProduceStatus, timeout_ms: int, settled: Settled) -> ErrorCode | None:
        def on_acks(outcomes: AppendOutcomes) -> None:
            settled(status.outcome.error_code)
            if status.acks_pending:  # it timed out, but the records are appended, and HW may still reach them
                code = self._await_acks(status, timeout_ms, settled)
                if code is not None:
                    settled(code)

        outcomes = self._replicas.await_acks([status], timeout_ms=timeout_ms, later=on_acks)
        return None if outcomes is None else status.outcome.error_code

    def bounds(self, topic_partition: TopicPartition) -> tuple[Offset, Offset] | None:
        """See `PartitionReader.bounds`."""
        partition = self._replicas.partition(topic_partition)
        if partition is None or partition.leadership is None:
            return None
        return partition.log.log_start_offset, partition.log.end_offset

    def read(self, topic_partition: TopicPartition, start: Offset, max_bytes: int) -> Buffer:
        """See `PartitionReader.read`."""
        partition = self._replicas.partition(topic_partition)
        if partition is None:
            return NOTHING
        log = partition.log
        return log.read(start, max_bytes, log.end_position, at_least_one=True).held_records
