"""Compaction as a broker runs it, with a runner and a loop that the test holds."""

import errno
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import pytest

from odradek.base.chance import SeededChance
from odradek.base.clock import ManualClock
from odradek.base.errors import CorruptRecord, OdradekError
from odradek.base.execution import exhaust
from odradek.base.held_calls import HeldCalls
from odradek.base.ids import TopicPartition
from odradek.base.settings import BrokerSettings, TopicConfig
from odradek.records.builder import BatchBuilder
from odradek.records.header import iter_headers
from odradek.server.cleaning.cleaner_host import CleanerHost, CleaningEvents, InlineCleaner
from odradek.server.node.checkpoints import Checkpoints
from odradek.storage import Log, LogManager
from odradek.storage.compaction.cleaning import REPLACED_AT_ONCE_MAX
from odradek.storage.compaction.job import CleaningJob
from odradek.storage.memory_files import Fault, MemoryFileSystem

FACTS = TopicPartition("facts", 0)
SETTINGS = BrokerSettings(log_dirs=("/data",))
T = TypeVar("T")


class Runner:
    """Does a job when the test says so, as far as it says."""

    def __init__(self, disk: MemoryFileSystem) -> None:
        self.inline = InlineCleaner(disk, lambda turn: turn())
        self.jobs: list[tuple[CleaningJob, float, CleaningEvents]] = []
        self.dropped = 0

    def run(self, job: CleaningJob, bytes_per_second: float, events: CleaningEvents) -> Callable[[], None]:
        self.jobs.append((job, bytes_per_second, events))

        def drop() -> None:
            self.dropped += 1

        return drop

    def work(self) -> None:
        self.inline.run(*self.jobs.pop(0))

    def fail(self, error: Exception) -> None:
        self.jobs.pop(0)[2].failed(error)


class CleaningBench:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.disk = MemoryFileSystem(now_ms=self.clock.wall_ms)
        self.disk.make_directory("/data")
        self.config = TopicConfig(cleanup_policy=frozenset({"compact"}), min_cleanable_dirty_ratio=0.1)
        self.settings = SETTINGS
        self.logs = self.opened()
        self.runner = Runner(self.disk)
        self.turns: list[Callable[[], None]] = []
        # Where the calls for other threads wait; None: they run at once.
        self.held: HeldCalls | None = None
        self.failed: list[str | OSError] = []
        self.checkpoints = Checkpoints(
            self.logs.checkpoints,
            self,
            exhaust,
            lambda directory, reason: self.failed.append(reason),
        )
        self.host = CleanerHost(
            self.logs,
            self.runner,
            clock=self.clock,
            background=self,
            defer=self.turns.append,
            settings=lambda: self.settings,
            settle_recovery_points=self.checkpoints.settle_recovery_points,
            settle_checkpoint=self.checkpoints.settle_cleaned_offsets,
            on_failed=lambda directory, reason: self.failed.append(reason),
        )

    def opened(self) -> LogManager:
        return LogManager.open(
            SETTINGS,
            cluster_id="c",
            file_system=self.disk,
            clock=self.clock,
            chance=SeededChance(0),
            config_of=lambda topic: self.config,
        )

    def submit(
        self, call: Callable[[], T], done: Callable[[T], None], failed: Callable[[Exception], None]
    ) -> None:
        if self.held is not None:
            self.held.submit(call, done, failed)
            return
        try:
            result = call()
        except OSError as error:
            failed(error)
        else:
            done(result)

    def log(self, partition: TopicPartition = FACTS, *, segments: int = 3) -> Log:
        """A log with closed segments, each of which holds the same key."""
        log = self.logs.create(partition)
        for number in range(segments):
            builder = BatchBuilder()
            builder.append(self.clock.wall_ms(), b"k", b"%d" % number)
            log.append_as_leader(builder.build(), 0, now_ms=self.clock.wall_ms())
            log.roll()
        log.restore_high_watermark(log.end_offset)
        log.flush()
        return log

    def turn(self) -> int:
        """Let the loop run until it is idle; how many turns that took."""
        count = 0
        while self.turns:
            self.turns.pop(0)()
            count += 1
        return count

    def waits(self) -> dict[str, str]:
        """What each compacted log waits for."""
        return {row["partition"]: row["waits_for"] for row in self.host.describe()}


def offsets(log: Log) -> list[int]:
    read = log.read(log.log_start_offset, 1 << 20, log.end_position, at_least_one=True)
    assert isinstance(read.records, bytes | memoryview), "small enough to be read at once"
    return [header.base_offset for _, header in iter_headers(read.records)]


@pytest.fixture
def bench() -> CleaningBench:
    return CleaningBench()


def test_a_log_that_is_due_is_cleaned_and_the_checkpoint_written(bench: CleaningBench) -> None:
    """L5"""
    log = bench.log()
    bench.host.look()
    assert offsets(log) == [0]
    bench.runner.work()
    assert log.cleaned_offset == 0, "not before the segments are swapped in"
    bench.turn()
    assert (offsets(log), log.cleaned_offset) == ([2], 3)
    assert bench.disk.read("/data/cleaner-offset-checkpoint") == b"0\n1\nfacts 0 3\n"
    bench.host.look()
    assert bench.runner.jobs == [], "there is nothing left to do"
    assert bench.waits() == {"facts-0": "the active segment, from offset 3 on, to be rolled"}


