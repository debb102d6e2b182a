"""Truncations on their way to the disk, which the test holds, and in a cluster that loses power."""

import errno
from collections.abc import Callable

import pytest

from odradek.base.chance import SeededChance
from odradek.base.clock import ManualClock
from odradek.base.error_codes import ErrorCode
from odradek.base.execution import exhaust
from odradek.base.held_calls import HeldCalls
from odradek.base.ids import TopicPartition
from odradek.base.settings import BrokerSettings, TopicConfig
from odradek.records.header import iter_headers
from odradek.replication.fetcher import State
from odradek.server.node.checkpoints import Checkpoints
from odradek.server.node.group_flush import GroupFlush
from odradek.server.node.stages import Join
from odradek.server.node.truncation_settling import FLUSHED_AT_ONCE, TruncationSettling
from odradek.storage import Log, LogManager
from odradek.storage.checkpoint import read_offsets
from odradek.storage.file_names import RECOVERY_POINTS
from odradek.storage.memory_files import Fault, MemoryFileSystem
from tests.replication.replica_bench import batch_of
from tests.server.node.test_replica_fetchers import LAG_MAX_MS, LEADER, SESSION_MS, Cluster, P, code_of

FIRST_SEGMENT = "/data/orders-0/00000000000000000000.log"
A, B = TopicPartition("a", 0), TopicPartition("b", 0)


class Bench:
    """Log directories with logs of a few records each, all on disk with their recovery points."""

    def __init__(
        self, *partitions: TopicPartition, directories: tuple[str, ...] = ("/d1",), records: int = 10
    ) -> None:
        self.files = MemoryFileSystem()
        self.disk = HeldCalls()
        self.settled: list[TopicPartition] = []
        self.failed: list[str] = []
        self.logs = LogManager.open(
            BrokerSettings(log_dirs=directories),
            cluster_id="9mV0tsdqSpyTkIyXSMUJOw",
            file_system=self.files,
            clock=ManualClock(),
            chance=SeededChance(1),
            config_of=lambda topic: TopicConfig(),
        )
        self.checkpoints = Checkpoints(self.logs.checkpoints, self.disk, exhaust, self.fail)
        group_flush = GroupFlush(self.logs, self.disk, _at_once, lambda topic_partition: None, self.fail)
        self.settling = TruncationSettling(
            self.logs, group_flush, self.checkpoints, exhaust, _at_once, self.settled.append
        )
        for partition in partitions:
            log = self.logs.create(partition)
            for _ in range(records):
                log.append_as_leader(batch_of(100, 0), 0, now_ms=1_000)
            log.flush()
        self.write_recovery_points()

    def fail(self, directory: str, reason: str | OSError) -> None:
        self.logs.fail_directory(directory, reason)
        self.failed.append(directory)

    def write_recovery_points(self) -> None:
        exhaust(self.checkpoints.write_recovery_points())
        self.disk.complete()

    def log(self, partition: TopicPartition) -> Log:
        log = self.logs.get(partition)
        assert log is not None
        return log

    def cut(self, partition: TopicPartition, offset: int) -> None:
        self.log(partition).truncate_to(offset)
        self.settling.want(partition)

    def recovery_point(self, partition: TopicPartition, directory: str = "/d1") -> int | None:
        return read_offsets(self.files, f"{directory}/{RECOVERY_POINTS}")[0].get(partition)


def _at_once(callback: Callable[[], None]) -> None:
    callback()


def test_a_log_is_settled_when_its_flush_and_its_recovery_point_are_on_disk() -> None:
    """X6: both on another thread, in this order."""
    bench = Bench(A)
    on_the_loop: list[str] = []
    bench.files.before_operation = lambda operation, path: on_the_loop.append(operation)
    bench.cut(A, 6)
    bench.files.before_operation = None
    assert "sync" not in on_the_loop
    assert (bench.disk.waiting, bench.recovery_point(A)) == (1, 10)
    bench.disk.complete_next()
    assert (bench.disk.waiting, bench.recovery_point(A), bench.settled) == (1, 10, [])
    bench.disk.complete_next()
    assert (bench.disk.waiting, bench.recovery_point(A), bench.settled) == (0, 6, [A])
    assert bench.log(A).is_settled
    synced: list[str] = []
    bench.files.before_operation = lambda operation, path: synced.append(operation)
    bench.log(A).append_as_leader(batch_of(100, 0), 1, now_ms=1_000)
    assert "sync" not in synced


