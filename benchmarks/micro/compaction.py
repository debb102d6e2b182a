"""How fast the cleaner goes through a log, and what it does to a producer meanwhile.

    .venv/bin/python benchmarks/micro/compaction.py [--json] [--size-mb 200] [--directory DIR]

MB/s are of log: the bytes of all values, uncompressed, over the time of the whole cleaning, two passes and
all syncs included. `--concurrent` starts a broker in a process of its own and measures the latency of lone
produces (acks=1) to one topic, first in peace, then while another topic is being cleaned.
"""

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from odradek.base.ids import TopicPartition
from odradek.base.settings import TopicConfig
from odradek.records.builder import BatchBuilder
from odradek.storage.compaction.cleaning import clean
from odradek.storage.compaction.job import CleaningJob
from odradek.storage.compaction.selection import cleanable_part, job_for
from odradek.storage.opening import open_log
from odradek.storage.os_files import OsFileSystem

NOW_MS = time.time_ns() // 1_000_000
PARTITION = TopicPartition("benchmark", 0)
COMPACTED = TopicConfig(cleanup_policy=frozenset({"compact"}), segment_bytes=64 << 20)
MAP_BYTES = 128 << 20
BATCH_BYTES = 64 << 10
PRODUCE_S = 8.0

# Bytes of a record's value, share of records that are outdated by a later one, codec.
SHAPES = [(1000, 0.9, 0), (1000, 0.5, 0), (1000, 0.9, 4), (100, 0.9, 0)]


@dataclass(frozen=True)
class Figure:
    """One cleaning."""

    record_bytes: int
    outdated_share: float
    codec: int
    log_mb: float
    seconds: float
    cpu_seconds: float
    mb_per_s: float
    records_per_s: float
    kept_mb: float


def write_log(directory: str, size_bytes: int, record_bytes: int, outdated: float, codec: int) -> CleaningJob:
    """A log of `size_bytes` in closed segments, and the job of cleaning it."""
    log = open_log(directory, PARTITION, COMPACTED, file_system=OsFileSystem())
    records = size_bytes // record_bytes
    keys = max(1, int(records * (1 - outdated)))
    chance = random.Random(1)
    # Half of it compresses away.
    value = os.urandom(record_bytes // 2) + bytes(record_bytes - record_bytes // 2)
    written = 0
    while written < records:
        builder = BatchBuilder(codec=codec)
        while builder.size_bytes < BATCH_BYTES:
            builder.append(NOW_MS, b"key-%012d" % chance.randrange(keys), value)
            written += 1
        log.append_as_leader(builder.build(), 0, now_ms=NOW_MS)
    log.roll()
    log.restore_high_watermark(log.end_offset)
    log.flush()
    return job_for(log, cleanable_part(log, NOW_MS), now_ms=NOW_MS, map_bytes_max=MAP_BYTES)


def measure(directory: str, size_bytes: int, record_bytes: int, outdated: float, codec: int) -> Figure:
    """Clean one log."""
    job = write_log(directory, size_bytes, record_bytes, outdated, codec)
    start, cpu_start = time.perf_counter(), time.process_time()
    report = clean(job, OsFileSystem(), lambda segment: None)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    log_bytes = report.records_read * record_bytes
    return Figure(
        record_bytes,
        outdated,
        codec,
        log_bytes / 1e6,
        seconds,
        cpu_seconds,
        log_bytes / 1e6 / seconds,
        report.records_read / seconds,
        report.bytes_written / 1e6,
    )


def percentiles_us(times_s: list[float]) -> dict[str, float]:
    """p50, p99 and the number of measurements."""
    cuts = statistics.quantiles(times_s, n=100)
    return {"p50_us": cuts[49] * 1e6, "p99_us": cuts[98] * 1e6, "count": len(times_s)}


def lone_produces(bootstrap: str, topic: str, while_true: Callable[[], bool]) -> Iterator[float]:
    """Seconds of one produce after the other, acks=1, one record of 1 KB each."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": bootstrap, "acks": 1, "linger.ms": 0})
    value = os.urandom(1000)
    while while_true():
        start = time.perf_counter()
        producer.produce(topic, value)
        assert producer.flush(30) == 0
        yield time.perf_counter() - start


def measure_concurrently(size_bytes: int) -> dict[str, dict[str, float]]:
    """Produce latencies without and beside a cleaning, on one broker."""
    from confluent_kafka import Producer

    from odradek.testing import Broker

    with tempfile.TemporaryDirectory() as scratch:
        settings = {"log.cleaner.backoff.ms": "100", "log.cleaner.enable": "true"}
        with Broker(process=True, data_dir=Path(scratch), settings=settings) as broker:
            bootstrap = broker.bootstrap_servers
            produced = broker.create_topic("produced")
            configs = {
                "cleanup.policy": "compact",
                "segment.bytes": str(32 << 20),
                "min.cleanable.dirty.ratio": "0.01",
                "min.compaction.lag.ms": str(1 << 40),
            }
            broker.create_topic("cleaned", configs=configs)
            queue = {"queue.buffering.max.messages": 10_000_000, "queue.buffering.max.kbytes": 1 << 21}
            producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20, **queue})
            value = os.urandom(1000)
            for number in range(size_bytes // 1000):
                producer.produce("cleaned", value, key=f"key-{number % (size_bytes // 10_000)}")
                producer.poll(0)
            assert producer.flush(60) == 0
            end = time.monotonic() + 2
            list(lone_produces(bootstrap, produced, lambda: time.monotonic() < end))
            end = time.monotonic() + PRODUCE_S
            in_peace = list(lone_produces(bootstrap, produced, lambda: time.monotonic() < end))
            allow_cleaning(bootstrap, "cleaned")
            checkpoint = Path(scratch, "cleaner-offset-checkpoint")
            start = time.monotonic()
            beside = list(lone_produces(bootstrap, produced, lambda: not checkpoint.exists()))
            took_s = time.monotonic() - start
    return {
        "in_peace": percentiles_us(in_peace),
        "beside_a_cleaning": {**percentiles_us(beside), "seconds": took_s},
    }


def allow_cleaning(bootstrap: str, topic: str) -> None:
    """Let the cleaner have the topic."""
    from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

    entry = ConfigEntry("min.compaction.lag.ms", "0", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(30)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--size-mb", type=int, default=200)
    parser.add_argument("--directory")
    parser.add_argument("--concurrent", action="store_true")
    options = parser.parse_args()
    if options.concurrent:
        print(json.dumps(measure_concurrently(options.size_mb << 20), indent=2))
        return
    figures = []
    for shape in SHAPES:
        with tempfile.TemporaryDirectory(dir=options.directory) as scratch:
            figures.append(measure(scratch, options.size_mb << 20, *shape))
    if options.json:
        json.dump([asdict(figure) for figure in figures], sys.stdout, indent=2)
        return
    print("record    outdated  codec     log MB   seconds     CPU s      MB/s   records/s   kept MB")
    for f in figures:
        print(
            f"{f.record_bytes:6} B {f.outdated_share:9.0%} {f.codec:6} {f.log_mb:10.1f} {f.seconds:9.2f} "
            f"{f.cpu_seconds:9.2f} {f.mb_per_s:9.1f} {f.records_per_s:11,.0f} {f.kept_mb:9.1f}"
        )


if __name__ == "__main__":
    main()
