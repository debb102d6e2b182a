"""The image after each kind of change, and its lookups."""

from uuid import UUID

import pytest

from odradek.base.ids import NO_BROKER, TopicPartition
from odradek.metadata.image import (
    BrokerConfigChanged,
    BrokerGone,
    BrokerRegistered,
    ClusterImage,
    ClusterNamed,
    ControllerChanged,
    Endpoint,
    PartitionChanged,
    PartitionImage,
    TopicConfigChanged,
    TopicCreated,
    TopicDeleted,
    TopicDeletionBegan,
)
from tests.metadata.controllers import make_broker

STATE = PartitionImage((1, 2), (1, 2), 1)


@pytest.fixture
def image() -> ClusterImage:
    made = ClusterImage()
    made.apply(TopicCreated("a.b", UUID(int=1), {0: STATE, 1: STATE}))
    return made


def test_a_new_image_knows_nothing() -> None:
    image = ClusterImage()
    assert image.topic("a") is None
    assert image.partition(TopicPartition("a", 0)) is None
    assert (image.controller_id, image.cluster_id) == (NO_BROKER, "")


def test_a_topic_is_found_by_name_and_by_id(image: ClusterImage) -> None:
    assert image.topic("a.b") is image.topic_by_id(UUID(int=1))
    assert image.topic_by_id(UUID(int=2)) is None
    assert [topic.name for topic in image.live_topics()] == ["a.b"]


def test_a_partition_changes_alone(image: ClusterImage) -> None:
    moved = PartitionImage((1, 2), (2,), 2, leader_epoch=1, state_version=1)
    image.apply(PartitionChanged("a.b", 1, moved))
    assert image.partition(TopicPartition("a.b", 1)) == moved
    assert image.partition(TopicPartition("a.b", 0)) == STATE


def test_a_topic_made_again_has_only_its_new_id(image: ClusterImage) -> None:
    image.apply(TopicCreated("a.b", UUID(int=2), {0: STATE}))
    assert image.topic_by_id(UUID(int=1)) is None
    assert image.topic_by_id(UUID(int=2)) is image.topic("a.b")
    assert list(image.topics["a.b"].partitions) == [0]


def test_a_topic_being_deleted_is_not_seen_and_its_name_is_taken(image: ClusterImage) -> None:
    image.apply(TopicDeletionBegan("a.b"))
    assert image.topic("a.b") is None
    assert image.topic_by_id(UUID(int=1)) is None
    assert image.partition(TopicPartition("a.b", 0)) is None
    assert list(image.live_topics()) == []
    assert "a.b" in image.topics


def test_a_deleted_topic_leaves_nothing_behind(image: ClusterImage) -> None:
    image.apply(TopicConfigChanged("a.b", {"retention.ms": "1"}))
    image.apply(TopicDeletionBegan("a.b"))
    image.apply(TopicDeleted("a.b"))
    assert image == ClusterImage()
    image.apply(TopicDeleted("a.b"))
    assert image == ClusterImage()


def test_names_collide_when_only_dots_and_underscores_differ(image: ClusterImage) -> None:
    assert image.name_colliding_with("a_b") == "a.b"
    assert image.name_colliding_with("a.b") is None
    assert image.name_colliding_with("ab") is None


def test_settings_are_kept_by_topic_broker_and_for_all(image: ClusterImage) -> None:
    image.apply(TopicConfigChanged("a.b", {"retention.ms": "1"}))
    image.apply(BrokerConfigChanged(1, {"log.retention.ms": "2"}))
    image.apply(BrokerConfigChanged(None, {"log.retention.ms": "3"}))
    assert image.topic_config("a.b") == {"retention.ms": "1"}
    assert image.broker_config(1) == {"log.retention.ms": "2"}
    assert image.default_broker_config == {"log.retention.ms": "3"}
    assert image.broker_config(2) == image.topic_config("other") == {}


def test_overrides_that_are_gone_are_forgotten(image: ClusterImage) -> None:
    image.apply(TopicConfigChanged("a.b", {"retention.ms": "1"}))
    image.apply(TopicConfigChanged("a.b", {}))
    assert image.topic_configs == {}


def test_brokers_come_and_go(image: ClusterImage) -> None:
    image.apply(BrokerRegistered(make_broker(1)))
    assert image.is_live(1)
    assert image.offline_replicas(STATE) == [2]
    image.apply(BrokerGone(1))
    image.apply(BrokerGone(1))
    assert image.offline_replicas(STATE) == [1, 2]


def test_a_broker_s_address_is_found_by_its_listener() -> None:
    assert make_broker(1).endpoint("PLAINTEXT") == Endpoint("PLAINTEXT", "PLAINTEXT", "host1", 9092)
    assert make_broker(1).endpoint("SSL") is None


def test_the_controller_epoch_never_falls(image: ClusterImage) -> None:
    image.apply(ControllerChanged(1, 5))
    with pytest.raises(AssertionError, match="never falls"):
        image.apply(ControllerChanged(2, 4))


def test_a_cluster_keeps_its_id(image: ClusterImage) -> None:
    image.apply(ClusterNamed("x"))
    image.apply(ClusterNamed("x"))
    with pytest.raises(AssertionError, match="keeps its id"):
        image.apply(ClusterNamed("y"))
