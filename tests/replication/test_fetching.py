"""A fetch between its arrival and its answer."""

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import exhaust
from odradek.base.ids import NO_BROKER, BrokerId, TopicPartition
from odradek.replication import FetchOutcome, FetchParams, PartitionFetch, params_for_follower
from odradek.replication.delayed_fetch import DelayedFetch
from odradek.replication.fetching import may_wait
from odradek.storage import EpochEnd
from tests.replication.replica_bench import FetchAnswers, ReplicaBench

p1, p2 = TopicPartition("flights", 1), TopicPartition("flights", 2)


def never(result: object) -> None:
    raise AssertionError(f"an event although the call returned the result: {result}")


def test_a_followers_fetch_returns_before_what_it_completes_is_answered(bench: ReplicaBench) -> None:
    """R14: HW has risen when it returns; the produce is answered in a later turn."""
    bench.order(p1, isr=(1, 2))
    produce, consumer = bench.produce(p1), bench.consume({p1: 0})
    params = params_for_follower(2, max_wait_ms=0, min_bytes=1, max_bytes=1 << 20)
    read = bench.manager.fetch(params, [PartitionFetch(p1, 1, 1 << 20)], never)
    assert not isinstance(read, DelayedFetch)
    assert bench.log(p1).high_watermark.offset == 1
    assert (produce.is_answered, consumer.is_answered) == (False, False)
    bench.run_turns()
    assert produce.only[p1].error_code is ErrorCode.NONE
    assert consumer.is_answered


def test_a_followers_fetch_is_parked_before_what_it_completes_is_answered(bench: ReplicaBench) -> None:
    """R10, R14: the same of one that has to wait; it looks again with the others, and waits on."""
    bench.order(p1, isr=(1, 2))
    produce, later = bench.produce(p1), FetchAnswers()
    params = params_for_follower(2, max_wait_ms=500, min_bytes=1, max_bytes=1 << 20)
    assert isinstance(bench.manager.fetch(params, [PartitionFetch(p1, 1, 1 << 20)], later), DelayedFetch)
    assert not produce.is_answered
    bench.run_turns()
    assert (produce.is_answered, later.is_answered) == (True, False)


def outcome(
    size_bytes: int = 0,
    code: ErrorCode = ErrorCode.NONE,
    diverging: EpochEnd | None = None,
    preferred: BrokerId = NO_BROKER,
) -> FetchOutcome:
    return FetchOutcome(
        code, records=b"x" * size_bytes, diverging_epoch=diverging, preferred_read_replica=preferred
    )


@pytest.mark.parametrize(
    ("outcomes", "max_wait_ms", "waits"),
    [
        ([outcome(60), outcome(39)], 1, True),
        ([outcome(60), outcome(39)], 0, False),
        ([outcome(60), outcome(40)], 1, False),
        ([outcome(), outcome(code=ErrorCode.OFFSET_OUT_OF_RANGE)], 1, False),
        ([outcome(diverging=EpochEnd(1, 5)), outcome()], 1, False),
        ([outcome(preferred=2)], 1, False),
    ],
    ids=["too little", "no wish to wait", "enough", "error", "diverged", "another replica"],
)
def test_what_is_parked(outcomes: list[FetchOutcome], max_wait_ms: int, waits: bool) -> None:
    """F1: by the sum over all partitions, unless one of them has something to tell."""
    assert may_wait(FetchParams(max_wait_ms=max_wait_ms, min_bytes=100), outcomes) is waits


def test_a_fetch_of_nothing_is_answered_at_once(bench: ReplicaBench) -> None:
    """F1: it names no partition."""
    assert bench.fetch(FetchParams(max_wait_ms=500)).only == []


def test_an_errored_partition_answers_the_whole_fetch_at_once(bench: ReplicaBench) -> None:
    """R9: with HW -1 and no records; the others are read all the same."""
    bench.order(p1)
    bench.produce(p1)
    answers = bench.consume({p1: 0, p2: 0}, min_bytes=1 << 20, max_wait_ms=60_000)
    told = [(one.error_code, one.high_watermark, len(one.records)) for one in answers.only]
    assert told == [(ErrorCode.NONE, 1, 100), (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, 0)]


@pytest.mark.parametrize("in_steps", [False, True])
def test_a_followers_fetch_is_noted_once_and_after_the_read(bench: ReplicaBench, in_steps: bool) -> None:
    """R10, R3: the answer carries HW from before; it joins, and only then HW may rise."""
    bench.order(p1, isr=(1,), replicas=(1, 2))
    bench.order(p2, isr=(1, 2))
    bench.produce(p1, p2, acks=1)
    params = params_for_follower(2, max_wait_ms=0, min_bytes=1, max_bytes=1 << 20)
    fetches = [PartitionFetch(one, 1, 1 << 20) for one in (p1, p2)]
    if in_steps:
        outcomes = exhaust(bench.manager.fetch_in_steps(params, fetches, never))
    else:
        outcomes = bench.manager.fetch(params, fetches, never)
    assert isinstance(outcomes, list)
    assert [one.high_watermark for one in outcomes] == [1, 0]
    assert [bench.log(one).high_watermark.offset for one in (p1, p2)] == [1, 1]
    assert [change.new_isr for change in bench.effects.isr_writes] == [(1, 2)]
    remote = bench.leadership(p2).remotes[2]
    assert (remote.log_end.offset, remote.leader_end_at_last_fetch) == (1, 1)


def test_a_read_with_an_error_or_a_diverging_epoch_notes_nothing(bench: ReplicaBench) -> None:
    """R10: the follower is not where it says."""
    bench.order(p1, isr=(1, 2))
    bench.produce(p1, acks=1)
    bench.order(p1, isr=(1, 2), epoch=3)
    bench.produce(p1, acks=1)
    params = params_for_follower(2, max_wait_ms=0, min_bytes=1, max_bytes=1 << 20)
    diverged = bench.fetch(params, PartitionFetch(p1, 2, 1 << 20, last_fetched_epoch=0)).only[0]
    assert diverged.diverging_epoch == EpochEnd(0, 1)
    beyond = bench.fetch(params, PartitionFetch(p1, 7, 1 << 20)).only[0]
    assert beyond.error_code is ErrorCode.OFFSET_OUT_OF_RANGE
    assert bench.leadership(p1).remotes[2].log_end.offset == -1
    assert bench.log(p1).high_watermark.offset == 0


def test_a_fetch_that_nobody_waits_for_gives_back_what_it_holds(bench: ReplicaBench) -> None:
    """D6: its connection is gone; no event answers it, and its deadline does not count as an expiry."""
    bench.order(p1)
    parked = bench.manager.fetch(FetchParams(max_wait_ms=500), [PartitionFetch(p1, 0, 1 << 20)], never)
    assert isinstance(parked, DelayedFetch)
    parked.abandon()
    bench.produce(p1)
    bench.pass_time(500)
    assert bench.manager.meters.consumer_fetch_expirations == 0
    assert (bench.timer.size, bench.manager.purgatories.fetch.watched) == (0, 0)
