"""confluent-kafka: delivery reports when all is well and when it is not, and two consumers of one group."""

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer

from odradek.testing import Broker


class Sender:
    """An application's wrapper of a producer: it reports every record that does not arrive."""

    def __init__(self, servers: str, **settings: object) -> None:
        self._producer = Producer({"bootstrap.servers": servers, "retry.backoff.ms": 10, **settings})
        self.delivered: list[bytes] = []
        self.failed: list[KafkaError] = []

    def send(self, topic: str, *values: bytes) -> None:
        for value in values:
            self._producer.produce(topic, value, on_delivery=self._report)
        assert self._producer.flush(30) == 0

    def _report(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failed.append(error)
        else:
            self.delivered.append(message.value())


def test_what_is_reported_as_delivered_is_there(odradek_broker: Broker, odradek_topic: str) -> None:
    sender = Sender(odradek_broker.bootstrap_servers)
    sender.send(odradek_topic, b"lamp", b"table")
    assert sender.delivered == [record.value for record in odradek_broker.records(odradek_topic)]


def test_a_leader_that_moves_is_retried(odradek_broker: Broker, odradek_topic: str) -> None:
    moved = odradek_broker.faults.error("Produce", "NOT_LEADER_OR_FOLLOWER", topic=odradek_topic, times=2)
    sender = Sender(odradek_broker.bootstrap_servers)
    sender.send(odradek_topic, b"lamp")
    assert (sender.delivered, moved.hits) == ([b"lamp"], 2)


def test_a_record_that_is_too_large_is_reported(odradek_broker: Broker) -> None:
    topic = odradek_broker.create_topic(configs={"max.message.bytes": 1000})
    sender = Sender(odradek_broker.bootstrap_servers)
    sender.send(topic, bytes(2000))
    assert [error.code() for error in sender.failed] == [KafkaError.MSG_SIZE_TOO_LARGE]
    assert odradek_broker.records(topic) == []


@pytest.mark.odradek_topic(partitions=4)
def test_two_consumers_share_a_topic(odradek_broker: Broker, odradek_topic: str) -> None:
    settings = {
        "bootstrap.servers": odradek_broker.bootstrap_servers,
        "group.id": f"billing-{odradek_topic}",
        "auto.offset.reset": "earliest",
        "heartbeat.interval.ms": 100,  # the first member learns of the second by a heartbeat
    }
    consumers = [Consumer(settings) for _ in range(2)]
    for consumer in consumers:
        consumer.subscribe([odradek_topic])
    while [len(consumer.assignment()) for consumer in consumers] != [2, 2]:
        for consumer in consumers:
            consumer.poll(0.05)

    odradek_broker.produce(odradek_topic, *(str(number) for number in range(8)))

    shares = [[message.value() for message in consumer.consume(4, timeout=30)] for consumer in consumers]
    for consumer in consumers:
        consumer.close()
    assert [len(share) for share in shares] == [4, 4]
    assert sorted(shares[0] + shares[1]) == [str(number).encode() for number in range(8)]
