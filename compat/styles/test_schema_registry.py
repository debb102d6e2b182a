"""Serializers of confluent-kafka with a registry at mock://: Avro on a real broker, no registry to run."""

import pytest
from confluent_kafka import DeserializingConsumer, SerializingProducer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import SerializationError, StringDeserializer, StringSerializer

from odradek.testing import Broker

ORDER = """
{"type": "record", "name": "Order", "fields": [
    {"name": "item", "type": "string"},
    {"name": "count", "type": "int", "default": 1}
]}
"""


@pytest.fixture
def registry() -> SchemaRegistryClient:
    return SchemaRegistryClient.new_client({"url": "mock://orders"})


@pytest.fixture
def producer(odradek_broker: Broker, registry: SchemaRegistryClient) -> SerializingProducer:
    return SerializingProducer(
        {
            "bootstrap.servers": odradek_broker.bootstrap_servers,
            "key.serializer": StringSerializer(),
            "value.serializer": AvroSerializer(registry, ORDER),
        }
    )


def test_an_order_comes_back(
    odradek_broker: Broker, odradek_topic: str, registry: SchemaRegistryClient, producer: SerializingProducer
) -> None:
    producer.produce(odradek_topic, key="42", value={"item": "lamp", "count": 2})
    assert producer.flush(30) == 0

    consumer = DeserializingConsumer(
        {
            "bootstrap.servers": odradek_broker.bootstrap_servers,
            "group.id": "avro",
            "auto.offset.reset": "earliest",
            "key.deserializer": StringDeserializer(),
            "value.deserializer": AvroDeserializer(registry),
        }
    )
    consumer.subscribe([odradek_topic])
    message = consumer.poll(30)
    consumer.close()
    assert (message.key(), message.value()) == ("42", {"item": "lamp", "count": 2})


def test_the_record_names_its_schema(
    odradek_broker: Broker, odradek_topic: str, registry: SchemaRegistryClient, producer: SerializingProducer
) -> None:
    producer.produce(odradek_topic, value={"item": "lamp"})
    assert producer.flush(30) == 0

    (record,) = odradek_broker.records(odradek_topic)
    registered = registry.get_latest_version(f"{odradek_topic}-value")
    assert record.value is not None
    assert record.value[0] == 0, "the format's first byte"
    assert int.from_bytes(record.value[1:5]) == registered.schema_id


def test_what_does_not_fit_the_schema_is_never_sent(
    odradek_broker: Broker, odradek_topic: str, producer: SerializingProducer
) -> None:
    with pytest.raises(SerializationError):
        producer.produce(odradek_topic, value={"count": "two"})
    assert producer.flush(30) == 0
    assert odradek_broker.records(odradek_topic) == []
