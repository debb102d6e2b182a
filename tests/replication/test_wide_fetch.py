"""A parked fetch of very many partitions: it looks at what an event is about, and at nothing else."""

from collections.abc import Generator
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import ITEMS_PER_STEP, exhaust
from odradek.base.ids import TopicPartition
from odradek.replication import (
    FetchOutcome,
    FetchParams,
    Partition,
    PartitionFetch,
    params_for_follower,
    readable,
)
from odradek.replication.hosted_partitions import HostedPartitions
from odradek.replication.reading import find_replica
from odradek.replication.wide_fetch import WideFetch
from tests.replication.replica_bench import HERE, FakeQuota, FetchAnswers, ReplicaBench

COUNT = 3 * ITEMS_PER_STEP
PARTITIONS = [TopicPartition("wide", number) for number in range(COUNT)]
BATCH_BYTES = 100


def lead_all(bench: ReplicaBench) -> None:
    for one in PARTITIONS:
        bench.order(one)


def fetches_of(partitions: list[TopicPartition], offset: int = 0) -> list[PartitionFetch]:
    return [PartitionFetch(one, offset, 1 << 20) for one in partitions]


def consumer(min_bytes: int) -> FetchParams:
    return FetchParams(min_bytes=min_bytes, max_wait_ms=500)


def park(bench: ReplicaBench, min_bytes: int) -> tuple[WideFetch, FetchAnswers]:
    answers = FetchAnswers()
    parked = exhaust(bench.manager.fetch_in_steps(consumer(min_bytes), fetches_of(PARTITIONS), answers))
    assert isinstance(parked, WideFetch)
    return parked, answers


