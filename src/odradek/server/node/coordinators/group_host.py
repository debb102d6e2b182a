"""The host of the group coordinator in its broker, and the events that the broker reports to it."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from odradek.base.execution import Slices
from odradek.base.ids import Offset, TopicPartition
from odradek.base.settings import BrokerSettings
from odradek.base.topic_names import OFFSETS_TOPIC
from odradek.replication.replica_manager import ReplicaManager
from odradek.server.edge.complaints import Complaints
from odradek.server.node.coordinators.coordinator_host import CoordinatorHost
from odradek.server.node.coordinators.coordinator_log import CoordinatorLog
from odradek.server.node.coordinators.internal_topic import InternalTopicSpec, TopicMaking
from odradek.server.node.ports import Surroundings
from odradek.timer import Purgatory

if TYPE_CHECKING:
    from odradek.coordinator.groups import GroupCoordinator
    from odradek.server.node.coordinators.image_topics import ImageTopics

_log = logging.getLogger(__name__)

GROUP_KEY_TYPE: Final = 0
"""FindCoordinator's number for groups."""


class GroupHost(CoordinatorHost["GroupCoordinator"]):
    """The group coordinator of one broker, if it was needed, and what the coordinator needs."""

    def __init__(
        self,
        surroundings: Surroundings,
        making: TopicMaking,
        replicas: ReplicaManager,
        settings: Callable[[], BrokerSettings],
        slices: Slices,
    ) -> None:
        super().__init__(
            _topic_spec(settings()),
            surroundings,
            making,
            replicas,
            settings,
            slices,
            last_module="odradek.coordinator.groups.group_coordinator",
        )
        self._rebalances = Complaints(
            _log, surroundings.clock, "%d more rebalances of groups were not logged", level=logging.INFO
        )
        self._image_topics: ImageTopics | None = None
        """The coordinator's view of the topics; created with the coordinator."""

    def _make(self, log: CoordinatorLog) -> "GroupCoordinator":
        from odradek.coordinator.classic import Terms
        from odradek.coordinator.groups import GroupCoordinator
        from odradek.server.node.coordinators.image_topics import ImageTopics

        outside, image = self._surroundings, self._image
        self._image_topics = ImageTopics(image)
        return GroupCoordinator(
            Terms(
                outside.clock,
                outside.chance,
                self._settings,
                lambda: len(image.brokers),
                image.group_config,
                self._on_rebalanced,
            ),
            outside.timer,
            log,
            log,
            partition_of=self.topic.partition_of,
            topics=self._image_topics,
            defer=outside.defer,
            run_steps=self._run_steps,
        )

    def _on_rebalanced(self, group_id: str, generation: int, members: int) -> None:
        self._rebalances.say(
            "the group %r is rebalanced: generation %d, members: %d",
            group_id,
            generation,
            members,
            fields={"group": group_id, "generation": generation, "members": members},
        )

    # --- no effect in a broker that never had a group

    def purgatories(self) -> tuple[Purgatory[Any], ...]:
        """The purgatories in which members wait."""
        return () if self._made is None else self._made.purgatories.all()

    def describe(self) -> Iterator[Mapping[str, Any]]:
        """Describe every group that this broker coordinates, with what the group waits for."""
        return iter(()) if self._made is None else self._made.describe()

    def committed(self) -> Iterable[tuple[str, TopicPartition, Offset]]:
        """Every committed offset of the groups coordinated here, with its group."""
        return () if self._made is None else self._made.committed()

    def expire_member(self, group_id: str, member_id: str) -> bool:
        """End a member's session now, as if it had timed out; False if the member has no session here."""
        return self._made is not None and self._made.expire_member(group_id, member_id)

    def expire_offsets(self) -> None:
        """Delete offsets whose retention time is over."""
        if self._made is not None:
            self._made.expire_offsets()

    def resign_all(self) -> None:
        """The broker stops: resign all groups, so that members look for the next coordinator."""
        if self._made is not None:
            self._made.resign_all()

    def on_topics_gone(self, topics: Sequence[str]) -> None:
        """Called with the names of topics that were deleted."""
        if self._made is not None:
            self._made.forget_topics(topics)

    def on_topics(self) -> None:
        """Called when topics were created or deleted, or got more partitions."""
        if self._image_topics is not None:
            self._image_topics.version += 1


def _topic_spec(settings: BrokerSettings) -> InternalTopicSpec:
    return InternalTopicSpec(
        OFFSETS_TOPIC,
        settings.offsets_topic_num_partitions,
        settings.offsets_topic_replication_factor,
        "offsets.topic.replication.factor",
        {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(settings.offsets_topic_segment_bytes),
        },
    )
