"""Sessions of very many partitions: opened, changed and answered in steps, and what comes in between."""

from collections.abc import Iterator, Sequence
from uuid import UUID

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import ITEMS_PER_STEP, Steps, exhaust
from odradek.base.ids import TopicPartition
from odradek.replication import FetchOutcome, PartitionFetch
from odradek.replication.fetch_session import (
    FetchContext,
    FullFetch,
    IncrementalFetch,
    ServedFetch,
    SessionKey,
)
from tests.replication.test_fetch_session_cache import Sessions, asks, fetches_of

WIDE = 4 * ITEMS_PER_STEP
STEPS = range(1, 4)


@pytest.fixture
def sessions() -> Sessions:
    return Sessions()


def opening(sessions: Sessions, partitions: int = WIDE) -> Steps[ServedFetch]:
    context = sessions.context(0, 0, asks(partitions))
    assert isinstance(context, FullFetch)
    return context.answer_in_steps([FetchOutcome(high_watermark=3) for _ in context.fetches])


def incremental(
    sessions: Sessions,
    session_id: int,
    epoch: int,
    fetches: Sequence[PartitionFetch] = (),
    forgotten: Sequence[SessionKey] = (),
) -> Steps[FetchContext | ErrorCode]:
    return sessions.cache.context_in_steps(
        session_id, epoch, fetches, forgotten, follower=None, uses_topic_ids=False
    )


def take(steps: Iterator[object], count: int) -> None:
    """The first steps; there are more."""
    for _ in range(count):
        next(steps)


def only_session(sessions: Sessions) -> int:
    (session_id,) = sessions.cache._sessions
    return session_id


