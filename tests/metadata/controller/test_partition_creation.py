"""CreatePartitions, one test per way to be refused."""

from uuid import UUID

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.metadata.controller.decision import Decision
from odradek.metadata.controller.partition_creation import decide_more_partitions
from odradek.metadata.controller.requests import CreatePartitions, MorePartitions, TopicOutcome
from odradek.metadata.image import (
    BrokerGone,
    BrokerRegistered,
    ClusterImage,
    PartitionChanged,
    PartitionImage,
    TopicCreated,
    TopicDeletionBegan,
)
from tests.metadata.controllers import make_broker


@pytest.fixture
def image() -> ClusterImage:
    made = ClusterImage()
    made.apply_all(BrokerRegistered(make_broker(broker_id)) for broker_id in (1, 2, 3))
    partitions = {number: PartitionImage((1, 2), (1, 2), 1) for number in (0, 1)}
    made.apply(TopicCreated("a", UUID(int=1), partitions))
    return made


def refusal(image: ClusterImage, *topics: MorePartitions) -> ErrorCode:
    *_, decision = filter(None, decide_more_partitions(image, CreatePartitions(topics)))
    assert decision.outcome.error is not ErrorCode.NONE, f"{topics[-1]} was accepted"
    assert (decision.writes, decision.changes) == ((), ())
    return decision.outcome.error


def states(decision: Decision[TopicOutcome]) -> list[tuple[int, PartitionImage]]:
    """The partitions that a decision adds."""
    added = [change for change in decision.changes if isinstance(change, PartitionChanged)]
    assert len(added) == len(decision.changes)
    return [(change.partition, change.state) for change in added]


def test_an_unknown_topic_is_unknown(image: ClusterImage) -> None:
    assert refusal(image, MorePartitions("b", 3)) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    image.apply(TopicDeletionBegan("a"))
    assert refusal(image, MorePartitions("a", 3)) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("count", [2, 1, 0, -1])
def test_a_count_that_does_not_grow_is_invalid_partitions(image: ClusterImage, count: int) -> None:
    assert refusal(image, MorePartitions("a", count)) is ErrorCode.INVALID_PARTITIONS


def test_a_topic_named_twice_is_an_invalid_request(image: ClusterImage) -> None:
    assert refusal(image, MorePartitions("a", 3), MorePartitions("a", 4)) is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("assignments", [(), ((1, 2), (2, 3)), ((1,),), ((1, 1),), ((1, 9),)])
def test_an_assignment_that_does_not_fit_is_an_invalid_replica_assignment(
    image: ClusterImage, assignments: tuple[tuple[int, ...], ...]
) -> None:
    asked = MorePartitions("a", 3, assignments)
    assert refusal(image, asked) is ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_too_few_brokers_is_an_invalid_replication_factor(image: ClusterImage) -> None:
    image.apply_all((BrokerGone(2), BrokerGone(3)))
    assert refusal(image, MorePartitions("a", 3)) is ErrorCode.INVALID_REPLICATION_FACTOR


def test_a_topic_being_reassigned_does_not_grow(image: ClusterImage) -> None:
    moving = PartitionImage((3, 1, 2), (1, 2), 1, adding_replicas=(3,))
    image.apply(PartitionChanged("a", 0, moving))
    assert refusal(image, MorePartitions("a", 3)) is ErrorCode.REASSIGNMENT_IN_PROGRESS


def test_too_many_partitions_violate_the_policy(image: ClusterImage) -> None:
    assert refusal(image, MorePartitions("a", 20_000)) is ErrorCode.POLICY_VIOLATION


def test_an_assignment_by_hand_is_taken_as_it_is(image: ClusterImage) -> None:
    asked = MorePartitions("a", 4, ((3, 1), (2, 3)))
    (decision,) = filter(None, decide_more_partitions(image, CreatePartitions((asked,))))
    assert [(number, state.replicas) for number, state in states(decision)] == [(2, (3, 1)), (3, (2, 3))]


def test_added_partitions_continue_the_topics_round(image: ClusterImage) -> None:
    asked = MorePartitions("a", 5)
    (decision,) = filter(None, decide_more_partitions(image, CreatePartitions((asked,))))
    assert [state.preferred_leader for _, state in states(decision)] == [3, 1, 2]
