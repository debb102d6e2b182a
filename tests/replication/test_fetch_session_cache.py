"""Opening, going on with, closing and evicting sessions."""

from collections.abc import Sequence
from uuid import UUID

import pytest

from odradek.base.chance import SeededChance
from odradek.base.clock import ManualClock
from odradek.base.error_codes import ErrorCode
from odradek.base.execution import exhaust
from odradek.base.ids import NO_BROKER_EPOCH, TopicId, TopicPartition
from odradek.replication import FetchOutcome, PartitionFetch
from odradek.replication.fetch_session import (
    FetchContext,
    FollowerLife,
    FullFetch,
    IncrementalFetch,
    SessionKey,
    SessionlessFetch,
)
from odradek.replication.fetch_session_cache import EVICTION_MS, FetchSessionCache
from odradek.timer.watchers import Watchers

p1, p2, p3 = (TopicPartition("flights", number) for number in (1, 2, 3))
TOPIC_ID = UUID(int=7)
FOLLOWER = FollowerLife(2, 10)


def asks(count: int) -> list[PartitionFetch]:
    return [PartitionFetch(TopicPartition("flights", number), 0, 1000) for number in range(count)]


def fetches_of(context: FetchContext) -> Sequence[PartitionFetch]:
    """What it reads, where nothing is settled."""
    if isinstance(context, SessionlessFetch):
        return context.fetches
    return [partition.fetch for partition in context.session.news.in_order()]


class Sessions:
    """A cache, and clients that fetch through it."""

    def __init__(
        self, slots: int = 1000, partitions_max: int = 1000, session_partitions_max: int = 1000
    ) -> None:
        self.clock = ManualClock()
        self.watchers: Watchers[TopicPartition] = Watchers()
        self.names: dict[TopicId, str] = {}
        self.cache = FetchSessionCache(
            slots,
            clock=self.clock,
            chance=SeededChance(1),
            name_of=self.names.get,
            events=self.watchers,
            run_steps=exhaust,
            partitions_max=partitions_max,
            session_partitions_max=session_partitions_max,
        )

    def fetch(
        self,
        session_id: int,
        epoch: int,
        fetches: Sequence[PartitionFetch] = (),
        forgotten: Sequence[SessionKey] = (),
        *,
        follower: FollowerLife | None = None,
        uses_topic_ids: bool = False,
    ) -> ErrorCode | int:
        """The error of the whole, or how many partitions were read."""
        found = self.cache.context(
            session_id, epoch, fetches, forgotten, follower=follower, uses_topic_ids=uses_topic_ids
        )
        return found if isinstance(found, ErrorCode) else len(fetches_of(found))

    def context(
        self,
        session_id: int,
        epoch: int,
        fetches: Sequence[PartitionFetch] = (),
        forgotten: Sequence[SessionKey] = (),
        *,
        follower: FollowerLife | None = None,
        uses_topic_ids: bool = False,
    ) -> FetchContext:
        found = self.cache.context(
            session_id, epoch, fetches, forgotten, follower=follower, uses_topic_ids=uses_topic_ids
        )
        assert not isinstance(found, ErrorCode), found.name
        return found

    def listen(self, session_id: int) -> None:
        """What a fetch does that reads all partitions of the session."""
        for partition in self.cache._sessions[session_id].partitions.values():
            partition.listen()

    def open(self, partitions: int = 1, *, session_id: int = 0, follower: FollowerLife | None = None) -> int:
        context = self.context(session_id, 0, asks(partitions), follower=follower)
        assert isinstance(context, FullFetch)
        return context.answer([FetchOutcome() for _ in context.fetches]).session_id


@pytest.fixture
def sessions() -> Sessions:
    return Sessions()


def test_a_full_fetch_opens_a_session_and_incremental_ones_go_on_with_it(sessions: Sessions) -> None:
    """F10."""
    session_id = sessions.open(3)
    assert session_id > 0
    assert [sessions.fetch(session_id, epoch) for epoch in (1, 2, 3)] == [3, 3, 3]
    assert (len(sessions.cache), sessions.cache.partitions) == (1, 3)


def test_the_epoch_must_be_the_one_expected(sessions: Sessions) -> None:
    """F10: INVALID_FETCH_SESSION_EPOCH, and the session goes on at the right one."""
    session_id = sessions.open(3)
    sessions.fetch(session_id, 1)
    assert [sessions.fetch(session_id, epoch) for epoch in (1, 3, -2)] == [
        ErrorCode.INVALID_FETCH_SESSION_EPOCH
    ] * 3
    assert sessions.fetch(session_id, 2) == 3


