"""Arithmetic of assignments: partitions by topic, where a topic without partitions is not in it."""

from collections.abc import Iterable, Mapping
from typing import Final

from odradek.base.execution import COUNTED_PER_STEP, Steps, ordered, stepwise
from odradek.base.ids import TopicId
from odradek.coordinator.assignors.model import Assignment, by_number

NOTHING: Final[Assignment] = {}
_NONE: Final[frozenset[int]] = frozenset()


def without(minuend: Assignment, subtrahend: Assignment) -> Assignment:
    """The partitions in the first and not in the second."""
    if not subtrahend:
        return minuend
    left = {topic: parts - subtrahend.get(topic, _NONE) for topic, parts in minuend.items()}
    return _filled(left)


def in_both(one: Assignment, other: Assignment) -> Assignment:
    """The partitions in both."""
    return _filled({topic: parts & other.get(topic, _NONE) for topic, parts in one.items()})


def together(one: Assignment, other: Assignment) -> Assignment:
    """The partitions in either."""
    if not other:
        return one
    union = dict(one)
    for topic, parts in other.items():
        union[topic] = union.get(topic, frozenset()) | parts
    return union


def overlap(one: Assignment, other: Assignment) -> bool:
    """Whether a partition is in both."""
    return any(not parts.isdisjoint(other.get(topic, ())) for topic, parts in one.items())


def is_within(part: Assignment, whole: Assignment) -> bool:
    """Whether each partition of the first is in the second."""
    return all(parts <= whole.get(topic, frozenset()) for topic, parts in part.items())


def assignment_of(told: Iterable[tuple[TopicId, Iterable[int]]]) -> Assignment:
    """The assignment that a message lists; a topic listed twice gets the partitions of both entries."""
    assignment: dict[TopicId, frozenset[int]] = {}
    for topic, parts in told:
        assignment[topic] = assignment.get(topic, frozenset()) | frozenset(parts)
    return _filled(assignment)


def in_order(assignment: Assignment) -> Iterable[tuple[TopicId, list[int]]]:
    """Topics by id, partitions by number: the same bytes for the same assignment."""
    for topic in sorted(assignment, key=by_number):
        yield topic, sorted(assignment[topic])


def in_order_in_steps(assignment: Assignment) -> Steps[list[tuple[TopicId, list[int]]]]:
    """`in_order` where there may be very many topics."""
    topics = yield from ordered(assignment, by_number)
    return (yield from stepwise(topics, lambda topic: (topic, sorted(assignment[topic])), COUNTED_PER_STEP))


def _filled(assignment: Mapping[TopicId, frozenset[int]]) -> Assignment:
    return {topic: parts for topic, parts in assignment.items() if parts}
