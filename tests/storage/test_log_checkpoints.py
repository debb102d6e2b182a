"""Checkpoint files beside logs that are deleted and made again under their names (R12)."""

from collections.abc import Callable

import pytest

from odradek.base.chance import SeededChance
from odradek.base.clock import ManualClock
from odradek.base.execution import ITEMS_PER_STEP, Steps, exhaust
from odradek.base.ids import TopicPartition
from odradek.base.settings import BrokerSettings, TopicConfig
from odradek.storage import CheckpointWrite, Log, LogCheckpoints, LogManager
from odradek.storage.checkpoint import read_offsets
from odradek.storage.memory_files import MemoryFileSystem
from tests.replication.replica_bench import batch_of

AGAIN, OTHER = TopicPartition("again", 0), TopicPartition("other", 0)

GATHERED: dict[str, Callable[[LogCheckpoints], Steps[list[CheckpointWrite]]]] = {
    "replication-offset-checkpoint": LogCheckpoints.high_watermarks,
    "recovery-point-offset-checkpoint": LogCheckpoints.recovery_points,
    "log-start-offset-checkpoint": LogCheckpoints.log_start_offsets,
    "cleaner-offset-checkpoint": LogCheckpoints.cleaned_offsets,
}

every_file = pytest.mark.parametrize("name", GATHERED)


class Bench:
    """One log directory."""

    def __init__(self) -> None:
        self.disk = MemoryFileSystem()
        self.logs = LogManager.open(
            BrokerSettings(log_dirs=("/d1",)),
            cluster_id="9mV0tsdqSpyTkIyXSMUJOw",
            file_system=self.disk,
            clock=ManualClock(),
            chance=SeededChance(1),
            config_of=lambda topic: TopicConfig(),
        )

    @property
    def checkpoints(self) -> LogCheckpoints:
        return self.logs.checkpoints

    def move_on(self, partition: TopicPartition) -> Log:
        """Give a log, which is made if it is missing, a line in every file, or another one."""
        log = self.logs.create(partition)
        for _ in range(4):
            log.append_as_leader(batch_of(100, 0), 0, now_ms=1_000)
        log.restore_high_watermark(log.end_offset)
        log.flush()
        log.delete_records_before(log.end_offset - 1)
        log.mark_cleaned(log.end_offset)
        return log

    def make_again(self, partition: TopicPartition = AGAIN) -> None:
        self.logs.delete(partition)
        self.logs.create(partition)

    def write(self, name: str) -> None:
        for write in exhaust(GATHERED[name](self.checkpoints)):
            self.checkpoints.begin(write)
            write.run()
            self.checkpoints.written(write)

    def lines(self, name: str) -> dict[TopicPartition, int]:
        offsets, damage = read_offsets(self.disk, f"/d1/{name}")
        assert damage is None
        return offsets


@pytest.fixture
def bench() -> Bench:
    return Bench()


@every_file
@pytest.mark.parametrize("moment", ["while it is gathered", "begun", "while it is written", "written"])
@pytest.mark.parametrize("has_line", [True, False])
def test_a_log_made_anew_does_not_get_the_line_of_an_earlier_log(
    bench: Bench, name: str, moment: str, *, has_line: bool
) -> None:
    """R12: whatever is on its way to the disk at that time, and whether or not the file has the line yet."""
    for number in range(ITEMS_PER_STEP):  # so that there is more than one step
        bench.logs.create(TopicPartition("first", number))
    if has_line:
        bench.move_on(AGAIN)
        bench.write(name)
    old = bench.move_on(AGAIN)
    other = bench.move_on(OTHER)
    for number in range(ITEMS_PER_STEP):
        bench.logs.create(TopicPartition("last", number))

    def meanwhile(operation: str, path: str) -> None:
        if operation == "rename" and name in path:
            bench.disk.before_operation = None
            bench.make_again()

    steps = GATHERED[name](bench.checkpoints)
    if moment == "while it is gathered":
        for _ in range(2):
            next(steps)
        bench.make_again()
    (write,) = exhaust(steps)
    bench.checkpoints.begin(write)
    if moment == "begun":
        bench.make_again()
    if moment == "while it is written":
        bench.disk.before_operation = meanwhile
    write.run()
    assert bench.disk.before_operation is None
    if moment == "written":
        bench.make_again()
    bench.checkpoints.written(write)
    assert bench.logs.get(AGAIN) is not old
    lines = bench.lines(name)
    assert lines.get(AGAIN, 0) == 0
    expected = other.log_start_offset if "log-start" in name else other.end_offset
    assert lines[OTHER] == expected, "what is on its way is not replaced by what was there before"
    bench.write(name)
    assert bench.lines(name) == lines | ({AGAIN: 0} if AGAIN in bench.lines(name) else {})


def test_logs_that_are_deleted_and_made_again_together_cost_one_write_of_each_file(bench: Bench) -> None:
    """R12: not one write for each of ten thousand."""
    partitions = [TopicPartition("wide", number) for number in range(20)]
    for partition in partitions:
        bench.move_on(partition)
    for name in GATHERED:
        bench.write(name)
    for partition in partitions:
        bench.logs.delete(partition)
    renamed: list[str] = []
    bench.disk.before_operation = lambda operation, path: renamed.append(f"{operation} {path}")
    for partition in partitions:
        bench.logs.create(partition)
    bench.disk.before_operation = None
    assert sorted(one for one in renamed if one.startswith("rename") and "-checkpoint" in one) == [
        f"rename /d1/{name}.tmp" for name in sorted(GATHERED)
    ]
    assert [bench.lines(name) for name in GATHERED] == [{}] * 4


@every_file
def test_a_removed_line_stays_away_after_a_power_cut_once_the_file_is_due(bench: Bench, name: str) -> None:
    """R12: the file is written again although it has the content already, and then no more."""
    bench.move_on(AGAIN)
    bench.move_on(OTHER)
    bench.write(name)
    bench.make_again()
    assert bench.lines(name).get(AGAIN, 0) == 0
    bench.write(name)
    assert exhaust(GATHERED[name](bench.checkpoints)) == []
    bench.disk.crash()
    lines = bench.lines(name)
    assert lines.get(AGAIN, 0) == 0
    assert lines[OTHER] > 0


def test_a_line_that_a_failed_write_was_to_have_is_due_again(bench: Bench) -> None:
    bench.move_on(AGAIN)
    (write,) = exhaust(bench.checkpoints.cleaned_offsets())
    bench.checkpoints.begin(write)
    bench.checkpoints.failed(write)
    bench.write("cleaner-offset-checkpoint")
    assert bench.lines("cleaner-offset-checkpoint") == {AGAIN: 4}
