"""BOOTSTRAP TOPIC GROUP PROTOCOL: confluent-kafka; prints `ready` first, `record` at its first record."""

import sys

from confluent_kafka import Consumer

bootstrap, topic, group, protocol = sys.argv[1:]
print("ready", flush=True)
consumer = Consumer(
    {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "group.protocol": protocol,
        "auto.offset.reset": "earliest",
    }
)
consumer.subscribe([topic])
while True:
    message = consumer.poll(1.0)
    if message is not None and message.error() is None:
        break
print("record", flush=True)
consumer.close()
