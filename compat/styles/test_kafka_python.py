"""kafka-python: a service that reads a topic, writes another, and commits what it has done.

The loop over a consumer has no end of its own. Here the test says how many records it is for, so that nothing
waits for `consumer_timeout_ms`.
"""

from itertools import islice

from kafka import KafkaConsumer, KafkaProducer

from odradek.testing import Broker


def double(servers: str, source: str, target: str, count: int) -> None:
    """The service: reads `count` numbers and writes them doubled."""
    consumer = KafkaConsumer(
        source,
        bootstrap_servers=servers,
        group_id=f"doubling-{source}",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    producer = KafkaProducer(bootstrap_servers=servers)
    for record in islice(consumer, count):
        producer.send(target, b"%d" % (2 * int(record.value)), key=record.key)
    producer.flush(timeout=30)
    consumer.commit()
    producer.close()
    consumer.close()


def test_numbers_are_doubled(odradek_broker: Broker, odradek_topic: str) -> None:
    doubled = odradek_broker.create_topic()
    odradek_broker.produce(odradek_topic, "1", "2", "3", key="n")

    double(odradek_broker.bootstrap_servers, odradek_topic, doubled, count=3)

    records = odradek_broker.records(doubled)
    assert [(record.key, record.text) for record in records] == [(b"n", "2"), (b"n", "4"), (b"n", "6")]
    odradek_broker.wait_lag_zero(f"doubling-{odradek_topic}", odradek_topic)


def test_the_service_goes_on_where_it_stopped(odradek_broker: Broker, odradek_topic: str) -> None:
    doubled = odradek_broker.create_topic()
    odradek_broker.produce(odradek_topic, "1", "2", "3")

    double(odradek_broker.bootstrap_servers, odradek_topic, doubled, count=2)
    double(odradek_broker.bootstrap_servers, odradek_topic, doubled, count=1)

    assert [record.text for record in odradek_broker.records(doubled)] == ["2", "4", "6"]
