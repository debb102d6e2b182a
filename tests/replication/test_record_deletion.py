"""DeleteRecords: at once here, answered when the followers followed."""

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import ITEMS_PER_STEP, exhaust
from odradek.base.ids import TopicPartition
from odradek.base.settings import TopicConfig
from odradek.metadata.image import BrokerGone
from odradek.replication.partition import Partition
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


MANY = [TopicPartition("flights", number) for number in range(2 * ITEMS_PER_STEP)]


def wide_deletion(bench: ReplicaBench) -> DeleteAnswers:
    """It waits for broker 2 in each of MANY partitions, from which one record is deleted."""
    for one in MANY:
        bench.order(one, isr=(1, 2))
        bench.produce(one)
    bench.follow(2, dict.fromkeys(MANY, 1), max_wait_ms=0)
    return bench.delete_records(dict.fromkeys(MANY, 1))


def test_of_very_many_partitions_an_event_makes_it_look_at_one(
    bench: ReplicaBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D3, R14."""
    answers = wide_deletion(bench)
    looked_at = []

    def counted(partition: Partition) -> int:
        looked_at.append(partition.topic_partition)
        return low_watermark(partition)

    low_watermark = Partition.low_watermark
    monkeypatch.setattr(Partition, "low_watermark", counted)
    bench.follow(2, {MANY[3]: 1}, max_wait_ms=0, log_start_offset=1)
    assert set(looked_at) == {MANY[3]}
    bench.follow(2, dict.fromkeys(MANY, 1), max_wait_ms=0, log_start_offset=1)
    assert list(answers.only) == MANY
    assert {outcome(answers, one) for one in MANY} == {(ErrorCode.NONE, 1)}


@pytest.mark.parametrize("steps_before", range(3))
def test_a_follower_that_fetches_while_it_begins_to_wait_is_seen(
    bench: ReplicaBench, steps_before: int
) -> None:
    """R14: whether the partition was watched by then or not."""
    for one in MANY:
        bench.order(one, isr=(1, 2))
        bench.produce(one)
    bench.follow(2, dict.fromkeys(MANY, 1), max_wait_ms=0)
    answers = DeleteAnswers()
    steps = bench.manager.delete_records(dict.fromkeys(MANY, 1), timeout_ms=300, later=answers)
    for _ in range(len(MANY) - 1 + steps_before):
        next(steps)
    bench.follow(2, dict.fromkeys(MANY, 1), max_wait_ms=0, log_start_offset=1)
    known = exhaust(steps)
    if known is not None:
        answers(known)
    assert {outcome(answers, one) for one in MANY} == {(ErrorCode.NONE, 1)}


def test_of_very_many_partitions_each_says_how_far_it_came(bench: ReplicaBench) -> None:
    answers = wide_deletion(bench)
    bench.follow(2, {MANY[3]: 1}, max_wait_ms=0, log_start_offset=1)
    bench.pass_time(60_000)
    expired = [one for one in MANY if outcome(answers, one) == (ErrorCode.REQUEST_TIMED_OUT, 0)]
    assert expired == [one for one in MANY if one != MANY[3]]
