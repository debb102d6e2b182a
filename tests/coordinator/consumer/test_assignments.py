from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from odradek.base.ids import TopicId
from odradek.coordinator.assignors.model import Assignment
from odradek.coordinator.consumer.assignments import (
    assignment_of,
    in_both,
    in_order,
    is_within,
    overlap,
    together,
    without,
)

TOPICS = [UUID(int=number) for number in range(3)]
assignments = st.dictionaries(st.sampled_from(TOPICS), st.frozensets(st.integers(0, 3), min_size=1))


def pairs(assignment: Assignment) -> set[tuple[TopicId, int]]:
    return {(topic, part) for topic, parts in assignment.items() for part in parts}


@given(assignments, assignments)
def test_arithmetic_is_that_of_sets_of_partitions(one: Assignment, other: Assignment) -> None:
    assert pairs(without(one, other)) == pairs(one) - pairs(other)
    assert pairs(in_both(one, other)) == pairs(one) & pairs(other)
    assert pairs(together(one, other)) == pairs(one) | pairs(other)
    assert overlap(one, other) == bool(pairs(one) & pairs(other))
    assert is_within(one, other) == (pairs(one) <= pairs(other))


@given(assignments, assignments)
def test_no_topic_stands_there_without_partitions(one: Assignment, other: Assignment) -> None:
    for result in (without(one, other), in_both(one, other), together(one, other)):
        assert all(result.values()), result


@given(assignments)
def test_an_assignment_is_what_it_lists(assignment: Assignment) -> None:
    assert assignment_of(in_order(assignment)) == assignment


def test_a_topic_listed_twice_has_all_its_partitions() -> None:
    topic = TOPICS[0]
    assert assignment_of([(topic, [1]), (topic, [2]), (TOPICS[1], [])]) == {topic: frozenset({1, 2})}
