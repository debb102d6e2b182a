"""How long a test with a cluster in its process waits for its first message through a group.

    .venv/bin/python benchmarks/micro/local_cluster.py [--json] [--repeat 20] [--client aiokafka]

`start` is `LocalCluster(brokers=3).start()`. `cold` is the first message on a cluster that has just started:
a new topic, a producer with acks=all, and a consumer in a new group that reads from the beginning, until the
record has come; nothing of that was done before, so the internal topics are made in it. `between` is the
same for a further topic and group of the same cluster, which is what each later test of a session waits; the
median and the worst of them are told. Clients have their defaults, but for what is named in `CLIENTS`.
"""

import argparse
import asyncio
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Final

from odradek.testing import LocalCluster

VALUE = b"first"
TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Figure:
    """The waits with one client, in milliseconds."""

    client: str
    start_ms: float
    cold_ms: float
    between_ms: float
    """The median."""
    between_ms_max: float


def through_confluent(servers: str, topic: str) -> None:
    """librdkafka."""
    from confluent_kafka import Consumer, Producer

    consumer = Consumer({"bootstrap.servers": servers, "group.id": topic, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 0})
    producer.produce(topic, VALUE)
    message = None
    while message is None:
        message = consumer.poll(0.001)
        producer.poll(0)
    assert message.error() is None, message.error()
    assert message.value() == VALUE
    consumer.close()


def through_aiokafka(servers: str, topic: str) -> None:
    """aiokafka."""
    asyncio.run(_through_aiokafka(servers, topic))


async def _through_aiokafka(servers: str, topic: str) -> None:
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

    producer = AIOKafkaProducer(bootstrap_servers=servers, acks="all")
    consumer = AIOKafkaConsumer(
        topic, bootstrap_servers=servers, group_id=topic, auto_offset_reset="earliest"
    )
    await producer.start()
    await producer.send_and_wait(topic, VALUE)
    await consumer.start()
    message = await consumer.getone()
    assert message.value == VALUE
    await consumer.stop()
    await producer.stop()


CLIENTS: Final[dict[str, Callable[[str, str], None]]] = {
    "confluent-kafka": through_confluent,
    "aiokafka": through_aiokafka,
}


def measure(client: str, repeat: int) -> Figure:
    """One cluster, its first message, and `repeat` more."""
    begun = time.perf_counter()
    with LocalCluster(brokers=3) as cluster:
        start_ms = (time.perf_counter() - begun) * 1_000
        cold_ms, *between = [_first_message(cluster, client, number) for number in range(repeat + 1)]
    return Figure(client, start_ms, cold_ms, statistics.median(between), max(between))


def _first_message(cluster: LocalCluster, client: str, number: int) -> float:
    begun = time.perf_counter()
    topic = cluster.create_topic(f"first-{number}", partitions=1)
    CLIENTS[client](cluster.bootstrap_servers, topic)
    return (time.perf_counter() - begun) * 1_000


def main() -> int:
    """Print a table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--client", nargs="+", choices=sorted(CLIENTS), default=sorted(CLIENTS))
    options = parser.parse_args()
    figures = [measure(client, options.repeat) for client in options.client]
    if options.json:
        json.dump([asdict(figure) for figure in figures], sys.stdout, indent=2)
        return 0
    print(f"{'client':16} {'start':>8} {'cold':>8} {'between':>8} {'worst':>8}   ms")
    for one in figures:
        times = (one.start_ms, one.cold_ms, one.between_ms, one.between_ms_max)
        print(f"{one.client:16} " + " ".join(f"{each:8.0f}" for each in times))
    return 0


if __name__ == "__main__":
    sys.exit(main())
