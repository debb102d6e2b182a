"""What a controller counts of its cluster."""

from uuid import UUID

from odradek.base.execution import exhaust
from odradek.base.ids import NO_BROKER
from odradek.metadata.controller.cluster_counts import COUNTED_PER_STEP, ClusterCounts, count_cluster
from odradek.metadata.image import (
    BrokerGone,
    BrokerRegistered,
    ClusterImage,
    PartitionImage,
    TopicCreated,
    TopicDeletionBegan,
)
from tests.metadata.controllers import make_broker

LED_BY_1 = PartitionImage((1, 2), (1, 2), 1)
LED_BY_2 = PartitionImage((1, 2), (1, 2), 2)
LEADERLESS = PartitionImage((1, 2), (2,), NO_BROKER)


def cluster(*partitions: PartitionImage) -> ClusterImage:
    image = ClusterImage()
    for broker_id in (1, 2):
        image.apply(BrokerRegistered(make_broker(broker_id)))
    image.apply(TopicCreated("orders", UUID(int=1), dict(enumerate(partitions))))
    return image


def test_each_partition_is_counted_for_its_leader() -> None:
    image = cluster(LED_BY_1, LED_BY_1, LED_BY_2, LEADERLESS)
    assert exhaust(count_cluster(image)) == ClusterCounts(1, 4, 1, 2)


def test_a_leader_that_is_gone_is_none() -> None:
    image = cluster(LED_BY_1, LED_BY_2)
    image.apply(BrokerGone(2))
    assert exhaust(count_cluster(image)).offline_partitions == 1


def test_a_topic_that_is_being_deleted_is_not_counted() -> None:
    image = cluster(LEADERLESS)
    image.apply(TopicDeletionBegan("orders"))
    assert exhaust(count_cluster(image)) == ClusterCounts()


def test_many_partitions_and_many_topics_are_counted_in_steps() -> None:
    """A topic that goes between two steps is no harm."""
    image = cluster(*[LED_BY_1] * (2 * COUNTED_PER_STEP))
    for number in range(COUNTED_PER_STEP):
        image.apply(TopicCreated(f"t{number}", UUID(int=2 + number), {0: LED_BY_1}))
    assert len(list(count_cluster(image))) == 4
    work = count_cluster(image)
    next(work)
    image.apply(TopicDeletionBegan("t7"))
    assert exhaust(work) == ClusterCounts(COUNTED_PER_STEP, 3 * COUNTED_PER_STEP - 1, 0, 0)
