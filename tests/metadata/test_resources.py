"""The overrides of an image, resource by resource."""

from uuid import UUID

import pytest

from odradek.metadata.image import (
    BrokerConfigChanged,
    ClusterImage,
    GroupConfigChanged,
    TopicConfigChanged,
    TopicCreated,
    TopicDeletionBegan,
)
from odradek.metadata.resources import (
    Resource,
    ResourceType,
    SettingsChanged,
    change_of,
    overrides_of,
    resource_of,
    resources_with_overrides,
)

OVERRIDES = {"a": "1"}
CHANGES: list[tuple[SettingsChanged, Resource]] = [
    (BrokerConfigChanged(None, OVERRIDES), Resource(ResourceType.BROKER, "")),
    (BrokerConfigChanged(0, OVERRIDES), Resource(ResourceType.BROKER, "0")),
    (TopicConfigChanged("t", OVERRIDES), Resource(ResourceType.TOPIC, "t")),
    (GroupConfigChanged("", OVERRIDES), Resource(ResourceType.GROUP, "")),
]


@pytest.mark.parametrize(("change", "resource"), CHANGES)
def test_a_change_and_its_resource(change: SettingsChanged, resource: Resource) -> None:
    image = ClusterImage()
    assert overrides_of(image, resource) == {}
    assert resource_of(change) == resource
    assert change_of(resource, OVERRIDES) == change
    image.apply(change)
    assert overrides_of(image, resource) == OVERRIDES
    assert list(resources_with_overrides(image)) == [resource]
    image.apply(change_of(resource, {}))
    assert image == ClusterImage()


def test_all_resources_are_listed() -> None:
    image = ClusterImage()
    image.apply_all(change for change, _ in CHANGES)
    assert list(resources_with_overrides(image)) == [resource for _, resource in CHANGES]


def test_a_topic_that_is_being_deleted_has_none_to_tell() -> None:
    """Brokers were told that it is gone when its deletion began, and are not told again when it ends."""
    image = ClusterImage()
    image.apply(TopicCreated("t", UUID(int=1), {}))
    image.apply(TopicConfigChanged("t", OVERRIDES))
    image.apply(TopicDeletionBegan("t"))
    assert list(resources_with_overrides(image)) == []
