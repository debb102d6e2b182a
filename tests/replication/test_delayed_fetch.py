"""When a fetch is parked, and which case completes it."""

from dataclasses import replace

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.base.settings import RACK_AWARE_SELECTOR, BrokerSettings
from odradek.replication import FetchParams, Isolation, PartitionFetch, params_for_follower
from tests.replication.replica_bench import BATCH_BYTES, ConsumeOptions, FakeQuota, FetchAnswers, ReplicaBench

p1, p2, p3 = (TopicPartition("flights", number) for number in (1, 2, 3))
BIG = 1 << 20


def quota_of_p1() -> FakeQuota:
    """A quota for the followers of p1, used up."""
    return FakeQuota(lambda named: named == p1, is_over=True)


# --- F1


@pytest.mark.parametrize(
    ("waits", "options", "offsets"),
    [
        (True, {}, {p1: 1}),
        (False, {"max_wait_ms": 0}, {p1: 1}),
        (False, {"max_wait_ms": -1}, {p1: 1}),
        (False, {}, {}),
        (False, {}, {p1: 0}),
        (False, {}, {p1: 1, p2: 0}),
        (False, {}, {p1: 9}),
        (False, {"min_bytes": 0}, {p1: 1}),
    ],
    ids=[
        "waits",
        "no wait",
        "negative wait",
        "no partition",
        "data",
        "error",
        "out of range",
        "nothing asked",
    ],
)
def test_a_fetch_is_parked_only_when_it_has_a_reason_to_wait(
    bench: ReplicaBench, waits: bool, options: ConsumeOptions, offsets: dict[TopicPartition, int]
) -> None:
    """F1."""
    bench.order(p1)
    bench.produce(p1)
    assert bench.consume(offsets, **options).is_answered is not waits


def test_a_parked_fetch_is_answered_at_its_deadline_with_what_there_is(bench: ReplicaBench) -> None:
    """F1, F7."""
    bench.order(p1)
    bench.produce(p1)
    answers = bench.consume({p1: 0}, min_bytes=1000, max_wait_ms=500)
    bench.pass_time(499)
    assert not answers.is_answered
    bench.pass_time(1)
    assert len(answers.only[0].records) == 100
    assert bench.manager.meters.consumer_fetch_expirations == 1


def test_an_expired_fetch_of_a_follower_is_metered_apart(bench: ReplicaBench) -> None:
    bench.order(p1, isr=(1, 2))
    bench.follow(2, {p1: 0})
    bench.pass_time(500)
    meters = bench.manager.meters
    assert (meters.follower_fetch_expirations, meters.consumer_fetch_expirations) == (1, 0)


def test_a_partition_named_twice_is_watched_once(bench: ReplicaBench) -> None:
    """D3."""
    bench.order(p1)
    answers = bench.fetch(
        FetchParams(max_wait_ms=500, min_bytes=200), PartitionFetch(p1, 0, BIG), PartitionFetch(p1, 0, BIG)
    )
    assert bench.waiting(p1) == ["fetch"]
    bench.produce(p1)
    assert [len(outcome.records) for outcome in answers.only] == [100, 100]


# --- F2: cases A to E


def test_case_a_the_leadership_moved(bench: ReplicaBench) -> None:
    """F2 A, R14."""
    bench.order(p1)
    answers = bench.consume({p1: 0})
    bench.order(p1, leader=2, isr=(1, 2))
    assert answers.only[0].error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_case_a_does_not_concern_a_fetch_that_any_replica_may_answer(bench: ReplicaBench) -> None:
    """F2 A: leader-only fetches alone."""
    bench.order(p1)
    answers = bench.consume({p1: 0}, leader_only=False)
    bench.order(p1, leader=2, isr=(1, 2))
    assert not answers.is_answered


def test_case_b_the_replica_was_stopped(bench: ReplicaBench) -> None:
    """F2 B."""
    bench.order(p1)
    answers = bench.consume({p1: 0}, leader_only=False)
    bench.stop(p1)
    assert answers.only[0].error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_case_c_the_topic_was_deleted(bench: ReplicaBench) -> None:
    """F2 C."""
    bench.order(p1)
    answers = bench.consume({p1: 0})
    del bench.image.topics["flights"]
    bench.stop(p1, delete=True)
    assert answers.only[0].error_code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_case_d_the_directory_failed(bench: ReplicaBench) -> None:
    """F2 D."""
    bench.order(p1)
    answers = bench.consume({p1: 0})
    bench.manager.directory_failed("/data", "gone")
    bench.run_turns()
    assert answers.only[0].error_code is ErrorCode.KAFKA_STORAGE_ERROR


