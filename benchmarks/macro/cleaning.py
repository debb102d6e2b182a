"""How fast a broker compacts a log, and how much that delays its producers."""

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource
from peers import BrokerProcess

from benchmarks.macro.scenario import Better, Figure, Scenario
from benchmarks.macro.topics import REQUEST_TIMEOUT_S, fresh_topic

PRODUCED_BYTES = 1000
LOG_QUICK_MB = 100
VERSIONS = 10  # of each key: nine records in ten are outdated
SEGMENT_BYTES = 32 << 20
IN_PEACE_S = 8.0
IN_PEACE_QUICK_S = 2.0
WARM_UP_S = 6.0
WARM_UP_QUICK_S = 1.0
TIMEOUT_S = 120.0

# The broker looks for logs to clean this often, and takes any that has something to clean.
BACKOFF_MS = 100
SETTINGS = {"log.cleaner.enable": "true", "log.cleaner.backoff.ms": str(BACKOFF_MS)}
NEVER_MS = 1 << 40
CLEANED = {
    "cleanup.policy": "compact",
    "segment.bytes": str(SEGMENT_BYTES),
    "min.cleanable.dirty.ratio": "0.01",
    "min.compaction.lag.ms": str(NEVER_MS),
}

P99_IN_PEACE = Figure("p99 of a lone produce without it", "ms", Better.LOWER)
P99_BESIDE = Figure("p99 of a lone produce during it", "ms", Better.LOWER)
RISE = Figure("p99 during it over p99 without it", "×", Better.LOWER, goal=2.0)


class Cleaning(Scenario):
    """A log with ten versions of each key is cleaned beside produces to another topic, acks=1, one at a time.

    MB/s count the log's bytes, from the moment it may be cleaned to the cleaner's checkpoint, including the
    wait for the cleaner's next check. Subclasses define the records.
    """

    record_bytes: ClassVar[int]
    log_mb: ClassVar[int]

    def measure(self, broker: BrokerProcess, *, quick: bool) -> Mapping[str, float]:
        """Fill a log on a second broker of the same kind; measure produces without and with its cleaning."""
        settings = {**broker.settings, **SETTINGS}
        with (
            tempfile.TemporaryDirectory() as directory,
            type(broker)(Path(directory), settings) as other,
            fresh_topic(other, configs=CLEANED) as cleaned,
            fresh_topic(other) as produced,
        ):
            closed_bytes = _fill(
                other, cleaned, self.record_bytes, (LOG_QUICK_MB if quick else self.log_mb) * 1_000_000
            )
            producer = Producer({"bootstrap.servers": other.bootstrap, "acks": 1, "linger.ms": 0})
            _lone_produces(producer, produced, _for(WARM_UP_QUICK_S if quick else WARM_UP_S))
            in_peace_s = _lone_produces(producer, produced, _for(IN_PEACE_QUICK_S if quick else IN_PEACE_S))
            _allow(other, cleaned)
            began = time.perf_counter()
            beside_s = _lone_produces(producer, produced, lambda: not _is_cleaned(other, cleaned))
            took_s = time.perf_counter() - began
        in_peace_ms, beside_ms = _p99_ms(in_peace_s), _p99_ms(beside_s)
        return {
            "cleaning": closed_bytes / 1e6 / took_s,
            P99_IN_PEACE.name: in_peace_ms,
            P99_BESIDE.name: beside_ms,
            RISE.name: beside_ms / in_peace_ms,
        }


class CleaningLargeRecords(Cleaning):
    """Records of 1 KB."""

    name = "cleaner"
    title = "Compacting 400 MB of 1 KB records beside lone produces of 1 KB, acks=1, confluent-kafka"
    figures = (Figure("cleaning", "MB/s", Better.HIGHER, goal=50), P99_IN_PEACE, P99_BESIDE, RISE)
    record_bytes = 1000
    log_mb = 400


class CleaningSmallRecords(Cleaning):
    """Records of 100 bytes: the cost is per record, not per byte."""

    name = "cleaner-100b"
    title = "Compacting 200 MB of 100 B records beside lone produces of 1 KB, acks=1, confluent-kafka"
    figures = (Figure("cleaning", "MB/s", Better.HIGHER, goal=40), P99_IN_PEACE, P99_BESIDE, RISE)
    record_bytes = 100
    log_mb = 200


def _fill(broker: BrokerProcess, topic: str, record_bytes: int, size_bytes: int) -> int:
    """Write a log; returns the bytes in its closed segments, which the cleaner reads."""
    queue = {"queue.buffering.max.messages": 1_000_000, "queue.buffering.max.kbytes": 1 << 20}
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 20, **queue})
    value = os.urandom(record_bytes)
    records = size_bytes // record_bytes
    for number in range(records):
        producer.produce(topic, value, key=f"key-{number % (records // VERSIONS)}", partition=0)
        if number % 100_000 == 0:
            assert producer.flush(TIMEOUT_S) == 0, "records were not acknowledged"
    assert producer.flush(TIMEOUT_S) == 0, "records were not acknowledged"
    segments = sorted((broker.data_directory / f"{topic}-0").glob("*.log"))
    return sum(segment.stat().st_size for segment in segments[:-1])


def _allow(broker: BrokerProcess, topic: str) -> None:
    """Allow the cleaner to clean the topic."""
    entry = ConfigEntry("min.compaction.lag.ms", "0", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(REQUEST_TIMEOUT_S)


def _is_cleaned(broker: BrokerProcess, topic: str) -> bool:
    """Whether the cleaner's checkpoint has a line for the topic; called before each produce."""
    try:
        told = (broker.data_directory / "cleaner-offset-checkpoint").read_text()
    except FileNotFoundError:
        return False
    return any(line.startswith(f"{topic} 0 ") and not line.endswith(" 0") for line in told.splitlines())


def _for(duration_s: float) -> Callable[[], bool]:
    end = time.perf_counter() + duration_s
    return lambda: time.perf_counter() < end


def _lone_produces(producer: Producer, topic: str, goes_on: Callable[[], bool]) -> list[float]:
    """The seconds of each produce, one after another."""
    value = os.urandom(PRODUCED_BYTES)
    give_up = time.perf_counter() + TIMEOUT_S
    durations_s = []
    while goes_on():
        began = time.perf_counter()
        producer.produce(topic, value, partition=0)
        assert producer.flush(TIMEOUT_S) == 0, "a record was not acknowledged"
        ended = time.perf_counter()
        durations_s.append(ended - began)
        assert ended < give_up, f"not over after {TIMEOUT_S} s"
    return durations_s


def _p99_ms(durations_s: list[float]) -> float:
    return statistics.quantiles(durations_s, n=100)[98] * 1000
