"""The cluster as its metadata store describes it, and the logs as the brokers hold them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from odradek.base.ids import NO_BROKER, BrokerId, Offset, TopicId, TopicPartition
from odradek.client.fetched_batches import whole_batches
from odradek.metadata import codec, paths
from odradek.metadata.codec import StateDocument, TopicDocument
from odradek.storage import Log
from odradek.storage.positions import LogPosition

if TYPE_CHECKING:
    from odradek.testing.sim.node import SimNode
    from odradek.testing.sim.world import World

READ_BYTES: Final = 1 << 20


class StoredCluster:
    """Reads a world's metadata store."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._table = world.store.table

    @property
    def version(self) -> int:
        """Changes whenever the store does."""
        return self._table.last_transaction

    def controller(self) -> BrokerId | None:
        """The broker that is the controller."""
        node = self._table.get(paths.CONTROLLER)
        return None if node is None else codec.decode_controller(node.data)

    def brokers(self) -> list[BrokerId]:
        """The brokers that are registered."""
        return sorted(map(int, self._table.child_names(paths.BROKER_IDS)))

    def topics(self) -> dict[str, TopicDocument]:
        """The topics that are not being deleted, by name."""
        deleted = self._table.child_names(paths.DELETE_TOPICS)
        names = [name for name in self._table.child_names(paths.TOPICS) if name not in deleted]
        return {
            name: codec.decode_topic(node.data)
            for name in names
            if (node := self._table.get(paths.topic(name))) is not None
        }

    def topic_id(self, topic: str) -> TopicId | None:
        """The id of a topic; None if there is no such topic."""
        node = self._table.get(paths.topic(topic))
        return None if node is None else codec.decode_topic(node.data).topic_id

    def partitions(self) -> dict[TopicPartition, tuple[BrokerId, ...]]:
        """The brokers to which each partition is assigned, preferred leader first."""
        return {
            TopicPartition(name, number): document.assignment[number]
            for name, document in self.topics().items()
            for number in sorted(document.assignment)
        }

    def state(self, partition: TopicPartition) -> StateDocument | None:
        """Leader, epoch and ISR of a partition; None before the controller has written them."""
        node = self._table.get(paths.partition_state(partition.topic, partition.partition))
        return None if node is None else codec.decode_state(node.data)

    def leader(self, partition: TopicPartition) -> SimNode | None:
        """The broker that leads a partition, if it serves and knows that it leads."""
        state = self.state(partition)
        node = None if state is None or state.leader == NO_BROKER else self._world.nodes.get(state.leader)
        if state is None or node is None or not node.is_serving:
            return None
        hosted = node.core.replicas.partition(partition)
        leads = hosted is not None and hosted.leadership is not None
        return node if leads and hosted is not None and hosted.leader_epoch == state.leader_epoch else None


def batches(log: Log, start: Offset, bound: LogPosition) -> Iterator[bytes]:
    """The batches of a log from the one that holds `start`, below `bound`."""
    position = start
    while position < bound.offset:
        data = log.read(position, READ_BYTES, bound, at_least_one=True).held_records
        for begin, header in whole_batches(data):
            yield bytes(data[begin : begin + header.size_bytes])
            position = header.next_offset
