"""A stream processor whose broker dies in the middle: no record is lost, and repeated records are recognized.

The processor commits after each batch, which promises "at least once". `kill` is `kill -9`: no request is
answered any more, no connection is closed in good order. `start` verifies the logs and takes the same port.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka import Consumer

from odradek.testing import Broker

NUMBERS = list(range(30))
BATCH = 10

pytestmark = pytest.mark.odradek  # each test has a broker of its own, which it may kill


class Processor:
    """Notes numbers in batches."""

    def __init__(self, servers: str, topic: str) -> None:
        self.seen: list[int] = []
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": "numbers",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "reconnect.backoff.max.ms": 100,
                "log_level": 0,  # librdkafka would report the broken connection
            }
        )
        self._consumer.subscribe([topic])

    def process(self) -> None:
        batch = self._consumer.consume(BATCH, timeout=30)
        self.seen += [int(message.value()) for message in batch if message.error() is None]

    def commit(self) -> None:
        self._consumer.commit(asynchronous=False)

    def close(self) -> None:
        self._consumer.close()


@contextmanager
def processor(broker: Broker, topic: str) -> Iterator[Processor]:
    running = Processor(broker.bootstrap_servers, topic)
    try:
        yield running
    finally:
        running.close()


def test_it_goes_on_when_the_broker_is_back(odradek_broker: Broker, odradek_topic: str) -> None:
    odradek_broker.produce(odradek_topic, *map(str, NUMBERS[:20]))
    with processor(odradek_broker, odradek_topic) as running:
        running.process()
        running.commit()

        odradek_broker.kill()
        odradek_broker.start()
        odradek_broker.produce(odradek_topic, *map(str, NUMBERS[20:]))

        while len(running.seen) < len(NUMBERS):
            running.process()
        running.commit()
    assert running.seen == NUMBERS
    odradek_broker.wait_lag_zero("numbers", odradek_topic)


def test_a_batch_that_was_not_committed_comes_again(odradek_broker: Broker, odradek_topic: str) -> None:
    odradek_broker.produce(odradek_topic, *map(str, NUMBERS))
    with processor(odradek_broker, odradek_topic) as first:
        first.process()
        first.commit()
        first.process()
        odradek_broker.kill()  # the processor cannot say that it leaves its group
    odradek_broker.start()
    odradek_broker.clock.advance(minutes=1)  # its session of 45 s is over

    with processor(odradek_broker, odradek_topic) as second:
        while len(second.seen) < 20:
            second.process()
    assert first.seen == NUMBERS[:20]
    assert second.seen == NUMBERS[10:], "the second batch again, then the third"
