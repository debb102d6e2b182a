"""How the leader of a classic group shares out partitions."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.base.ids import TopicPartition
from odradek.client.classic_assignors import (
    ASSIGNORS,
    Shares,
    Subscriber,
    by_range,
    cooperative_sticky,
    round_robin,
)

T = frozenset({"t"})


def of(*names: str) -> list[TopicPartition]:
    return [TopicPartition(name[0], int(name[1:])) for name in names]


def members(*names: str, topics: frozenset[str] = T) -> list[Subscriber]:
    return [Subscriber(name, None, topics) for name in names]


def test_ranges_are_longer_for_the_first_members() -> None:
    shares = by_range(members("c", "a", "b"), {"t": 5})
    assert shares == {"a": of("t0", "t1"), "b": of("t2", "t3"), "c": of("t4")}


def test_topics_of_one_size_are_cut_alike() -> None:
    shares = by_range(members("a", "b", topics=frozenset("tu")), {"t": 3, "u": 3})
    assert shares == {"a": of("t0", "t1", "u0", "u1"), "b": of("t2", "u2")}


def test_static_members_come_first() -> None:
    shares = by_range([Subscriber("a", None, T), Subscriber("z", "1", T)], {"t": 1})
    assert shares == {"a": [], "z": of("t0")}


def test_partitions_go_round() -> None:
    subscribers = [*members("a"), *members("b", topics=frozenset("tu"))]
    assert round_robin(subscribers, {"t": 3, "u": 2}) == {"a": of("t0", "t2"), "b": of("t1", "u0", "u1")}


def test_topics_that_nobody_has_are_left_out() -> None:
    for assign in ASSIGNORS.values():
        assert assign(members("a"), {}) == {"a": []}
        assert assign(members("a"), {"t": 0}) == {"a": []}


def test_a_sticky_member_keeps_what_it_has_and_the_others_wait() -> None:
    """KIP-429: what changes hands has no owner until it was given back."""
    had = Subscriber("a", None, T, frozenset(of("t0", "t1", "t2", "t3")), 1)
    shares = cooperative_sticky([had, *members("b")], {"t": 4})
    assert len(shares["a"]) == 2
    assert shares["b"] == []
    given_back = Subscriber("a", None, T, frozenset(shares["a"]), 2)
    after = cooperative_sticky([given_back, *members("b")], {"t": 4})
    assert after["a"] == shares["a"]
    assert sorted(after["a"] + after["b"]) == of("t0", "t1", "t2", "t3")


def test_an_older_claim_counts_less_and_is_waited_for() -> None:
    late = Subscriber("a", None, T, frozenset(of("t0")), 1)
    owner = Subscriber("b", None, T, frozenset(of("t0")), 2)
    assert cooperative_sticky([late, owner], {"t": 1}) == {"a": [], "b": []}


subscribers_of = st.lists(
    st.tuples(
        st.sets(st.sampled_from("tuv")),
        st.sets(st.tuples(st.sampled_from("tuv"), st.integers(0, 4)), max_size=6),
        st.integers(-1, 3),
    ),
    min_size=1,
    max_size=5,
)


@pytest.mark.parametrize("strategy", list(ASSIGNORS))
@given(subscribers_of, st.dictionaries(st.sampled_from("tuv"), st.integers(0, 5)))
@settings(max_examples=100, deadline=None)
def test_nothing_is_given_twice_or_to_who_did_not_ask(
    strategy: str, drawn: list[tuple[set[str], set[tuple[str, int]], int]], counts: dict[str, int]
) -> None:
    subscribers = [
        Subscriber(
            f"m{place}",
            None,
            frozenset(topics),
            frozenset(TopicPartition(*one) for one in owned if one[0] in topics),
            generation,
        )
        for place, (topics, owned, generation) in enumerate(drawn)
    ]
    shares = ASSIGNORS[strategy](subscribers, counts)
    given_out = sorted(partition for share in shares.values() for partition in share)
    assert all(one != other for one, other in pairwise(given_out))
    topics_of = {one.member: one.topics for one in subscribers}
    assert all(one.topic in topics_of[member] for member, share in shares.items() for one in share)
    wanted = {
        TopicPartition(topic, number)
        for topic, count in counts.items()
        if any(topic in one.topics for one in subscribers)
        for number in range(count)
    }
    claims = {one.member: one.owned for one in subscribers}
    waiting = wanted - set(given_out)
    if strategy != "cooperative-sticky":
        assert not waiting
    assert all(any(one in owned for owned in claims.values()) for one in waiting)
    _check_claims(strategy, shares, claims)


def _check_claims(strategy: str, shares: Shares, claims: dict[str, frozenset[TopicPartition]]) -> None:
    if strategy != "cooperative-sticky":
        return
    for member, share in shares.items():
        others = [owned for name, owned in claims.items() if name != member]
        assert not any(one in owned for one in share for owned in others)
