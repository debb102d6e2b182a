"""How the leader of a classic group shares out partitions."""

from itertools import pairwise
from random import Random

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
    sticky,
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


group_of = st.lists(st.sets(st.sampled_from("tuv"), min_size=1), min_size=1, max_size=6)
counts_of = st.dictionaries(st.sampled_from("tuv"), st.integers(0, 8), min_size=1)


def having(topics: list[set[str]], shares: Shares, generation: int) -> list[Subscriber]:
    """Members m0, m1, ... of which those in `shares` had these partitions."""
    return [
        Subscriber(f"m{place}", None, frozenset(wanted), frozenset(shares.get(f"m{place}", [])), generation)
        for place, wanted in enumerate(topics)
    ]


@given(group_of, counts_of)
@settings(max_examples=200, deadline=None)
def test_sticky_members_keep_all_they_had_while_nothing_changes(
    topics: list[set[str]], counts: dict[str, int]
) -> None:
    before = sticky(having(topics, {}, -1), counts)
    assert sticky(having(topics, before, 1), counts) == before


@given(group_of, counts_of, st.randoms(use_true_random=False))
@settings(max_examples=200, deadline=None)
def test_sticky_shares_do_not_depend_on_the_order_of_the_members(
    topics: list[set[str]], counts: dict[str, int], chance: Random
) -> None:
    subscribers = having(topics, sticky(having(topics, {}, -1), counts), 1)[:-1]
    mixed = list(subscribers)
    chance.shuffle(mixed)
    assert sticky(mixed, counts) == sticky(subscribers, counts)


@given(group_of, counts_of, st.dictionaries(st.integers(0, 5), st.sets(st.integers(0, 7)), max_size=6))
@settings(max_examples=200, deadline=None)
def test_no_single_move_would_make_sticky_shares_more_even(
    topics: list[set[str]], counts: dict[str, int], had: dict[int, set[int]]
) -> None:
    claims = {f"m{place}": [TopicPartition("t", one) for one in owned] for place, owned in had.items()}
    subscribers = having(topics, claims, 1)
    shares = sticky(subscribers, counts)
    for one in subscribers:
        for partition in shares[one.member]:
            takers = [other.member for other in subscribers if partition.topic in other.topics]
            assert all(len(shares[one.member]) <= len(shares[other]) + 1 for other in takers)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=6), st.integers(0, 6))
@settings(max_examples=200, deadline=None)
def test_of_sticky_members_with_the_same_topics_only_what_must_moves(had: list[int], free: int) -> None:
    """Shares differ by one at most, and as many partitions stay as can."""
    numbers = iter(range(sum(had)))
    claims = {
        f"m{place}": [TopicPartition("t", next(numbers)) for _ in range(size)]
        for place, size in enumerate(had)
    }
    total = sum(had) + free
    shares = sticky(having([{"t"}] * len(had), claims, 1), {"t": total})
    sizes = [len(share) for share in shares.values()]
    assert max(sizes) - min(sizes) <= 1
    short, longer = divmod(total, len(had))
    quotas = [short + (place < longer) for place in range(len(had))]
    can_stay = sum(min(size, quota) for size, quota in zip(sorted(had, reverse=True), quotas, strict=True))
    stayed = sum(len(set(shares[member]) & set(owned)) for member, owned in claims.items())
    assert stayed == can_stay


def test_a_sticky_claim_of_a_later_generation_counts_more() -> None:
    """A member that missed a rebalance tells what it had before it."""
    late = Subscriber("a", None, T, frozenset(of("t0", "t1")), 1)
    owner = Subscriber("b", None, T, frozenset(of("t1")), 2)
    assert sticky([late, owner], {"t": 2}) == {"a": of("t0"), "b": of("t1")}


def test_what_a_sticky_member_had_moves_at_once() -> None:
    """Unlike the cooperative one it has given back everything before it joined."""
    had = Subscriber("a", None, T, frozenset(of("t0", "t1", "t2", "t3")), 1)
    shares = sticky([had, *members("b")], {"t": 4})
    assert sorted(shares["a"] + shares["b"]) == of("t0", "t1", "t2", "t3")
    assert len(shares["b"]) == 2
