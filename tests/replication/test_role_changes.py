"""Obeying the controller."""

from uuid import UUID

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import NO_BROKER, TopicPartition
from odradek.metadata.orders import LogEnd
from tests.replication.replica_bench import ReplicaBench

p1, p2 = TopicPartition("flights", 1), TopicPartition("flights", 2)


def test_an_outdated_controller_is_refused_and_changes_nothing(bench: ReplicaBench) -> None:
    """R5a, R1: lower refused, equal accepted, higher remembered; 0 at start."""
    assert bench.manager.controller_epoch == 0
    bench.order(p1, controller_epoch=5)
    assert bench.manager.controller_epoch == 5
    refused = bench.order(p2, controller_epoch=4)
    assert (refused.error_code, refused.partition_errors) == (ErrorCode.STALE_CONTROLLER_EPOCH, {})
    assert bench.manager.partition(p2) is None
    assert bench.stop(p1, controller_epoch=4).error_code is ErrorCode.STALE_CONTROLLER_EPOCH
    assert bench.manager.partition(p1) is not None
    assert bench.order(p2, controller_epoch=5).error_code is ErrorCode.NONE
    bench.stop(p2, controller_epoch=6)
    assert bench.manager.controller_epoch == 6


@pytest.mark.parametrize(
    ("epoch", "expected"),
    [(3, ErrorCode.STALE_CONTROLLER_EPOCH), (4, ErrorCode.STALE_CONTROLLER_EPOCH), (5, ErrorCode.NONE)],
)
def test_a_partitions_epoch_must_rise(bench: ReplicaBench, epoch: int, expected: ErrorCode) -> None:
    """R5a."""
    bench.order(p1, epoch=4)
    changes = bench.order(p1, leader=2, isr=(1, 2), epoch=epoch)
    assert changes.partition_errors == {p1: expected}
    assert (bench.partition(p1).leadership is None) == (expected is ErrorCode.NONE)


def test_the_answer_says_where_the_logs_without_a_leader_end(bench: ReplicaBench) -> None:
    """R15e: under the epoch that was obeyed, also to a controller whose order is not the first of it."""
    bench.order(p1, isr=(1, 2), epoch=3)
    bench.produce(p1, acks=1)
    end = LogEnd(4, 3, 1)
    assert bench.order(p1, leader=NO_BROKER, isr=(1, 2), epoch=4).log_ends == {p1: end}
    again = bench.order(p1, leader=NO_BROKER, isr=(1, 2), epoch=4, controller_epoch=9)
    assert (again.partition_errors, again.log_ends) == ({p1: ErrorCode.STALE_CONTROLLER_EPOCH}, {p1: end})
    outdated = bench.order(p1, leader=NO_BROKER, isr=(1, 2), epoch=3, controller_epoch=9)
    assert outdated.log_ends == {}, "it may append to the log in epoch 4 for all that controller knows"
    assert bench.order(p1, leader=2, isr=(1, 2), epoch=5, controller_epoch=9).log_ends == {}
    bench.manager.directory_failed("/data", "gone")
    failed = bench.order(p1, leader=NO_BROKER, isr=(1, 2), epoch=6, controller_epoch=9)
    assert failed.partition_errors == {p1: ErrorCode.KAFKA_STORAGE_ERROR}
    assert failed.log_ends == {}


