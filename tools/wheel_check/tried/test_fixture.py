"""The fixture, which pytest finds by itself, with a client that knows nothing of Odradek."""

from kafka import KafkaConsumer, KafkaProducer

from odradek.testing import Broker


def test_a_record_comes_back(odradek_broker: Broker) -> None:
    producer = KafkaProducer(bootstrap_servers=odradek_broker.bootstrap_servers)
    sent = producer.send("orders", b"one").get(timeout=30)
    producer.close()
    assert (sent.topic, sent.offset) == ("orders", 0)
    consumer = KafkaConsumer(
        "orders",
        bootstrap_servers=odradek_broker.bootstrap_servers,
        auto_offset_reset="earliest",
        consumer_timeout_ms=30_000,
    )
    assert next(consumer).value == b"one"
    consumer.close()