def test_an_unknown_session_is_not_found(sessions: Sessions) -> None:
    """F10."""
    assert sessions.fetch(12345, 1) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert sessions.fetch(0, 1) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_epoch_minus_one_closes_the_session(sessions: Sessions) -> None:
    """F10: and all that is asked for is answered."""
    session_id = sessions.open(3)
    closing = sessions.context(session_id, -1, asks(2))
    assert isinstance(closing, SessionlessFetch)
    assert (len(closing.fetches), len(sessions.cache)) == (2, 0)
    assert sessions.fetch(session_id, 1) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_epoch_zero_replaces_the_session(sessions: Sessions) -> None:
    """F10: a client that lost track starts anew."""
    first = sessions.open(3)
    second = sessions.open(2, session_id=first)
    assert second != first
    assert len(sessions.cache) == 1
    assert sessions.fetch(second, 1) == 2


def test_the_first_answer_is_full_and_the_next_one_tells_only_news(sessions: Sessions) -> None:
    """F10."""
    context = sessions.context(0, 0, asks(2))
    assert isinstance(context, FullFetch)
    told = context.answer([FetchOutcome(high_watermark=5), FetchOutcome(high_watermark=6)])
    assert len(told.partitions) == 2
    context = sessions.context(told.session_id, 1)
    assert isinstance(context, IncrementalFetch)
    outcomes = [FetchOutcome(high_watermark=5), FetchOutcome(high_watermark=7)]
    told = context.answer(list(zip(context.session.news.in_order(), outcomes, strict=True)))
    assert [outcome.high_watermark for _, outcome in told.partitions] == [7]


def test_a_session_that_forgot_everything_is_closed(sessions: Sessions) -> None:
    """F10."""
    session_id = sessions.open(1)
    context = sessions.context(session_id, 1, (), [("flights", 0)])
    assert isinstance(context, SessionlessFetch)
    assert context.answer([]).session_id == 0
    assert len(sessions.cache) == 0


def test_a_fetch_of_nothing_opens_no_session(sessions: Sessions) -> None:
    assert sessions.open(0) == 0


def test_names_and_ids_do_not_mix_within_a_session(sessions: Sessions) -> None:
    """F10: a client that was up- or downgraded starts anew."""
    session_id = sessions.open(1)
    assert sessions.fetch(session_id, 1, uses_topic_ids=True) is ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
    assert sessions.fetch(session_id, 1) == 1


def test_a_topic_that_becomes_known_is_fetched_by_its_name(sessions: Sessions) -> None:
    fetch = PartitionFetch(TopicPartition("", 1), 0, 1000, topic_id=TOPIC_ID)
    context = sessions.context(0, 0, [fetch], uses_topic_ids=True)
    assert isinstance(context, FullFetch)
    session_id = context.answer([FetchOutcome(ErrorCode.UNKNOWN_TOPIC_ID)]).session_id
    sessions.names[TOPIC_ID] = "flights"
    context = sessions.context(session_id, 1, uses_topic_ids=True)
    assert [fetch.topic_partition for fetch in fetches_of(context)] == [p1]
    assert isinstance(context, IncrementalFetch)
    sessions.listen(session_id)
    assert list(sessions.watchers.standing) == [p1], "its events are passed on from now on"


# --- eviction


def test_a_full_cache_answers_without_a_session() -> None:
    """F10: `max.incremental.fetch.session.cache.slots`."""
    sessions = Sessions(slots=2)
    kept = [sessions.open(1), sessions.open(1)]
    assert sessions.open(9) == 0
    assert [sessions.fetch(session_id, 1) for session_id in kept] == [1, 1]
    assert Sessions(slots=0).open(1) == 0


def test_a_session_unused_for_two_minutes_makes_room_for_anybody() -> None:
    """F10: the least recently used one, a follower's too."""
    sessions = Sessions(slots=2)
    first, second = sessions.open(9, follower=FOLLOWER), sessions.open(9, follower=FOLLOWER)
    sessions.clock.advance(EVICTION_MS)
    sessions.fetch(first, 1)
    assert sessions.open(1) == 0
    sessions.clock.advance(1)
    assert sessions.open(1) > 0
    assert sessions.fetch(first, 2) == 9
    assert sessions.fetch(second, 1) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert sessions.cache.evictions == 1


