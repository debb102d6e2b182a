"""Incremental fetches: which partitions they leave out, and which they read although nothing was appended."""

import pytest

from odradek.base.ids import TopicPartition
from odradek.metadata.image import BrokerGone
from odradek.replication import FetchParams, StoredState, params_for_follower
from tests.replication.replica_bench import HERE, ReplicaBench
from tests.replication.session_clients import ByNews, fetches_of, new_cache

P = TopicPartition("orders", 0)
REPLICAS = (HERE, 2, 3)
LAG_MS = 60_000


def follower(bench: ReplicaBench, broker_id: int) -> ByNews:
    """A follower with a session of P, at whose end it stands."""
    params = params_for_follower(broker_id, max_wait_ms=0, min_bytes=1, max_bytes=1 << 20)
    client = ByNews(bench, params, new_cache(bench), uses_topic_ids=False)
    client.fetch(fetches_of(bench, [P]), ())
    client.fetch((), ())
    return client


def unread(client: ByNews) -> int:
    assert client.session is not None
    return len(client.session.news.unread)


def high_watermark(bench: ReplicaBench) -> int:
    return bench.log(P).high_watermark.offset


def test_a_follower_at_the_end_is_not_looked_at_again(bench: ReplicaBench) -> None:
    """F10, R10: its session's stamp says when it fetched."""
    bench.order(P, isr=REPLICAS)
    client = follower(bench, 2)
    assert unread(client) == 0
    bench.pass_time(700)
    client.fetch((), ())
    assert bench.leadership(P).remotes[2].last_fetch_ms == bench.clock.monotonic_ms()


@pytest.mark.parametrize("cause", ["its death", "its lag"])
def test_a_fetch_raises_hw_when_nobody_waits_for_another_replica_any_more(
    bench: ReplicaBench, cause: str
) -> None:
    """R7: broker 3 was about to join the ISR, and held HW back until it died or was away for too long."""
    bench.order(P, isr=(HERE, 2), replicas=REPLICAS)
    bench.image.apply(BrokerGone(3))
    follower(bench, 3)  # which may not join yet
    bench.revive(3)
    bench.produce(P, acks=1)
    client = follower(bench, 2)
    assert high_watermark(bench) == 0
    if cause == "its death":
        bench.image.apply(BrokerGone(3))
    else:
        bench.pass_time(LAG_MS)
    client.fetch((), ())
    assert high_watermark(bench) == 1


def test_a_follower_that_a_lost_race_finds_out_of_the_isr_joins_with_its_next_fetch(
    bench: ReplicaBench,
) -> None:
    """R2, R3: its shrink was stored, but not answered, and it has caught up since."""
    bench.order(P, isr=(HERE, 2), replicas=REPLICAS)
    client = follower(bench, 2)
    assert unread(client) == 0
    follower(bench, 3)
    (change,) = bench.effects.isr_writes
    bench.effects.isr_writes.clear()
    stored = StoredState(HERE, change.leader_epoch, 1, (HERE,), 1)
    bench.manager.isr_maintenance.on_lost_race(change, stored)
    bench.run_turns()
    client.fetch((), ())
    (joining,) = bench.effects.isr_writes
    assert joining.new_isr == (HERE, 2)


def test_a_consumer_at_hw_is_not_looked_at_while_followers_lag(bench: ReplicaBench) -> None:
    """F10."""
    bench.order(P, isr=REPLICAS)
    client = ByNews(bench, FetchParams(), new_cache(bench), uses_topic_ids=False)
    client.fetch(fetches_of(bench, [P]), ())
    bench.produce(P, acks=1)
    client.fetch((), ())
    assert unread(client) == 0


def test_an_offset_above_hw_in_a_newer_segment_is_answered_at_once(bench: ReplicaBench) -> None:
    """F4, case F: as without a session, although no event has come since it was read."""
    bench.order(P, isr=REPLICAS)
    bench.produce(P, acks=1)
    bench.log(P).roll()
    bench.produce(P, acks=1)
    client = ByNews(bench, FetchParams(), new_cache(bench), uses_topic_ids=False)
    client.fetch(fetches_of(bench, [P]), ())
    client.params.max_wait_ms = 500
    for _ in range(2):
        client.fetch((), ())
        assert client.waiting is None
    assert client.answers[1:] == [[], []]