def test_case_e_the_epoch_was_fenced(bench: ReplicaBench) -> None:
    """F2 E."""
    bench.order(p1)
    answers = bench.fetch(FetchParams(max_wait_ms=500), PartitionFetch(p1, 0, BIG, current_leader_epoch=0))
    bench.order(p1)
    assert answers.only[0].error_code is ErrorCode.FENCED_LEADER_EPOCH


def test_one_failed_partition_answers_the_whole_fetch(bench: ReplicaBench) -> None:
    """F2, R9: whatever was gathered of the others."""
    bench.order(p1)
    bench.order(p2)
    bench.produce(p1)
    answers = bench.consume({p1: 0, p2: 0}, min_bytes=1000)
    bench.order(p2, leader=2, isr=(1, 2))
    data, failed = answers.only
    assert (data.error_code, len(data.records)) == (ErrorCode.NONE, 100)
    assert (failed.error_code, failed.high_watermark, len(failed.records)) == (
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        -1,
        0,
    )


# --- F3


def test_each_isolation_waits_for_its_own_end(bench: ReplicaBench) -> None:
    """F3: log end for a follower, HW and LSO for consumers."""
    bench.order(p1, isr=(1, 2, 3))
    follower = bench.follow(2, {p1: 0})
    uncommitted = bench.consume({p1: 0})
    committed = bench.consume({p1: 0}, isolation=Isolation.LAST_STABLE)

    def answered() -> list[bool]:
        return [answers.is_answered for answers in (follower, uncommitted, committed)]

    bench.begin_transaction(p1)
    assert answered() == [True, False, False]
    for broker_id in (2, 3):
        bench.follow(broker_id, {p1: 1}, max_wait_ms=0)
    assert answered() == [True, True, False]
    bench.end_transaction(p1)
    for broker_id in (2, 3):
        bench.follow(broker_id, {p1: 2}, max_wait_ms=0)
    assert answered() == [True, True, True]
    assert committed.only[0].aborted_transactions == []


def test_a_segment_that_has_only_just_rolled_is_no_change(bench: ReplicaBench) -> None:
    """F3: end offset = fetch offset adds nothing, whatever the segments."""
    bench.order(p1)
    bench.produce(p1)
    answers = bench.consume({p1: 1})
    bench.log(p1).roll()
    bench.wake(p1)
    assert not answers.is_answered


# --- F4


def test_case_f_a_truncated_log_is_answered_at_once(bench: ReplicaBench) -> None:
    """F4: the end lies on an older segment than the start."""
    bench.order(p1, isr=(1, 2))
    log = bench.log(p1)
    for _ in range(2):
        bench.produce(p1, acks=1)
        log.roll()
    answers = bench.follow(2, {p1: 2})
    log.truncate_to(1)
    bench.wake(p1)
    assert answers.only[0].error_code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_case_f_a_reader_behind_the_active_segment_is_answered_at_once(bench: ReplicaBench) -> None:
    """F4: the start lies on an older segment than the end, and bytes cannot be told."""
    bench.order(p1)
    bench.produce(p1)
    answers = bench.consume({p1: 0}, min_bytes=100_000)
    bench.log(p1).roll()
    bench.produce(p1)
    assert len(answers.only[0].records) == BATCH_BYTES, "a read ends with its segment"


