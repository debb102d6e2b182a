"""The table of states."""

from itertools import product

import pytest

from odradek.base.ids import TopicPartition
from odradek.replication.fetcher.followed_partition import TRANSITIONS, Event, FollowedPartition, State
from tests.replication.fetcher.brokers import TOPIC_ID

ASKING = (State.TRUNCATING, State.FETCHING, State.LOCATING)


def followed(state: State = State.TRUNCATING) -> FollowedPartition:
    partition = FollowedPartition(TopicPartition("orders", 0), TOPIC_ID, 5, begun_ms=100)
    partition.state = state
    return partition


def happen(partition: FollowedPartition, event: Event) -> None:
    if event is Event.DELAYED_BY:
        partition.delay(200, 70, "why")
    else:
        partition.move(event, 200)


@pytest.mark.parametrize(("state", "event"), list(product(State, Event)), ids=lambda one: one.name)
def test_a_missing_transition_is_an_error(state: State, event: Event) -> None:
    partition = followed(state)
    expected = TRANSITIONS.get((state, event))
    if expected is None:
        with pytest.raises(AssertionError, match=event.name):
            happen(partition, event)
        assert partition.state is state
    else:
        happen(partition, event)
        assert partition.state is expected


def test_every_state_is_reached_and_each_event_leads_somewhere() -> None:
    reached = {State.TRUNCATING}
    for _ in State:
        reached |= {after for (before, _), after in TRANSITIONS.items() if before in reached}
    assert reached == set(State)
    assert {event for _, event in TRANSITIONS} == set(Event)


def test_whoever_asks_may_be_delayed_and_may_fail_and_nothing_leads_out_of_failure() -> None:
    """X5: a LeaderAndIsr begins anew, with another object."""
    for state in ASKING:
        assert TRANSITIONS[state, Event.DELAYED_BY] is State.DELAYED
        assert TRANSITIONS[state, Event.FAILED_BY] is State.FAILED
    assert not [event for before, event in TRANSITIONS if before is State.FAILED]


def test_after_a_delay_epochs_are_compared_before_anything_is_appended() -> None:
    """X4, X5."""
    assert TRANSITIONS[State.DELAYED, Event.RESUMED] is State.TRUNCATING


def test_it_knows_since_when_it_is_in_a_state_and_why() -> None:
    partition = followed()
    partition.move(Event.ASK_AGAIN, 150)
    assert partition.state_since_ms == 100
    partition.delay(160, 70, "the leader answered NOT_LEADER_OR_FOLLOWER")
    assert (partition.state_since_ms, partition.reason) == (
        160,
        "the leader answered NOT_LEADER_OR_FOLLOWER",
    )
    partition.move(Event.RESUMED, 170)
    assert partition.reason == ""


def test_a_delay_has_an_end_and_is_noted_until_something_is_appended() -> None:
    partition = followed(State.FETCHING)
    partition.fetch_from(10, 3)
    assert not partition.note_appended(1, 11, 150)
    partition.delay(160, 70, "why")
    assert partition.delayed_until_ms == 230
    for event in (Event.RESUMED, Event.AGREED):
        partition.move(event, 230)
    assert [partition.note_appended(1, 11, 240), partition.note_appended(1, 11, 250)] == [True, False]


def test_the_lag_is_the_leaders_high_watermark_less_the_next_offset() -> None:
    """X2: at least 0; and since when there is any."""
    partition = followed(State.FETCHING)
    assert (partition.lag, partition.behind_since_ms) == (None, 100)
    partition.fetch_from(10, 3)
    partition.note_appended(0, 15, 200)
    assert (partition.lag, partition.behind_since_ms) == (5, 100)
    partition.note_appended(0, 8, 300)
    assert (partition.lag, partition.behind_since_ms) == (0, None)
    partition.note_appended(0, 11, 400)
    partition.note_appended(0, 12, 500)
    assert (partition.lag, partition.behind_since_ms) == (2, 400)
