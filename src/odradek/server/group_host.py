"""The group coordinator in its broker: its topic, its leaderships, its log.

Law: it joins parts. What members and offsets may do is the coordinator's to decide, who leads which partition
the controller's.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from odradek.base.ids import TopicId, TopicPartition
from odradek.base.settings import BrokerSettings
from odradek.coordinator.classic import Terms
from odradek.coordinator.consumer.topics import Topic
from odradek.coordinator.groups import OFFSETS_TOPIC, GroupCoordinator
from odradek.metadata.image import ClusterImage
from odradek.replication.role_changes import RoleChanges
from odradek.server.coordinator_log import CoordinatorLog
from odradek.server.internal_topic import InternalTopic, InternalTopicSpec

if TYPE_CHECKING:
    from odradek.server.core import BrokerCore

GROUP_KEY_TYPE: Final = 0
"""FindCoordinator's number for groups."""


class ImageTopics:
    """The topics of a cluster's image, as consumer groups see them: `coordinator.consumer.topics.Topics`."""

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
        return (topic.name for topic in self._image.live_topics())


class GroupHost:
    """What a broker has of groups."""

    def __init__(self, core: "BrokerCore") -> None:
        self.topic = InternalTopic(core, _topic_spec(core.settings))
        """By which coordinators are found."""
        log = CoordinatorLog(core.replicas)
        self._topics = ImageTopics(core.image)
        self.coordinator = GroupCoordinator(
            Terms(core.clock, core.chance, core.settings, lambda: len(core.image.brokers)),
            core.timer,
            log,
            log,
            partition_of=self.topic.partition_of,
            topics=self._topics,
            defer=core.defer,
        )
        core.coordinating_topics[GROUP_KEY_TYPE] = self.topic
        core.on_roles.append(self._on_roles)
        core.on_topics_gone.append(self.coordinator.forget_topics)
        core.on_topics.append(self._on_topics)

    def _on_topics(self) -> None:
        """Topics came, went or changed."""
        self._topics.version += 1
        self.coordinator.topics_changed()

    def _on_roles(self, changes: RoleChanges) -> None:
        """The controller gave partitions to this broker, or took them away."""
        for led in changes.leading:
            topic, partition = led.topic_partition
            if topic == OFFSETS_TOPIC:
                self.coordinator.lead(partition, led.state.leader_epoch)
        for topic, partition in (*(part.topic_partition for part in changes.following), *changes.stopped):
            if topic == OFFSETS_TOPIC:
                self.coordinator.resign(partition)


def _topic_spec(settings: BrokerSettings) -> InternalTopicSpec:
    return InternalTopicSpec(
        OFFSETS_TOPIC,
        settings.offsets_topic_num_partitions,
        settings.offsets_topic_replication_factor,
        {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(settings.offsets_topic_segment_bytes),
        },
    )
