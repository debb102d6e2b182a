"""A session from both sides: the follower's, and the leader's own cache."""

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from odradek.base.chance import SeededChance
from odradek.base.clock import ManualClock
from odradek.base.error_codes import ErrorCode
from odradek.base.execution import exhaust
from odradek.base.ids import NO_BROKER_EPOCH, TopicPartition
from odradek.replication import FetchOutcome, PartitionFetch
from odradek.replication.fetch_session import FollowerLife, ServedFetch, SessionKey, SessionlessFetch
from odradek.replication.fetch_session_cache import FetchSessionCache
from odradek.replication.fetcher.asks import FetchAsk, PartitionAsk
from odradek.replication.fetcher.leader_session import LeaderSession
from odradek.timer.watchers import Watchers
from tests.replication.fetcher.brokers import TOPIC_ID

a, b, c = (TopicPartition("orders", number) for number in range(3))


def ask_for(partition: TopicPartition, offset: int = 0) -> PartitionAsk:
    return PartitionAsk(partition, TOPIC_ID, 5, offset, -1, 0)


def named(ask: FetchAsk) -> list[TopicPartition]:
    return [one.topic_partition for one in ask.asks]


def opened(*partitions: TopicPartition) -> LeaderSession:
    session = LeaderSession()
    for partition in partitions:
        session.want(ask_for(partition))
    session.request()
    assert session.on_answer(7)
    return session


def test_epoch_zero_names_all_and_opens() -> None:
    """X1, KIP-227."""
    session = LeaderSession()
    session.want(ask_for(a))
    session.want(ask_for(b))
    ask = session.request()
    assert (ask.session_id, ask.session_epoch, named(ask), ask.forgotten) == (0, 0, [a, b], ())
    session.on_answer(7)
    assert session.session_id == 7


def test_an_incremental_request_names_only_what_changed() -> None:
    session = opened(a, b, c)
    session.want(ask_for(b, 5))
    ask = session.request()
    assert (ask.session_id, ask.session_epoch, named(ask), list(ask.forgotten)) == (7, 1, [b], [])
    session.on_answer(7)
    ask = session.request()
    assert (ask.session_epoch, named(ask), ask.may_wait) == (2, [], True)


def test_what_is_wanted_as_it_was_sent_is_not_named() -> None:
    session = opened(a)
    session.want(ask_for(a, 5))
    session.want(ask_for(a, 0))
    assert named(session.request()) == []


def test_what_has_left_is_forgotten_before_it_is_asked_for_again() -> None:
    """Else the leader would not tell again what it told before it left."""
    session = opened(a, b)
    session.leave(b)
    session.want(ask_for(b))
    ask = session.request()
    assert (named(ask), [one.topic_partition for one in ask.forgotten], ask.may_wait) == ([], [b], False)
    session.on_answer(7)
    ask = session.request()
    assert (named(ask), list(ask.forgotten), ask.may_wait) == ([b], [], True)


def test_what_was_told_and_dropped_is_told_anew() -> None:
    session = opened(a, b)
    session.request_anew(b)
    assert [one.topic_partition for one in session.request().forgotten] == [b]
    session.on_answer(7)
    assert named(session.request()) == [b]


def test_what_left_before_it_was_sent_is_never_named() -> None:
    session = opened(a)
    session.want(ask_for(b))
    session.leave(b)
    ask = session.request()
    assert (named(ask), list(ask.forgotten)) == ([], [])


