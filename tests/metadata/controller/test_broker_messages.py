"""Which messages are made of what was noted, and in which order."""

from uuid import UUID

from odradek.base.ids import TopicPartition
from odradek.metadata.controller.broker_messages import (
    CHARACTERS_PER_MESSAGE,
    PARTITIONS_PER_MESSAGE,
    RESOURCES_PER_MESSAGE,
    BrokerMessages,
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
from odradek.metadata.messages import UpdateMetadata
from odradek.metadata.resources import Resource, ResourceType, resources_with_overrides


def image_of(*broker_ids: int, partitions: int = 1) -> ClusterImage:
    image = ClusterImage()
    for broker_id in broker_ids:
        endpoint = Endpoint("PLAINTEXT", "PLAINTEXT", f"host{broker_id}", 9092)
        image.apply(BrokerRegistered(BrokerImage(broker_id, (endpoint,), epoch=100 + broker_id)))
    state = PartitionImage(broker_ids, broker_ids, broker_ids[0])
    image.apply(TopicCreated("t", UUID(int=1), dict.fromkeys(range(partitions), state)))
    return image


def kinds(messages: BrokerMessages, image: ClusterImage) -> list[tuple[int, str]]:
    return [(broker_id, type(message).__name__) for broker_id, message in messages.take(image)]


def test_a_change_is_told_roles_first() -> None:
    image, messages = image_of(1, 2), BrokerMessages()
    messages.partition_changed(image, TopicPartition("t", 0))
    assert kinds(messages, image) == [
        (1, "LeaderAndIsr"),
        (2, "LeaderAndIsr"),
        (1, "UpdateMetadata"),
        (2, "UpdateMetadata"),
    ]
    assert kinds(messages, image) == []


def test_a_broker_that_joins_is_told_all_facts_before_its_first_role() -> None:
    """Also where they take several messages, and others are told roles first meanwhile."""
    image, messages = image_of(1, 2, partitions=PARTITIONS_PER_MESSAGE + 1), BrokerMessages()
    messages.broker_joins(2)
    for number in image.topics["t"].partitions:
        messages.broker_came(image, 2, TopicPartition("t", number))
    messages.partition_changed(image, TopicPartition("t", 0))
    messages.brokers_changed()
    told = kinds(messages, image)
    assert [kind for broker_id, kind in told if broker_id == 2] == ["UpdateMetadata"] + ["LeaderAndIsr"] * 2
    assert [kind for broker_id, kind in told if broker_id == 1] == ["LeaderAndIsr", "UpdateMetadata"]
    messages.brokers_changed()
    messages.partition_changed(image, TopicPartition("t", 0))
    assert kinds(messages, image)[0] == (1, "LeaderAndIsr"), "it has joined"


def test_a_broker_that_joins_is_told_first_which_topics_there_are() -> None:
    """It may have missed that others were deleted; those being deleted are not among them."""
    image, messages = image_of(1, 2, partitions=2 * PARTITIONS_PER_MESSAGE), BrokerMessages()
    state = PartitionImage((1,), (1,), 1)
    for number, name in enumerate(("u", "v")):
        image.apply(TopicCreated(name, UUID(int=10 + number), {0: state}))
    image.apply(TopicDeletionBegan("v"))
    messages.broker_joins(2)
    for topic in image.live_topics():
        for number in topic.partitions:
            messages.broker_came(image, 2, TopicPartition(topic.name, number))
    messages.brokers_changed()
    told = list(messages.take(image))
    facts = [message for to, message in told if to == 2 and isinstance(message, UpdateMetadata)]
    assert [message.all_topics for message in facts] == [("t", "u"), None]
    assert [[topic.name for topic in message.topics] for message in facts] == [["t"], ["u"]]
    assert [message.all_topics for to, message in told if to == 1] == [None]  # type: ignore[union-attr]


def told_settings(messages: BrokerMessages, image: ClusterImage, broker_id: int) -> list[UpdateMetadata]:
    told = [message for to, message in messages.take(image) if to == broker_id]
    return [message for message in told if isinstance(message, UpdateMetadata) and message.settings]


def configure(image: ClusterImage, groups: int, text: str = "1") -> None:
    image.apply_all(GroupConfigChanged(f"g{number}", {"a": text}) for number in range(groups))


def test_changed_settings_are_told_before_the_first_role() -> None:
    """R18: each resource once, with what it has now; one that has nothing any more, too."""
    image, messages = image_of(1, 2), BrokerMessages()
    kept, ended = Resource(ResourceType.TOPIC, "t"), Resource(ResourceType.GROUP, "g")
    image.apply(TopicConfigChanged("t", {"retention.ms": "1"}))
    messages.partition_changed(image, TopicPartition("t", 0))
    for resource in (kept, ended, kept):
        messages.settings_changed(resource)
    told = [message for to, message in messages.take(image) if to == 2]
    assert [type(message).__name__ for message in told] == [
        "UpdateMetadata",
        "LeaderAndIsr",
        "UpdateMetadata",
    ]
    assert [message.settings for message in told if isinstance(message, UpdateMetadata)] == [
        {kept: {"retention.ms": "1"}, ended: {}},
        {},
    ]
    assert kinds(messages, image) == []


def test_a_broker_that_joins_is_told_all_settings() -> None:
    """R18: in as many messages as they need, one of which names all that has any."""
    image, messages = image_of(1, 2), BrokerMessages()
    configure(image, RESOURCES_PER_MESSAGE)
    image.apply(BrokerConfigChanged(2, {"log.retention.ms": "1"}))
    messages.broker_joins(2)
    messages.brokers_changed()
    messages.settings_changed(Resource(ResourceType.GROUP, "g0"))
    told = told_settings(messages, image, 2)
    assert [len(message.settings) for message in told] == [RESOURCES_PER_MESSAGE, 1]
    assert {key for message in told for key in message.settings} == set(resources_with_overrides(image))
    assert [set(message.all_configured) for message in told] == [set(), set(resources_with_overrides(image))]
    assert [message.all_topics for message in told] == [None, ("t",)]


def test_the_settings_of_one_message_are_bounded_by_their_length_too() -> None:
    image, messages = image_of(1), BrokerMessages()
    configure(image, 5, "x" * (CHARACTERS_PER_MESSAGE // 2))
    for resource in resources_with_overrides(image):
        messages.settings_changed(resource)
    assert [len(message.settings) for message in told_settings(messages, image, 1)] == [2, 2, 1]
