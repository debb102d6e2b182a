"""What a produce waits for, and how it is answered."""

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.base.settings import TopicConfig
from odradek.replication import PartitionFetch, params_for_follower
from tests.replication.replica_bench import FetchAnswers, ReplicaBench

p1, p2, p3 = (TopicPartition("flights", number) for number in (1, 2, 3))


def watched(bench: ReplicaBench) -> int:
    return bench.manager.purgatories.produce.watched


@pytest.mark.parametrize("acks", [0, 1])
def test_acks_below_all_are_answered_at_once(bench: ReplicaBench, acks: int) -> None:
    """P1."""
    bench.order(p1, isr=(1, 2))
    answer = bench.produce(p1, acks=acks).only[p1]
    assert (answer.error_code, answer.base_offset) == (ErrorCode.NONE, 0)
    assert watched(bench) == 0


@pytest.mark.parametrize("acks", [2, -2, 3, 32767])
def test_other_acks_are_refused_and_nothing_is_written(bench: ReplicaBench, acks: int) -> None:
    """P1."""
    bench.order(p1)
    answers = bench.produce(p1, p2, acks=acks).only
    assert [one.error_code for one in answers.values()] == [ErrorCode.INVALID_REQUIRED_ACKS] * 2
    assert bench.log(p1).end_offset == 0


def test_a_lone_replica_answers_acks_all_without_a_delayed_operation(bench: ReplicaBench) -> None:
    """P1, R7: at ISR = {leader} HW moves with the append."""
    bench.order(p1)
    assert bench.produce(p1, acks=-1).only[p1].error_code is ErrorCode.NONE
    assert (watched(bench), bench.timer.size) == (0, 0)


def test_nothing_to_wait_for_is_answered_at_once(bench: ReplicaBench) -> None:
    """P1: no batch at all, or no append that succeeded."""
    assert bench.produce(acks=-1).only == {}
    assert bench.produce(p1, acks=-1).only[p1].error_code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert watched(bench) == 0


def test_it_waits_under_all_partitions_of_the_request(bench: ReplicaBench) -> None:
    """P1: also under those whose append failed."""
    bench.order(p1, isr=(1, 2))
    answers = bench.produce(p1, p2)
    assert not answers.is_answered
    assert [bench.waiting(p1), bench.waiting(p2)] == [["produce"], ["produce"]]
    bench.follow(2, {p1: 1}, max_wait_ms=0)
    assert {key: (one.error_code, one.base_offset) for key, one in answers.only.items()} == {
        p1: (ErrorCode.NONE, 0),
        p2: (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1),
    }


def test_expiry_answers_truthfully_what_was_reached_by_then(bench: ReplicaBench) -> None:
    """P2, P4: REQUEST_TIMED_OUT for what is pending only; those are metered."""
    bench.order(p1, isr=(1, 2))
    bench.order(p2, isr=(1, 2))
    answers = bench.produce(p1, p2, p3, timeout_ms=300)
    bench.follow(2, {p1: 1}, max_wait_ms=0)
    bench.pass_time(299)
    assert not answers.is_answered
    bench.pass_time(1)
    assert {key: one.error_code for key, one in answers.only.items()} == {
        p1: ErrorCode.NONE,
        p2: ErrorCode.REQUEST_TIMED_OUT,
        p3: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert bench.manager.meters.produce_expirations == {p2: 1}


def test_records_are_on_the_log_although_their_produce_expired(bench: ReplicaBench) -> None:
    """P2: a timeout says that the outcome is not known, not that it failed."""
    bench.order(p1, isr=(1, 2))
    bench.produce(p1, timeout_ms=0)
    bench.pass_time(1)
    assert bench.log(p1).end_offset == 1


def test_losing_the_leadership_answers_that_partition_and_waits_for_the_others(bench: ReplicaBench) -> None:
    """P3 A, R5c, R14."""
    bench.order(p1, isr=(1, 2))
    bench.order(p2, isr=(1, 2))
    answers = bench.produce(p1, p2)
    bench.order(p1, leader=2, isr=(1, 2))
    assert not answers.is_answered
    bench.follow(2, {p2: 1}, max_wait_ms=0)
    assert [one.error_code for one in answers.only.values()] == [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NONE,
    ]


def test_leading_again_does_not_revive_what_was_answered_for(bench: ReplicaBench) -> None:
    """P3: a pending partition that was closed stays closed."""
    bench.order(p1, isr=(1, 2))
    answers = bench.produce(p1)
    bench.order(p1, leader=2, isr=(1, 2))
    bench.order(p1, leader=1, isr=(1, 2))
    assert answers.only[p1].error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_deleted_partition_answers_what_the_cluster_knows_of_it(bench: ReplicaBench) -> None:
    """P3 A: unknown anywhere once the topic is gone, else hosted elsewhere.

    As in Kafka such an error keeps the base offset that the append had given; only a failed append has -1.
    """
    for partition in (p1, TopicPartition("gone", 0)):
        bench.order(partition, isr=(1, 2))
    gone = TopicPartition("gone", 0)
    answers = bench.produce(p1), bench.produce(gone)
    del bench.image.topics["gone"]
    bench.stop(p1)
    bench.stop(gone, delete=True)
    assert answers[0].only[p1].error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    outcome = answers[1].only[gone]
    assert (outcome.error_code, outcome.base_offset) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0)


