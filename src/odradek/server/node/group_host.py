"""The group coordinator in its broker: its topic, its leaderships, its log.

It joins parts and decides nothing: the coordinator decides what members and offsets may do, the controller
which broker leads a partition. The coordinator is made, and its code loaded, when the first request or
leadership needs it: that would be a good part of every start.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from odradek.base.settings import BrokerSettings
from odradek.base.topic_names import OFFSETS_TOPIC
from odradek.metadata.image import ClusterImage
from odradek.replication.replica_manager import ReplicaManager
from odradek.replication.role_changes import RoleChanges
from odradek.server.node.coordinator_log import CoordinatorLog
from odradek.server.node.internal_topic import InternalTopic, InternalTopicSpec, TopicMaking
from odradek.server.node.ports import Surroundings
from odradek.server.node.slices import Slices
from odradek.timer import Purgatory

if TYPE_CHECKING:
    from odradek.coordinator.groups import GroupCoordinator
    from odradek.server.node.image_topics import ImageTopics

GROUP_KEY_TYPE: Final = 0
"""FindCoordinator's number for groups."""

_log = logging.getLogger(__name__)


class GroupHost:
    """What a broker has of groups."""

    def __init__(
        self,
        surroundings: Surroundings,
        making: TopicMaking,
        replicas: ReplicaManager,
        settings: Callable[[], BrokerSettings],
        slices: Slices,
    ) -> None:
        self.topic = InternalTopic(making, _topic_spec(settings()))
        """By which coordinators are found."""
        self._surroundings = surroundings
        self._image: ClusterImage = making.image
        self._replicas = replicas
        # The settings in force.
        self._settings = settings
        self._slices = slices
        self._made: tuple[GroupCoordinator, ImageTopics] | None = None

    @property
    def coordinator(self) -> "GroupCoordinator":
        """Who decides; made when it is first needed."""
        if self._made is None:
            self._made = self._make()
        return self._made[0]

    def _make(self) -> "tuple[GroupCoordinator, ImageTopics]":
        from odradek.coordinator.classic import Terms
        from odradek.coordinator.groups import GroupCoordinator
        from odradek.server.node.image_topics import ImageTopics

        outside, image = self._surroundings, self._image
        topics, log = ImageTopics(image), CoordinatorLog(self._replicas)
        coordinator = GroupCoordinator(
            Terms(
                outside.clock,
                outside.chance,
                self._settings(),
                lambda: len(image.brokers),
                image.group_config,
            ),
            outside.timer,
            log,
            log,
            partition_of=self.topic.partition_of,
            topics=topics,
            defer=outside.defer,
            run_sliced=lambda work: self._slices.run(work, _log_failure),
        )
        return coordinator, topics

    # --- without effect in a broker that never had a group

    def purgatories(self) -> tuple[Purgatory[Any], ...]:
        """Everything in which members wait."""
        return () if self._made is None else self._made[0].purgatories.all()

    def describe(self) -> Sequence[Mapping[str, Any]]:
        """Every group that this broker coordinates, with what it waits for."""
        return [] if self._made is None else self._made[0].describe()

    def expire_offsets(self) -> None:
        """Let go of offsets whose time is over."""
        if self._made is not None:
            self._made[0].expire_offsets()

    def resign_lost(self) -> None:
        """A log directory went offline: let go of the groups in it."""
        if self._made is not None:
            self._made[0].resign_lost()

    def resign_all(self) -> None:
        """The broker stops: members look for their next coordinator."""
        if self._made is not None:
            self._made[0].resign_all()

    def on_topics_gone(self, topics: Sequence[str]) -> None:
        """Called with the names of topics that were deleted."""
        if self._made is not None:
            self._made[0].forget_topics(topics)

    def on_topics(self) -> None:
        """Called when topics came, went or grew."""
        if self._made is not None:
            _, image_topics = self._made
            image_topics.version += 1

    def on_roles(self, changes: RoleChanges) -> None:
        """Called when the controller gave partitions to this broker, or took them away."""
        for led in changes.leading:
            topic, partition = led.topic_partition
            if topic == OFFSETS_TOPIC:
                self.coordinator.lead(partition, led.state.leader_epoch)
        if self._made is None:
            return
        for topic, partition in (*(part.topic_partition for part in changes.following), *changes.stopped):
            if topic == OFFSETS_TOPIC:
                self.coordinator.resign(partition)


def _log_failure(error: Exception) -> None:
    _log.error("work on %s was not done", OFFSETS_TOPIC, exc_info=error)


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
