"""Offsets by timestamp and by name."""

from typing import TypedDict, Unpack

import pytest

from odradek.base.clock import ManualClock
from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.records.work import finish
from odradek.replication import Isolation
from tests.replication.replica_bench import ReplicaBench

p1, p2 = TopicPartition("flights", 1), TopicPartition("flights", 2)

START_MS = ManualClock().wall_ms()


class Options(TypedDict, total=False):
    isolation: Isolation
    leader_only: bool
    current_leader_epoch: int


@pytest.fixture
def led(bench: ReplicaBench) -> ReplicaBench:
    """Records at 0, 10, 20 and 30 ms; HW 3, LSO 2, LEO 4; epoch 5."""
    bench.order(p1, isr=(1, 2), epoch=5)
    assert bench.clock.wall_ms() == START_MS
    for is_transactional in (False, False, True, False):
        if is_transactional:
            bench.begin_transaction(p1)
        else:
            bench.produce(p1, acks=1)
        bench.clock.advance(10)
    bench.follow(2, {p1: 3}, max_wait_ms=0)
    return bench


def listed(bench: ReplicaBench, timestamp_ms: int, **options: Unpack[Options]) -> tuple[ErrorCode, int]:
    answer = finish(bench.manager.list_offset(p1, timestamp_ms, **options))
    return answer.error_code, answer.offset


@pytest.mark.parametrize(
    ("isolation", "latest"),
    [(Isolation.LOG_END, 4), (Isolation.HIGH_WATERMARK, 3), (Isolation.LAST_STABLE, 2)],
)
def test_latest_is_how_far_the_reader_may_see(led: ReplicaBench, isolation: Isolation, latest: int) -> None:
    """L6: -1."""
    answer = finish(led.manager.list_offset(p1, -1, isolation=isolation))
    assert (answer.offset, answer.timestamp_ms, answer.leader_epoch) == (latest, -1, 5)


def test_earliest_is_the_log_start(led: ReplicaBench) -> None:
    """L6: -2 and -4."""
    led.delete_records({p1: 1})
    assert [listed(led, -2), listed(led, -4)] == [(ErrorCode.NONE, 1)] * 2
    assert [finish(led.manager.list_offset(p1, name)).leader_epoch for name in (-2, -4)] == [5, 5]


def test_nothing_is_tiered(led: ReplicaBench) -> None:
    """L6: -5."""
    assert listed(led, -5) == (ErrorCode.NONE, -1)


def test_a_timestamp_finds_the_first_record_not_before_it(led: ReplicaBench) -> None:
    """L6."""
    answer = finish(led.manager.list_offset(p1, START_MS + 5))
    assert (answer.offset, answer.timestamp_ms, answer.leader_epoch) == (1, START_MS + 10, 5)


@pytest.mark.parametrize(
    ("isolation", "found"),
    [(Isolation.LOG_END, 3), (Isolation.HIGH_WATERMARK, -1), (Isolation.LAST_STABLE, -1)],
)
def test_a_record_out_of_the_readers_sight_is_not_found(
    led: ReplicaBench, isolation: Isolation, found: int
) -> None:
    """L6: by timestamp and -3, the largest one."""
    assert listed(led, START_MS + 25, isolation=isolation) == (ErrorCode.NONE, found)
    assert listed(led, -3, isolation=isolation) == (ErrorCode.NONE, found)


def test_a_new_leader_whose_hw_lags_does_not_answer(led: ReplicaBench) -> None:
    """KIP-207: readers were told of more before it was elected."""
    led.order(p1, isr=(1, 2), epoch=6)
    assert listed(led, -1) == (ErrorCode.OFFSET_NOT_AVAILABLE, -1)
    assert listed(led, START_MS + 25) == (ErrorCode.OFFSET_NOT_AVAILABLE, -1)
    assert listed(led, START_MS) == (ErrorCode.NONE, 0)
    assert listed(led, -1, isolation=Isolation.LOG_END) == (ErrorCode.NONE, 4)


def test_an_open_transaction_from_before_the_epoch_is_no_lag(led: ReplicaBench) -> None:
    """L6, KIP-207: it is HW that has to reach the epoch, not LSO."""
    led.follow(2, {p1: 4}, max_wait_ms=0)
    led.order(p1, isr=(1, 2), epoch=6)
    led.follow(2, {p1: 4}, max_wait_ms=0)
    assert listed(led, -1, isolation=Isolation.LAST_STABLE) == (ErrorCode.NONE, 2)


def test_only_those_who_may_ask_here_are_answered(led: ReplicaBench) -> None:
    """L6, R9."""
    assert listed(led, -1, current_leader_epoch=4)[0] is ErrorCode.FENCED_LEADER_EPOCH
    led.order(p1, leader=2, isr=(1, 2), epoch=6)
    assert listed(led, -1)[0] is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert listed(led, -1, leader_only=False) == (ErrorCode.NONE, 3)
