"""A broker's own image follows the controller's by UpdateMetadata alone."""

from collections.abc import Sequence
from uuid import UUID

from odradek.metadata.image import BrokerImage, ClusterImage, PartitionImage
from odradek.metadata.orders import (
    TopicStates,
    UpdateMetadata,
    changes_from,
)
from tests.metadata.controllers import make_broker

STATE = PartitionImage((1,), (1,), 1)


def update(
    image: ClusterImage,
    brokers: Sequence[BrokerImage],
    topics: Sequence[TopicStates] = (),
    gone: Sequence[str] = (),
) -> ClusterImage:
    order = UpdateMetadata(1, 3, 7, tuple(brokers), tuple(topics), tuple(gone))
    for change in changes_from(order, image):
        image.apply(change)
    return image


def test_brokers_that_are_not_listed_are_gone() -> None:
    image = update(ClusterImage(), [make_broker(1), make_broker(2)])
    assert list(update(image, [make_broker(2)]).brokers) == [2]
    assert (image.controller_id, image.controller_epoch) == (1, 3)


def test_partitions_are_added_to_a_known_topic() -> None:
    image = update(ClusterImage(), [], [TopicStates("a", UUID(int=1), {0: STATE})])
    update(image, [], [TopicStates("a", UUID(int=1), {1: STATE})])
    assert list(image.topics["a"].partitions) == [0, 1]


def test_a_topic_with_another_id_replaces_the_old_one() -> None:
    image = update(ClusterImage(), [], [TopicStates("a", UUID(int=1), {0: STATE, 1: STATE})])
    update(image, [], [TopicStates("a", UUID(int=2), {0: STATE})])
    assert image.topics["a"].topic_id == UUID(int=2)
    assert list(image.topics["a"].partitions) == [0]


def test_a_topic_that_is_gone_is_forgotten_before_its_successor_comes() -> None:
    image = update(ClusterImage(), [], [TopicStates("a", UUID(int=1), {0: STATE})])
    update(image, [], [TopicStates("a", UUID(int=2), {0: STATE})], gone=["a"])
    assert image.topics["a"].topic_id == UUID(int=2)
