"""Which orders are made of what was noted, and in which order."""

from uuid import UUID

from odradek.base.ids import TopicPartition
from odradek.metadata.controller.pending_orders import (
    CHARACTERS_PER_ORDER,
    PARTITIONS_PER_ORDER,
    RESOURCES_PER_ORDER,
    PendingOrders,
)
from odradek.metadata.image import (
    BrokerConfigChanged,
    BrokerImage,
    BrokerRegistered,
    ClusterImage,
    Endpoint,
    GroupConfigChanged,
    PartitionImage,
    TopicConfigChanged,
    TopicCreated,
    TopicDeletionBegan,
)
from odradek.metadata.orders import UpdateMetadata
from odradek.metadata.resources import Resource, ResourceType, resources_with_overrides


def image_of(*broker_ids: int, partitions: int = 1) -> ClusterImage:
    image = ClusterImage()
    for broker_id in broker_ids:
        endpoint = Endpoint("PLAINTEXT", "PLAINTEXT", f"host{broker_id}", 9092)
        image.apply(BrokerRegistered(BrokerImage(broker_id, (endpoint,), epoch=100 + broker_id)))
    state = PartitionImage(broker_ids, broker_ids, broker_ids[0])
    image.apply(TopicCreated("t", UUID(int=1), dict.fromkeys(range(partitions), state)))
    return image


def kinds(orders: PendingOrders, image: ClusterImage) -> list[tuple[int, str]]:
    return [(broker_id, type(order).__name__) for broker_id, order in orders.take(image)]


def test_a_change_is_told_roles_first() -> None:
    image, orders = image_of(1, 2), PendingOrders()
    orders.partition_changed(image, TopicPartition("t", 0))
    assert kinds(orders, image) == [
        (1, "LeaderAndIsr"),
        (2, "LeaderAndIsr"),
        (1, "UpdateMetadata"),
        (2, "UpdateMetadata"),
    ]
    assert kinds(orders, image) == []


def test_a_broker_that_joins_is_told_all_facts_before_its_first_role() -> None:
    """Also where they take several orders, and others are told roles first meanwhile."""
    image, orders = image_of(1, 2, partitions=PARTITIONS_PER_ORDER + 1), PendingOrders()
    orders.broker_joins(2)
    for number in image.topics["t"].partitions:
        orders.broker_came(image, 2, TopicPartition("t", number))
    orders.partition_changed(image, TopicPartition("t", 0))
    orders.brokers_changed()
    told = kinds(orders, image)
    assert [kind for broker_id, kind in told if broker_id == 2] == ["UpdateMetadata"] + ["LeaderAndIsr"] * 2
    assert [kind for broker_id, kind in told if broker_id == 1] == ["LeaderAndIsr", "UpdateMetadata"]
    orders.brokers_changed()
    orders.partition_changed(image, TopicPartition("t", 0))
    assert kinds(orders, image)[0] == (1, "LeaderAndIsr"), "it has joined"


def test_a_broker_that_joins_is_told_first_which_topics_there_are() -> None:
    """It may have missed that others were deleted; those being deleted are not among them."""
    image, orders = image_of(1, 2, partitions=2 * PARTITIONS_PER_ORDER), PendingOrders()
    state = PartitionImage((1,), (1,), 1)
    for number, name in enumerate(("u", "v")):
        image.apply(TopicCreated(name, UUID(int=10 + number), {0: state}))
    image.apply(TopicDeletionBegan("v"))
    orders.broker_joins(2)
    for topic in image.live_topics():
        for number in topic.partitions:
            orders.broker_came(image, 2, TopicPartition(topic.name, number))
    orders.brokers_changed()
    told = list(orders.take(image))
    facts = [order for to, order in told if to == 2 and isinstance(order, UpdateMetadata)]
    assert [order.all_topics for order in facts] == [("t", "u"), None]
    assert [[topic.name for topic in order.topics] for order in facts] == [["t"], ["u"]]
    assert [order.all_topics for to, order in told if to == 1] == [None]  # type: ignore[union-attr]


def told_settings(orders: PendingOrders, image: ClusterImage, broker_id: int) -> list[UpdateMetadata]:
    told = [order for to, order in orders.take(image) if to == broker_id]
    return [order for order in told if isinstance(order, UpdateMetadata) and order.settings]


def configure(image: ClusterImage, groups: int, text: str = "1") -> None:
    image.apply_all(GroupConfigChanged(f"g{number}", {"a": text}) for number in range(groups))


def test_changed_settings_are_told_before_the_first_role() -> None:
    """R18: each resource once, with what it has now; one that has nothing any more, too."""
    image, orders = image_of(1, 2), PendingOrders()
    kept, ended = Resource(ResourceType.TOPIC, "t"), Resource(ResourceType.GROUP, "g")
    image.apply(TopicConfigChanged("t", {"retention.ms": "1"}))
    orders.partition_changed(image, TopicPartition("t", 0))
    for resource in (kept, ended, kept):
        orders.settings_changed(resource)
    told = [order for to, order in orders.take(image) if to == 2]
    assert [type(order).__name__ for order in told] == [
        "UpdateMetadata",
        "LeaderAndIsr",
        "UpdateMetadata",
    ]
    assert [order.settings for order in told if isinstance(order, UpdateMetadata)] == [
        {kept: {"retention.ms": "1"}, ended: {}},
        {},
    ]
    assert kinds(orders, image) == []


def test_a_broker_that_joins_is_told_all_settings() -> None:
    """R18: in as many orders as they need, one of which names all that has any."""
    image, orders = image_of(1, 2), PendingOrders()
    configure(image, RESOURCES_PER_ORDER)
    image.apply(BrokerConfigChanged(2, {"log.retention.ms": "1"}))
    orders.broker_joins(2)
    orders.brokers_changed()
    orders.settings_changed(Resource(ResourceType.GROUP, "g0"))
    told = told_settings(orders, image, 2)
    assert [len(order.settings) for order in told] == [RESOURCES_PER_ORDER, 1]
    assert {key for order in told for key in order.settings} == set(resources_with_overrides(image))
    assert [set(order.all_configured) for order in told] == [set(), set(resources_with_overrides(image))]
    assert [order.all_topics for order in told] == [None, ("t",)]


def test_the_settings_of_one_order_are_bounded_by_their_length_too() -> None:
    image, orders = image_of(1), PendingOrders()
    configure(image, 5, "x" * (CHARACTERS_PER_ORDER // 2))
    for resource in resources_with_overrides(image):
        orders.settings_changed(resource)
    assert [len(order.settings) for order in told_settings(orders, image, 1)] == [2, 2, 1]
