"""Deleting topics, from the mark to the last node: StopReplica to the brokers, then the nodes' removal.

The brokers of a marked topic delete their replicas asynchronously; the deletion waits for a dead one.
"""

from collections.abc import Sequence
from itertools import islice
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Pace
from odradek.base.ids import BrokerId
from odradek.base.values import value
from odradek.metadata import paths
from odradek.metadata.controller.controlled_cluster import ControlledCluster
from odradek.metadata.controller.events import BrokerAnswered
from odradek.metadata.controller.replica_states import ReplicaState, TopicDeletion
from odradek.metadata.controller.topic_deletion import partition_removals, replicas_of, topic_removals
from odradek.metadata.image import TopicDeleted, TopicImage
from odradek.metadata.store import Existence, Exists, Failed, StoreRefused, StoreSteps, WriteOperation

TOPICS_PER_WRITE: Final = 20
"""Topics whose last nodes are removed together."""


class TopicDeletions:
    """The deletions under way."""

    def __init__(self, cluster: ControlledCluster) -> None:
        self._cluster = cluster
        # By topic: the same names as in `image.deleting`, but for one just marked.
        self._deletions: dict[str, TopicDeletion] = {}

    def is_under_way(self, name: str) -> bool:
        """Whether a topic will soon be deleted everywhere: no broker that holds it up is dead."""
        deletion = self._deletions.get(name)
        return deletion is not None and not deletion.is_held_up

    def start(self, name: str) -> StoreSteps[None]:
        """Begin to delete a topic that is marked; every broker removes it from its image now."""
        self._deletions[name] = TopicDeletion(replicas_of(self._cluster.image.topics[name]))
        self._cluster.orders.topic_gone(name)
        yield from self._continue(name)

    def broker_gone(self, broker_id: BrokerId) -> None:
        """A broker died: what it was deleting waits for it."""
        for deletion in self._deletions.values():
            deletion.broker_gone(broker_id)

    def broker_came(self) -> StoreSteps[None]:
        """A broker came: ask it for what waited."""
        for name in self._deletions:
            yield from self._continue(name)

    def answered(self, answered: BrokerAnswered) -> StoreSteps[None]:
        """A broker answered a StopReplica: a replica without an error is deleted."""
        touched: dict[str, TopicDeletion] = {}
        for replica in self._cluster.reports.take_deleting(answered.order_id):
            topic = replica.topic_partition.topic
            deletion = self._deletions.get(topic)
            if deletion is None or deletion.state_of(replica) is not ReplicaState.STARTED:
                continue
            error = answered.errors.get(replica.topic_partition, answered.error_code)
            deleted = error is ErrorCode.NONE
            deletion.move(replica, ReplicaState.DELETED if deleted else ReplicaState.HELD_UP)
            touched[topic] = deletion
        yield from self._finish([name for name, deletion in touched.items() if deletion.is_done])

    def _continue(self, name: str) -> StoreSteps[None]:
        partitions = self._cluster.image.topics[name].partitions
        pace = Pace()
        for replica in self._deletions[name].start(self._cluster.image.brokers):
            state = partitions[replica.topic_partition.partition]
            self._cluster.orders.stop(replica, state, delete=True)
            if pace.is_over():
                yield None

    def _finish(self, names: Sequence[str]) -> StoreSteps[None]:
        """All replicas of these topics are deleted: their nodes go, and the names are free.

        Small topics go together.
        """
        together: list[_Leaving] = []
        writes = 0
        for name in names:
            topic = self._cluster.image.topics[name]
            leaving = _Leaving(topic, (yield from self._remove_partitions(topic)))
            size = len(leaving.removals(has_config=True))
            is_full = len(together) == TOPICS_PER_WRITE or writes + size > self._cluster.writes.most
            if together and is_full:
                yield from self._remove_together(together)
                together, writes = [], 0
            together.append(leaving)
            writes += size
        if together:
            yield from self._remove_together(together)

    def _remove_partitions(self, topic: TopicImage) -> StoreSteps[list[WriteOperation]]:
        """Remove the nodes of most partitions of a wide topic, and return the removals still to be written.

        The topic's mark stays until its own nodes are deleted: a controller elected in between continues.
        """
        removals, most = iter(partition_removals(topic)), self._cluster.writes.most
        while pairs := list(islice(removals, most)):
            if len(pairs) + len(topic_removals(topic, has_config=True)) <= most:
                return pairs
            failed = yield from self._cluster.writes.commit(pairs)
            if failed is not None:
                raise StoreRefused(failed)
        return []

    def _remove_together(self, together: Sequence["_Leaving"]) -> StoreSteps[None]:
        """Remove what is left of these topics. Where that fails, one has no config node: each goes alone."""
        failed = yield from self._cluster.writes.commit(
            [removal for leaving in together for removal in leaving.removals(has_config=True)]
        )
        for leaving in together:
            if failed is not None:
                yield from self._remove_alone(leaving)
            del self._deletions[leaving.topic.name]
            self._cluster.apply(TopicDeleted(leaving.topic.name))

    def _remove_alone(self, leaving: "_Leaving") -> StoreSteps[None]:
        config = yield Exists(paths.topic_config(leaving.topic.name))
        if isinstance(config, Failed):
            raise StoreRefused(config)
        assert isinstance(config, Existence), config
        failed = yield from self._cluster.writes.commit(leaving.removals(has_config=config.stat is not None))
        if failed is not None:
            raise StoreRefused(failed)


@value
class _Leaving:
    """A topic of which only these nodes of partitions and its own are left."""

    topic: TopicImage
    pairs: Sequence[WriteOperation]

    def removals(self, *, has_config: bool) -> list[WriteOperation]:
        return [*self.pairs, *topic_removals(self.topic, has_config=has_config)]
