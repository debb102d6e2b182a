"""Incremental fetches: which partitions they leave out, and which they read although nothing was appended."""

import pytest

from odradek.base.execution import ITEMS_PER_STEP, exhaust
from odradek.base.ids import TopicPartition
from odradek.metadata.image import BrokerGone
from odradek.replication import FetchParams, Isolation, StoredState, params_for_follower, session_news
from odradek.replication.delayed_session_fetch import DelayedSessionFetch
from odradek.replication.fetch_session import SessionOutcomes
from tests.replication.replica_bench import BATCH_BYTES, HERE, ReplicaBench
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


def consumer(bench: ReplicaBench, *partitions: TopicPartition) -> ByNews:
    """A consumer with a session of these partitions, by default of P, at whose ends it stands."""
    client = ByNews(bench, FetchParams(), new_cache(bench), uses_topic_ids=False)
    client.fetch(fetches_of(bench, partitions or [P]), ())
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


# --- who receives events


def sessions_told_of(bench: ReplicaBench, partition: TopicPartition = P) -> int:
    """How many sessions the next event of the partition costs something."""
    return len(bench.manager.purgatories.fetch.standing.get(partition, ()))


def test_sessions_of_clients_that_are_gone_are_told_of_one_event(bench: ReplicaBench) -> None:
    """F10: or else each append would cost what all sessions cost that there ever were."""
    bench.order(P)
    clients = [consumer(bench) for _ in range(9)]
    told = [sessions_told_of(bench)]
    for _ in range(3):
        bench.produce(P)
        told.append(sessions_told_of(bench))
    assert told == [9, 0, 0, 0]
    clients[0].answers.clear()
    clients[0].fetch((), ())
    ((answered,),) = clients[0].answers
    assert (answered[0], sessions_told_of(bench)) == (P.partition, 1)


def test_a_session_that_was_opened_and_never_used_is_told_of_nothing(bench: ReplicaBench) -> None:
    """F10: its next fetch reads all its partitions in any case."""
    bench.order(P)
    client = ByNews(bench, FetchParams(), new_cache(bench), uses_topic_ids=False)
    client.fetch(fetches_of(bench, [P]), ())
    assert (client.has_session, sessions_told_of(bench)) == (True, 0)


def test_a_fetch_that_is_abandoned_is_told_of_one_event_more(bench: ReplicaBench) -> None:
    """F10: its client has closed its connection."""
    bench.order(P)
    client = consumer(bench)
    client.params.max_wait_ms = 500
    client.fetch((), ())
    client.params.min_bytes = 1 << 20
    client.fetch((), ())
    for _ in range(3):
        bench.produce(P)
        assert sessions_told_of(bench) == 1
    client.lose_connection()
    bench.produce(P)
    assert sessions_told_of(bench) == 0


@pytest.mark.parametrize("steps_before", range(7))
def test_an_event_between_two_steps_does_not_hide_the_next_one(
    bench: ReplicaBench, steps_before: int
) -> None:
    """F10: no fetch waits at the first one, so the session is told once. The second completes the fetch."""
    many = [TopicPartition("orders", number) for number in range(2 * ITEMS_PER_STEP)]
    for one in many:
        bench.order(one)
    client = consumer(bench, *many)
    assert client.session is not None
    params = FetchParams(max_wait_ms=500, min_bytes=2 * BATCH_BYTES)
    answers: list[SessionOutcomes] = []
    for partition in client.session.partitions.values():
        partition.on_event()
    steps = bench.manager.fetch_news_in_steps(params, client.session, answers.append)
    for _ in range(steps_before):
        next(steps)
    bench.produce(many[0])
    operation = exhaust(steps)
    assert isinstance(operation, DelayedSessionFetch)
    bench.produce(many[0])
    (answer,) = answers
    assert sum(len(outcome.records) for _, outcome in answer) == 2 * BATCH_BYTES


# --- in steps


MANY = [TopicPartition("orders", number) for number in range(3 * ITEMS_PER_STEP)]


def nobody(outcomes: SessionOutcomes) -> None:
    """Receives the answer of a fetch that does not wait: never."""
    raise AssertionError(outcomes)


def quiet_consumer(bench: ReplicaBench) -> ByNews:
    """A consumer that stands at the ends of MANY partitions."""
    for one in MANY:
        bench.order(one, isr=(HERE, 2))
    client = consumer(bench, *MANY)
    assert unread(client) == 0
    return client


@pytest.mark.parametrize("then", [Isolation.HIGH_WATERMARK, Isolation.LAST_STABLE])
@pytest.mark.parametrize("steps_before", range(1, 5))
def test_a_change_of_isolation_is_whole_although_the_next_fetch_comes_in_between(
    bench: ReplicaBench, steps_before: int, then: Isolation
) -> None:
    """F3, F10: nothing that was quiet for one isolation level counts as quiet for the other."""
    client = quiet_consumer(bench)
    session = client.session
    assert session is not None
    overtaken = bench.manager.fetch_news_in_steps(
        FetchParams(isolation=Isolation.LAST_STABLE), session, nobody
    )
    for _ in range(steps_before):
        next(overtaken)
    params = FetchParams(isolation=then)
    quiet = [one for one in session.partitions.values() if one not in session.news.unread]
    read = bench.manager.fetch_news(params, session, nobody)
    exhaust(overtaken)
    assert not isinstance(read, DelayedSessionFetch)
    is_read = {partition for partition, _ in read}
    if then is Isolation.LAST_STABLE:
        assert len(is_read) == len(MANY)
    else:
        assert is_read.isdisjoint(quiet)
    again = bench.manager.fetch_news(params, session, nobody)
    assert again == []
    for partition in session.partitions.values():
        partition.on_event()
    read = bench.manager.fetch_news(params, session, nobody)
    assert not isinstance(read, DelayedSessionFetch)
    assert len(read) == len(MANY)


@pytest.mark.parametrize("steps_before", range(3))
def test_a_session_that_is_closed_between_two_steps_is_told_of_nothing(
    bench: ReplicaBench, steps_before: int
) -> None:
    """F10: the steps that are left enter no partition into a list that nobody takes it from."""
    client = quiet_consumer(bench)
    session = client.session
    assert session is not None
    for one in MANY:
        bench.produce(one, acks=1)
    steps = bench.manager.fetch_news_in_steps(FetchParams(isolation=Isolation.LAST_STABLE), session, nobody)
    for _ in range(steps_before):
        next(steps)
    client.leave([])
    exhaust(steps)
    assert not bench.manager.purgatories.fetch.standing


def test_partitions_are_read_in_their_order_also_where_it_is_made_in_steps(
    bench: ReplicaBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F10: what returned records last comes last."""
    monkeypatch.setattr(session_news, "SORTED_PER_STEP", 7)
    client = quiet_consumer(bench)
    session = client.session
    assert session is not None
    for partition in session.partitions.values():
        partition.on_event()
    unread = list(session.news.unread)
    session.news.unread = dict.fromkeys(sorted(unread, key=lambda one: one.turn % 5))
    in_order = session.news.in_order()
    assert len(list(session.news.in_order_in_steps())) >= len(MANY) // 7
    assert exhaust(session.news.in_order_in_steps()) == in_order