def test_all_logs_that_wait_are_settled_by_one_write_of_the_recovery_points() -> None:
    """X6: with a few open files at a time."""
    partitions = [TopicPartition("a", number) for number in range(2 * FLUSHED_AT_ONCE + 1)]
    bench = Bench(*partitions, records=1)
    bench.cut(partitions[0], 0)  # the first round
    for partition in partitions[1:]:
        bench.cut(partition, 0)
    renamed: list[str] = []
    bench.files.before_operation = lambda operation, path: renamed.append(operation + path)
    calls = 0
    while bench.disk.waiting:
        bench.disk.complete_next()
        calls += 1
    assert calls == 1 + 1 + 2, "the first round has written the recovery points of the second"
    assert len([one for one in renamed if one.startswith("rename") and RECOVERY_POINTS in one]) == 1
    assert sorted(bench.settled) == partitions


def test_a_log_that_is_truncated_again_waits_for_the_next_round() -> None:
    """X6: the flush under way does not include the second truncation."""
    bench = Bench(A)
    bench.cut(A, 6)
    bench.disk.complete_next()
    bench.cut(A, 4)
    bench.disk.complete_next()
    assert (bench.settled, bench.log(A).is_settled) == ([], False)
    bench.disk.complete()
    assert (bench.settled, bench.log(A).is_settled, bench.recovery_point(A)) == ([A], True, 4)


def test_a_recovery_point_from_before_the_truncation_is_waited_for() -> None:
    """X6: its write may end last, and would replace the lower one."""
    bench = Bench(A, B)
    bench.log(B).append_as_leader(batch_of(100, 0), 0, now_ms=1_000)
    bench.log(B).flush()
    exhaust(bench.checkpoints.write_recovery_points())  # A at 10
    bench.cut(A, 6)
    bench.disk.run_next(1)  # the flush
    bench.disk.report_next()
    assert (bench.disk.waiting, bench.settled) == (1, []), "the earlier write only"
    bench.disk.complete_next()
    assert (bench.recovery_point(A), bench.settled) == (10, [])
    bench.disk.complete_next()
    assert (bench.recovery_point(A), bench.settled, bench.disk.waiting) == (6, [A], 0)


def test_a_recovery_point_that_falls_back_to_what_was_written_is_written_again() -> None:
    """X6: the write under way has the higher offset, also where the file has the lower one already."""
    bench = Bench(A)
    bench.log(A).append_as_leader(batch_of(100, 0), 0, now_ms=1_000)
    bench.log(A).flush()
    exhaust(bench.checkpoints.write_recovery_points())  # 11, where the file has 10
    bench.cut(A, 10)
    bench.disk.complete()
    assert (bench.recovery_point(A), bench.settled) == (10, [A])


@pytest.mark.parametrize("calls_before", [0, 1], ids=["flush", "checkpoint"])
def test_a_disk_that_fails_settles_nothing_of_its_directory(calls_before: int) -> None:
    """X6, L7: the logs of the other directory go on."""
    bench = Bench(A, B, directories=("/d1", "/d2"))
    assert [bench.log(one).directory for one in (A, B)] == ["/d1", "/d2"]
    bench.cut(A, 6)
    for _ in range(calls_before):
        bench.disk.complete_next()
    bench.files.inject(Fault("sync", errno.EIO, "/d1"))
    bench.disk.complete()
    bench.cut(B, 6)
    bench.disk.complete()
    assert (bench.failed, bench.settled, bench.recovery_point(B, "/d2")) == (["/d1"], [B], 6)


def test_a_log_that_was_deleted_meanwhile_is_left_out() -> None:
    bench = Bench(A, B)
    bench.cut(A, 6)
    bench.cut(B, 6)
    bench.disk.complete_next()
    bench.logs.delete(A)
    bench.disk.complete()
    assert (bench.settled, bench.failed) == ([B], [])


