"""DeleteRecords: at once here, answered when the followers followed."""

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.base.settings import TopicConfig
from odradek.metadata.image import BrokerGone
from tests.replication.replica_bench import DeleteAnswers, ReplicaBench

p1, p2, p3 = (TopicPartition("flights", number) for number in (1, 2, 3))


def outcome(answers: DeleteAnswers, partition: TopicPartition = p1) -> tuple[ErrorCode, int]:
    found = answers.only[partition]
    return found.error_code, found.low_watermark


def test_a_lone_replica_answers_at_once(bench: ReplicaBench) -> None:
    bench.order(p1)
    for _ in range(3):
        bench.produce(p1)
    assert outcome(bench.delete_records({p1: 2})) == (ErrorCode.NONE, 2)
    assert outcome(bench.delete_records({p1: 1})) == (ErrorCode.NONE, 2)
    assert outcome(bench.delete_records({p1: -1})) == (ErrorCode.NONE, 3)


@pytest.mark.parametrize("offset", [2, -2])
def test_an_offset_above_hw_or_of_no_meaning_is_refused(bench: ReplicaBench, offset: int) -> None:
    bench.order(p1, isr=(1, 2))
    bench.produce(p1, acks=1)
    bench.produce(p1, acks=1)
    bench.follow(2, {p1: 1}, max_wait_ms=0)
    assert outcome(bench.delete_records({p1: offset})) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)


def test_it_waits_for_the_low_watermark_of_the_live_followers(bench: ReplicaBench) -> None:
    """R10, R14: they tell their log start with every fetch."""
    bench.order(p1, isr=(1, 2, 3))
    bench.produce(p1)
    for follower in (2, 3):
        bench.follow(follower, {p1: 1}, max_wait_ms=0)
    answers = bench.delete_records({p1: 1, p2: 0})
    assert bench.log(p1).log_start_offset == 1
    (waiting,) = bench.manager.purgatories.delete_records.describe()
    assert waiting.waits_for == "flights-1: low watermark 0 < 1"
    bench.follow(2, {p1: 1}, max_wait_ms=0, log_start_offset=1)
    assert not answers.is_answered
    bench.follow(3, {p1: 1}, max_wait_ms=0, log_start_offset=1)
    assert outcome(answers) == (ErrorCode.NONE, 1)
    assert outcome(answers, p2) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)


def test_a_dead_follower_is_not_waited_for(bench: ReplicaBench) -> None:
    bench.order(p1, isr=(1, 2))
    bench.produce(p1)
    bench.follow(2, {p1: 1}, max_wait_ms=0)
    bench.image.apply(BrokerGone(2))
    assert outcome(bench.delete_records({p1: 1})) == (ErrorCode.NONE, 1)


def test_expiry_says_so_and_how_far_it_came(bench: ReplicaBench) -> None:
    bench.order(p1, isr=(1, 2))
    bench.produce(p1)
    bench.follow(2, {p1: 1}, max_wait_ms=0)
    answers = bench.delete_records({p1: 1}, timeout_ms=300)
    bench.pass_time(300)
    assert outcome(answers) == (ErrorCode.REQUEST_TIMED_OUT, 0)


def test_a_partition_that_moves_away_answers_so(bench: ReplicaBench) -> None:
    """R14, P3 A."""
    bench.order(p1, isr=(1, 2))
    bench.produce(p1)
    bench.follow(2, {p1: 1}, max_wait_ms=0)
    answers = bench.delete_records({p1: 1})
    bench.order(p1, leader=2, isr=(1, 2))
    assert outcome(answers) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)


def test_compacted_and_internal_topics_are_refused(bench: ReplicaBench) -> None:
    offsets = TopicPartition("__consumer_offsets", 0)
    bench.set_config(TopicConfig(cleanup_policy=frozenset({"compact"})))
    bench.order(p1)
    bench.order(offsets)
    answers = bench.delete_records({p1: 0, offsets: 0})
    assert outcome(answers) == (ErrorCode.POLICY_VIOLATION, -1)
    assert outcome(answers, offsets) == (ErrorCode.INVALID_TOPIC_EXCEPTION, -1)


def test_nothing_to_delete_is_answered_at_once(bench: ReplicaBench) -> None:
    assert bench.delete_records({}).only == {}
