"""CreateTopics, one test per way to be refused."""

from dataclasses import replace
from uuid import UUID

import pytest

from odradek.base.chance import SeededChance
from odradek.base.error_codes import ErrorCode
from odradek.metadata.controller.decision import Decision
from odradek.metadata.controller.requests import CreateTopics, NewTopic, TopicOutcome
from odradek.metadata.controller.topic_creation import PARTITIONS_PER_REQUEST_MAX, decide_creation
from odradek.metadata.image import (
    BrokerRegistered,
    ClusterImage,
    PartitionImage,
    TopicCreated,
    TopicDeletionBegan,
)
from tests.metadata.controllers import make_broker


@pytest.fixture
def image() -> ClusterImage:
    made = ClusterImage()
    made.apply_all(BrokerRegistered(make_broker(broker_id)) for broker_id in (1, 2, 3))
    return made


def decide(
    image: ClusterImage, *topics: NewTopic, num_partitions: int = 1, default_replication_factor: int = 1
) -> list[Decision[TopicOutcome]]:
    decided = decide_creation(
        image,
        CreateTopics(topics),
        SeededChance(1),
        num_partitions=num_partitions,
        default_replication_factor=default_replication_factor,
    )
    return list(filter(None, decided))


def refusal(image: ClusterImage, *topics: NewTopic, default_replication_factor: int = 1) -> ErrorCode:
    """The error of the last topic, which must lead to nothing."""
    decision = decide(image, *topics, default_replication_factor=default_replication_factor)[-1]
    assert decision.outcome.error is not ErrorCode.NONE, f"{topics[-1]} was accepted"
    assert (decision.writes, decision.changes) == ((), ())
    assert decision.outcome.message, "a refusal says why"
    return decision.outcome.error


def by_hand(*assignments: tuple[int, tuple[int, ...]]) -> NewTopic:
    return NewTopic("a", assignments=assignments)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a b", "é", "a" * 250])
def test_a_bad_name_is_an_invalid_topic(image: ClusterImage, name: str) -> None:
    assert refusal(image, NewTopic(name)) is ErrorCode.INVALID_TOPIC_EXCEPTION


def test_the_name_of_kafkas_metadata_log_is_an_invalid_request(image: ClusterImage) -> None:
    """A start leaves that directory alone, so the topic's records would be gone."""
    assert refusal(image, NewTopic("__cluster_metadata")) is ErrorCode.INVALID_REQUEST


def test_a_name_that_collides_with_another_topic_is_an_invalid_topic(image: ClusterImage) -> None:
    image.apply(TopicCreated("a.b", UUID(int=1), {0: PartitionImage((1,), (1,), 1)}))
    assert refusal(image, NewTopic("a_b")) is ErrorCode.INVALID_TOPIC_EXCEPTION


def test_a_name_that_collides_within_the_request_is_an_invalid_topic(image: ClusterImage) -> None:
    assert refusal(image, NewTopic("a.b"), NewTopic("a_b")) is ErrorCode.INVALID_TOPIC_EXCEPTION


def test_a_topic_that_is_there_already_exists(image: ClusterImage) -> None:
    image.apply(TopicCreated("a", UUID(int=1), {0: PartitionImage((1,), (1,), 1)}))
    assert refusal(image, NewTopic("a")) is ErrorCode.TOPIC_ALREADY_EXISTS
    image.apply(TopicDeletionBegan("a"))
    assert refusal(image, NewTopic("a")) is ErrorCode.TOPIC_ALREADY_EXISTS


def test_a_topic_named_twice_is_an_invalid_request_and_answered_once(image: ClusterImage) -> None:
    decisions = decide(image, NewTopic("a"), NewTopic("b"), NewTopic("a"))
    assert [(d.outcome.name, d.outcome.error) for d in decisions] == [
        ("a", ErrorCode.INVALID_REQUEST),
        ("b", ErrorCode.NONE),
    ]


