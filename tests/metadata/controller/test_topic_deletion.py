"""DeleteTopics, one test per way to be refused, and what a topic's end writes."""

from uuid import UUID

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.metadata.controller.requests import DeleteTopics, TopicToDelete
from odradek.metadata.controller.topic_deletion import decide_deletion, partition_removals, topic_removals
from odradek.metadata.image import ClusterImage, PartitionImage, TopicCreated, TopicDeletionBegan


@pytest.fixture
def image() -> ClusterImage:
    made = ClusterImage()
    made.apply(TopicCreated("a", UUID(int=1), {0: PartitionImage((1,), (1,), 1)}))
    return made


def error_of(image: ClusterImage, *topics: TopicToDelete, deletion_enabled: bool = True) -> ErrorCode:
    decided = decide_deletion(image, DeleteTopics(topics), deletion_enabled=deletion_enabled)
    *_, decision = filter(None, decided)
    assert bool(decision.writes) is (decision.outcome.error is ErrorCode.NONE)
    return decision.outcome.error


def test_deletion_may_be_switched_off(image: ClusterImage) -> None:
    error = error_of(image, TopicToDelete("a"), deletion_enabled=False)
    assert error is ErrorCode.TOPIC_DELETION_DISABLED


def test_an_unknown_name_is_an_unknown_topic(image: ClusterImage) -> None:
    assert error_of(image, TopicToDelete("b")) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_an_unknown_id_is_an_unknown_topic_id(image: ClusterImage) -> None:
    assert error_of(image, TopicToDelete(None, UUID(int=2))) is ErrorCode.UNKNOWN_TOPIC_ID


def test_a_topic_being_deleted_is_unknown(image: ClusterImage) -> None:
    image.apply(TopicDeletionBegan("a"))
    assert error_of(image, TopicToDelete("a")) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert error_of(image, TopicToDelete(None, UUID(int=1))) is ErrorCode.UNKNOWN_TOPIC_ID


def test_a_topic_is_named_by_name_or_by_id_never_both_or_neither(image: ClusterImage) -> None:
    assert error_of(image, TopicToDelete("a", UUID(int=1))) is ErrorCode.INVALID_REQUEST
    assert error_of(image, TopicToDelete()) is ErrorCode.INVALID_REQUEST


def test_a_topic_named_twice_is_an_invalid_request(image: ClusterImage) -> None:
    assert error_of(image, TopicToDelete("a"), TopicToDelete("a")) is ErrorCode.INVALID_REQUEST
    by_both = (TopicToDelete("a"), TopicToDelete(None, UUID(int=1)))
    assert error_of(image, *by_both) is ErrorCode.INVALID_REQUEST


def test_a_topic_is_deleted_by_its_id(image: ClusterImage) -> None:
    assert error_of(image, TopicToDelete(None, UUID(int=1))) is ErrorCode.NONE


def test_children_are_removed_before_their_parents_and_the_mark_last(image: ClusterImage) -> None:
    topic = image.topics["a"]
    removals = [*partition_removals(topic), *topic_removals(topic, has_config=True)]
    assert [write.path for write in removals] == [
        "/brokers/topics/a/partitions/0/state",
        "/brokers/topics/a/partitions/0",
        "/brokers/topics/a/partitions",
        "/brokers/topics/a",
        "/config/topics/a",
        "/admin/delete_topics/a",
    ]
