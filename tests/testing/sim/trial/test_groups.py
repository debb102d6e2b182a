"""What group members know of their partitions, and how the leaders of a trial assign them."""

from odradek.testing.sim.trial.groups import (
    Asked,
    Granted,
    Groups,
    assigned_in_turn,
    decode_assignment,
    encode_assignment,
)

PLACES = (("orders", 0), ("orders", 1), ("prices", 0))
T = PLACES[0]


def granted(groups: Groups, member_id: str, now_ms: int, *, is_firm: bool = True) -> tuple[str, ...]:
    """Give T to a member; returns who else owns it."""
    groups.own("g", member_id, [T], Asked(groups.tick(), groups.tick(), is_firm), now_ms)
    fact = groups.learned[-1]
    assert isinstance(fact, Granted)
    return tuple(fact.also_owned_by)


def test_an_owner_whose_session_lasts_is_another_owner() -> None:
    groups = Groups()
    groups.keep_session("g", "a", until_ms=10)
    assert granted(groups, "a", 0) == ()
    assert granted(groups, "b", 9) == ("a",)


def test_a_session_that_is_over_ends_ownership() -> None:
    groups = Groups()
    groups.keep_session("g", "a", until_ms=10)
    granted(groups, "a", 0)
    assert granted(groups, "b", 10) == ()


def test_what_a_member_has_given_up_it_does_not_own() -> None:
    groups = Groups()
    groups.keep_session("g", "a", until_ms=10)
    granted(groups, "a", 0)
    groups.give_up("g", "a", [T])
    assert granted(groups, "b", 1) == ()


def test_a_deposed_coordinator_gives_nothing() -> None:
    groups = Groups()
    groups.keep_session("g", "a", until_ms=10)
    granted(groups, "a", 0, is_firm=False)
    assert granted(groups, "b", 1) == ()


def test_partitions_are_dealt_out() -> None:
    assert assigned_in_turn(["a", "b"], PLACES) == {"a": [PLACES[0], PLACES[2]], "b": [PLACES[1]]}


def test_an_assignment_is_read_as_it_was_written() -> None:
    assert decode_assignment(encode_assignment("n/1", PLACES)) == ("n/1", list(PLACES))
    assert decode_assignment(b"") == ("", [])
