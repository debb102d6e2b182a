"""What a read-committed consumer of librdkafka sees of a topic."""

from typing import Any

from odradek.testing import Broker


def committed_messages(broker: Broker, topic: str, count: int = 0) -> list[Any]:
    """All messages of the topic; waits for the first `count`, and reads to the ends then."""
    from confluent_kafka import Consumer, KafkaError, TopicPartition

    settings = {"bootstrap.servers": broker.bootstrap_servers, "group.id": "reader"}
    consumer = Consumer(settings | {"enable.partition.eof": True})
    try:
        partitions = list(consumer.list_topics(topic).topics[topic].partitions)
        consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
        found: list[Any] = []
        at_end: set[int | None] = set()
        while len(found) < count or len(at_end) < len(partitions):
            message = consumer.poll(30)
            assert message is not None, f"{topic} has {len(found)} messages, not {count}"
            if (error := message.error()) is None:
                found.append(message)
                at_end.discard(message.partition())
            else:
                assert error.code() == KafkaError._PARTITION_EOF, error
                at_end.add(message.partition())
    finally:
        consumer.close()
    return found


def committed_values(broker: Broker, topic: str, count: int = 0) -> list[int]:
    """The values of these messages, in order, as numbers."""
    return sorted(int(message.value()) for message in committed_messages(broker, topic, count))