# --- in a cluster


def diverged(seed: int, partitions: int = 1) -> Cluster:
    """Broker 1 led, has on disk what no other broker has, and is about to start; broker 2 or 3 leads."""
    cluster = Cluster(seed, partitions)
    world = cluster.world
    cluster.produce(2)
    if partitions > 1:
        cluster.produce(partition=1)
    world.advance(1_000)
    for follower in (2, 3):
        world.cut(1, follower)
        world.links.drop(follower, 1)
    for _ in range(3):  # the recovery point is in another segment than the first cut
        cluster.produce(1, LEADER)
        world.settle()
    cluster[1].log("orders").roll()
    cluster.produce(2, LEADER)
    world.settle()
    cluster[1].log("orders").flush()
    exhaust(cluster[1].core.checkpoints.write_recovery_points())
    world.settle()
    world.kill(1)
    world.heal()
    world.advance(SESSION_MS)
    sent = cluster.produce(3)
    world.advance(SESSION_MS)
    assert code_of(sent) is ErrorCode.NONE
    world.begin(1)
    return cluster


def operations_of_a_recovery(seed: int) -> list[str]:
    """The operations of its disk that broker 1 makes until it has all records."""
    cluster = diverged(seed)
    trace = cluster.world.trace = []
    cluster.world.advance(5_000)
    assert cluster.ends() == [5, 5, 5]
    lines = [line.split() for line in trace if line.startswith("1 ") and "/data" in line]
    return [f"{kind} {path}" for _, kind, path, *_ in lines]


@pytest.mark.slow
@pytest.mark.parametrize("loses_all", [True, False], ids=["all", "some"])
def test_power_lost_at_any_operation_brings_back_nothing_that_was_cut(*, loses_all: bool) -> None:
    """X6: from the first append on, the truncation and the recovery point are on disk.

    All that was not synced is lost, or a part of it that the seed chooses.
    """
    operations = operations_of_a_recovery(seed=1)
    truncation = operations.index(f"truncate {FIRST_SEGMENT}")
    append = operations.index(f"write {FIRST_SEGMENT}", truncation)
    for number in range(truncation, len(operations)):
        cluster = diverged(seed=1)
        world, disk, died = cluster.world, cluster.world.disk(1), cluster[1]
        (died.kill_within if loses_all else died.lose_power_within)(number)
        world.advance(5_000)
        assert not died.is_alive
        if loses_all:
            disk.crash()
        if number > append:
            assert read_offsets(disk, f"/data/{RECOVERY_POINTS}")[0][P] == 2
        if number > append and loses_all:
            log = disk.read(FIRST_SEGMENT)
            assert [header.base_offset for _, header in iter_headers(log)] == [0]
        world.begin(1)
        world.advance(LAG_MAX_MS)
        assert cluster.ends() == [5, 5, 5], f"after {number} operations"
        assert cluster.high_watermarks() == [5, 5, 5]
        cluster.check_logs()


def test_a_slow_disk_holds_up_the_truncated_partition_and_no_other() -> None:
    """X6: the fetcher and the loop go on."""
    cluster = diverged(1, partitions=2)
    world, slow = cluster.world, cluster[1]
    while not isinstance(slow.stage, Join):
        assert world.step()
    slow.faults.slow_disk(3)
    followed = slow.core.fetchers.manager.partition
    while not slow.core.fetchers.manager.count(State.SETTLING):
        world.advance(100)
    sent = [cluster.produce(partition=number) for number in (0, 1)]
    world.advance(1_000)
    assert [code_of(one) for one in sent] == [ErrorCode.NONE] * 2
    states = [found.state for number in (0, 1) if (found := followed(TopicPartition("orders", number)))]
    assert states == [State.SETTLING, State.FETCHING]
    assert (slow.log("orders", 0).end_offset, slow.log("orders", 1).end_offset) == (2, 2)
    world.advance(10_000)
    assert cluster.ends() == [6, 6, 6]
    assert cluster.isr() == (1, 2, 3)