@pytest.mark.parametrize("count", [0, -2])
def test_a_count_that_is_not_positive_is_invalid_partitions(image: ClusterImage, count: int) -> None:
    assert refusal(image, NewTopic("a", count)) is ErrorCode.INVALID_PARTITIONS


@pytest.mark.parametrize("factor", [0, -2, 4])
def test_more_replicas_than_brokers_or_none_is_an_invalid_replication_factor(
    image: ClusterImage, factor: int
) -> None:
    assert refusal(image, NewTopic("a", 1, factor)) is ErrorCode.INVALID_REPLICATION_FACTOR


def test_the_default_replication_factor_is_checked_too(image: ClusterImage) -> None:
    error = refusal(image, NewTopic("a"), default_replication_factor=4)
    assert error is ErrorCode.INVALID_REPLICATION_FACTOR


def test_an_assignment_and_a_count_is_an_invalid_request(image: ClusterImage) -> None:
    by_assignment = by_hand((0, (1,)))
    for both in (replace(by_assignment, partition_count=1), replace(by_assignment, replication_factor=1)):
        assert refusal(image, both) is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    "assignments",
    [
        pytest.param([(0, ())], id="no replicas"),
        pytest.param([(0, (1, 1))], id="a broker twice"),
        pytest.param([(0, (9,))], id="an unknown broker"),
        pytest.param([(0, (1, 2)), (1, (1,))], id="different numbers of replicas"),
        pytest.param([(0, (1,)), (0, (2,))], id="a partition twice"),
        pytest.param([(0, (1,)), (2, (2,))], id="a gap"),
        pytest.param([(1, (1,))], id="not from 0"),
    ],
)
def test_an_assignment_that_does_not_fit_is_an_invalid_replica_assignment(
    image: ClusterImage, assignments: list[tuple[int, tuple[int, ...]]]
) -> None:
    assert refusal(image, by_hand(*assignments)) is ErrorCode.INVALID_REPLICA_ASSIGNMENT


@pytest.mark.parametrize(
    "configs", [(("no.such", "1"),), (("retention.ms", "soon"),), (("cleanup.policy", None),)]
)
def test_a_bad_setting_is_an_invalid_config(
    image: ClusterImage, configs: tuple[tuple[str, str | None], ...]
) -> None:
    assert refusal(image, NewTopic("a", configs=configs)) is ErrorCode.INVALID_CONFIG


def test_a_setting_named_twice_is_an_invalid_request(image: ClusterImage) -> None:
    configs = (("retention.ms", "1"), ("retention.ms", "2"))
    assert refusal(image, NewTopic("a", configs=configs)) is ErrorCode.INVALID_REQUEST


def test_too_many_partitions_in_one_request_violate_the_policy(image: ClusterImage) -> None:
    half = PARTITIONS_PER_REQUEST_MAX // 2
    assert refusal(image, NewTopic("a", half), NewTopic("b", half + 1)) is ErrorCode.POLICY_VIOLATION


def test_counts_of_minus_one_mean_the_defaults(image: ClusterImage) -> None:
    (decision,) = decide(image, NewTopic("a", -1, -1), num_partitions=5, default_replication_factor=2)
    assert (decision.outcome.partition_count, decision.outcome.replication_factor) == (5, 2)


def test_an_assignment_by_hand_is_taken_as_it_is(image: ClusterImage) -> None:
    (decision,) = decide(image, by_hand((1, (3, 1)), (0, (2, 3))))
    created = decision.changes[0]
    assert isinstance(created, TopicCreated)
    assert {number: state.replicas for number, state in created.partitions.items()} == {0: (2, 3), 1: (3, 1)}
    assert [created.partitions[number].leader for number in (0, 1)] == [2, 3]


def test_one_topic_s_refusal_does_not_touch_another(image: ClusterImage) -> None:
    decisions = decide(image, NewTopic(".."), NewTopic("a"))
    assert [decision.outcome.error for decision in decisions] == [
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.NONE,
    ]