def test_an_opening_in_steps_has_the_outcome_of_one_at_once(sessions: Sessions) -> None:
    """F10."""
    steps = opening(sessions)
    take(steps, WIDE // ITEMS_PER_STEP)
    answer = exhaust(steps)
    assert len(answer.partitions) == WIDE
    assert sessions.fetch(answer.session_id, 1) == WIDE
    context = sessions.context(answer.session_id, 2)
    assert isinstance(context, IncrementalFetch)
    assert [one.fetch for one in context.session.news.in_order()] == [fetch for fetch, _ in answer.partitions]
    assert {one.high_watermark for one in context.session.partitions.values()} == {3}
    assert sessions.cache.partitions == WIDE


@pytest.mark.parametrize("steps_before", STEPS)
def test_a_session_takes_no_fetch_before_it_has_all_partitions(sessions: Sessions, steps_before: int) -> None:
    """F10: an id that is guessed, for example."""
    steps = opening(sessions)
    take(steps, steps_before)
    session_id = only_session(sessions)
    assert sessions.fetch(session_id, 1) is ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert exhaust(steps).session_id == session_id
    assert sessions.fetch(session_id, 1) == WIDE


@pytest.mark.parametrize("steps_before", STEPS)
def test_a_session_that_is_closed_while_it_opens_leaves_nothing(
    sessions: Sessions, steps_before: int
) -> None:
    """F10: its client learns it with the next fetch."""
    steps = opening(sessions)
    take(steps, steps_before)
    sessions.listen(only_session(sessions))
    sessions.fetch(only_session(sessions), -1)
    answer = exhaust(steps)
    assert len(answer.partitions) == WIDE
    assert sessions.watchers.standing == {}
    assert (len(sessions.cache), sessions.cache.partitions) == (0, 0)
    assert sessions.fetch(answer.session_id, 1) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_partitions_that_are_still_to_be_added_count_from_the_start() -> None:
    """F10: two openings at once do not exceed the limit."""
    sessions = Sessions(partitions_max=WIDE + 1)
    steps = opening(sessions)
    take(steps, 1)
    assert sessions.open(2) == 0
    exhaust(steps)
    assert sessions.cache.partitions == WIDE


def test_a_change_in_steps_has_the_outcome_of_one_at_once(sessions: Sessions) -> None:
    """F10."""
    session_id = sessions.open(WIDE)
    moved = [PartitionFetch(one.topic_partition, 9, 1000) for one in asks(WIDE // 2)]
    more = [PartitionFetch(TopicPartition("more", number), 0, 1000) for number in range(WIDE)]
    forgotten = [("flights", number) for number in range(WIDE // 2, WIDE)]
    steps = incremental(sessions, session_id, 1, [*moved, *more], forgotten)
    take(steps, 7)
    context = exhaust(steps)
    assert isinstance(context, IncrementalFetch)
    assert list(fetches_of(context)) == [*moved, *more]
    assert sessions.cache.partitions == WIDE // 2 + WIDE
    sessions.listen(session_id)
    assert len(sessions.watchers.standing) == WIDE // 2 + WIDE


@pytest.mark.parametrize("steps_before", STEPS)
def test_a_change_stops_when_the_session_is_closed(sessions: Sessions, steps_before: int) -> None:
    """F10."""
    session_id = sessions.open(2)
    steps = incremental(sessions, session_id, 1, asks(WIDE))
    take(steps, steps_before)
    sessions.listen(session_id)
    sessions.fetch(session_id, -1)
    assert exhaust(steps) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert sessions.watchers.standing == {}
    assert (len(sessions.cache), sessions.cache.partitions) == (0, 0)


@pytest.mark.parametrize("steps_before", STEPS)
def test_of_two_requests_at_once_the_earlier_one_fails(sessions: Sessions, steps_before: int) -> None:
    """F10: the same epoch is refused, the next one overtakes."""
    session_id = sessions.open(2)
    steps = incremental(sessions, session_id, 1, asks(WIDE))
    take(steps, steps_before)
    assert sessions.fetch(session_id, 1) is ErrorCode.INVALID_FETCH_SESSION_EPOCH
    last = asks(WIDE)[-1:]
    context = sessions.context(session_id, 2, last)
    assert isinstance(context, IncrementalFetch)
    assert exhaust(steps) is ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert sessions.cache.partitions == len(context.session.partitions)
    assert sessions.fetch(session_id, 3) == len(context.session.partitions)


def test_names_that_become_known_are_filled_in_in_steps(sessions: Sessions) -> None:
    """F10: Fetch >= 13 may ask for a topic before this broker has heard of it."""
    topic_id = UUID(int=7)
    early = [PartitionFetch(TopicPartition("", n), 0, 1000, topic_id=topic_id) for n in range(WIDE)]
    full = sessions.context(0, 0, early, uses_topic_ids=True)
    assert isinstance(full, FullFetch)
    session_id = full.answer([FetchOutcome() for _ in early]).session_id
    assert sessions.cache.nameless(session_id) == WIDE
    sessions.names[topic_id] = "flights"
    steps = sessions.cache.context_in_steps(session_id, 1, (), follower=None, uses_topic_ids=True)
    take(steps, WIDE // ITEMS_PER_STEP)
    context = exhaust(steps)
    assert isinstance(context, IncrementalFetch)
    assert {fetch.topic_partition.topic for fetch in fetches_of(context)} == {"flights"}
    assert sessions.cache.nameless(session_id) == 0


@pytest.mark.parametrize("steps_before", STEPS)
def test_an_answer_in_steps_is_void_once_another_request_has_come(
    sessions: Sessions, steps_before: int
) -> None:
    """F10."""
    session_id = sessions.open(WIDE)
    context = sessions.context(session_id, 1)
    assert isinstance(context, IncrementalFetch)
    read = [(one, FetchOutcome(records=b"x")) for one in context.session.news.in_order()]
    steps = context.answer_in_steps(read)
    take(steps, steps_before)
    assert sessions.fetch(session_id, 2) == WIDE
    answer = exhaust(steps)
    assert (answer.error_code, list(answer.partitions)) == (ErrorCode.INVALID_FETCH_SESSION_EPOCH, [])
