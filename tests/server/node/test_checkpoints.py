"""Checkpoint files with a disk that the test holds."""

import errno
from typing import cast

import pytest

from odradek.base.execution import Steps, exhaust
from odradek.base.held_calls import HeldCalls
from odradek.base.ids import TopicPartition
from odradek.server.node.checkpoints import Checkpoints
from odradek.storage import CheckpointWrite, LogCheckpoints
from odradek.storage.checkpoint import read_offsets
from odradek.storage.memory_files import Fault, MemoryFileSystem

P = TopicPartition("orders", 0)
FILE = "/d1/replication-offset-checkpoint"


class Logs:
    """One log directory with one log, whose high watermark the test sets."""

    def __init__(self, disk: MemoryFileSystem) -> None:
        self.disk = disk
        self.high_watermark = 0
        self.on_disk: list[int] = []

    def high_watermarks(self) -> Steps[list[CheckpointWrite]]:
        yield
        return [CheckpointWrite("/d1", FILE, {P: self.high_watermark}, self.disk)]

    def recovery_points(self) -> Steps[list[CheckpointWrite]]:
        raise AssertionError("not asked for")
        yield

    cleaned_offsets = log_start_offsets = recovery_points

    def begin(self, write: CheckpointWrite) -> None:
        assert write.offsets[P] == self.high_watermark

    def written(self, write: CheckpointWrite) -> None:
        self.on_disk.append(write.offsets[P])

    def failed(self, write: CheckpointWrite) -> None:
        pass


class Bench:
    def __init__(self) -> None:
        self.disk = MemoryFileSystem()
        self.disk.make_directory("/d1")
        self.background, self.logs = HeldCalls(), Logs(self.disk)
        self.failed: list[tuple[str, OSError]] = []
        self.checkpoints = Checkpoints(
            cast(LogCheckpoints, self.logs),
            self.background,
            exhaust,
            lambda directory, reason: self.failed.append((directory, reason)),
        )

    def on_disk(self) -> int | None:
        return read_offsets(self.disk, FILE)[0].get(P)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_nothing_is_written_before_the_background_has_its_turn(bench: Bench) -> None:
    """R12"""
    bench.logs.high_watermark = 5
    exhaust(bench.checkpoints.write_high_watermarks())
    bench.logs.high_watermark = 9
    assert (bench.on_disk(), bench.logs.on_disk) == (None, [])
    bench.background.complete_next()
    assert (bench.on_disk(), bench.logs.on_disk) == (5, [5]), "the values of when the write began"


def test_a_file_has_one_writer_at_a_time(bench: Bench) -> None:
    """R12"""
    exhaust(bench.checkpoints.write_high_watermarks())
    exhaust(bench.checkpoints.write_high_watermarks())
    assert bench.background.waiting == 1
    bench.background.complete_next()
    bench.logs.high_watermark = 7
    exhaust(bench.checkpoints.write_high_watermarks())
    bench.background.complete_next()
    assert bench.on_disk() == 7


def test_a_failing_disk_takes_its_directory_offline(bench: Bench) -> None:
    """R12, L7"""
    bench.disk.inject(Fault("sync", errno.EIO))
    exhaust(bench.checkpoints.write_high_watermarks())
    bench.background.complete_next()
    ((directory, error),) = bench.failed
    assert (directory, error.errno) == ("/d1", errno.EIO)
    assert bench.logs.on_disk == []


def test_what_is_no_disks_fault_is_not_blamed_on_the_disk(bench: Bench) -> None:
    bench.logs.disk = cast(MemoryFileSystem, None)
    exhaust(bench.checkpoints.write_high_watermarks())
    with pytest.raises(AttributeError):
        bench.background.complete_next()
    assert bench.failed == []
