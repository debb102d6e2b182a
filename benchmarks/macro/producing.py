"""Kafka's own ProducerPerformance as fast as it goes: throughput, and what it costs the broker."""

import re
from collections.abc import Mapping
from typing import ClassVar

from peers import BrokerProcess, KafkaTools

from benchmarks.macro.scenario import Better, CpuMeter, Figure, Scenario
from benchmarks.macro.topics import fresh_topic

THROUGHPUT = Figure("throughput", "MB/s", Better.HIGHER, ratio_goal=1.3)
CPU_PER_GB = Figure("broker CPU", "s/GB", Better.LOWER, ratio_goal=0.35)


class Producing(Scenario):
    """One producer, one partition; subclasses define the records."""

    record_bytes: ClassVar[int]
    record_count: ClassVar[int]
    properties: ClassVar[tuple[str, ...]]

    def measure(self, broker: BrokerProcess, *, quick: bool) -> Mapping[str, float]:
        """Run ProducerPerformance twice, the first time for a fifth as long, only as a warm-up."""
        count = self.record_count // 10 if quick else self.record_count
        with fresh_topic(broker) as topic:
            self._produce(broker, topic, count // 5)
            with CpuMeter(broker) as cpu:
                records_per_s = self._produce(broker, topic, count)
        throughput = records_per_s * self.record_bytes / 1e6
        return {THROUGHPUT.name: throughput, CPU_PER_GB.name: cpu.used_s / (count * self.record_bytes / 1e9)}

    def _produce(self, broker: BrokerProcess, topic: str, count: int) -> float:
        report = KafkaTools(broker.bootstrap).producer_performance(
            topic, record_count=count, record_bytes=self.record_bytes, properties=self.properties
        )
        found = re.search(rf"^{count} records sent, ([\d.]+) records/sec", report, re.MULTILINE)
        assert found, report
        return float(found.group(1))


class LargeBatches(Producing):
    """1 KB records in batches of 64 KB, acknowledged by the leader."""

    name = "produce-1k-acks-1"
    title = "ProducerPerformance, 1 KB records, 64 KB batches, acks=1"
    figures = (THROUGHPUT, CPU_PER_GB)
    record_bytes = 1024
    record_count = 1_000_000
    properties = ("acks=1", "batch.size=65536", "linger.ms=5")


class LargeBatchesAcksAll(LargeBatches):
    """The same, acknowledged by all in-sync replicas: by an idempotent producer, as is Kafka's default."""

    name = "produce-1k-acks-all"
    title = "ProducerPerformance, 1 KB records, 64 KB batches, acks=all"
    properties = ("acks=all", "batch.size=65536", "linger.ms=5")


class SmallRecords(Producing):
    """100-byte records in the batches that Kafka's defaults make."""

    name = "produce-100b"
    title = "ProducerPerformance, 100 B records, default batching, acks=all"
    figures = (
        Figure("throughput", "MB/s", Better.HIGHER, ratio_goal=1.0),
        Figure("broker CPU", "s/GB", Better.LOWER),
    )
    record_bytes = 100
    record_count = 4_000_000
    properties = ("acks=all",)
