"""The process that cleans, as a broker sees it: jobs there, answers back."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from odradek.base.errors import CorruptRecord, OdradekError
from odradek.base.ids import TopicPartition
from odradek.base.settings import TopicConfig
from odradek.records.builder import BatchBuilder
from odradek.server.cleaning.cleaner_host import CleaningEvents
from odradek.server.cleaning.cleaner_process import CleanerDied, CleanerProcesses
from odradek.server.cleaning.cleaner_worker import WAIT_S_MAX, Pace
from odradek.storage import Log
from odradek.storage.cleaned_segment import CleanedSegment
from odradek.storage.compaction.job import CleaningJob, CleaningReport
from odradek.storage.compaction.selection import cleanable_part, job_for
from odradek.storage.opening import open_log
from odradek.storage.os_files import OsFileSystem

pytestmark = pytest.mark.slow

COMPACTED = TopicConfig(cleanup_policy=frozenset({"compact"}))
UNLIMITED = 1.7976931348623157e308


def dirty_log(directory: Path, *, segments: int = 3, value_bytes: int = 10) -> tuple[Log, CleaningJob]:
    log = open_log(str(directory), TopicPartition("facts", 0), COMPACTED, file_system=OsFileSystem())
    for number in range(segments):
        builder = BatchBuilder()
        builder.append(1_000, b"k", b"%d" % number + bytes(value_bytes))
        log.append_as_leader(builder.build(), 0, now_ms=1_000)
        log.roll()
    log.restore_high_watermark(log.end_offset)
    log.flush()
    return log, job_for(log, cleanable_part(log, 1_000), now_ms=1_000, map_bytes_max=1 << 16)


async def outcome_of(
    job: CleaningJob, bytes_per_second: float = UNLIMITED
) -> tuple[list[CleanedSegment], CleaningReport | Exception]:
    cleaners = CleanerProcesses()
    segments: list[CleanedSegment] = []
    outcome: asyncio.Future[CleaningReport | Exception] = asyncio.get_running_loop().create_future()
    events = CleaningEvents(segments.append, outcome.set_result, outcome.set_result)
    cleaners.run(job, bytes_per_second, events)
    try:
        return segments, await asyncio.wait_for(outcome, 30)
    finally:
        await cleaners.close()


@pytest.mark.asyncio
async def test_a_job_is_done_elsewhere_and_its_result_swapped_in(tmp_path: Path) -> None:
    """L5"""
    log, job = dirty_log(tmp_path)
    segments, report = await outcome_of(job)
    assert isinstance(report, CleaningReport), report
    assert (report.end_offset, report.records_kept) == (3, 1)
    assert [len(segment.replaced) for segment in segments] == [3]
    assert log.swap_in(segments[0], log.truncations)
    assert [segment.base_offset for segment in log.segments] == [0, 3]
    log.close()


@pytest.mark.asyncio
async def test_damage_comes_back_as_what_it_is(tmp_path: Path) -> None:
    log, job = dirty_log(tmp_path)
    Path(next(iter(log.segments)).file.path).write_bytes(bytes(job.segments[0].size_bytes))
    _, error = await outcome_of(job)
    assert isinstance(error, CorruptRecord), error


@pytest.mark.asyncio
async def test_a_disk_that_refuses_comes_back_with_its_errno(tmp_path: Path) -> None:
    log, job = dirty_log(tmp_path)
    log.rename_directory("elsewhere-0")
    _, error = await outcome_of(job)
    assert isinstance(error, FileNotFoundError), error


@pytest.mark.asyncio
async def test_a_process_that_dies_is_noticed(tmp_path: Path) -> None:
    _, job = dirty_log(tmp_path)
    _, error = await outcome_of(job, bytes_per_second=0.0)  # it divides by that
    assert isinstance(error, CleanerDied), error
    assert isinstance(error, OdradekError)


@pytest.mark.asyncio
async def test_a_dropped_job_reports_nothing_and_its_process_ends(tmp_path: Path) -> None:
    _, job = dirty_log(tmp_path)
    cleaners = CleanerProcesses()
    told: list[object] = []
    drop = cleaners.run(job, 1.0, CleaningEvents(told.append, told.append, told.append))
    await asyncio.sleep(0)
    drop()
    await cleaners.close()
    assert told == []


def test_the_process_ends_with_its_broker(tmp_path: Path) -> None:
    """L5: two never clean one log."""
    _, job = dirty_log(tmp_path)
    command = [sys.executable, "-m", "odradek.server.cleaning.cleaner_worker", "0.001"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(job.to_json().encode() + b"\n")
    process.stdin.close()
    assert process.stdout.read() == b""
    assert process.wait(30) == 1
    process.stdout.close()


@pytest.mark.parametrize("told", [b"", b'{"directory": "/da'])
def test_a_job_that_is_not_told_to_its_end_ends_the_process_without_a_word(told: bytes) -> None:
    """L5: a broker that was killed while its cleaner started."""
    command = [sys.executable, "-m", "odradek.server.cleaning.cleaner_worker", "1.0"]
    ended = subprocess.run(command, input=told, capture_output=True, timeout=30)
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, b"", b"")


def test_an_answer_that_nobody_reads_ends_the_process_without_a_word(tmp_path: Path) -> None:
    """L5: a broker that was killed between two looks at standard input."""
    _, job = dirty_log(tmp_path)
    command = [sys.executable, "-m", "odradek.server.cleaning.cleaner_worker", str(UNLIMITED)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.write(job.to_json().encode() + b"\n")
        process.stdin.flush()
        assert process.stderr.read() == b""
        assert process.wait(30) == 1


def test_the_rate_is_kept_to(tmp_path: Path) -> None:
    """L5: log.cleaner.io.max.bytes.per.second"""
    _, job = dirty_log(tmp_path, value_bytes=10_000)
    read_bytes = 2 * sum(segment.size_bytes for segment in job.segments)
    command = [sys.executable, "-m", "odradek.server.cleaning.cleaner_worker", str(read_bytes / 0.5)]
    start_s = os.times().elapsed
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(job.to_json().encode() + b"\n")
    process.stdin.flush()
    assert b"report" in process.stdout.read()
    assert os.times().elapsed - start_s >= 0.5
    process.stdin.close()
    assert process.wait(30) == 0
    process.stdout.close()


def test_the_slowest_rate_asks_for_no_wait_that_the_system_cannot_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`log.cleaner.io.max.bytes.per.second=1` for as many threads as there can be."""
    now_s, waits = 0.0, []

    def select(*sets_and_timeout: Any) -> tuple[list[int], list[int], list[int]]:
        nonlocal now_s
        waits.append(sets_and_timeout[3])
        now_s += 1e15 if len(waits) == 3 else waits[-1]
        return [], [], []

    monkeypatch.setattr("odradek.server.cleaning.cleaner_worker.time.monotonic", lambda: now_s)
    monkeypatch.setattr("odradek.server.cleaning.cleaner_worker.select.select", select)
    Pace(1 / (2**31 - 1))(65_536)
    assert waits == [WAIT_S_MAX] * 3 + [0.0]