def test_nothing_is_cleaned_before_the_recovery_points_are_on_disk(bench: CleaningBench) -> None:
    """L4, L5: so a start knows a gap that compaction left from one that a power cut did."""
    log = bench.log()
    bench.held = HeldCalls()
    bench.host.look()
    assert bench.runner.jobs == []
    assert bench.host.counts() == (1, 0)
    bench.held.complete()
    assert bench.disk.read("/data/recovery-point-offset-checkpoint") == b"0\n1\nfacts 0 3\n"
    bench.runner.work()
    bench.turn()
    bench.held.complete()
    assert (offsets(log), log.cleaned_offset) == ([2], 3)


def test_a_log_that_is_truncated_before_its_cleaning_is_left_alone(bench: CleaningBench) -> None:
    """L5"""
    log = bench.log()
    bench.held = HeldCalls()
    bench.host.look()
    log.truncate_to(2)
    bench.held.complete()
    assert (bench.runner.jobs, bench.host.counts()) == ([], (0, 0))


def test_a_cleaning_is_logged_with_what_it_did(
    bench: CleaningBench, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "odradek.server.cleaning")
    bench.log()
    bench.host.look()
    bench.runner.work()
    bench.turn()
    (said,) = caplog.records
    assert said.message == (
        "compacted facts-0: cleaned up to offset 3: 1 of 3 records kept, 3 segments became 1"
    )
    assert (vars(said)["topic"], vars(said)["partition"]) == ("facts", 0)


def test_it_says_how_far_a_cleaning_is(bench: CleaningBench) -> None:
    bench.log()
    assert bench.waits() == {"facts-0": "a cleaner"}
    bench.host.look()
    bench.clock.advance(250)
    assert bench.waits() == {"facts-0": "its cleaning to end, for 250 ms so far"}
    assert bench.host.counts() == (1, 0)


def test_the_dirtiest_log_is_shown_first_and_logs_that_are_not_compacted_never(bench: CleaningBench) -> None:
    bench.log(segments=1)
    bench.log(TopicPartition("facts", 1), segments=3).mark_cleaned(2)
    bench.config = replace(bench.config, cleanup_policy=frozenset({"delete"}))
    bench.log(TopicPartition("deleted", 0))
    rows = list(bench.host.describe())
    assert [row["partition"] for row in rows] == ["facts-0", "facts-1"]
    assert [row["dirty_ratio"] for row in rows] == [1.0, pytest.approx(1 / 3, abs=0.01)]
    assert rows[1]["cleaned_offset"] == 2


def test_the_checkpoint_is_taken_up_at_the_next_start(bench: CleaningBench) -> None:
    """L5"""
    bench.log()
    bench.host.look()
    bench.runner.work()
    bench.turn()
    bench.logs.close()
    log = bench.opened().get(FACTS)
    assert log is not None
    assert (log.cleaned_offset, offsets(log)) == (3, [2])


def test_each_segment_is_swapped_in_on_a_turn_of_its_own(bench: CleaningBench) -> None:
    """L5: slices of a millisecond."""
    log = bench.log(segments=3 * REPLACED_AT_ONCE_MAX)
    bench.host.look()
    bench.runner.work()
    assert bench.turn() == 3
    assert len(list(log.segments)) == 4


def test_as_many_logs_are_cleaned_at_once_as_there_are_threads(bench: CleaningBench) -> None:
    """L5: log.cleaner.threads, which share the buffer and the rate."""
    for number in range(3):
        bench.log(TopicPartition("facts", number))
    bench.settings = replace(
        SETTINGS, log_cleaner_threads=2, log_cleaner_dedupe_buffer_size=1_000_000,
        log_cleaner_io_max_bytes_per_second=500.0,
    )  # fmt: skip
    bench.host.look()
    assert len(bench.runner.jobs) == 2
    job, bytes_per_second, _ = bench.runner.jobs[0]
    assert (job.map_bytes_max, bytes_per_second) == (500_000, 250.0)
    bench.runner.work()
    bench.turn()
    assert len(bench.runner.jobs) == 2, "the third takes the place of the first"


@pytest.mark.parametrize(
    "settings", [replace(SETTINGS, log_cleaner_enable=False), replace(SETTINGS, log_cleaner_threads=0)]
)
def test_nothing_is_cleaned_where_the_cleaner_is_off(bench: CleaningBench, settings: BrokerSettings) -> None:
    bench.log()
    bench.settings = settings
    bench.host.look()
    assert bench.runner.jobs == []


