"""What settings belong to: topics, brokers and groups, and the overrides of each in an image.

A resource is named as in the requests that describe and alter settings:

    Resource(ResourceType.TOPIC, "flights")     one topic
    Resource(ResourceType.BROKER, "2")          one broker
    Resource(ResourceType.BROKER, "")           all brokers

What a broker has is changed by the controller's orders only (R18).
"""

from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import NamedTuple, TypeAlias

from odradek.metadata.image import (
    BrokerConfigChanged,
    ClusterImage,
    GroupConfigChanged,
    TopicConfigChanged,
)


class ResourceType(IntEnum):
    """What a setting belongs to; the numbers are those of DescribeConfigs and AlterConfigs."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class Resource(NamedTuple):
    """A topic, a broker, all brokers or a group."""

    resource_type: ResourceType
    name: str
    """A broker's is its id as a decimal number; empty for all brokers."""


SettingsChanged: TypeAlias = TopicConfigChanged | BrokerConfigChanged | GroupConfigChanged
"""The complete overrides of one resource."""

_ALL_BROKERS = Resource(ResourceType.BROKER, "")


def resource_of(change: SettingsChanged) -> Resource:
    """The resource whose overrides changed."""
    match change:
        case TopicConfigChanged(topic):
            return Resource(ResourceType.TOPIC, topic)
        case GroupConfigChanged(group_id):
            return Resource(ResourceType.GROUP, group_id)
        case BrokerConfigChanged(broker_id):
            return Resource(ResourceType.BROKER, "" if broker_id is None else str(broker_id))


def change_of(resource: Resource, overrides: Mapping[str, str]) -> SettingsChanged:
    """The change that gives a resource exactly these overrides."""
    match resource:
        case (ResourceType.TOPIC, topic):
            return TopicConfigChanged(topic, overrides)
        case (ResourceType.GROUP, group_id):
            return GroupConfigChanged(group_id, overrides)
        case _:
            assert resource.resource_type is ResourceType.BROKER, f"{resource} has no overrides"
            return BrokerConfigChanged(int(resource.name) if resource.name else None, overrides)


def overrides_of(image: ClusterImage, resource: Resource) -> Mapping[str, str]:
    """The overrides of a resource; empty when it has none."""
    match resource:
        case (ResourceType.TOPIC, topic):
            return image.topic_config(topic)
        case (ResourceType.GROUP, group_id):
            return image.group_config(group_id)
        case (ResourceType.BROKER, ""):
            return image.default_broker_config
        case _:
            assert resource.resource_type is ResourceType.BROKER, f"{resource} has no overrides"
            return image.broker_config(int(resource.name))


def resources_with_overrides(image: ClusterImage) -> Iterator[Resource]:
    """Every resource with an override, but for topics being deleted, which are gone for brokers; O(all)."""
    if image.default_broker_config:
        yield _ALL_BROKERS
    for broker_id in image.broker_configs:
        yield Resource(ResourceType.BROKER, str(broker_id))
    for topic in image.topic_configs:
        if topic not in image.deleting:
            yield Resource(ResourceType.TOPIC, topic)
    for group_id in image.group_configs:
        yield Resource(ResourceType.GROUP, group_id)
