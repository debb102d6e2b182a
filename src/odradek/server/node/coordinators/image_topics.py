"""The topics of the cluster's image, as the group coordinator reads them."""

from collections.abc import Iterable

from odradek.base.ids import TopicId, TopicPartition
from odradek.coordinator.consumer.topics import Topic
from odradek.metadata.image import ClusterImage


class ImageTopics:
    """Implements `coordinator.consumer.topics.Topics`."""

    def __init__(self, image: ClusterImage) -> None:
        self._image = image
        self.version = 0
        """See `Topics.version`."""

    def by_name(self, name: str) -> Topic | None:
        """See `Topics.by_name`."""
        found = self._image.topic(name)
        return None if found is None else Topic(found.topic_id, found.name, len(found.partitions))

    def by_id(self, topic_id: TopicId) -> Topic | None:
        """See `Topics.by_id`."""
        found = self._image.topic_by_id(topic_id)
        return None if found is None else Topic(topic_id, found.name, len(found.partitions))

    def has_partition(self, topic_partition: TopicPartition) -> bool:
        """See `Topics.has_partition`."""
        return self._image.partition(topic_partition) is not None

    def names(self) -> Iterable[str]:
        """See `Topics.names`."""
        return self._image.live_names()
