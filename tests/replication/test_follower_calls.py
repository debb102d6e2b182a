"""Followers that are called to fetch a partition which they began to follow while their fetch waited."""

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.replication import params_for_follower
from odradek.replication.follower_calls import CALLED_WAIT_MS
from tests.replication.replica_bench import FetchAnswers, ReplicaBench
from tests.replication.session_clients import ByNews, fetches_of, new_cache

OLD, NEW = TopicPartition("orders", 0), TopicPartition("orders", 1)
WAIT_MS = 500


def waiting_follower(bench: ReplicaBench, broker_id: int = 2) -> FetchAnswers:
    """A fetch of the old partition by a follower that stands at its end."""
    return bench.follow(broker_id, {OLD: bench.log(OLD).end_offset}, max_wait_ms=WAIT_MS)


def test_an_append_to_a_partition_that_the_follower_has_not_fetched_calls_it(bench: ReplicaBench) -> None:
    """The waiting fetch is answered at once, so that the next one names the new partition."""
    bench.order(OLD, isr=(1, 2))
    waiting = waiting_follower(bench)
    bench.order(NEW, isr=(1, 2))
    assert not waiting.is_answered
    produce = bench.produce(NEW)
    assert [len(outcome.records) for outcome in waiting.only] == [0]
    bench.follow(2, {OLD: 0, NEW: 0})
    bench.follow(2, {OLD: 0, NEW: 1})
    assert produce.only[NEW].error_code is ErrorCode.NONE


def test_the_fetch_of_a_session_is_answered_too(bench: ReplicaBench) -> None:
    bench.order(OLD, isr=(1, 2))
    params = params_for_follower(2, max_wait_ms=WAIT_MS, min_bytes=1, max_bytes=1 << 20)
    client = ByNews(bench, params, new_cache(bench), uses_topic_ids=False)
    client.fetch(fetches_of(bench, [OLD]), ())
    bench.pass_time(WAIT_MS)  # a fetch that begins a session waits as well
    client.answers.clear()
    client.fetch((), ())
    assert not client.answers
    bench.order(NEW, isr=(1, 2))
    bench.produce(NEW)
    assert client.answers == [[]]


def test_an_append_calls_nobody_who_has_fetched(bench: ReplicaBench) -> None:
    bench.order(OLD, isr=(1, 2))
    bench.order(NEW, isr=(1, 2))
    bench.follow(2, {NEW: 0})
    waiting = waiting_follower(bench)
    bench.produce(NEW)
    assert not waiting.is_answered


def test_a_replica_outside_the_isr_is_not_called(bench: ReplicaBench) -> None:
    """HW does not wait for it."""
    bench.order(OLD, isr=(1, 2), replicas=(1, 2, 3))
    bench.follow(3, {OLD: 0})
    bench.order(NEW, isr=(1, 2), replicas=(1, 2, 3))
    waiting = bench.follow(3, {OLD: 0}, max_wait_ms=WAIT_MS)
    bench.produce(NEW)
    assert not waiting.is_answered


@pytest.mark.parametrize("end", ["it has fetched", "it has left the ISR", "another leads"])
def test_a_called_follower_waits_for_a_short_time_until(bench: ReplicaBench, end: str) -> None:
    """Its order to follow may come later than the leader's."""
    bench.order(OLD, isr=(1, 2), replicas=(1, 2))
    bench.order(NEW, isr=(1, 2), replicas=(1, 2))
    bench.produce(NEW)
    early = waiting_follower(bench)
    bench.pass_time(CALLED_WAIT_MS)
    assert early.is_answered
    if end == "it has fetched":
        bench.follow(2, {NEW: 0})
    elif end == "it has left the ISR":
        bench.order(NEW, isr=(1,), replicas=(1, 2))
    else:
        bench.order(NEW, leader=2, isr=(2, 1))
    usual = waiting_follower(bench)
    bench.pass_time(CALLED_WAIT_MS)
    assert not usual.is_answered
    bench.pass_time(WAIT_MS)
    assert usual.is_answered


def test_a_consumers_fetch_is_never_called(bench: ReplicaBench) -> None:
    bench.order(OLD, isr=(1, 2))
    bench.order(NEW, isr=(1, 2))
    consumer = bench.consume({OLD: 0}, max_wait_ms=WAIT_MS)
    bench.produce(NEW)
    bench.pass_time(CALLED_WAIT_MS)
    assert not consumer.is_answered
