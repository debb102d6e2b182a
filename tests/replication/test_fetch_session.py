"""What an incremental answer holds."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from uuid import UUID

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import exhaust
from odradek.base.ids import TopicPartition
from odradek.replication import FetchOutcome, PartitionFetch
from odradek.replication.fetch_session import (
    EPOCH_MAX,
    FetchSession,
    IncrementalFetch,
    ServedFetch,
    SessionKey,
    SessionlessFetch,
    epoch_after,
    key_of,
    note_sent,
)
from odradek.storage import EpochEnd
from odradek.timer.watchers import Watchers

p1, p2, p3 = (TopicPartition("flights", number) for number in (1, 2, 3))
KNOWN = FetchOutcome(high_watermark=5, last_stable_offset=4, log_start_offset=1)


def session_of(*partitions: TopicPartition) -> FetchSession:
    session = FetchSession(77, Watchers(), 0, follower=None, uses_topic_ids=False)
    for partition in partitions:
        note_sent(session.add(PartitionFetch(partition, 0, 1000)), KNOWN)
    return session


def order_of(session: FetchSession) -> list[TopicPartition]:
    return [partition.fetch.topic_partition for partition in session.news.in_order()]


def answer(session: FetchSession, *outcomes: FetchOutcome) -> ServedFetch:
    return IncrementalFetch(session).answer(list(zip(session.news.in_order(), outcomes, strict=True)))


@pytest.mark.parametrize(
    ("outcome", "is_news"),
    [
        (KNOWN, False),
        (replace(KNOWN, records=b"x"), True),
        (replace(KNOWN, high_watermark=6), True),
        (replace(KNOWN, last_stable_offset=5), True),
        (replace(KNOWN, log_start_offset=2), True),
        (replace(KNOWN, error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER), True),
        (replace(KNOWN, diverging_epoch=EpochEnd(1, 2)), True),
        (replace(KNOWN, preferred_read_replica=3), True),
    ],
)
def test_an_incremental_answer_holds_only_news(outcome: FetchOutcome, is_news: bool) -> None:
    """F10: records, an error, or a changed HW, log start or LSO."""
    session = session_of(p1, p2)
    told = answer(session, KNOWN, outcome)
    assert [fetch.topic_partition for fetch, _ in told.partitions] == ([p2] if is_news else [])
    assert told.session_id == 77


def test_what_was_told_is_no_news_the_next_time() -> None:
    """F10."""
    session = session_of(p1)
    assert len(answer(session, replace(KNOWN, high_watermark=6)).partitions) == 1
    assert len(answer(session, replace(KNOWN, high_watermark=6)).partitions) == 0


def test_the_end_of_an_error_is_news() -> None:
    """F10: although all offsets are what they were before it."""
    session = session_of(p1)
    answer(session, FetchOutcome(ErrorCode.NOT_LEADER_OR_FOLLOWER))
    assert len(answer(session, KNOWN).partitions) == 1


def test_partitions_with_records_are_read_last_the_next_time() -> None:
    """F10: or else the first ones would starve the others when answers are full."""
    session = session_of(p1, p2, p3)
    quiet, full = KNOWN, replace(KNOWN, records=b"x")
    answer(session, full, quiet, full)
    assert order_of(session) == [p2, p1, p3]


def change(
    session: FetchSession,
    changed: Sequence[PartitionFetch],
    forgotten: Iterable[SessionKey],
    name_of: Callable[[UUID], str | None] = lambda topic_id: None,
) -> None:
    """As an incremental request, with no other in between."""
    assert exhaust(session.change(changed, forgotten, name_of))


def test_partitions_are_added_changed_and_forgotten() -> None:
    """F10."""
    session = session_of(p1, p2)
    change(
        session, [PartitionFetch(p2, 40, 500), PartitionFetch(p3, 7, 500)], [("flights", 1), ("flights", 9)]
    )
    fetches = [partition.fetch for partition in session.news.in_order()]
    assert [(fetch.topic_partition, fetch.fetch_offset) for fetch in fetches] == [(p2, 40), (p3, 7)]
    assert session.partitions["flights", 2].high_watermark == 5
    assert session.partitions["flights", 3].high_watermark == -1


def test_a_partition_forgotten_while_its_fetch_waited_stays_forgotten() -> None:
    """F10."""
    session = session_of(p1, p2)
    waiting = IncrementalFetch(session)
    one, other = session.news.in_order()
    change(session, [], [("flights", 1)])
    waiting.answer([(one, replace(KNOWN, records=b"x")), (other, KNOWN)])
    assert list(session.partitions) == [("flights", 2)]
    assert order_of(session) == [p2]


def test_an_answer_overtaken_by_another_request_is_void() -> None:
    """F10."""
    session = session_of(p1)
    waiting = IncrementalFetch(session)
    session.expected_epoch = 2
    (partition,) = session.news.in_order()
    told = waiting.answer([(partition, FetchOutcome(records=b"x"))])
    assert (told.error_code, list(told.partitions)) == (ErrorCode.INVALID_FETCH_SESSION_EPOCH, [])


def test_without_a_session_all_is_answered() -> None:
    """F10: epoch -1."""
    fetch = PartitionFetch(p1, 0, 1000)
    told = SessionlessFetch([fetch]).answer([KNOWN])
    assert (told.session_id, [one for one, _ in told.partitions]) == (0, [fetch])


def test_epochs_wrap_to_one() -> None:
    """F10: 0 would open a session, -1 close it."""
    assert [epoch_after(epoch) for epoch in (1, EPOCH_MAX - 1, EPOCH_MAX)] == [2, EPOCH_MAX, 1]


def test_a_topic_known_by_its_id_alone_gets_its_name_when_it_comes() -> None:
    """F10: Fetch >= 13 may ask for a topic before this broker has heard of it."""
    watchers: Watchers[TopicPartition] = Watchers()
    session = FetchSession(77, watchers, 0, follower=None, uses_topic_ids=True)
    early = session.add(PartitionFetch(TopicPartition("", 3), 0, 1000, topic_id=UUID(int=7)))
    never = session.add(PartitionFetch(TopicPartition("", 4), 0, 1000, topic_id=UUID(int=8)))
    keys = list(session.partitions)
    change(session, [], [], {UUID(int=7): "flights"}.get)
    assert early.fetch.topic_partition == p3
    assert never.fetch.topic_partition == TopicPartition("", 4)
    assert [key_of(one.fetch) for one in (early, never)] == keys
    for one in (early, never):
        one.listen()
    assert watchers.standing == {p3: [early]}
    change(session, [], keys)
    assert watchers.standing == {}


def test_a_topic_known_by_another_name_has_events_under_that_name() -> None:
    """F10: an id that this broker no longer knows, and knows again later."""
    watchers: Watchers[TopicPartition] = Watchers()
    session = FetchSession(77, watchers, 0, follower=None, uses_topic_ids=True)
    partition = session.add(PartitionFetch(p1, 0, 1000, topic_id=UUID(int=7)))
    partition.listen()
    change(session, [PartitionFetch(TopicPartition("", 1), 0, 1000, topic_id=UUID(int=7))], ())
    assert watchers.standing == {}
    change(session, [PartitionFetch(p1, 0, 1000, topic_id=UUID(int=7))], ())
    partition.listen()
    assert watchers.standing == {p1: [partition]}
