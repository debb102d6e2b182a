"""CreatePartitions, against what Apache Kafka 4.1 answers to the same requests."""

from typing import Any

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.testing.sim import SimNode
from odradek.wire.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest

Replicas = list[list[int]]


@pytest.fixture(autouse=True)
def flights(node: SimNode) -> None:
    node.ask(CreateTopicsRequest([CreatableTopic("flights", 2, 1)], timeout_ms=1000))


def to(count: int, assigned: Replicas | None = None, *, name: str = "flights") -> CreatePartitionsTopic:
    if assigned is None:
        return CreatePartitionsTopic(name, count, None)
    return CreatePartitionsTopic(name, count, [CreatePartitionsAssignment(ids) for ids in assigned])


def grow(
    node: SimNode, *topics: CreatePartitionsTopic, timeout_ms: int = 1000, **more: Any
) -> list[ErrorCode]:
    results = node.ask(CreatePartitionsRequest(list(topics), timeout_ms, **more)).results
    return [ErrorCode(result.error_code) for result in results]


def count(node: SimNode) -> int:
    return len(node.topic("flights").partitions)


def test_added_partitions_can_be_used_when_it_is_answered(node: SimNode) -> None:
    assert grow(node, to(4)) == [ErrorCode.NONE]
    assert [state.leader for state in node.topic("flights").partitions.values()] == [0] * 4


@pytest.mark.parametrize("total", [2, 1, 0, -1])
def test_a_topic_never_shrinks(node: SimNode, total: int) -> None:
    assert grow(node, to(total)) == [ErrorCode.INVALID_PARTITIONS]


@pytest.mark.parametrize("name", ["no", "a/b", ""])
def test_an_unknown_topic_is_unknown(node: SimNode, name: str) -> None:
    assert grow(node, to(4, name=name)) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_a_topic_named_twice_is_refused_once(node: SimNode) -> None:
    assert grow(node, to(3), to(4)) == [ErrorCode.INVALID_REQUEST]
    assert count(node) == 2


def test_replicas_may_be_chosen_by_hand(node: SimNode) -> None:
    assert grow(node, to(4, [[0], [0]])) == [ErrorCode.NONE]
    assert count(node) == 4


@pytest.mark.parametrize("assigned", [[], [[0]], [[0], []], [[0], [0, 0]], [[0], [7]], [[0], [-1]]])
def test_a_choice_that_does_not_fit_is_refused(node: SimNode, assigned: Replicas) -> None:
    assert grow(node, to(4, assigned)) == [ErrorCode.INVALID_REPLICA_ASSIGNMENT]
    assert count(node) == 2


def test_each_topic_has_its_own_answer(node: SimNode) -> None:
    assert grow(node, to(3, name="no"), to(3)) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NONE]
    assert count(node) == 3


def test_validate_only_adds_nothing(node: SimNode) -> None:
    assert grow(node, to(4), validate_only=True) == [ErrorCode.NONE]
    assert grow(node, to(1), validate_only=True) == [ErrorCode.INVALID_PARTITIONS]
    assert count(node) == 2


@pytest.mark.parametrize("timeout_ms", [0, -1])
def test_without_time_they_are_added_and_said_to_be_late(node: SimNode, timeout_ms: int) -> None:
    """G3: timeout ≤ 0 → REQUEST_TIMED_OUT at once; an error of a topic's own answers that."""
    answer = grow(node, to(4), to(4, name="no"), timeout_ms=timeout_ms)
    assert answer == [ErrorCode.REQUEST_TIMED_OUT, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert count(node) == 4


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_every_version_is_answered(node: SimNode, version: int) -> None:
    (result,) = node.ask(CreatePartitionsRequest([to(2)], 1000), version).results
    assert (result.name, result.error_code) == ("flights", ErrorCode.INVALID_PARTITIONS)
    assert result.error_message
