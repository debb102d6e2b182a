"""A fetch of a session that waits: what completes it, although it looks at few partitions."""

from dataclasses import replace

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import ITEMS_PER_STEP, exhaust
from odradek.base.ids import TopicPartition
from odradek.replication import FetchParams, params_for_follower
from odradek.replication.delayed_session_fetch import DelayedSessionFetch
from tests.replication.replica_bench import BATCH_BYTES, FakeQuota, ReplicaBench
from tests.replication.session_clients import ByNews, fetches_of, new_cache

LAG_MS = 60_000
SLOW, FAST = TopicPartition("orders", 0), TopicPartition("orders", 1)
MANY = [TopicPartition("orders", number) for number in range(3 * ITEMS_PER_STEP)]


def consumer(bench: ReplicaBench, *partitions: TopicPartition, min_bytes: int = 1) -> ByNews:
    """A consumer that waits in a session of partitions that have no records."""
    for one in partitions:
        bench.order(one)
    return waiting(bench, FetchParams(min_bytes=min_bytes), *partitions)


def waiting(bench: ReplicaBench, params: FetchParams, *partitions: TopicPartition) -> ByNews:
    client = ByNews(bench, params, new_cache(bench), uses_topic_ids=False)
    client.fetch(fetches_of(bench, partitions), ())
    client.answers.clear()
    client.params.max_wait_ms = 500
    client.fetch((), ())
    assert isinstance(client.waiting, DelayedSessionFetch)
    return client


def partitions_of(client: ByNews) -> list[int]:
    """The partitions of the only answer."""
    (answer,) = client.answers
    return [part[0] for part in answer]


# --- F8


@pytest.fixture
def quota() -> FakeQuota:
    return FakeQuota(lambda named: named == SLOW)


@pytest.fixture
def follower(bench: ReplicaBench, quota: FakeQuota) -> ByNews:
    """Broker 2, which is out of the ISR of the throttled partition, and waits for two batches."""
    bench.order(SLOW, isr=(1,), replicas=(1, 2))
    bench.order(FAST, isr=(1, 2))
    params = params_for_follower(2, max_wait_ms=0, min_bytes=2 * BATCH_BYTES, max_bytes=1 << 20, quota=quota)
    follower = waiting(bench, params, SLOW, FAST)
    bench.effects.isr_writes.clear()  # it stands at the end of the throttled partition, and is to join
    return follower


def test_bytes_that_were_held_back_count_when_the_quota_is_free_again(
    bench: ReplicaBench, quota: FakeQuota, follower: ByNews
) -> None:
    """F8: although the throttled partition has had no event since it was looked at."""
    quota.is_over = True
    bench.produce(SLOW, acks=1)
    quota.is_over = False
    assert not follower.answers, "no event has come since"
    bench.produce(FAST, acks=1)
    assert partitions_of(follower) == [0, 1]


def test_bytes_that_counted_are_held_back_when_the_quota_is_exceeded(
    bench: ReplicaBench, quota: FakeQuota, follower: ByNews
) -> None:
    """F8: or else it would be answered with less than its minimum."""
    bench.produce(SLOW, acks=1)
    quota.is_over = True
    bench.produce(FAST, acks=1)
    assert not follower.answers
    bench.produce(FAST, acks=1)
    assert partitions_of(follower) == [1]


def test_an_older_segment_of_a_throttled_partition_waits_for_the_quota(
    bench: ReplicaBench, quota: FakeQuota, follower: ByNews
) -> None:
    """F4, F8."""
    quota.is_over = True
    bench.produce(SLOW, acks=1)
    bench.log(SLOW).roll()
    bench.produce(SLOW, acks=1)
    assert not follower.answers
    quota.is_over = False
    bench.produce(FAST, acks=1)
    assert partitions_of(follower) == [0, 1]


def test_a_log_that_retention_has_emptied_is_answered_at_once(bench: ReplicaBench) -> None:
    """F4: it begins a segment; no event of another partition would look at this one again (F10)."""
    client = consumer(bench, FAST, min_bytes=2 * BATCH_BYTES)
    bench.produce(FAST)
    bench.set_config(replace(bench.config, retention_bytes=0))
    assert bench.log(FAST).retire(bench.clock.wall_ms()) is not None
    bench.manager.on_log_start_rose(FAST)
    bench.run_turns()
    ((part,),) = client.answers
    assert part[1] is ErrorCode.OFFSET_OUT_OF_RANGE


def test_who_left_the_isr_is_held_back_from_then_on(
    bench: ReplicaBench, quota: FakeQuota, follower: ByNews
) -> None:
    """F8, R2: its bytes counted until the ISR was written without it, which need not raise HW."""
    bench.set_config(replace(bench.config, min_insync_replicas=2))
    quota.listed = lambda named: named == FAST
    quota.is_over = True
    bench.produce(FAST, acks=1)
    bench.leadership(FAST).remotes[2].noted_caught_up_ms -= LAG_MS
    maintenance = bench.manager.isr_maintenance
    exhaust(maintenance.expire())
    (change,) = bench.effects.isr_writes
    maintenance.on_written(change, 1)
    bench.run_turns()
    bench.produce(SLOW, acks=1)
    assert not follower.answers
    bench.produce(SLOW, acks=1)
    assert partitions_of(follower) == [0]


# --- F10


def test_changes_that_complete_nothing_do_not_hide_an_event(bench: ReplicaBench) -> None:
    """F10: retention raises the log starts of many partitions while a fetch of theirs waits."""
    for one in MANY:
        bench.order(one)
        bench.produce(one)
    client = waiting(bench, FetchParams(), *MANY)
    for one in MANY:
        bench.manager.on_log_start_rose(one)
    bench.produce(MANY[0])
    assert partitions_of(client) == [0]


def test_a_fetch_that_the_next_one_overtook_reads_nothing(bench: ReplicaBench) -> None:
    """F10: its answer is an error, so nothing counts as sent."""
    client = consumer(bench, FAST, min_bytes=2 * BATCH_BYTES)
    overtaken = client.waiting
    bench.produce(FAST)
    client.params.min_bytes = 1
    client.fetch((), ())
    (answered,) = client.answers
    bench.run_turns()
    assert client.waiting is not overtaken
    assert client.answers == [answered, ErrorCode.INVALID_FETCH_SESSION_EPOCH]
    assert bench.manager.meters.total().bytes_out == BATCH_BYTES
