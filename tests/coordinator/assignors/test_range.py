"""Ranges of each topic, in the members' order: worked examples, as Apache Kafka 4.1 answers them."""

from collections.abc import Sequence
from uuid import UUID

from odradek.base.execution import Pace, exhaust
from odradek.base.ids import TopicId
from odradek.coordinator.assignors import ASSIGNORS, Subscriber

X, Y = UUID(int=1), UUID(int=2)
LETTERS = {X: "x", Y: "y"}


def member(name: str, topics: Sequence[TopicId], instance: str | None = None) -> Subscriber:
    return Subscriber(name, instance, frozenset(topics), {})


def cut(members: Sequence[Subscriber], **counts: int) -> dict[str, str]:
    """Who gets what, as `x0 x1 y0 y1`."""
    sizes = {topic: counts[letter] for topic, letter in LETTERS.items()}
    answer = exhaust(ASSIGNORS["range"](members, sizes, Pace()))
    return {
        name: " ".join(sorted(f"{LETTERS[topic]}{n}" for topic, held in given.items() for n in held))
        for name, given in answer.items()
    }


def test_the_first_members_get_the_longer_ranges_of_every_topic() -> None:
    members = [member(name, [X, Y]) for name in "cab"]
    assert cut(members, x=5, y=5) == {"a": "x0 x1 y0 y1", "b": "x2 x3 y2 y3", "c": "x4 y4"}


def test_topics_of_different_sizes_are_cut_each_by_itself() -> None:
    assert cut([member(name, [X, Y]) for name in "ab"], x=1, y=3) == {"a": "x0 y0 y1", "b": "y2"}


def test_a_topic_is_cut_among_its_subscribers_only() -> None:
    members = [member("a", [X]), member("b", [X, Y]), member("c", [Y])]
    assert cut(members, x=4, y=4) == {"a": "x0 x1", "b": "x2 x3 y0 y1", "c": "y2 y3"}


def test_static_members_come_first_by_their_instances() -> None:
    """A restart changes their member ids, and so must not change their ranges."""
    members = [member("a", [X]), member("z", [X], "i1"), member("b", [X], "i2")]
    assert cut(members, x=3, y=0) == {"z": "x0", "b": "x1", "a": "x2"}


def test_what_members_had_does_not_matter() -> None:
    members = [member("a", [X])._replace(target={X: frozenset({1})}), member("b", [X])]
    assert cut(members, x=2, y=0) == {"a": "x0", "b": "x1"}
