"""Where replicas that move are put: evenly, over racks, with few moves."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import product
from math import prod

from hypothesis import assume, given
from hypothesis import strategies as st

from odradek.base.ids import BrokerId, TopicPartition
from odradek.client.replica_placement import Replicas, drained, spread

Assignment = dict[TopicPartition, Replicas]


def on(*replicas: Replicas) -> Assignment:
    return {TopicPartition("t", number): one for number, one in enumerate(replicas)}


def unracked(*brokers: BrokerId) -> dict[BrokerId, str | None]:
    return dict.fromkeys(brokers)


@st.composite
def assignments(draw: st.DrawFn) -> tuple[Assignment, dict[BrokerId, str | None]]:
    """Partitions on any brokers, and the brokers that may be chosen, at least as many as replicas."""
    brokers = draw(st.integers(1, 7))
    racks = draw(st.sampled_from([None, "ab", "abc"]))
    chosen = draw(st.sets(st.integers(1, 9), min_size=brokers, max_size=brokers))
    known = {one: racks and racks[one % len(racks)] for one in sorted(chosen)}
    factor = draw(st.integers(1, brokers))
    replicas = st.lists(st.integers(1, 9), min_size=factor, max_size=factor, unique=True).map(tuple)
    topics = draw(st.lists(st.lists(replicas, max_size=6), max_size=3))
    named = {
        TopicPartition(f"t{topic}", number): one
        for topic, placed in enumerate(topics)
        for number, one in enumerate(placed)
    }
    return named, known


def by_topic(found: Assignment) -> dict[str, list[Replicas]]:
    topics: dict[str, list[Replicas]] = defaultdict(list)
    for named, replicas in found.items():
        topics[named.topic].append(replicas)
    return topics


def width(brokers: list[BrokerId], racks: dict[BrokerId, str | None]) -> int:
    """How many more one broker is named than another."""
    named = Counter(dict.fromkeys(racks, 0))
    named.update(brokers)
    return max(named.values()) - min(named.values())


def unevenness(brokers: Iterable[BrokerId]) -> int:
    """The sum of the squares of how often each is named: least if they are named evenly."""
    return sum(count * count for count in Counter(brokers).values())


def racks_of(replicas: Replicas, racks: dict[BrokerId, str | None]) -> int:
    return len({racks[one] for one in replicas if one in racks})


@given(assignments())
def test_partitions_are_spread_over_the_brokers(
    given_: tuple[Assignment, dict[BrokerId, str | None]],
) -> None:
    partitions, racks = given_
    found = spread(partitions, racks)
    assert list(found) == list(partitions)
    for named, replicas in found.items():
        before = partitions[named]
        assert len(set(replicas)) == len(replicas) == len(before)
        assert set(replicas) <= set(racks)
        if None not in racks.values():
            assert racks_of(replicas, racks) >= racks_of(before, racks)
    assert spread(found, racks) == found, "what is spread already stays"
    if None in racks.values():
        assert width([one for replicas in found.values() for one in replicas], racks) <= 1
        for placed in by_topic(found).values():
            assert width([one for replicas in placed for one in replicas], racks) <= 1


@given(assignments())
def test_the_first_replicas_of_each_topic_are_as_even_as_another_order_can_make_them(
    given_: tuple[Assignment, dict[BrokerId, str | None]],
) -> None:
    partitions, racks = given_
    found = spread(partitions, racks)
    for placed in by_topic(found).values():
        assume(prod(map(len, placed)) <= 5_000)
        best = min(map(unevenness, product(*placed)))
        assert unevenness([one[0] for one in placed]) == best


@given(assignments())
def test_with_a_replica_on_each_broker_topics_and_totals_are_even(
    given_: tuple[Assignment, dict[BrokerId, str | None]],
) -> None:
    partitions, racks = given_
    found = spread(partitions, racks, len(racks))
    assert width([one[0] for one in found.values()], racks) <= 1
    for placed in by_topic(found).values():
        assert width([one[0] for one in placed], racks) <= 1


def test_the_leaders_of_a_small_topic_are_spread_beside_a_large_one() -> None:
    """One broker has become three: `orders` is not made good by `__consumer_offsets`."""
    small = {TopicPartition("orders", number): (1,) for number in range(4)}
    large = {TopicPartition("__consumer_offsets", number): (1,) for number in range(50)}
    found = spread({**small, **large}, unracked(1, 2, 3), 3)
    leaders = Counter(found[named][0] for named in small)
    assert sorted(leaders.values()) == [1, 1, 2]
    assert Counter(one[0] for one in found.values()) == {1: 18, 2: 18, 3: 18}


def test_first_replicas_are_handed_on_by_brokers_in_between() -> None:
    """3 leads nothing, and shares no partition with 1 and 5, which lead two: 2 or 4 passes one on."""
    placed = [(1, 2), (1, 2), (2, 3), (4, 3), (5, 4), (5, 4)]
    found = spread(on(*placed), unracked(1, 2, 3, 4, 5))
    assert [set(one) for one in found.values()] == [set(one) for one in placed]
    assert sorted(Counter(one[0] for one in found.values()).values()) == [1, 1, 1, 1, 2]


def test_draining_counts_the_topic_before_the_totals() -> None:
    others = {TopicPartition("t", 9): (2,)} | {TopicPartition("u", number): (4,) for number in range(5)}
    assert drained(on((3,)), unracked(2, 4), 3, others) == on((4,))


@given(assignments(), st.data())
def test_draining_replaces_one_broker_alone(
    given_: tuple[Assignment, dict[BrokerId, str | None]], data: st.DataObject
) -> None:
    partitions, racks = given_
    broker = data.draw(st.integers(1, 9))
    racks.pop(broker, None)
    held = {
        named: replicas
        for named, replicas in partitions.items()
        if broker in replicas and set(racks) - set(replicas)
    }
    others = {named: replicas for named, replicas in partitions.items() if named not in held}
    found = drained(held, racks, broker, others)
    for named, replicas in found.items():
        for before, after in zip(held[named], replicas, strict=True):
            assert before == after or (before == broker and after in racks)
        assert len(set(replicas)) == len(replicas)


def test_the_worked_example() -> None:
    found = spread(on((1, 2, 3), (2, 3, 1)), unracked(1, 2, 3, 4))
    assert found == on((1, 2, 4), (2, 3, 1))


def test_what_stays_is_not_copied() -> None:
    """Only what is on other brokers moves, if that is even; first replicas are spread by another order."""
    found = spread(on((1, 2), (1, 3), (2, 3), (3, 2)), unracked(1, 2, 3))
    assert [set(one) for one in found.values()] == [{1, 2}, {1, 3}, {2, 3}, {2, 3}]
    assert Counter(one[0] for one in spread(on((1, 2), (1, 2)), unracked(1, 2)).values()) == {1: 1, 2: 1}


def test_fewer_and_more_replicas() -> None:
    assert spread(on((1, 2, 3)), unracked(1, 3), 2) == on((1, 3))
    assert spread(on((1, 2, 3)), unracked(1, 2, 3), 1) == on((1,))
    assert spread(on((1,)), unracked(1, 2, 3), 3) == on((1, 2, 3))


def test_a_rack_without_a_replica_comes_first() -> None:
    racks: dict[BrokerId, str | None] = {1: "a", 2: "a", 4: "a", 5: "b"}
    busy: Assignment = {TopicPartition("u", number): (5,) for number in range(9)}
    assert drained(on((1, 3)), racks, 3, busy) == on((1, 5))
    assert drained(on((1, 3)), {**racks, 4: None}, 3, busy) == on((1, 2)), (
        "racks count if all brokers have one"
    )


def test_the_first_replicas_of_a_drained_broker_go_to_several() -> None:
    found = drained(on(*[(3, 1)] * 4), unracked(1, 2, 4), 3, {})
    assert Counter(one[0] for one in found.values()) == {2: 2, 4: 2}
