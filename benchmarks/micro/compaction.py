"""How fast the cleaner compacts a log.

    .venv/bin/python benchmarks/micro/compaction.py [--json] [--size-mb 200] [--directory DIR]

MB/s are the bytes of all values, uncompressed, over the time of the whole cleaning, including two passes and
all syncs. A scenario of the macro benchmark measures how much a cleaning delays producers:

    ./dev bench --only cleaner
"""

import argparse
import json
import os
import random
import sys
import tempfile
import time
from dataclasses import asdict, dataclass

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
    # Compression removes half of it.
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


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--size-mb", type=int, default=200)
    parser.add_argument("--directory")
    options = parser.parse_args()
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
