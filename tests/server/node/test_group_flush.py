"""Group commit with a disk that the test holds."""

import errno
from collections.abc import Callable
from typing import cast

import pytest

from odradek.base.errors import StorageFailure
from odradek.base.held_calls import HeldCalls
from odradek.base.ids import TopicPartition
from odradek.server.node.group_flush import GroupFlush
from odradek.storage import LogManager, PendingFlush

A, B = TopicPartition("a", 0), TopicPartition("b", 0)


class Log:
    """A log with records that are not on disk, until there are none."""

    directory = "/data"

    def __init__(self, topic_partition: TopicPartition) -> None:
        self.topic_partition = topic_partition
        self.is_dirty = True
        self.failure: OSError | None = None
        self.cannot_be_opened = False
        self.flushed = 0

    def pending_flush(self) -> PendingFlush | None:
        if self.cannot_be_opened:
            raise StorageFailure("the log directory /data is offline") from self.failure
        if not self.is_dirty:
            return None
        return PendingFlush(self.topic_partition, "/data", 1, 0, 0, [self.sync])

    def sync(self) -> None:
        if self.failure is not None:
            raise self.failure

    def mark_flushed(self, flush: PendingFlush) -> None:
        self.flushed += 1


class Bench:
    def __init__(self) -> None:
        self.disk = HeldCalls()
        self.logs = {A: Log(A), B: Log(B)}
        self.turns: list[Callable[[], None]] = []
        self.acked: list[TopicPartition] = []
        self.failed: list[tuple[str, OSError]] = []
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
    assert bench.disk.waiting == 1
    assert bench.acked == []
    bench.disk.complete_next()
    assert bench.acked == [A, B]
    assert bench.disk.waiting == 0


def test_what_is_wanted_meanwhile_goes_with_the_next_group(bench: Bench) -> None:
    bench.group.want(A)
    bench.turn()
    bench.group.want(A)
    bench.group.want(B)
    bench.turn()
    assert bench.disk.waiting == 1, "one group is on its way"
    bench.disk.complete_next()
    assert bench.acked == [A]
    bench.disk.complete_next()
    assert bench.acked == [A, A, B]


def test_a_log_that_is_on_disk_already_is_acked_at_once(bench: Bench) -> None:
    bench.logs[A].is_dirty = False
    bench.group.want(A)
    bench.turn()
    assert (bench.acked, bench.disk.waiting) == ([A], 0)
    bench.logs[A].is_dirty = True
    bench.group.want(A)
    bench.turn()
    assert bench.disk.waiting == 1


def test_a_failed_flush_takes_its_directory_offline_and_is_not_tried_again(bench: Bench) -> None:
    """L7"""
    bench.logs[A].failure = OSError(5, "Input/output error")
    bench.group.want(A)
    bench.group.want(B)
    bench.turn()
    bench.disk.complete_next()
    ((directory, error),) = bench.failed
    assert (directory, error.errno) == ("/data", errno.EIO)
    assert (bench.acked, bench.logs[A].flushed) == ([B], 0)
    assert bench.disk.waiting == 0


@pytest.mark.parametrize("failure", [OSError(errno.EIO, "Input/output error"), None])
def test_a_log_that_cannot_be_opened_keeps_no_other_from_the_disk(
    bench: Bench, failure: OSError | None
) -> None:
    """L7: its directory may be one of two. The group never ended, and nothing was flushed any more."""
    bench.logs[A].cannot_be_opened, bench.logs[A].failure = True, failure
    bench.group.want(A)
    bench.group.want(B)
    bench.turn()
    bench.disk.complete_next()
    assert bench.acked == [B]
    assert bench.failed == ([] if failure is None else [("/data", failure)])
    bench.group.want(A)
    bench.turn()
    bench.group.want(B)
    bench.turn()
    bench.disk.complete_next()
    assert bench.acked == [B, B]


@pytest.mark.parametrize("is_made_anew", [True, False])
def test_a_log_that_was_deleted_meanwhile_has_no_part_in_the_outcome(
    bench: Bench, is_made_anew: bool
) -> None:
    """Its directory has another name; taken for a failure of the disk, that stopped the broker."""
    flush_of = {name: log.pending_flush() for name, log in bench.logs.items()}
    bench.logs[A].failure = FileNotFoundError(2, "No such file or directory")
    bench.group.want(A)
    bench.turn()
    bench.group.flush_now([flush for flush in flush_of.values() if flush is not None])
    for name in (A, B):
        del bench.logs[name]
        if is_made_anew:
            bench.logs[name] = Log(name)
    bench.disk.complete_next()
    bench.disk.complete_next()
    assert bench.failed == []
    assert [log.flushed for log in bench.logs.values()] == [0] * len(bench.logs), "it was another log's flush"


def test_a_log_that_lost_its_directory_takes_the_log_directory_offline(bench: Bench) -> None:
    bench.logs[A].failure = FileNotFoundError(2, "No such file or directory")
    bench.group.want(A)
    bench.turn()
    bench.disk.complete_next()
    assert [directory for directory, _ in bench.failed] == ["/data"]
