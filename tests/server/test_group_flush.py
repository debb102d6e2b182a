"""Group commit with a disk that the test holds."""

from collections.abc import Callable
from typing import Any, cast

import pytest

from odradek.base.ids import TopicPartition
from odradek.server.group_flush import GroupFlush
from odradek.storage import LogManager, PendingFlush

A, B = TopicPartition("a", 0), TopicPartition("b", 0)


class Disk:
    """A background whose calls run when the test says so."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Callable[[], Any], Callable[[Any], None]]] = []

    def submit(
        self, call: Callable[[], Any], done: Callable[[Any], None], failed: Callable[[Exception], None]
    ) -> None:
        self.waiting.append((call, done))

    def spin(self) -> None:
        call, done = self.waiting.pop(0)
        done(call())


class Log:
    """A log with records that are not on disk, until there are none."""

    def __init__(self, topic_partition: TopicPartition) -> None:
        self.topic_partition = topic_partition
        self.is_dirty = True
        self.fails = False
        self.flushed = 0

    def pending_flush(self) -> PendingFlush | None:
        if not self.is_dirty:
            return None
        return PendingFlush(self.topic_partition, "/data", 1, 0, 0, [self.sync])

    def sync(self) -> None:
        if self.fails:
            raise OSError(5, "Input/output error")

    def mark_flushed(self, flush: PendingFlush) -> None:
        self.flushed += 1


class Bench:
    def __init__(self) -> None:
        self.disk = Disk()
        self.logs = {A: Log(A), B: Log(B)}
        self.turns: list[Callable[[], None]] = []
        self.acked: list[TopicPartition] = []
        self.failed: list[tuple[str, str]] = []
        logs = cast(LogManager, self.logs)
        self.group = GroupFlush(
            logs,
            self.disk,
            self.turns.append,
            self.acked.append,
            lambda directory, reason: self.failed.append((directory, reason)),
        )

    def turn(self) -> None:
        while self.turns:
            self.turns.pop(0)()


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_all_that_is_wanted_in_one_turn_goes_to_the_disk_together(bench: Bench) -> None:
    for wanted in (A, B, A):
        bench.group.want(wanted)
    bench.turn()
    assert len(bench.disk.waiting) == 1
    assert bench.acked == []
    bench.disk.spin()
    assert bench.acked == [A, B]
    assert bench.disk.waiting == []


def test_what_is_wanted_meanwhile_goes_with_the_next_group(bench: Bench) -> None:
    bench.group.want(A)
    bench.turn()
    bench.group.want(A)
    bench.group.want(B)
    bench.turn()
    assert len(bench.disk.waiting) == 1, "one group is on its way"
    bench.disk.spin()
    assert bench.acked == [A]
    bench.disk.spin()
    assert bench.acked == [A, A, B]


def test_a_log_that_is_on_disk_already_is_acked_at_once(bench: Bench) -> None:
    bench.logs[A].is_dirty = False
    bench.group.want(A)
    bench.turn()
    assert (bench.acked, bench.disk.waiting) == ([A], [])
    bench.logs[A].is_dirty = True
    bench.group.want(A)
    bench.turn()
    assert len(bench.disk.waiting) == 1


def test_a_failed_flush_takes_its_directory_offline_and_is_not_tried_again(bench: Bench) -> None:
    """L7"""
    bench.logs[A].fails = True
    bench.group.want(A)
    bench.group.want(B)
    bench.turn()
    bench.disk.spin()
    assert bench.failed == [("/data", "[Errno 5] Input/output error")]
    assert (bench.acked, bench.logs[A].flushed) == ([B], 0)
    assert bench.disk.waiting == []
