"""The group coordinator in its broker: its topic, its leaderships, its log.

Law: it joins parts. What members and offsets may do is the coordinator's to decide, who leads which partition
the controller's. The coordinator is made, and its code loaded, when the first request or leadership needs it:
that would be a good part of every start.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from odradek.base.settings import BrokerSettings
from odradek.base.topic_names import OFFSETS_TOPIC
from odradek.replication.role_changes import RoleChanges
from odradek.server.node.coordinator_log import CoordinatorLog
from odradek.server.node.internal_topic import InternalTopic, InternalTopicSpec
from odradek.timer import Purgatory

if TYPE_CHECKING:
    from odradek.coordinator.groups import GroupCoordinator
    from odradek.server.node.core import BrokerCore
    from odradek.server.node.image_topics import ImageTopics

GROUP_KEY_TYPE: Final = 0
"""FindCoordinator's number for groups."""


class GroupHost:
    """What a broker has of groups."""

    def __init__(self, core: "BrokerCore") -> None:
        self.topic = InternalTopic(core, _topic_spec(core.settings))
        """By which coordinators are found."""
        self._core = core
        self._made: tuple[GroupCoordinator, ImageTopics] | None = None
        core.coordinating_topics[GROUP_KEY_TYPE] = self.topic
        core.on_roles.append(self._on_roles)
        core.on_topics_gone.append(self._on_topics_gone)
        core.on_topics.append(self._on_topics)

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

        core, topics = self._core, ImageTopics(self._core.image)
        log = CoordinatorLog(core.replicas)
        coordinator = GroupCoordinator(
            Terms(
                core.clock,
                core.chance,
                core.settings,
                lambda: len(core.image.brokers),
                core.image.group_config,
            ),
            core.timer,
            log,
            log,
            partition_of=self.topic.partition_of,
            topics=topics,
            defer=core.defer,
        )
        return coordinator, topics

    # --- what nobody need be told of who has never had a group

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

    def _on_topics_gone(self, topics: Sequence[str]) -> None:
        if self._made is not None:
            self._made[0].forget_topics(topics)

    def _on_topics(self) -> None:
        """Topics came, went or grew."""
        if self._made is not None:
            coordinator, image_topics = self._made
            image_topics.version += 1
            coordinator.topics_changed()

    def _on_roles(self, changes: RoleChanges) -> None:
        """The controller gave partitions to this broker, or took them away."""
        for led in changes.leading:
            topic, partition = led.topic_partition
            if topic == OFFSETS_TOPIC:
                self.coordinator.lead(partition, led.state.leader_epoch)
        if self._made is None:
            return
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