def test_case_f_a_log_that_retention_has_emptied_is_answered_at_once(bench: ReplicaBench) -> None:
    """F4: it begins a segment without an append."""
    bench.order(p1)
    bench.produce(p1)
    answers = bench.consume({p1: 0}, min_bytes=100_000)
    bench.set_config(replace(bench.config, retention_bytes=0))
    assert bench.log(p1).retire(bench.clock.wall_ms()) is not None
    bench.manager.on_log_start_rose(p1)
    bench.run_turns()
    assert answers.only[0].error_code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_case_f_an_offset_above_the_log_end_is_answered_in_the_same_segment_too(bench: ReplicaBench) -> None:
    """F4: truncated within the segment."""
    bench.order(p1, isr=(1, 2))
    bench.produce(p1, acks=1)
    answers = bench.follow(2, {p1: 1})
    bench.log(p1).truncate_to(0)
    bench.wake(p1)
    assert answers.only[0].error_code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_consumer_merely_above_the_high_watermark_waits(bench: ReplicaBench) -> None:
    """F4."""
    bench.order(p1, isr=(1, 2))
    bench.produce(p1, acks=1)
    bench.produce(p1, acks=1)
    answers = bench.consume({p1: 1})
    assert not answers.is_answered
    bench.follow(2, {p1: 1}, max_wait_ms=0)
    assert not answers.is_answered
    bench.follow(2, {p1: 2}, max_wait_ms=0)
    assert len(answers.only[0].records) == 100


# --- F5, F6


def test_a_partition_adds_at_most_its_own_limit(bench: ReplicaBench) -> None:
    """F5."""
    bench.order(p1)
    bench.order(p2)
    answers = bench.consume({p1: 0, p2: 0}, min_bytes=250, partition_max_bytes=150)
    bench.produce(p1, size_bytes=1000)
    assert not answers.is_answered
    bench.produce(p2, size_bytes=100)
    assert answers.is_answered


def test_case_h_is_off_without_a_replica_selector(bench: ReplicaBench) -> None:
    """F6 H: HW alone does not answer a follower."""
    bench.order(p1, isr=(1, 2))
    bench.produce(p1, acks=1)
    answers = bench.follow(2, {p1: 1})
    assert bench.log(p1).high_watermark.offset == 1
    bench.wake(p1)
    assert not answers.is_answered


def test_case_h_lets_the_high_watermark_travel_without_data() -> None:
    """F6 H, where consumers read from followers."""
    settings = replace(BrokerSettings(), replica_selector_class=RACK_AWARE_SELECTOR)
    bench = ReplicaBench(settings)
    bench.order(p1, isr=(1, 2, 3))
    bench.produce(p1, acks=1)
    follower = bench.follow(2, {p1: 1})
    assert not follower.is_answered
    bench.follow(3, {p1: 1}, max_wait_ms=0)
    assert follower.only[0].high_watermark == 1
    assert not bench.follow(2, {p1: 1}).is_answered


# --- F7


def test_the_second_read_does_not_move_the_leaders_picture_of_the_follower(bench: ReplicaBench) -> None:
    """F7, R10."""
    bench.order(p1, isr=(1, 2, 3))
    parked = bench.follow(2, {p1: 0}, min_bytes=150)
    bench.produce(p1, acks=1)
    bench.follow(2, {p1: 1}, max_wait_ms=0)
    remote = bench.leadership(p1).remotes[2]
    assert remote.log_end.offset == 1
    bench.produce(p1, acks=1)
    assert len(parked.only[0].records) == 200
    assert remote.log_end.offset == 1


def test_the_answer_is_read_anew_and_whole(bench: ReplicaBench) -> None:
    """F7: error, HW, log start, LSO and records per partition, as they are on completion."""
    bench.order(p1)
    bench.order(p2)
    bench.produce(p1)
    bench.delete_records({p1: 1})
    answers = bench.consume({p1: 1, p2: 0})
    bench.produce(p1, size_bytes=80)
    first, second = answers.only
    assert (first.high_watermark, first.last_stable_offset, first.log_start_offset) == (2, 2, 1)
    assert (len(first.records), len(second.records), second.high_watermark) == (80, 0, 0)


def test_a_second_read_that_fails_says_so(bench: ReplicaBench) -> None:
    """F7."""
    bench.order(p1)
    bench.produce(p1)
    bench.produce(p1)
    answers = bench.consume({p1: 0}, min_bytes=151, partition_max_bytes=150)
    bench.damage(p1)
    bench.pass_time(500)
    assert answers.only[0].error_code is ErrorCode.CORRUPT_MESSAGE


# --- F8, F9


