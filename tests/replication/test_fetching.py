"""A fetch between its arrival and its answer."""

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.replication import PartitionFetch, params_for_follower
from odradek.replication.delayed_fetch import DelayedFetch
from tests.replication.replica_bench import FetchAnswers, ReplicaBench

p1 = TopicPartition("flights", 1)


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
