"""kafka-python in a group."""

from kafka import KafkaConsumer
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

from compat.clients.kafka_python import record_of, refusals
from compat.clients.model import Record
from compat.members.model import (
    COOPERATIVE_STICKY,
    HEARTBEAT_INTERVAL_MS,
    POLL_S,
    RANGE,
    SESSION_TIMEOUT_MS,
    STICKY,
    Member,
    Membership,
)

ASSIGNORS = {
    RANGE: RangePartitionAssignor,
    STICKY: StickyPartitionAssignor,
    COOPERATIVE_STICKY: CooperativeStickyAssignor,
}

# A poll that ends while the member still joins drops the join and the next poll begins anew: on a slow
# machine short polls never get an assignment.
JOINING_POLL_S = 5.0


class KafkaPythonMember(Member):
    """KafkaConsumer, subscribed."""

    def __init__(self, bootstrap: str, membership: Membership) -> None:
        super().__init__(bootstrap, membership)
        self._consumer = KafkaConsumer(
            membership.topic,
            bootstrap_servers=bootstrap,
            group_id=membership.group,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            group_instance_id=membership.instance_id,
            partition_assignment_strategy=[ASSIGNORS[membership.strategy]],
            session_timeout_ms=SESSION_TIMEOUT_MS,
            heartbeat_interval_ms=HEARTBEAT_INTERVAL_MS,
        )

    def poll(self) -> list[Record]:
        """Poll once, for longer while there is no assignment."""
        timeout_s = POLL_S if self._consumer.assignment() else JOINING_POLL_S
        with refusals():
            polled = self._consumer.poll(timeout_ms=int(timeout_s * 1000))
        return [record_of(record) for records in polled.values() for record in records]

    def assignment(self) -> set[int]:
        """As the consumer reports it."""
        return {each.partition for each in self._consumer.assignment()}

    def commit(self) -> None:
        """Commit and wait."""
        with refusals():
            self._consumer.commit()

    def close(self) -> None:
        """Close the consumer."""
        self._consumer.close()
