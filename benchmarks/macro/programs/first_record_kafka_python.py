"""BOOTSTRAP TOPIC GROUP: kafka-python; prints `ready` at its start, `record` at its first record."""

import sys

from kafka import KafkaConsumer

bootstrap, topic, group = sys.argv[1:]
print("ready", flush=True)
consumer = KafkaConsumer(topic, bootstrap_servers=bootstrap, group_id=group, auto_offset_reset="earliest")
next(consumer)
print("record", flush=True)
consumer.close()
