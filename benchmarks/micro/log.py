"""What one log's appends and reads cost, beside the pwrite and the CRC that no log can do without.

    .venv/bin/python benchmarks/micro/log.py [--json] [--directory DIR] [--batches 2000] [--repeat 7]

Each figure is the best of `--repeat` rounds: CPU time taken by other processes only adds to a figure.
Nothing is synced: this is the page cache's speed. `--directory` on a disk in memory excludes writeback.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial

from crc32c import crc32c

from odradek.base.ids import TopicPartition
from odradek.base.settings import TopicConfig
from odradek.records.builder import BatchBuilder
from odradek.records.header import iter_headers
from odradek.storage import Log
from odradek.storage.memory_files import MemoryFileSystem
from odradek.storage.opening import open_log
from odradek.storage.os_files import OsFileSystem

NOW_MS = time.time_ns() // 1_000_000
READ_BYTES = 1 << 20
PARTITION = TopicPartition("benchmark", 0)

# Record size in bytes, records to a batch.
SHAPES = [(1000, 1), (1000, 62), (100, 590)]


@dataclass(frozen=True)
class Figure:
    """Microseconds for each batch, and the same as MB/s."""

    subject: str
    validation: str
    batch_bytes: int
    us: float
    mb_per_s: float


def batch_of(record_bytes: int, records: int) -> bytes:
    """A batch as a producer sends it."""
    builder = BatchBuilder()
    for _ in range(records):
        builder.append(NOW_MS, None, os.urandom(record_bytes))
    return bytes(builder.build())


def best(rounds: Iterator[Callable[[], object]]) -> float:
    """Seconds of the fastest round."""
    times = []
    for run in rounds:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def figure(subject: str, validation: str, batch: bytes, batches: int, seconds: float) -> Figure:
    """A measurement in the units of the report."""
    size = len(batch)
    return Figure(subject, validation, size, seconds / batches * 1e6, size * batches / seconds / 1e6)


def append_all(log: Log, buffers: list[bytearray]) -> None:
    """One append for each buffer, which is used up."""
    for buffer in buffers:
        log.append_as_leader(buffer, 0, now_ms=NOW_MS)


def measure_append(directory: str, validation: str, batch: bytes, batches: int, repeat: int) -> Figure:
    """Append to a log on the machine's files."""
    config = TopicConfig(odradek_record_validation=validation)
    log = open_log(directory, PARTITION, config, file_system=OsFileSystem())

    def rounds() -> Iterator[Callable[[], object]]:
        for _ in range(repeat):
            buffers = [bytearray(batch) for _ in range(batches)]
            yield partial(append_all, log, buffers)
            log.truncate_fully_and_start_at(0)

    seconds = best(rounds())
    log.close()
    return figure("append", validation, batch, batches, seconds)


def measure_floor(directory: str, batch: bytes, batches: int, repeat: int) -> Figure:
    """The CRC and the pwrite of each batch, alone."""
    path = f"{directory}/floor"

    def write_all() -> None:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        for number in range(batches):
            crc32c(batch)
            os.pwrite(descriptor, batch, number * len(batch))
        os.close(descriptor)

    def rounds() -> Iterator[Callable[[], object]]:
        for _ in range(repeat):
            yield write_all
            os.unlink(path)

    return figure("crc and pwrite alone", "-", batch, batches, best(rounds()))


def measure_memory(validation: str, batch: bytes, batches: int, repeat: int) -> Figure:
    """Append to a log whose files take nothing: what the log itself costs, its validation included."""

    class NoFile:
        path = "/none"

        def write_at(self, data: object, position: int) -> None:
            """Discard it."""

    config = TopicConfig(odradek_record_validation=validation)
    disk = MemoryFileSystem()
    disk.make_directory("/data")
    log = open_log("/data", PARTITION, config, file_system=disk)
    log._segments.active._file = NoFile()  # type: ignore[assignment]  # noqa: SLF001 - only here

    def rounds() -> Iterator[Callable[[], object]]:
        for _ in range(repeat):
            buffers = [bytearray(batch) for _ in range(batches)]
            yield partial(append_all, log, buffers)

    return figure("append to no file", validation, batch, batches, best(rounds()))


def measure_read(directory: str, batch: bytes, batches: int, repeat: int) -> Figure:
    """Read a log from its start, 1 MiB at a time."""
    log = open_log(directory, PARTITION, file_system=OsFileSystem())
    append_all(log, [bytearray(batch) for _ in range(batches)])
    records = log.end_offset // batches

    def read_all() -> None:
        offset = 0
        while offset < log.end_offset:
            read = log.read(offset, READ_BYTES, log.end_position, at_least_one=True)
            offset += max(1, len(read.records) // len(batch)) * records

    seconds = best(read_all for _ in range(repeat))
    log.truncate_fully_and_start_at(0)
    log.close()
    return figure("read", "-", batch, batches, seconds)


def measure_follower(directory: str, batch: bytes, batches: int, repeat: int) -> Figure:
    """Append what a leader's answers hold, up to 1 MiB of whole batches in each; every CRC is checked."""
    leader = open_log(f"{directory}/leader", PARTITION, file_system=OsFileSystem())
    append_all(leader, [bytearray(batch) for _ in range(batches)])
    answers = []
    offset = 0
    while offset < leader.end_offset:
        read = leader.read(offset, READ_BYTES, leader.end_position, at_least_one=True)
        answers.append(bytes(read.held_records))
        *_, (_, header) = iter_headers(answers[-1])
        offset = header.next_offset
    follower = open_log(f"{directory}/follower", PARTITION, file_system=OsFileSystem())

    def append_answers() -> None:
        for answer in answers:
            follower.append_as_follower(answer)

    def rounds() -> Iterator[Callable[[], object]]:
        for _ in range(repeat):
            yield append_answers
            assert follower.end_offset == leader.end_offset
            follower.truncate_fully_and_start_at(0)

    seconds = best(rounds())
    for log in (leader, follower):
        log.truncate_fully_and_start_at(0)
        log.close()
    return figure("append as follower", "crc", batch, batches, seconds)


def measure(directory: str, batches: int, repeat: int) -> list[Figure]:
    """Every figure."""
    figures = []
    for record_bytes, records in SHAPES:
        batch = batch_of(record_bytes, records)
        figures.append(measure_floor(directory, batch, batches, repeat))
        for validation in ("header", "full"):
            figures.append(measure_append(directory, validation, batch, batches, repeat))
            figures.append(measure_memory(validation, batch, batches, repeat))
        figures.append(measure_follower(directory, batch, batches, repeat))
        figures.append(measure_read(directory, batch, batches, repeat))
    return figures


def main() -> int:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--directory", help="where the log is written; a temporary directory when not given")
    parser.add_argument("--batches", type=int, default=2000)
    parser.add_argument("--repeat", type=int, default=7)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.directory) as directory:
        figures = measure(directory, arguments.batches, arguments.repeat)
    if arguments.json:
        print(json.dumps([asdict(one) for one in figures], indent=1))
        return 0
    for one in figures:
        subject = f"{one.subject:21} {one.validation:7} {one.batch_bytes:6} B"
        print(f"{subject} {one.us:8.1f} us {one.mb_per_s:8.0f} MB/s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
