import pytest

from odradek.base.error_codes import ErrorCode
from odradek.coordinator.classic.states import OUTCOMES, GroupEvent, GroupState, outcome

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = GroupState
UNKNOWN, REBALANCING = ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.REBALANCE_IN_PROGRESS
ELSEWHERE = ErrorCode.COORDINATOR_NOT_AVAILABLE

# Written out once more, by state: what Kafka's group coordinator does.
EXPECTED: dict[GroupState, dict[GroupEvent, GroupState | ErrorCode]] = {
    EMPTY: {
        GroupEvent.JOINS: PREPARING,
        GroupEvent.JOINS_AGAIN: UNKNOWN,
        GroupEvent.SYNCS: UNKNOWN,
        GroupEvent.HEARTBEAT: UNKNOWN,
        GroupEvent.COMMITS: UNKNOWN,
        GroupEvent.CLOSED: DEAD,
    },
    PREPARING: {
        GroupEvent.JOINS: PREPARING,
        GroupEvent.JOINS_AGAIN: PREPARING,
        GroupEvent.SYNCS: REBALANCING,
        GroupEvent.HEARTBEAT: REBALANCING,
        GroupEvent.COMMITS: PREPARING,
        GroupEvent.MEMBER_GONE: PREPARING,
        GroupEvent.ALL_JOINED: COMPLETING,
        GroupEvent.NOBODY_JOINED: EMPTY,
        GroupEvent.CLOSED: DEAD,
    },
    COMPLETING: {
        GroupEvent.JOINS: PREPARING,
        GroupEvent.JOINS_AGAIN: COMPLETING,
        GroupEvent.SYNCS: COMPLETING,
        GroupEvent.HEARTBEAT: COMPLETING,
        GroupEvent.COMMITS: REBALANCING,
        GroupEvent.MEMBER_GONE: PREPARING,
        GroupEvent.ASSIGNED: STABLE,
        GroupEvent.ASSIGNMENT_LOST: PREPARING,
        GroupEvent.CLOSED: DEAD,
    },
    STABLE: {
        GroupEvent.JOINS: PREPARING,
        GroupEvent.JOINS_AGAIN: STABLE,
        GroupEvent.SYNCS: STABLE,
        GroupEvent.HEARTBEAT: STABLE,
        GroupEvent.COMMITS: STABLE,
        GroupEvent.MEMBER_GONE: PREPARING,
        GroupEvent.CLOSED: DEAD,
    },
    DEAD: {
        GroupEvent.JOINS: ELSEWHERE,
        GroupEvent.JOINS_AGAIN: ELSEWHERE,
        GroupEvent.SYNCS: ELSEWHERE,
        GroupEvent.HEARTBEAT: ELSEWHERE,
        GroupEvent.COMMITS: ELSEWHERE,
        GroupEvent.CLOSED: DEAD,
    },
}


@pytest.mark.parametrize("event", GroupEvent)
@pytest.mark.parametrize("state", GroupState)
def test_every_event_in_every_state(state: GroupState, event: GroupEvent) -> None:
    expected = EXPECTED[state].get(event)
    if expected is None:
        with pytest.raises(AssertionError, match=state.value):
            outcome(state, event)
    else:
        assert outcome(state, event) is expected


def test_whoever_is_dead_stays_dead() -> None:
    assert {found for (state, _), found in OUTCOMES.items() if state is DEAD} == {DEAD, ELSEWHERE}
