"""Deleting topics, from the mark to the last node: whom to ask, and what is done when all have answered.

The brokers of a marked topic delete their replicas in their own time; a dead one is waited for.
"""

from collections.abc import Mapping

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import BrokerId, TopicPartition
from odradek.metadata import paths
from odradek.metadata.controller.controlled_cluster import ControlledCluster
from odradek.metadata.controller.replica_states import ReplicaState, TopicDeletion
from odradek.metadata.controller.topic_deletion import removal_writes, replicas_of
from odradek.metadata.image import TopicDeleted
from odradek.metadata.store import Existence, Exists, Failed, Process, StoreRefused


class TopicDeletions:
    """The deletions under way."""

    def __init__(self, cluster: ControlledCluster) -> None:
        self._cluster = cluster
        # By topic: the same names as in `image.deleting`, but for one just marked.
        self._deletions: dict[str, TopicDeletion] = {}

    def start(self, name: str) -> None:
        """Begin to delete a topic that is marked; everyone forgets it now."""
        self._deletions[name] = TopicDeletion(replicas_of(self._cluster.image.topics[name]))
        self._cluster.messages.topic_gone(name)
        self._continue(name)

    def broker_gone(self, broker_id: BrokerId) -> None:
        """A broker died: what it was deleting waits for it."""
        for deletion in self._deletions.values():
            deletion.broker_gone(broker_id)

    def broker_came(self) -> None:
        """A broker came: ask it for what waited."""
        for name in self._deletions:
            self._continue(name)

    def answered(self, message_id: int, errors: Mapping[TopicPartition, ErrorCode]) -> Process[None]:
        """A broker answered a StopReplica: a replica without an error is deleted."""
        for replica in self._cluster.deleting_messages.pop(message_id, ()):
            deletion = self._deletions.get(replica.topic_partition.topic)
            if deletion is None or deletion.state_of(replica) is not ReplicaState.DELETION_STARTED:
                continue
            deleted = errors.get(replica.topic_partition, ErrorCode.NONE) is ErrorCode.NONE
            deletion.move(
                replica, ReplicaState.DELETION_SUCCESSFUL if deleted else ReplicaState.DELETION_INELIGIBLE
            )
        for name in [name for name, deletion in self._deletions.items() if deletion.is_done]:
            yield from self._finish(name)

    def _continue(self, name: str) -> None:
        partitions = self._cluster.image.topics[name].partitions
        for replica in self._deletions[name].start(self._cluster.image.brokers):
            state = partitions[replica.topic_partition.partition]
            self._cluster.messages.stop(replica, state, delete=True)

    def _finish(self, name: str) -> Process[None]:
        """All replicas are deleted: the topic's nodes go, its mark last, and its name is free."""
        config = yield Exists(paths.topic_config(name))
        if isinstance(config, Failed):
            raise StoreRefused(config)
        assert isinstance(config, Existence), config
        topic = self._cluster.image.topics[name]
        failed = yield from self._cluster.commit(removal_writes(topic, has_config=config.stat is not None))
        if failed is not None:
            raise StoreRefused(failed)
        del self._deletions[name]
        self._cluster.apply(TopicDeleted(name))
