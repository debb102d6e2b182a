"""Odradek's own consumer in a group."""

from compat.clients.model import Record, Refused
from compat.members.model import POLL_S, SESSION_TIMEOUT_MS, Member, Membership
from odradek import ApiError, Consumer, ConsumerRecord


class OdradekMember(Member):
    """`odradek.Consumer`, subscribed."""

    def __init__(self, bootstrap: str, membership: Membership) -> None:
        super().__init__(bootstrap, membership)
        settings: dict[str, object] = {
            "group.id": membership.group,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "group.protocol": "consumer" if membership.new_protocol else "classic",
        }
        if not membership.new_protocol:
            settings["partition.assignment.strategy"] = membership.strategy
            settings["session.timeout.ms"] = SESSION_TIMEOUT_MS
        if membership.instance_id is not None:
            settings["group.instance.id"] = membership.instance_id
        self.consumer = Consumer(membership.topic, bootstrap_servers=bootstrap, settings=settings)
        self._assigned: set[int] = set()

    def poll(self) -> list[Record]:
        """Poll for a short time."""
        try:
            polled = [_record(one) for one in self.consumer.poll(timeout=POLL_S)]
            self._assigned = {each.partition for each in self.consumer.assignment()}
            return polled
        except ApiError as error:
            raise Refused(error.code) from error

    def assignment(self) -> set[int]:
        """As of the last poll: no other thread may use the consumer meanwhile."""
        return self._assigned

    def commit(self) -> None:
        """Commit the positions."""
        try:
            self.consumer.commit()
        except ApiError as error:
            raise Refused(error.code) from error

    def close(self) -> None:
        """Close the consumer."""
        self.consumer.close()


def _record(one: ConsumerRecord) -> Record:
    assert one.key is None or isinstance(one.key, bytes)
    assert one.value is None or isinstance(one.value, bytes)
    return Record(value=one.value, key=one.key, partition=one.partition, offset=one.offset)