def test_an_event_makes_it_look_at_one_partition(
    bench: ReplicaBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F6, F10: the sum is kept, and only what the event is about is looked at anew."""
    lead_all(bench)
    parked, answers = park(bench, 3 * BATCH_BYTES)
    looked_at = []

    def counted(
        hosted: HostedPartitions, params: FetchParams, fetch: PartitionFetch
    ) -> Partition | ErrorCode:
        looked_at.append(fetch.topic_partition)
        return find_replica(hosted, params, fetch)

    monkeypatch.setattr(readable, "find_replica", counted)
    for one in (PARTITIONS[5], PARTITIONS[5], PARTITIONS[7]):
        assert not answers.is_answered
        bench.produce(one, acks=1)
    assert looked_at == [PARTITIONS[5], PARTITIONS[5], PARTITIONS[7]]
    assert parked.gathered_bytes == 3 * BATCH_BYTES
    assert [len(one.records) for one in answers.only] == [
        {5: 2 * BATCH_BYTES, 7: BATCH_BYTES}.get(number, 0) for number in range(COUNT)
    ]


def test_it_is_watched_and_looked_at_a_few_partitions_in_each_step(bench: ReplicaBench) -> None:
    """D4: and what comes between two steps is seen, whether the partition was watched by then or not."""
    lead_all(bench)
    for appended in (PARTITIONS[0], PARTITIONS[-1]):
        offset = bench.log(appended).end_offset
        fetches = [PartitionFetch(one, bench.log(one).end_offset, 1 << 20) for one in PARTITIONS]
        steps = bench.manager.fetch_in_steps(consumer(1), fetches, FetchAnswers())
        purgatory = bench.manager.purgatories.fetch
        before = purgatory.watched
        while purgatory.watched == before:
            next(steps)
        assert purgatory.watched - before == ITEMS_PER_STEP
        bench.produce(appended, acks=1)
        outcomes = exhaust(steps)
        assert isinstance(outcomes, list), "it completes before it is parked"
        assert [len(one.records) > 0 for one in outcomes] == [one == appended for one in PARTITIONS]
        assert bench.log(appended).end_offset == offset + 1


def test_it_is_read_again_in_steps_before_it_is_answered(bench: ReplicaBench) -> None:
    """F7."""
    lead_all(bench)
    _, answers = park(bench, 1)
    taken: list[Generator[None, None, None]] = []
    bench.run_steps = taken.append
    bench.produce(PARTITIONS[3], acks=1)
    (steps,) = taken
    assert len(list(steps)) >= COUNT // ITEMS_PER_STEP
    assert len(answers.only[3].records) == BATCH_BYTES


def test_an_error_of_any_partition_answers_it(bench: ReplicaBench) -> None:
    """F2 A."""
    lead_all(bench)
    _, answers = park(bench, 1)
    bench.order(PARTITIONS[9], leader=2, isr=(1, 2))
    assert answers.only[9].error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert answers.only[8].error_code is ErrorCode.NONE


def test_it_is_answered_at_its_deadline_with_what_there_is(bench: ReplicaBench) -> None:
    """F1."""
    lead_all(bench)
    _, answers = park(bench, 2 * BATCH_BYTES)
    bench.produce(PARTITIONS[0], acks=1)
    bench.pass_time(499)
    assert not answers.is_answered
    bench.pass_time(1)
    assert len(answers.only[0].records) == BATCH_BYTES
    assert bench.manager.meters.consumer_fetch_expirations == 1


def test_a_partition_that_is_named_twice_counts_twice(bench: ReplicaBench) -> None:
    """F6: as in a fetch of few partitions."""
    bench.order(PARTITIONS[0])
    answers = FetchAnswers()
    twice = fetches_of([PARTITIONS[0], PARTITIONS[0]])
    exhaust(bench.manager.fetch_in_steps(consumer(2 * BATCH_BYTES), twice, answers))
    bench.produce(PARTITIONS[0], acks=1)
    assert [len(one.records) for one in answers.only] == [BATCH_BYTES] * 2


@pytest.mark.parametrize("changes", ["the quota", "the ISR"])
def test_bytes_of_a_follower_count_again_when_nothing_holds_them_back(
    bench: ReplicaBench, changes: str
) -> None:
    """F8: although the throttled partition has had no event since it was looked at."""
    for one in PARTITIONS:
        bench.order(one, isr=(HERE,), replicas=(HERE, 2))
    quota, answers = FakeQuota(lambda named: named == PARTITIONS[5], is_over=True), FetchAnswers()
    params = params_for_follower(
        2, max_wait_ms=500, min_bytes=2 * BATCH_BYTES, max_bytes=1 << 20, quota=quota
    )
    exhaust(bench.manager.fetch_in_steps(params, fetches_of(PARTITIONS), answers))
    bench.produce(PARTITIONS[5], acks=1)
    if changes == "the quota":
        quota.is_over = False
    else:
        (joining,) = (one for one in bench.effects.isr_writes if one.topic_partition == PARTITIONS[5])
        bench.manager.isr_maintenance.on_written(joining, 1)
    assert not answers.is_answered
    bench.produce(PARTITIONS[7], acks=1)
    assert [len(one.records) for one in answers.only] == [
        BATCH_BYTES if number in (5, 7) else 0 for number in range(COUNT)
    ]


def shrink(bench: ReplicaBench, partition: TopicPartition) -> None:
    """Broker 2 leaves the ISR, if it is in it."""
    leadership, maintenance = bench.leadership(partition), bench.manager.isr_maintenance
    change = leadership.pending
    if change is None:
        leadership.remotes[2].noted_caught_up_ms -= 60_000
        change = leadership.propose_shrink(bench.log(partition).end_offset, bench.clock.monotonic_ms(), 1)
    if change is not None:
        maintenance.on_written(change, 1)
        bench.run_turns()


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.integers(0, 3), st.sampled_from(["append", "roll", "delete", "move", "quota", "shrink"])
        ),
        max_size=12,
    ),
    st.integers(1, 6),
    st.booleans(),
)
def test_it_completes_when_a_fetch_of_few_partitions_does(
    history: list[tuple[int, str]], min_batches: int, from_follower: bool
) -> None:
    """F2-F6, F8, F10: both pictures are equal, after every event."""
    bench = ReplicaBench()
    few, quota, min_bytes = PARTITIONS[:4], FakeQuota(), min_batches * BATCH_BYTES
    params, narrow, wide = consumer(min_bytes), FetchAnswers(), FetchAnswers()
    if from_follower:
        params = params_for_follower(2, max_wait_ms=500, min_bytes=min_bytes, max_bytes=1 << 20, quota=quota)
        bench.set_config(replace(bench.config, min_insync_replicas=2))  # HW stays where it is
    for one in few:
        is_in_sync = from_follower and one.partition < 2
        bench.order(one, isr=(HERE, 2) if is_in_sync else (HERE,), replicas=(HERE, 2))
    bench.manager.fetch(params, fetches_of(few), narrow)
    exhaust(bench.manager.fetch_in_steps(params, fetches_of(few), wide))
    for number, event in history:
        partition = bench.manager.partition(few[number])
        if partition is None or partition.leadership is None:
            continue
        match event:
            case "append":
                bench.produce(few[number], acks=1)
            case "roll":
                bench.log(few[number]).roll()
                bench.produce(few[number], acks=1)
            case "delete":
                bench.delete_records({few[number]: -1})
            case "quota":
                quota.is_over = not quota.is_over
            case "shrink":
                shrink(bench, few[number])
            case _:
                bench.order(few[number], leader=2, isr=(1, 2))
        assert narrow.is_answered == wide.is_answered, f"after {event} of {few[number]}"
    if narrow.is_answered:
        assert _told(narrow.only) == _told(wide.only)


def _told(outcomes: list[FetchOutcome]) -> list[tuple[ErrorCode, int, int]]:
    return [(one.error_code, len(one.records), one.high_watermark) for one in outcomes]
