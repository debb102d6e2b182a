"""What is held until HW has reached it, over a log whose HW lags (R19)."""

from typing import Final

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.coordinator.runtime.answers import HeldAnswer
from odradek.coordinator.runtime.memory_log import MemoryLog
from odradek.coordinator.runtime.partition_log import PartitionLog
from odradek.coordinator.runtime.trampoline import Trampoline
from odradek.records.builder import BatchBuilder

PARTITION: Final = TopicPartition("__consumer_offsets", 0)
E = ErrorCode


class Bench:
    """One partition, and what has left it."""

    def __init__(self) -> None:
        self.log, self.steps = MemoryLog(), Trampoline()
        self.left: list[str] = []
        self.lead()

    def lead(self) -> None:
        self.partition: PartitionLog[str] = PartitionLog(
            PARTITION, self.log, self.steps, lambda: 1_000, self.left.append
        )

    def append(self, *answers: str) -> ErrorCode:
        """Append a record, and hold these answers."""
        builder = BatchBuilder()
        builder.append(0, b"k", b"v")
        error: list[ErrorCode] = []

        def step() -> None:
            error.append(self.partition.append(builder.build()).error)
            for text in answers:
                self.hold(text)

        self.steps.run(step)
        return error[0]

    def hold(self, text: str) -> None:
        answer = HeldAnswer(self.left.append, text, lambda code: f"{text}: {code.name}")
        self.steps.run(lambda: self.partition.answer(answer))

    def carry_out(self, effect: str) -> None:
        self.steps.run(lambda: self.partition.carry_out(effect))


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_where_hw_follows_at_once_nothing_waits(bench: Bench) -> None:
    assert bench.append("a") is E.NONE
    bench.carry_out("marker")
    assert bench.left == ["a", "marker"]


def test_answers_and_effects_wait_for_hw_in_their_order(bench: Bench) -> None:
    """R19"""
    bench.log.lags = True
    bench.append("a")
    bench.hold("a heartbeat after a")
    bench.carry_out("marker of a")
    bench.append("b")
    assert bench.left == []
    bench.log.replicate(1)
    assert bench.left == ["marker of a", "a", "a heartbeat after a"], "steps come before answers"
    bench.log.replicate(1)
    assert bench.left[3:] == ["b"]


def test_what_times_out_is_refused_and_counts_all_the_same(bench: Bench) -> None:
    """R19"""
    bench.log.lags = True
    bench.append("a")
    bench.carry_out("marker of a")
    bench.log.time_out()
    assert bench.left == ["a: REQUEST_TIMED_OUT"]
    bench.hold("a heartbeat that builds on it")
    assert len(bench.left) == 1
    bench.log.time_out()
    bench.log.catch_up()
    assert bench.left[1:] == ["a heartbeat that builds on it: REQUEST_TIMED_OUT", "marker of a"]


def test_what_too_few_replicas_have_is_refused_and_counts_all_the_same(bench: Bench) -> None:
    """R19"""
    bench.log.lags = True
    bench.append("a")
    bench.carry_out("marker of a")
    bench.log.settle(E.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
    assert bench.left == ["marker of a", "a: NOT_ENOUGH_REPLICAS_AFTER_APPEND"]
    bench.hold("b")
    assert bench.left[2:] == ["b"]


def test_a_later_append_that_is_replicated_says_so_of_the_earlier_ones(bench: Bench) -> None:
    bench.log.lags = True
    bench.append()
    bench.carry_out("marker of a")
    bench.log.lags = False
    bench.append("b")
    assert bench.left == ["marker of a", "b"]
    bench.log.replicate()
    assert bench.partition.is_replicated


def test_a_failover_loses_what_was_not_replicated(bench: Bench) -> None:
    """R19"""
    bench.append("a")
    bench.log.lags = True
    bench.append("b")
    bench.carry_out("marker of b")
    bench.log.fail_over()
    bench.partition.close()
    assert bench.left == ["a", "b: NOT_LEADER_OR_FOLLOWER"]
    assert bench.append() is E.NOT_LEADER_OR_FOLLOWER, "the leadership is over"
    assert len(bench.log.records()) == 1
    bench.lead()
    bench.log.catch_up()
    assert bench.append("c") is E.NONE
    assert bench.left[2:] == ["c"]


def test_whoever_lets_go_of_a_partition_refuses_what_waits(bench: Bench) -> None:
    bench.log.lags = True
    bench.append("a")
    bench.carry_out("marker of a")
    bench.steps.run(bench.partition.close)
    assert bench.left == ["a: NOT_LEADER_OR_FOLLOWER"]
    bench.log.catch_up()
    assert len(bench.left) == 1


def test_what_the_log_refuses_has_not_happened(bench: Bench) -> None:
    bench.log.failure = E.NOT_ENOUGH_REPLICAS
    assert bench.append() is E.NOT_ENOUGH_REPLICAS
    assert bench.log.records() == []
    assert bench.partition.is_replicated


def test_what_was_loaded_is_waited_for_like_what_was_appended(bench: Bench) -> None:
    """R19: the log may hold more than every in-sync replica has."""
    bench.log.lags = True
    bench.append()
    bench.lead()
    bounds = bench.log.bounds(PARTITION)
    assert bounds is not None
    bench.partition.await_replication(bounds[1])
    bench.hold("what was loaded")
    assert bench.left == []
    bench.log.catch_up()
    assert bench.left == ["what was loaded"]