def test_a_throttled_follower_is_given_nothing_and_waits(bench: ReplicaBench) -> None:
    """F8: quota exceeded, in the list, and not in the ISR."""
    bench.order(p1, isr=(1,), replicas=(1, 2))
    quota = quota_of_p1()
    bench.produce(p1, acks=1)
    answers = bench.follow(2, {p1: 0}, quota=quota)
    assert not answers.is_answered
    bench.log(p1).roll()
    bench.produce(p1, acks=1)
    assert not answers.is_answered
    quota.is_over = False
    bench.produce(p1, acks=1)
    assert len(answers.only[0].records) == BATCH_BYTES, "a read ends with its segment"
    assert quota.recorded == [(p1, BATCH_BYTES)], "what was sent, once"


def test_a_follower_in_sync_is_never_throttled(bench: ReplicaBench) -> None:
    """F8."""
    bench.order(p1, isr=(1, 2))
    bench.produce(p1, acks=1)
    assert len(bench.follow(2, {p1: 0}, quota=quota_of_p1()).only[0].records) == 100


def diverging_fetch(
    bench: ReplicaBench, offset: int, last_fetched_epoch: int, max_wait_ms: int = 500
) -> FetchAnswers:
    params = params_for_follower(2, max_wait_ms=max_wait_ms, min_bytes=1, max_bytes=BIG)
    return bench.fetch(params, PartitionFetch(p1, offset, BIG, last_fetched_epoch=last_fetched_epoch))


def test_a_diverged_log_is_told_at_once_and_read_nothing(bench: ReplicaBench) -> None:
    """F9: (last fetched epoch, fetch offset) against a log of epoch 0 to offset 1 and epoch 4 to offset 2."""
    bench.order(p1, isr=(1, 2), epoch=0)
    bench.produce(p1, acks=1)
    bench.order(p1, isr=(1, 2), epoch=4)
    bench.produce(p1, acks=1)
    (told,) = diverging_fetch(bench, 2, 2).only
    assert (told.error_code, told.diverging_epoch, len(told.records)) == (ErrorCode.NONE, (0, 1), 0)
    (told,) = diverging_fetch(bench, 2, 0).only
    assert told.diverging_epoch == (0, 1)
    (agrees,) = diverging_fetch(bench, 1, 0).only
    assert (agrees.diverging_epoch, len(agrees.records)) == (None, 100)
    assert diverging_fetch(bench, 2, 4).is_answered is False


def test_an_epoch_newer_than_all_that_is_known_is_out_of_range(bench: ReplicaBench) -> None:
    """F9."""
    bench.order(p1, isr=(1, 2), epoch=4)
    bench.produce(p1, acks=1)
    assert diverging_fetch(bench, 1, 5).only[0].error_code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_an_epoch_older_than_all_that_is_known_ends_where_the_log_begins(bench: ReplicaBench) -> None:
    """F9."""
    bench.order(p1, isr=(1, 2), epoch=4)
    bench.produce(p1, acks=1)
    (told,) = diverging_fetch(bench, 1, 2).only
    assert (told.error_code, told.diverging_epoch) == (ErrorCode.NONE, (2, 0))


def test_a_diverged_fetch_does_not_move_the_followers_place(bench: ReplicaBench) -> None:
    """F9, R10: its offset is not in this log."""
    bench.order(p1, isr=(1, 2), epoch=4)
    bench.produce(p1, acks=1)
    bench.order(p1, isr=(1, 2), epoch=6)
    diverging_fetch(bench, 1, 5)
    assert bench.leadership(p1).remotes[2].log_end.offset == -1
    assert bench.log(p1).high_watermark.offset == 0


# --- D7


def test_what_it_waits_for_is_said_in_words(bench: ReplicaBench) -> None:
    """D7."""
    bench.order(p1, isr=(1, 2))
    bench.order(p2, isr=(1, 2))
    bench.produce(p1, acks=1)
    bench.follow(2, {p1: 0, p2: 0}, min_bytes=500)
    bench.consume({p1: 0}, min_bytes=20)
    follower, consumer = bench.manager.purgatories.fetch.describe()
    assert follower.waits_for == "fetch by broker 2 to the log end: 100 of 500 bytes over 2 partitions"
    assert consumer.waits_for == "fetch by a consumer to the high watermark: 0 of 20 bytes over 1 partitions"
