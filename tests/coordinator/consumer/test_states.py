import pytest

from odradek.coordinator.consumer.states import NEXT_STATES, MemberEvent, MemberState, next_state

STABLE, UNREVOKED, UNRELEASED = MemberState

# Written out once more, by state: what Kafka's group coordinator does.
EXPECTED = {
    STABLE: {
        MemberEvent.NOTHING_NEW: STABLE,
        MemberEvent.MUST_REVOKE: UNREVOKED,
        MemberEvent.MUST_WAIT: UNRELEASED,
        MemberEvent.HAS_ALL: STABLE,
    },
    UNREVOKED: {
        MemberEvent.STILL_OWNS: UNREVOKED,
        MemberEvent.MUST_REVOKE: UNREVOKED,
        MemberEvent.MUST_WAIT: UNRELEASED,
        MemberEvent.HAS_ALL: STABLE,
    },
    UNRELEASED: {
        MemberEvent.MUST_REVOKE: UNREVOKED,
        MemberEvent.MUST_WAIT: UNRELEASED,
        MemberEvent.HAS_ALL: STABLE,
    },
}


@pytest.mark.parametrize("event", MemberEvent)
@pytest.mark.parametrize("state", MemberState)
def test_every_event_in_every_state(state: MemberState, event: MemberEvent) -> None:
    expected = EXPECTED[state].get(event)
    if expected is None:
        with pytest.raises(AssertionError):
            next_state(state, event)
    else:
        assert next_state(state, event) is expected


def test_the_table_says_nothing_else() -> None:
    assert NEXT_STATES.keys() == {(state, event) for state, row in EXPECTED.items() for event in row}


def test_states_have_the_numbers_of_the_log() -> None:
    assert [state.value for state in (STABLE, UNREVOKED, UNRELEASED)] == [0, 1, 2]
