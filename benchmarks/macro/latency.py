"""How long one record takes: until it is acknowledged, and until a waiting consumer has it."""

import time
from collections.abc import Callable, Mapping, Sequence

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from peers import BrokerProcess

from benchmarks.macro.scenario import Better, CpuMeter, Figure, Scenario
from benchmarks.macro.topics import fresh_topic

RECORDS = 5000
RECORDS_QUICK = 300
# A JVM compiles the code for a request only after thousands of them: both brokers are compared warm.
WARM_UP = 20_000
WARM_UP_QUICK = 100
RECORD = b"x" * 100
ANSWER_TIMEOUT_S = 10.0

CPU_PER_RECORD = Figure("broker CPU per record", "µs", Better.LOWER)


class LoneProduce(Scenario):
    """One record at a time with acks=all; the next is sent when the last is acknowledged."""

    name = "lone-produce"
    title = "A lone produce, acks=all, confluent-kafka, linger 0"
    figures = (
        Figure("p50", "ms", Better.LOWER, ratio_goal=1.2),
        Figure("p99", "ms", Better.LOWER, ratio_goal=1.0),
        CPU_PER_RECORD,
    )

    def measure(self, broker: BrokerProcess, *, quick: bool) -> Mapping[str, float]:
        """Time each record from produce() to its delivery report."""
        with fresh_topic(broker) as topic:
            producer = _producer(broker)
            return _timed(broker, lambda: _produce(producer, topic), quick=quick)


class RoundTrip(Scenario):
    """One record at a time to a consumer that waits at the end of the log."""

    name = "round-trip"
    title = "Produce to consume, acks=all, confluent-kafka, linger 0"
    figures = (
        Figure("p50", "ms", Better.LOWER, ratio_goal=0.8),
        Figure("p99", "ms", Better.LOWER, ratio_goal=0.6),
        CPU_PER_RECORD,
    )

    def measure(self, broker: BrokerProcess, *, quick: bool) -> Mapping[str, float]:
        """Time each record from produce() to its being consumed."""
        with fresh_topic(broker) as topic:
            producer = _producer(broker)
            consumer = Consumer(
                {"bootstrap.servers": broker.bootstrap, "group.id": "unused", "enable.auto.commit": False}
            )
            try:
                _produce(producer, topic)
                consumer.assign([TopicPartition(topic, 0, 0)])
                _consume(consumer)

                def there_and_back() -> None:
                    producer.produce(topic, RECORD, partition=0)
                    producer.poll(0)
                    _consume(consumer)

                return _timed(broker, there_and_back, quick=quick)
            finally:
                producer.flush(ANSWER_TIMEOUT_S)
                consumer.close()


def _producer(broker: BrokerProcess) -> Producer:
    return Producer({"bootstrap.servers": broker.bootstrap, "acks": "all", "linger.ms": 0})


def _produce(producer: Producer, topic: str) -> None:
    reports: list[KafkaError | None] = []

    def delivered(error: KafkaError | None, _: Message) -> None:
        reports.append(error)

    producer.produce(topic, RECORD, partition=0, on_delivery=delivered)
    while not reports:
        producer.poll(ANSWER_TIMEOUT_S)
    if reports[0] is not None:
        raise KafkaException(reports[0])


def _consume(consumer: Consumer) -> None:
    message = consumer.poll(ANSWER_TIMEOUT_S)
    assert message is not None, "the record never arrived"
    error = message.error()
    if error is not None:
        raise KafkaException(error)


def _timed(broker: BrokerProcess, action: Callable[[], None], *, quick: bool) -> Mapping[str, float]:
    for _ in range(WARM_UP_QUICK if quick else WARM_UP):
        action()
    durations_ms: list[float] = []
    records = RECORDS_QUICK if quick else RECORDS
    with CpuMeter(broker) as cpu:
        for _ in range(records):
            started = time.perf_counter()
            action()
            durations_ms.append((time.perf_counter() - started) * 1000)
    durations_ms.sort()
    return {
        "p50": _percentile(durations_ms, 0.50),
        "p99": _percentile(durations_ms, 0.99),
        CPU_PER_RECORD.name: cpu.used_s / records * 1e6,
    }


def _percentile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]