def test_a_damaged_log_is_left_alone_and_named(bench: CleaningBench) -> None:
    """L5"""
    bench.log()
    bench.host.look()
    bench.runner.fail(CorruptRecord("the CRC does not hold"))
    bench.host.look()
    assert bench.runner.jobs == []
    assert bench.waits() == {"facts-0": "nothing any more, it is damaged: the CRC does not hold"}
    assert bench.host.counts() == (0, 1)
    assert bench.failed == []
    bench.logs.delete(FACTS)
    bench.log()
    bench.host.look()
    assert len(bench.runner.jobs) == 1, "a log made anew under that name is another one"


def test_a_disk_that_fails_takes_its_directory_offline(bench: CleaningBench) -> None:
    """L7"""
    bench.log()
    bench.host.look()
    bench.runner.fail(OSError(errno.EIO, "Input/output error"))
    assert [str(error) for error in bench.failed] == ["[Errno 5] Input/output error"]


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), OdradekError("it was killed")])
def test_a_full_disk_or_a_killed_process_is_tried_again_later(bench: CleaningBench, error: Exception) -> None:
    """L5: the log itself has lost nothing."""
    bench.log()
    bench.host.look()
    bench.runner.fail(error)
    assert (bench.failed, bench.runner.jobs) == ([], [])
    bench.host.look()
    assert len(bench.runner.jobs) == 1


def test_a_log_deleted_meanwhile_is_forgotten(bench: CleaningBench) -> None:
    """L5"""
    bench.log()
    bench.host.look()
    bench.logs.delete(FACTS)
    bench.runner.fail(FileNotFoundError(errno.ENOENT, "No such file or directory"))
    assert bench.failed == []
    assert (list(bench.host.describe()), bench.host.counts()) == ([], (0, 0))


def test_a_log_truncated_meanwhile_is_begun_anew(bench: CleaningBench) -> None:
    """L5"""
    log = bench.log()
    bench.host.look()
    log.truncate_to(1)
    bench.runner.work()
    bench.turn()
    assert (offsets(log), log.cleaned_offset, bench.runner.dropped) == ([0], 0, 1)
    assert (bench.failed, bench.runner.jobs) == ([], [])
    log.roll()
    log.flush()
    bench.host.look()
    assert len(bench.runner.jobs) == 1, "it was taken for damaged"


def test_a_closed_host_drops_what_runs(bench: CleaningBench) -> None:
    log = bench.log()
    bench.host.look()
    bench.host.close()
    assert bench.runner.dropped == 1
    bench.runner.work()
    bench.turn()
    assert offsets(log) == [0]
    bench.host.look()
    assert bench.runner.jobs == []


def test_a_disk_that_is_full_at_once_is_tried_again_at_the_next_look(bench: CleaningBench) -> None:
    """A runner's events come after its call; else one look would begin the same log for ever."""
    bench.log()
    bench.host._runner = InlineCleaner(bench.disk, bench.turns.append)
    bench.disk.inject(Fault("create", errno.ENOSPC, str(FACTS)))
    bench.host.look()
    assert bench.host.counts() == (1, 0)
    bench.turn()
    assert (bench.host.counts(), bench.disk.faults) == ((0, 0), [])
    bench.host.look()
    bench.turn()
    assert next(bench.host.describe())["dirty_ratio"] == 0


def test_two_cleanings_that_end_together_write_the_checkpoint_one_after_another(
    bench: CleaningBench,
) -> None:
    """R12: two threads that replace the same file take the temporary file from each other."""
    partitions = [FACTS, TopicPartition("facts", 1)]
    for partition in partitions:
        bench.log(partition)
    bench.settings = replace(SETTINGS, log_cleaner_threads=2)
    bench.held = HeldCalls()
    bench.host.look()
    bench.held.complete()
    bench.runner.jobs.sort(key=lambda job: job[0].directory)
    for _ in partitions:
        bench.runner.work()
    bench.turn()
    disk = bench.held
    assert disk.waiting == 2, "the names of each log"
    disk.run_next()
    disk.run_next()
    disk.report_next()
    cleaned = [0 if (log := bench.logs.get(one)) is None else log.cleaned_offset for one in partitions]
    assert cleaned == [3, 0], "the names of the second are not known to be on disk"
    disk.report_next()
    assert disk.waiting == 1, "one write of the file"
    disk.complete_next()
    assert bench.disk.read("/data/cleaner-offset-checkpoint") == b"0\n1\nfacts 0 3\n"
    assert bench.host.counts() == (1, 0)
    disk.complete()
    assert bench.disk.read("/data/cleaner-offset-checkpoint") == b"0\n2\nfacts 0 3\nfacts 1 3\n"
    assert (bench.host.counts(), bench.failed) == ((0, 0), [])


@pytest.mark.parametrize(("code", "is_offline"), [(errno.ENOSPC, False), (errno.EIO, True)])
def test_a_checkpoint_that_finds_the_disk_full_is_left_out(
    bench: CleaningBench, code: int, *, is_offline: bool
) -> None:
    """L7: a log that is only read from survives a full disk."""
    bench.log()
    bench.host.look()
    bench.disk.inject(Fault("sync", code, "cleaner-offset-checkpoint"))
    bench.runner.work()
    bench.turn()
    assert bench.host.counts() == (0, 0)
    assert len(bench.failed) == is_offline
