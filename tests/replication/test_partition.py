"""What a partition does in its roles."""

import errno

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import StorageFailure
from odradek.base.ids import TopicPartition
from odradek.replication import StoredState
from odradek.storage import LogPosition, Origin
from odradek.storage.memory_files import Fault
from tests.replication.replica_bench import BATCH_BYTES, ReplicaBench, batch_of

p1 = TopicPartition("flights", 1)


@pytest.fixture
def follower(bench: ReplicaBench) -> ReplicaBench:
    """p1, led by broker 2, with two records here and HW 0."""
    bench.order(p1, isr=(1, 2))
    bench.produce(p1, acks=1)
    bench.produce(p1, acks=1)
    bench.order(p1, leader=2, isr=(1, 2))
    return bench


@pytest.mark.parametrize(("leaders_hw", "ours"), [(0, 0), (1, 1), (2, 2), (9, 2)])
def test_a_followers_hw_is_the_leaders_or_its_own_end(
    follower: ReplicaBench, leaders_hw: int, ours: int
) -> None:
    """R11."""
    follower.manager.on_leader_answered(p1, b"", leaders_hw, 0)
    assert follower.log(p1).high_watermark.offset == ours


def test_a_followers_log_start_follows_the_leaders(follower: ReplicaBench) -> None:
    """R11."""
    follower.manager.on_leader_answered(p1, b"", 2, 1)
    assert follower.log(p1).log_start_offset == 1


def test_consumers_parked_at_a_follower_are_woken_when_its_hw_moves(follower: ReplicaBench) -> None:
    """R11, R14."""
    consumer = follower.consume({p1: 0}, leader_only=False)
    follower.manager.on_leader_answered(p1, b"", 0, 0)
    assert not consumer.is_answered
    third = batch_of(BATCH_BYTES, follower.clock.wall_ms(), base_offset=2)
    follower.manager.on_leader_answered(p1, third, 1, 0)
    assert not consumer.is_answered, "a fetcher has returned before"
    follower.run_turns()
    assert len(consumer.only[0].records) == BATCH_BYTES
    assert follower.log(p1).end_offset == 3


def test_answers_that_come_too_late_are_dropped(follower: ReplicaBench) -> None:
    """X2: the partition is led here by now, or gone."""
    follower.order(p1, leader=1, isr=(1, 2))
    follower.manager.on_leader_answered(p1, b"y", 1, 0)
    assert follower.log(p1).end_offset == 2
    follower.stop(p1)
    follower.manager.on_leader_answered(p1, b"y", 1, 0)
    assert follower.log(p1).end_offset == 2


def test_appending_where_another_leads_is_our_own_mistake(follower: ReplicaBench) -> None:
    with pytest.raises(AssertionError, match="led by 2"):
        follower.partition(p1).append(b"x", Origin.CLIENT, 0)


def test_leader_offsets_are_noted_for_each_follower(bench: ReplicaBench) -> None:
    """R10, R5b: LEO, log start, the time caught up."""
    bench.order(p1, isr=(1, 2, 3))
    bench.produce(p1, acks=1)
    bench.clock.advance(5)
    bench.follow(3, {p1: 1}, max_wait_ms=0, log_start_offset=0)
    remotes = bench.leadership(p1).remotes
    assert (remotes[3].log_end, remotes[3].log_start_offset, remotes[3].last_caught_up_ms) == (
        LogPosition(1, 0, 100),
        0,
        5,
    )
    assert remotes[2].log_end.offset == -1


def test_a_failed_read_moves_nothing(bench: ReplicaBench) -> None:
    """R10: only an error-free one is news of the follower."""
    bench.order(p1, isr=(1, 2))
    assert bench.follow(2, {p1: 7}, max_wait_ms=0).only[0].error_code is ErrorCode.OFFSET_OUT_OF_RANGE
    assert bench.leadership(p1).remotes[2].log_end.offset == -1


def test_a_leader_knows_who_is_behind(bench: ReplicaBench) -> None:
    """D7."""
    bench.order(p1, isr=(1, 2, 3), replicas=(1, 2, 3, 4))
    bench.produce(p1, acks=1)
    bench.follow(3, {p1: 1}, max_wait_ms=0)
    leadership = bench.leadership(p1)
    assert [remote.broker_id for remote in leadership.behind(1)] == [2]


def test_an_isr_write_ends_once(bench: ReplicaBench) -> None:
    """R2."""
    bench.order(p1, isr=(1, 2))
    leadership = bench.leadership(p1)
    with pytest.raises(AssertionError, match="no ISR write"):
        leadership.isr_written(3)
    with pytest.raises(AssertionError, match="no ISR write"):
        leadership.isr_found(StoredState(1, 0, 1, (1,), 3))
    with pytest.raises(AssertionError, match="no ISR write"):
        leadership.isr_unanswered()


def test_hw_stays_where_it_is_on_a_disk_that_failed(bench: ReplicaBench) -> None:
    """R6, R7: the next read or write says so."""
    bench.order(p1, isr=(1, 2))
    bench.produce(p1, acks=1)
    bench.files.inject(Fault("read", errno.EIO, times=-1))
    with pytest.raises(StorageFailure):
        bench.log(p1).read(0, BATCH_BYTES, bench.log(p1).end_position, at_least_one=True)
    leadership = bench.leadership(p1)
    leadership.remotes[2].log_end = LogPosition(1, 0, 100)
    assert bench.partition(p1).raise_high_watermark(0) is False
    assert bench.follow(2, {p1: 1}, max_wait_ms=0).only[0].error_code is ErrorCode.KAFKA_STORAGE_ERROR
