"""Reading a log back from its beginning: by a real client, and by one that does nothing but fetch."""

import time
from abc import abstractmethod
from collections.abc import Mapping

from confluent_kafka import Consumer, KafkaException, TopicPartition
from peers import BrokerProcess, KafkaTools

from benchmarks.macro.fetching import Reader
from benchmarks.macro.scenario import Better, CpuMeter, Figure, Scenario
from benchmarks.macro.topics import fresh_topic

RECORD_BYTES = 1024
RECORDS = 1_000_000
RECORDS_QUICK = 100_000
READS = 3  # in one measurement, so that a short read is not lost in the clock of /proc
CONSUME_AT_ONCE = 10_000
CONSUME_TIMEOUT_S = 10.0

SPEED = Figure("speed", "MB/s", Better.HIGHER, ratio_goal=1.0)
CPU_PER_GB = Figure("broker CPU", "s/GB", Better.LOWER, ratio_goal=1.2)


class ReadingBack(Scenario):
    """A log of 1 KB records in 64 KB batches, in the page cache; subclasses define the reader."""

    figures = (SPEED, CPU_PER_GB)

    def measure(self, broker: BrokerProcess, *, quick: bool) -> Mapping[str, float]:
        """Fill a topic, read it once as a warm-up, then time some more reads of all of it."""
        count = RECORDS_QUICK if quick else RECORDS
        with fresh_topic(broker) as topic:
            KafkaTools(broker.bootstrap).producer_performance(
                topic,
                record_count=count,
                record_bytes=RECORD_BYTES,
                properties=["acks=1", "batch.size=65536", "linger.ms=5"],
            )
            self.read(broker, topic, count)
            started = time.perf_counter()
            with CpuMeter(broker) as cpu:
                for _ in range(READS):
                    self.read(broker, topic, count)
            elapsed_s = time.perf_counter() - started
        size_bytes = READS * count * RECORD_BYTES
        return {SPEED.name: size_bytes / 1e6 / elapsed_s, CPU_PER_GB.name: cpu.used_s / (size_bytes / 1e9)}

    @abstractmethod
    def read(self, broker: BrokerProcess, topic: str, count: int) -> None:
        """Read `count` records from the beginning."""


class ClientRead(ReadingBack):
    """confluent-kafka, assigned the partition."""

    name = "read-client"
    title = "Reading back 1 GB, confluent-kafka"

    def read(self, broker: BrokerProcess, topic: str, count: int) -> None:
        """Consume in large lists."""
        consumer = Consumer(
            {"bootstrap.servers": broker.bootstrap, "group.id": "unused", "enable.auto.commit": False}
        )
        try:
            consumer.assign([TopicPartition(topic, 0, 0)])
            left = count
            while left > 0:
                messages = consumer.consume(min(left, CONSUME_AT_ONCE), timeout=CONSUME_TIMEOUT_S)
                assert messages, f"{left} records never arrived"
                error = messages[-1].error()
                if error is not None:
                    raise KafkaException(error)
                left -= len(messages)
        finally:
            consumer.close()


class BareRead(ReadingBack):
    """Hand-made Fetch requests, one at a time, 1 MB each as consumers ask by default."""

    name = "read-bare"
    title = "Reading back 1 GB, bare fetch requests"

    def read(self, broker: BrokerProcess, topic: str, count: int) -> None:
        """Fetch and skip from batch to batch."""
        reader = Reader(broker.port, topic)
        try:
            reader.read_until(count)
        finally:
            reader.close()
