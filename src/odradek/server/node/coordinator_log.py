"""The logs of coordinators: their ports over the replica manager."""

from collections.abc import Mapping
from typing import Final

from odradek.base.ids import Offset, TopicPartition
from odradek.coordinator.ports import WriteDone, Written
from odradek.replication.append import ACKS_ALL
from odradek.replication.outcomes import AppendOutcome
from odradek.replication.replica_manager import ReplicaManager
from odradek.storage import Origin
from odradek.storage.files import Buffer

NOTHING: Final = b""


class CoordinatorLog:
    """A `PartitionWriter` and a `PartitionReader`."""

    def __init__(self, replicas: ReplicaManager) -> None:
        self._replicas = replicas

    def append(
        self, topic_partition: TopicPartition, batch: Buffer, *, timeout_ms: int, done: WriteDone
    ) -> None:
        """See `PartitionWriter.append`."""

        def appended(outcomes: Mapping[TopicPartition, AppendOutcome]) -> None:
            outcome = outcomes[topic_partition]
            done(Written(outcome.error_code, outcome.base_offset))

        self._replicas.append(
            {topic_partition: batch},
            acks=ACKS_ALL,
            timeout_ms=timeout_ms,
            respond=appended,
            origin=Origin.COORDINATOR,
            internal_allowed=True,
        )

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
        return log.read(start, max_bytes, log.end_position, at_least_one=True).records