def test_a_lost_session_is_opened_anew_with_all() -> None:
    session = opened(a, b)
    session.leave(b)
    session.request()
    assert not session.on_answer(0, ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    ask = session.request()
    assert (ask.session_id, ask.session_epoch, named(ask), list(ask.forgotten)) == (0, 0, [a], [])


def test_a_session_that_the_leader_has_otherwise_is_closed_by_the_request_that_opens_another() -> None:
    session = opened(a)
    session.request()
    assert not session.on_answer(0, ErrorCode.INVALID_FETCH_SESSION_EPOCH)
    ask = session.request()
    assert (ask.session_id, ask.session_epoch) == (7, 0)


def test_an_answer_of_another_session_loses_this_one() -> None:
    session = opened(a)
    session.request()
    assert not session.on_answer(8)
    assert session.request().session_epoch == 0


def test_without_a_session_all_are_named_each_time_those_served_last() -> None:
    """KIP-227: a leader without room; and the limit of an answer starves nobody."""
    session = LeaderSession()
    session.want(ask_for(a))
    session.want(ask_for(b))
    session.request()
    session.on_answer(0)
    session.want(ask_for(a, 5))
    ask = session.request()
    assert (ask.session_epoch, named(ask)) == (0, [b, a])


def test_an_incremental_answer_without_a_session_means_that_it_is_closed() -> None:
    session = opened(a)
    session.request()
    assert session.on_answer(0)
    assert session.request().session_epoch == 0


KEYS = st.integers(0, 4).map(lambda number: TopicPartition("orders", number))


class BothSides(RuleBasedStateMachine):
    """A follower's session with a leader's cache that forgets sessions and has news of its own.

    What the follower was told, it has; so in the end it knows of every partition what the leader has last.
    """

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.begin_leader()
        self.session = LeaderSession()
        self.wanted: dict[TopicPartition, PartitionAsk] = {}
        self.known: dict[TopicPartition, int] = {}
        self.watermarks = dict.fromkeys((TopicPartition("orders", number) for number in range(5)), 0)
        self.changed = set[TopicPartition]()

    @rule()
    def begin_leader(self) -> None:
        """It starts, again perhaps: its sessions are gone."""
        self.cache = FetchSessionCache(
            1,
            clock=self.clock,
            chance=SeededChance(3),
            name_of=lambda topic_id: "orders",
            events=Watchers(),
            run_steps=exhaust,
        )

    @rule(key=KEYS, offset=st.integers(0, 3))
    def want(self, key: TopicPartition, offset: int) -> None:
        ask = ask_for(key, offset)
        if self.wanted.get(key) != ask or key not in self.wanted:
            self.changed.add(key)
        self.wanted[key] = ask
        self.session.want(ask)

    @rule(key=KEYS)
    def leave(self, key: TopicPartition) -> None:
        self.wanted.pop(key, None)
        self.known.pop(key, None)
        self.changed.add(key)
        self.session.leave(key)

    @rule(key=KEYS)
    def raise_watermark(self, key: TopicPartition) -> None:
        self.watermarks[key] += 1

    @precondition(lambda self: self.wanted)
    @rule(lost=st.booleans(), dropped=st.sets(KEYS, max_size=2))
    def exchange(self, lost: bool, dropped: set[TopicPartition]) -> None:
        """One request and its answer, which may be lost, or dropped for some partitions."""
        ask = self.session.request()
        if ask.session_epoch:
            assert set(named(ask)) <= self.changed, "named without a change"
        answer = self.answered(ask)
        if lost:
            self.session.on_lost()
            return
        assert self.session.on_answer(answer.session_id, answer.error_code) == (
            answer.error_code is ErrorCode.NONE
        )
        self.changed -= set(named(ask)) - {one.topic_partition for one in ask.forgotten}
        for fetch, outcome in answer.partitions:
            key = fetch.topic_partition
            if key in dropped:
                self.session.request_anew(key)
                self.changed.add(key)
            elif key in self.wanted:
                self.known[key] = outcome.high_watermark

    def answered(self, ask: FetchAsk) -> ServedFetch:
        fetches = [
            PartitionFetch(one.topic_partition, one.fetch_offset, 100, topic_id=one.topic_id)
            for one in ask.asks
        ]
        forgotten: list[SessionKey] = [(one.topic_id, one.topic_partition.partition) for one in ask.forgotten]
        context = self.cache.context(
            ask.session_id,
            ask.session_epoch,
            fetches,
            forgotten,
            follower=FollowerLife(1, NO_BROKER_EPOCH),
            uses_topic_ids=True,
        )
        if isinstance(context, ErrorCode):
            return ServedFetch(error_code=context)
        if isinstance(context, SessionlessFetch):
            return context.answer([self.outcome(fetch) for fetch in context.fetches])
        read = context.session.news.in_order()
        return context.answer([(partition, self.outcome(partition.fetch)) for partition in read])

    def outcome(self, fetch: PartitionFetch) -> FetchOutcome:
        return FetchOutcome(high_watermark=self.watermarks[fetch.topic_partition])

    @invariant()
    def the_session_wants_what_is_wanted(self) -> None:
        assert len(self.session) == len(self.wanted)

    def teardown(self) -> None:
        for _ in range(4):
            if self.wanted:
                self.exchange(lost=False, dropped=set())
        assert self.known == {key: self.watermarks[key] for key in self.wanted}


TestBothSides = pytest.mark.slow(BothSides.TestCase)