@pytest.mark.parametrize(
    ("isr_left", "expected"),
    [
        ((1, 2, 3), ErrorCode.NONE),
        ((1, 2), ErrorCode.NONE),
        ((1,), ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND),
    ],
)
def test_reaching_the_high_watermark_is_a_success_with_enough_replicas_only(
    bench: ReplicaBench, isr_left: tuple[int, ...], expected: ErrorCode
) -> None:
    """P3 B.1 and B.2: the ISR shrank after HW rose and before the produce was looked at."""
    bench.set_config(TopicConfig(min_insync_replicas=2))
    bench.order(p1, isr=(1, 2, 3))
    answers = bench.produce(p1)
    bench.follow(2, {p1: 1}, max_wait_ms=0)
    params = params_for_follower(3, max_wait_ms=0, min_bytes=1, max_bytes=1 << 20)
    bench.manager.fetch(params, [PartitionFetch(p1, 1, 1 << 20)], FetchAnswers())
    assert bench.log(p1).high_watermark.offset == 1
    bench.leadership(p1).isr = isr_left
    bench.run_turns()
    assert answers.only[p1].error_code is expected


def test_a_produce_that_was_not_replicated_before_the_isr_fell_below_its_minimum_waits(
    bench: ReplicaBench,
) -> None:
    """P2, P3, R7: HW does not reach it, so nobody can say that it is committed; the words say why."""
    bench.set_config(TopicConfig(min_insync_replicas=2))
    bench.order(p1, isr=(1, 2))
    answers = bench.produce(p1, timeout_ms=300)
    bench.leadership(p1).isr = (1,)
    bench.wake(p1)
    (waiting,) = bench.manager.purgatories.produce.describe()
    assert waiting.waits_for == "flights-1: acks=all: HW 0 < 1, in sync: 1 < 2"
    bench.pass_time(300)
    assert answers.only[p1].error_code is ErrorCode.REQUEST_TIMED_OUT


def test_what_it_waits_for_is_said_in_words(bench: ReplicaBench) -> None:
    """D7."""
    bench.order(p1, isr=(1, 2, 3))
    for _ in range(42):
        bench.produce(p1, acks=1)
    bench.follow(3, {p1: 40}, max_wait_ms=0)
    bench.follow(2, {p1: 41}, max_wait_ms=0)
    bench.clock.advance(12)
    bench.follow(3, {p1: 41}, max_wait_ms=0)
    bench.clock.advance(800)
    bench.follow(2, {p1: 42}, max_wait_ms=0)
    produce = bench.produce(p1, p2, timeout_ms=9000)
    bench.follow(2, {p1: 43}, max_wait_ms=0)
    bench.clock.advance(12)
    (waiting,) = bench.manager.purgatories.produce.describe()
    assert not produce.is_answered
    assert waiting.waits_for == "flights-1: acks=all: HW 41 < 43, behind: broker 3, last fetch 812 ms ago"


def test_the_words_name_a_follower_that_never_fetched_and_a_disk_that_lags(bench: ReplicaBench) -> None:
    """D7."""
    bench.set_config(TopicConfig(odradek_log_flush_before_ack=True))
    bench.order(p1, isr=(1, 2))
    bench.produce(p1)
    (waiting,) = bench.manager.purgatories.produce.describe()
    assert waiting.waits_for == (
        "flights-1: acks=all: HW 0 < 1, behind: broker 2, no fetch yet and on disk: 0 < 1"
    )
