"""What every assignor holds to, whatever the group; and how even and how sticky the uniform one is."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.base.execution import Pace, exhaust
from odradek.base.ids import TopicId
from odradek.coordinator.assignors import ASSIGNORS, Assignment, Subscriber

Group = tuple[list[Subscriber], dict[TopicId, int]]
Owners = Mapping[tuple[TopicId, int], str]

TOPICS = [UUID(int=number) for number in range(1, 6)]
GONE = UUID(int=99)

each_assignor = pytest.mark.parametrize("name", ASSIGNORS)


def assigned(
    name: str, members: Sequence[Subscriber], counts: Mapping[TopicId, int]
) -> dict[str, Assignment]:
    return exhaust(ASSIGNORS[name](members, counts, Pace()))


uniform = partial(assigned, "uniform")

pytestmark = pytest.mark.slow


@st.composite
def groups(
    draw: st.DrawFn,
    *,
    alike: bool = False,
    members_max: int = 7,
    topics_max: int = 5,
    partitions_max: int = 6,
) -> Group:
    """Members with any subscriptions and any targets, in any order; some topics are unread, empty or gone."""
    topics = TOPICS[: draw(st.integers(1, topics_max))]
    counts = {topic: draw(st.integers(0, partitions_max)) for topic in topics}
    subscriptions = st.frozensets(st.sampled_from([*topics, GONE]))
    shared = draw(subscriptions)
    targets = st.dictionaries(
        st.sampled_from([*topics, GONE]), st.frozensets(st.integers(0, partitions_max + 1), min_size=1)
    )
    members = [
        Subscriber(
            f"m{number}",
            draw(st.sampled_from([None, f"i{9 - number}"])),
            shared if alike else draw(subscriptions),
            draw(targets),
        )
        for number in range(draw(st.integers(0, members_max)))
    ]
    return draw(st.permutations(members)), counts


def owners(answer: Mapping[str, Assignment]) -> Owners:
    found: dict[tuple[TopicId, int], str] = {}
    for name, given_to in answer.items():
        for topic, partitions in given_to.items():
            for partition in partitions:
                other = found.setdefault((topic, partition), name)
                assert other == name, f"{topic}-{partition} went to {other} and to {name}"
    return found


def loads(answer: Mapping[str, Assignment]) -> dict[str, int]:
    return {name: sum(map(len, given_to.values())) for name, given_to in answer.items()}


def former_owners(group: Group) -> Owners:
    """Who may keep what: of two that have a partition in their targets, the first in order."""
    members, counts = group
    found: dict[tuple[TopicId, int], str] = {}
    for one in sorted(members, key=lambda one: (one.instance_id is None, one.instance_id or one.member_id)):
        for topic in one.topics & one.target.keys():
            for partition in one.target[topic]:
                if partition < counts.get(topic, 0):
                    found.setdefault((topic, partition), one.member_id)
    return found


def moves(before: Owners, now: Owners) -> int:
    return sum(now[partition] != owner for partition, owner in before.items())


def with_targets(members: Sequence[Subscriber], answer: Mapping[str, Assignment]) -> list[Subscriber]:
    return [one._replace(target=answer.get(one.member_id, {})) for one in members]


def all_answers(group: Group) -> Iterator[Owners]:
    """Every way to give each partition to one of its subscribers; for small groups."""
    members, counts = group
    readers = {topic: [one.member_id for one in members if topic in one.topics] for topic in counts}
    due = [(topic, n) for topic, count in counts.items() if readers[topic] for n in range(count)]
    for choice in product(*(readers[topic] for topic, _ in due)):
        yield dict(zip(due, choice, strict=True))


def squares(group: Group, found: Owners) -> int:
    """How uneven the loads are: the sum of their squares."""
    given_to = list(found.values())
    return sum(given_to.count(one.member_id) ** 2 for one in group[0])


@each_assignor
@given(group=groups())
def test_each_partition_goes_to_one_of_its_subscribers_and_nothing_else_is_given(
    name: str, group: Group
) -> None:
    members, counts = group
    answer = assigned(name, members, counts)
    subscribed = {one.member_id: one.topics for one in members}
    assert answer.keys() == subscribed.keys()
    for member, given_to in answer.items():
        assert given_to.keys() <= subscribed[member], f"{member} got topics that it did not ask for"
        assert all(given_to.values()), f"{member} got a topic without partitions: {given_to}"
    wanted = {topic for topics in subscribed.values() for topic in topics}
    assert owners(answer).keys() == {(topic, n) for topic in wanted for n in range(counts.get(topic, 0))}


@each_assignor
@given(group=groups(), random=st.randoms(use_true_random=False))
def test_the_order_in_which_members_are_told_does_not_matter(name: str, group: Group, random: object) -> None:
    members, counts = group
    shuffled = list(members)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert assigned(name, shuffled, counts) == assigned(name, members, counts)


@each_assignor
@given(group=groups())
def test_nothing_moves_when_nothing_changed(name: str, group: Group) -> None:
    members, counts = group
    answer = assigned(name, members, counts)
    assert assigned(name, with_targets(members, answer), counts) == answer


@given(group=groups(alike=True))
def test_members_that_subscribe_alike_have_loads_within_one(group: Group) -> None:
    found = loads(uniform(*group)).values()
    assert max(found, default=0) - min(found, default=0) <= 1, found


@given(group=groups(alike=True, members_max=3, topics_max=2, partitions_max=3))
def test_members_that_subscribe_alike_pass_on_as_few_partitions_as_evenness_takes(group: Group) -> None:
    before = former_owners(group)
    found = owners(uniform(*group))
    possible = list(all_answers(group))
    most_even = min(squares(group, one) for one in possible)
    fewest = min(moves(before, one) for one in possible if squares(group, one) == most_even)
    assert moves(before, found) == fewest


@given(group=groups())
def test_no_partition_could_pass_to_a_subscriber_with_less_by_two(group: Group) -> None:
    members, _ = group
    answer = uniform(*group)
    load = loads(answer)
    for giver, held in answer.items():
        for topic in held:
            least = min(load[one.member_id] for one in members if topic in one.topics)
            assert load[giver] - least <= 1, f"{giver} could pass on a partition of {topic}"


@given(group=groups())
def test_a_member_that_leaves_moves_no_more_than_it_had_where_all_subscribe_alike(group: Group) -> None:
    members, counts = group
    alike = [one._replace(topics=frozenset(counts)) for one in members]
    settled = with_targets(alike, uniform(alike, counts))
    stayed = settled[1:]
    before = former_owners((stayed, counts))
    after = uniform(stayed, counts)
    if stayed:
        assert moves(before, owners(after)) == 0
