"""A broker's own image follows the controller's by UpdateMetadata alone."""

from collections.abc import Sequence
from uuid import UUID

from odradek.base.ids import TopicPartition
from odradek.metadata.image import BrokerImage, ClusterImage, PartitionImage
from odradek.metadata.messages import (
    TOPICS_PER_PART,
    LeaderAndIsr,
    LeaderAndIsrPartition,
    StopReplica,
    StopReplicaPartition,
    TopicStates,
    UpdateMetadata,
    changes_from,
    parts_of,
)
from tests.metadata.controllers import make_broker

STATE = PartitionImage((1,), (1,), 1)


def update(
    image: ClusterImage,
    brokers: Sequence[BrokerImage],
    topics: Sequence[TopicStates] = (),
    gone: Sequence[str] = (),
) -> ClusterImage:
    message = UpdateMetadata(1, 3, 7, tuple(brokers), tuple(topics), tuple(gone))
    for change in changes_from(message, image):
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


def test_facts_in_parts_come_to_the_same_topic_by_topic() -> None:
    topics = [TopicStates(f"t{n}", UUID(int=n), {0: STATE, 1: STATE}) for n in range(TOPICS_PER_PART * 3)]
    gone = [f"old{n}" for n in range(TOPICS_PER_PART * 2 + 1)]
    before = [TopicStates(name, UUID(int=1000 + n), {0: STATE}) for n, name in enumerate(gone)]
    whole, in_parts = update(ClusterImage(), [], before), update(ClusterImage(), [], before)
    message = UpdateMetadata(1, 3, 7, (make_broker(1),), tuple(topics), tuple(gone))
    update(whole, [make_broker(1)], topics, gone)
    parts = list(parts_of(message))
    for part in parts:
        assert isinstance(part, UpdateMetadata)
        assert max(len(part.topics), len(part.gone_topics)) <= TOPICS_PER_PART
        update(in_parts, part.live_brokers, part.topics, part.gone_topics)
        assert list(in_parts.brokers) == [1]
        assert all(len(topic.partitions) in (1, 2) for topic in in_parts.topics.values())
    assert in_parts == whole
    assert len(parts) == 6


def test_roles_in_parts_name_one_partition_each() -> None:
    names = [TopicPartition("a", number) for number in range(3)]
    roles = tuple(LeaderAndIsrPartition(name, UUID(int=1), STATE, is_new=True) for name in names)
    order = LeaderAndIsr(1, 3, 7, roles, ())
    parts = [part for part in parts_of(order) if isinstance(part, LeaderAndIsr)]
    assert [part.partitions for part in parts] == [(role,) for role in roles]
    assert {(part.controller_id, part.controller_epoch, part.broker_epoch) for part in parts} == {(1, 3, 7)}
    stops = tuple(StopReplicaPartition(name, 0, delete=True) for name in names)
    stopping = StopReplica(1, 3, 7, stops)
    stop_parts = [part for part in parts_of(stopping) if isinstance(part, StopReplica)]
    assert [part.partitions for part in stop_parts] == [(stop,) for stop in stops]


def test_an_order_that_names_nothing_has_one_part() -> None:
    """Its epoch counts."""
    for order in (LeaderAndIsr(1, 3, 7, (), ()), StopReplica(1, 3, 7, ()), UpdateMetadata(1, 3, 7, (), ())):
        assert list(parts_of(order)) == [order]
