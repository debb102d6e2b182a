"""The logs of coordinators: their ports over the replica manager."""

from collections.abc import Mapping, Sequence
from typing import Final

from odradek.base.buffers import Buffer
from odradek.base.error_codes import ErrorCode
from odradek.base.ids import Offset, TopicPartition
from odradek.base.stored_bytes import StoredBytes
from odradek.coordinator.ports import Appended, Settled
from odradek.replication.append import ACKS_ALL
from odradek.replication.outcomes import AppendOutcome
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
        waiting = _Waiting(self._replicas, topic_partition, timeout_ms, settled)
        waiting.statuses = self._replicas.append(
            {topic_partition: batch},
            acks=ACKS_ALL,
            timeout_ms=timeout_ms,
            respond=waiting.on_acks,
            origin=Origin.COORDINATOR,
            internal_allowed=True,
        )
        (status,) = waiting.statuses
        outcome = waiting.take_early()
        if not status.is_appended:
            return Appended(status.outcome.error_code)
        return Appended(ErrorCode.NONE, status.outcome.base_offset, outcome)

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
        waiting = _Waiting(self._replicas, topic_partition, timeout_ms, settled)
        waiting.statuses = [status]
        self._replicas.await_acks(waiting.statuses, timeout_ms=timeout_ms, respond=waiting.on_acks)
        return waiting.take_early()

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
        records = log.read(start, max_bytes, log.end_position, at_least_one=True).records
        assert not isinstance(records, StoredBytes), "without a limit everything is read"
        return records


class _Waiting:
    """One append until it is settled: what is known before the call returns, and what becomes an event."""

    __slots__ = (
        "_early",
        "_has_returned",
        "_replicas",
        "_settled",
        "_timeout_ms",
        "_topic_partition",
        "statuses",
    )

    def __init__(
        self, replicas: ReplicaManager, topic_partition: TopicPartition, timeout_ms: int, settled: Settled
    ) -> None:
        self._replicas = replicas
        self._topic_partition = topic_partition
        self._timeout_ms = timeout_ms
        self._settled = settled
        self._early: ErrorCode | None = None
        self._has_returned = False
        self.statuses: Sequence[ProduceStatus] = ()
        """What the replica manager knows of the append; one of them."""

    def take_early(self) -> ErrorCode | None:
        """Return what was known at once; from now on news are events."""
        self._has_returned = True
        return self._early

    def on_acks(self, outcomes: Mapping[TopicPartition, AppendOutcome]) -> None:
        """Called by the replica manager, perhaps while the append is still running."""
        code = outcomes[self._topic_partition].error_code
        if not self._has_returned:
            self._early = code
            return
        self._settled(code)
        if code is ErrorCode.REQUEST_TIMED_OUT:
            # The records are there, and HW may reach them yet.
            self._replicas.await_acks(self.statuses, timeout_ms=self._timeout_ms, respond=self.on_acks)