def test_a_follower_takes_the_place_of_a_consumer_at_once() -> None:
    """F10: of the one with the fewest partitions; never of another follower."""
    sessions = Sessions(slots=3)
    big, small, follower = sessions.open(5), sessions.open(2), sessions.open(1, follower=FOLLOWER)
    assert sessions.open(1, follower=FOLLOWER) > 0
    assert sessions.fetch(small, 1) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert sessions.open(1, follower=FOLLOWER) > 0
    assert sessions.fetch(big, 1) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert sessions.open(99, follower=FOLLOWER) == 0
    assert sessions.fetch(follower, 1) == 1


def test_a_consumer_takes_the_place_of_a_smaller_one_that_has_had_its_time() -> None:
    """F10: older than two minutes although in use, and with fewer partitions."""
    sessions = Sessions(slots=1)
    holder = sessions.open(2)
    assert sessions.open(3) == 0
    sessions.clock.advance(EVICTION_MS)
    sessions.fetch(holder, 1)
    sessions.clock.advance(1)
    sessions.fetch(holder, 2)
    assert sessions.open(2) == 0
    assert sessions.open(3) > 0
    assert sessions.fetch(holder, 3) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_broker_that_was_registered_anew_ends_the_sessions_of_its_earlier_life() -> None:
    """F10, R16: or else its old ones would keep their slots for two minutes."""
    sessions = Sessions(slots=7)
    consumer, other = sessions.open(1), sessions.open(1, follower=FollowerLife(3, 9))
    silent = sessions.open(1, follower=FollowerLife(2, NO_BROKER_EPOCH))
    earlier = [sessions.open(1, follower=FOLLOWER) for _ in range(2)]
    anew = FollowerLife(2, 11)
    first, second = sessions.open(9, follower=anew), sessions.open(9, follower=anew)
    assert [sessions.fetch(session_id, 1) for session_id in (consumer, other, silent)] == [1] * 3
    assert [sessions.fetch(session_id, 1) for session_id in (first, second)] == [9] * 2
    assert [sessions.fetch(session_id, 1) for session_id in earlier] == [
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    ] * 2
    assert sessions.cache.evictions == 0


def test_all_sessions_together_hold_a_bounded_number_of_partitions() -> None:
    """F10: no session is opened beyond it, and one that would grow beyond it is closed."""
    sessions = Sessions(partitions_max=10)
    first, second = sessions.open(4), sessions.open(5)
    assert sessions.open(2) == 0
    assert sessions.fetch(second, 1, fetches=asks(1)) == 5
    assert sessions.fetch(first, 1, fetches=asks(9)) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert (len(sessions.cache), sessions.cache.partitions) == (1, 5)
    assert sessions.fetch(second, 2, forgotten=[("flights", 0)]) == 4
    sessions.fetch(second, -1)
    assert (len(sessions.cache), sessions.cache.partitions) == (0, 0)


def test_one_session_holds_a_bounded_number_of_partitions() -> None:
    """F10: one that is renamed, or makes room in the same request, does not count twice."""
    sessions = Sessions(session_partitions_max=4)
    assert sessions.open(5) == 0
    session_id = sessions.open(4)
    more = PartitionFetch(TopicPartition("flights", 9), 0, 1000)
    assert sessions.fetch(session_id, 1, fetches=asks(4)) == 4
    assert sessions.fetch(session_id, 2, fetches=[more], forgotten=[("flights", 0)]) == 4
    assert sessions.fetch(session_id, 3, fetches=asks(4)) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert (len(sessions.cache), sessions.cache.partitions) == (0, 0)


def test_a_session_that_ends_leaves_no_entry_behind(sessions: Sessions) -> None:
    """F10: closed, replaced or evicted, it receives no events any more."""
    ended = [sessions.open(3) for _ in range(2)]
    kept = [sessions.open(3)]
    for session_id in (*ended, *kept):
        sessions.listen(session_id)
    kept.append(sessions.open(2, session_id=ended[0]))
    sessions.listen(kept[1])
    sessions.fetch(ended[1], -1)
    assert sorted(len(entries) for entries in sessions.watchers.standing.values()) == [1, 2, 2]