def test_a_broker_that_holds_no_replica_refuses(bench: ReplicaBench) -> None:
    """R5a."""
    changes = bench.order(p1, leader=2, isr=(2,), replicas=(2, 3))
    assert changes.partition_errors == {p1: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert bench.logs.get(p1) is None


@pytest.mark.parametrize(
    "named",
    [
        TopicPartition("../../flights", 1),
        TopicPartition("..", 1),
        TopicPartition("", 1),
        TopicPartition("a\0b", 1),
        TopicPartition("x" * 250, 1),
        TopicPartition("flights", -1),
    ],
)
def test_what_names_no_directory_for_a_log_is_refused(bench: ReplicaBench, named: TopicPartition) -> None:
    """A log was made outside of the log directory for a name with a slash."""
    changes = bench.order(named)
    assert changes.partition_errors == {named: ErrorCode.INVALID_TOPIC_EXCEPTION}
    assert bench.manager.partition(named) is None
    assert bench.logs.get(named) is None


def test_a_leader_outside_of_its_isr_is_refused(bench: ReplicaBench) -> None:
    """Each round of ISR maintenance failed at it, so the ISRs of the partitions behind it stayed, too."""
    changes = bench.order(p1, isr=(2,), replicas=(1, 2))
    assert changes.partition_errors == {p1: ErrorCode.INVALID_REQUEST}
    assert bench.manager.partition(p1) is None


def test_another_topic_of_the_same_name_is_refused(bench: ReplicaBench) -> None:
    bench.order(p1, topic_id=UUID(int=7))
    changes = bench.order(p1, topic_id=UUID(int=8), epoch=9)
    assert changes.partition_errors == {p1: ErrorCode.INCONSISTENT_TOPIC_ID}


def test_a_leader_begins_an_epoch_at_its_log_end(bench: ReplicaBench) -> None:
    """R5b: epoch cache, remote replicas, ISR, HW."""
    bench.order(p1, isr=(1,))
    bench.produce(p1)
    bench.produce(p1)
    bench.clock.advance(70)
    changes = bench.order(p1, isr=(1, 2), replicas=(1, 2, 3), epoch=4)
    leadership = bench.leadership(p1)
    assert [wanted.topic_partition for wanted in changes.leading] == [p1]
    assert [bench.log(p1).epoch_of(offset) for offset in (0, 1, 2)] == [0, 0, 4]
    assert (leadership.epoch, leadership.epoch_start_offset, leadership.isr) == (4, 2, (1, 2))
    assert [remote.log_end.offset for remote in leadership.remotes.values()] == [-1, -1]
    assert [remote.last_caught_up_ms > 0 for remote in leadership.remotes.values()] == [True, False]


def test_a_leader_alone_brings_hw_to_its_log_end_and_wakes_who_waits(bench: ReplicaBench) -> None:
    """R5b, R7, R14."""
    bench.order(p1, isr=(1, 2))
    produce = bench.produce(p1)
    consumer = bench.consume({p1: 0})
    bench.order(p1, isr=(1,), replicas=(1, 2))
    assert bench.log(p1).high_watermark.offset == 1
    assert produce.only[p1].error_code is ErrorCode.NONE
    assert len(consumer.only[0].records) == 100


def test_a_follower_is_told_whom_to_follow(bench: ReplicaBench) -> None:
    """R5c: truncation and fetching are the fetcher's."""
    bench.order(p1)
    changes = bench.order(p1, leader=2, isr=(1, 2))
    assert [wanted.state.leader for wanted in changes.following] == [2]
    assert (bench.partition(p1).leader_id, bench.partition(p1).leadership) == (2, None)


def test_a_partition_without_a_leader_is_followed_too(bench: ReplicaBench) -> None:
    """R5c."""
    bench.order(p1, leader=-1, isr=(1, 2))
    assert bench.produce(p1, acks=1).only[p1].error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_stopped_replica_keeps_its_log_unless_it_is_to_be_deleted(bench: ReplicaBench) -> None:
    """R5d."""
    bench.order(p1)
    bench.order(p2)
    assert bench.stop(p1).stopped == [p1]
    assert bench.stop(p2, delete=True).stopped == [p2]
    assert (bench.log(p1).end_offset, bench.logs.get(p2)) == (0, None)
    assert bench.stop(p1, delete=True).partition_errors == {p1: ErrorCode.NONE}
    assert bench.logs.get(p1) is None


def test_an_outdated_stop_is_refused(bench: ReplicaBench) -> None:
    """R5d: a leader epoch below ours; -2 is above all."""
    bench.order(p1, epoch=5)
    assert bench.stop(p1, epoch=4).partition_errors == {p1: ErrorCode.FENCED_LEADER_EPOCH}
    assert bench.stop(p1, epoch=5).partition_errors == {p1: ErrorCode.NONE}


def test_counts_of_a_topic_are_forgotten_with_its_last_partition(bench: ReplicaBench) -> None:
    """R8."""
    for partition in (p1, p2):
        bench.order(partition)
        bench.produce(partition)
    bench.stop(p1)
    assert [topic for topic, _ in bench.manager.meters.topics()] == ["flights"]
    bench.stop(p2)
    assert list(bench.manager.meters.topics()) == []


def test_a_failed_directory_refuses_orders(bench: ReplicaBench) -> None:
    """R5a, P3 A."""
    bench.order(p1)
    bench.manager.directory_failed("/data", "gone")
    assert bench.order(p1, epoch=9).partition_errors == {p1: ErrorCode.KAFKA_STORAGE_ERROR}
    assert bench.stop(p1).partition_errors == {p1: ErrorCode.KAFKA_STORAGE_ERROR}


def test_no_directory_for_a_new_log_is_a_storage_error(bench: ReplicaBench) -> None:
    bench.logs.fail_directory("/data", "no space left on device")
    assert bench.order(p1).partition_errors == {p1: ErrorCode.KAFKA_STORAGE_ERROR}
    assert bench.manager.partition(p1) is None
