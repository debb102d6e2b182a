"""Everyone gets as much as everyone else, and little moves: worked examples."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from odradek.base.execution import Pace, exhaust
from odradek.base.ids import TopicId
from odradek.coordinator.assignors import ASSIGNORS, Subscriber

X, Y, Z = (UUID(int=number) for number in (1, 2, 3))
LETTERS = {X: "x", Y: "y", Z: "z"}


def member(
    name: str, topics: Sequence[TopicId], target: Mapping[TopicId, Sequence[int]] | None = None
) -> Subscriber:
    held = {topic: frozenset(partitions) for topic, partitions in (target or {}).items()}
    return Subscriber(name, None, frozenset(topics), held)


def share(members: Sequence[Subscriber], **counts: int) -> dict[str, str]:
    """Who gets what, as `x0 x2 y1`."""
    sizes = {topic: counts[letter] for topic, letter in LETTERS.items() if letter in counts}
    answer = exhaust(ASSIGNORS["uniform"](members, sizes, Pace()))
    return {
        name: " ".join(sorted(f"{LETTERS[topic]}{n}" for topic, held in given.items() for n in held))
        for name, given in answer.items()
    }


def test_a_first_assignment_gives_each_member_a_run_of_partitions() -> None:
    assert share([member("a", [X, Y]), member("b", [X, Y])], x=3, y=3) == {"a": "x0 x1 x2", "b": "y0 y1 y2"}


def test_members_that_join_one_after_another_end_where_kafkas_do() -> None:
    """librdkafka's own suite (0113) asserts this outcome."""
    found = {"a": {X: [0, 1, 2, 3, 4, 5]}}
    for names, expected in (("ab", "012/345"), ("abc", "01/34/25"), ("abcd", "01/34/2/5")):
        members = [member(name, [X], found.get(name)) for name in names]
        answer = exhaust(ASSIGNORS["uniform"](members, {X: 6}, Pace()))
        found = {name: {X: sorted(held.get(X, ()))} for name, held in answer.items()}
        assert "/".join("".join(map(str, found[name][X])) for name in names) == expected


def test_members_keep_what_they_have_up_to_their_share() -> None:
    members = [member("a", [X], {X: [0, 1, 2, 3]}), member("b", [X], {X: [4]}), member("c", [X])]
    assert share(members, x=5) == {"a": "x0 x1", "b": "x4", "c": "x2 x3"}


def test_who_has_one_more_keeps_it() -> None:
    """The one partition more than the others' is not taken from b only because a comes first."""
    members = [member("a", [X], {X: [0]}), member("b", [X], {X: [1, 2]})]
    assert share(members, x=3) == {"a": "x0", "b": "x1 x2"}


def test_a_member_that_joins_takes_the_last_of_what_others_have() -> None:
    members = [member("a", [X, Y], {X: [0, 1, 2, 3], Y: [0, 1, 2, 3]}), member("b", [X, Y])]
    assert share(members, x=4, y=4) == {"a": "x0 x1 x2 x3", "b": "y0 y1 y2 y3"}


def test_new_partitions_go_to_who_has_fewest() -> None:
    members = [member("a", [X], {X: [0, 1]}), member("b", [X], {X: [2]})]
    assert share(members, x=4) == {"a": "x0 x1", "b": "x2 x3"}


def test_a_partition_that_two_members_claim_stays_with_the_first() -> None:
    members = [member("a", [X], {X: [0]}), member("b", [X], {X: [0, 1]})]
    assert share(members, x=2) == {"a": "x0", "b": "x1"}


def test_more_members_than_partitions_leave_some_with_nothing() -> None:
    assert share([member(name, [X]) for name in "abc"], x=2) == {"a": "", "b": "x0", "c": "x1"}


def test_members_without_topics_and_groups_without_members_are_no_trouble() -> None:
    assert share([], x=2) == {}
    assert share([member("a", [])], x=2) == {"a": ""}
    assert share([member("a", []), member("b", [X])], x=2) == {"a": "", "b": "x0 x1"}
    assert share([member("a", [Z], {Z: [0]})], x=2) == {"a": ""}


def test_a_topic_that_only_one_reads_leaves_the_others_more_of_the_rest() -> None:
    members = [member("a", [X, Y]), member("b", [X])]
    assert share(members, x=4, y=2) == {"a": "x3 y0 y1", "b": "x0 x1 x2"}


def test_what_moves_goes_straight_where_it_is_needed() -> None:
    """c cannot read x, so b, in between, passes on a y for the x that it takes."""
    members = [
        member("a", [X], {X: [0, 1, 2]}),
        member("b", [X, Y], {Y: [0, 1]}),
        member("c", [Y]),
    ]
    assert share(members, x=3, y=2) == {"a": "x0 x1", "b": "x2 y0", "c": "y1"}


def test_nothing_is_passed_on_in_a_chain_of_members_one_partition_apart() -> None:
    """c lacks one of a's three, but b, in between, differs from each of them by one only: as in Kafka."""
    members = [
        member("a", [X], {X: [0, 1, 2]}),
        member("b", [X, Y], {Y: [0, 1]}),
        member("c", [Y, Z], {Z: [0]}),
    ]
    assert share(members, x=3, y=2, z=1) == {"a": "x0 x1 x2", "b": "y0 y1", "c": "z0"}


def test_what_would_move_in_vain_stays() -> None:
    """b gives x1 to a and y0 to c, and then gets x2 of d's: a takes that instead, and b keeps its x1."""
    members = [
        member("a", [X, Y]),
        member("b", [X, Y], {X: [1], Y: [0]}),
        member("c", [Y]),
        member("d", [X, Y], {X: [0, 2]}),
    ]
    assert share(members, x=3, y=1) == {"a": "x2", "b": "x1", "c": "y0", "d": "x0"}
