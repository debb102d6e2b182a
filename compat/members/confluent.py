"""confluent-kafka in a group: librdkafka's consumer."""

from confluent_kafka import Consumer, KafkaException

from compat.clients.confluent import record_of, refusal_of
from compat.clients.model import Record
from compat.members.model import HEARTBEAT_INTERVAL_MS, POLL_S, SESSION_TIMEOUT_MS, Member, Membership

POLLED_RECORDS_MAX = 1000


class ConfluentMember(Member):
    """Consumer of confluent-kafka, subscribed."""

    def __init__(self, bootstrap: str, membership: Membership) -> None:
        super().__init__(bootstrap, membership)
        settings: dict[str, object] = {
            "bootstrap.servers": bootstrap,
            "group.id": membership.group,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
        if membership.new_protocol:
            settings["group.protocol"] = "consumer"
        else:
            settings["partition.assignment.strategy"] = membership.strategy
            settings["session.timeout.ms"] = SESSION_TIMEOUT_MS
            settings["heartbeat.interval.ms"] = HEARTBEAT_INTERVAL_MS
        if membership.instance_id is not None:
            settings["group.instance.id"] = membership.instance_id
        self.consumer = Consumer(settings)
        self.consumer.subscribe([membership.topic])

    def poll(self) -> list[Record]:
        """Consume for a short time."""
        read: list[Record] = []
        for message in self.consumer.consume(POLLED_RECORDS_MAX, timeout=POLL_S):
            error = message.error()
            if error is not None:
                raise refusal_of(error)
            read.append(record_of(message))
        return read

    def assignment(self) -> set[int]:
        """As librdkafka reports it."""
        return {each.partition for each in self.consumer.assignment()}

    def commit(self) -> None:
        """Commit the stored offsets and wait."""
        try:
            self.consumer.commit(asynchronous=False)
        except KafkaException as exception:
            raise refusal_of(exception.args[0]) from exception

    def close(self) -> None:
        """Close the consumer."""
        self.consumer.close()
