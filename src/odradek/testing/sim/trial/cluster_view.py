"""The cluster of a trial as it truly is, seen from outside: the store's content, the nodes, their disks.

No broker sees all of this. Mishaps choose their victims by it, and checkers compare with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from odradek.base.ids import NO_BROKER, BrokerId, TopicPartition
from odradek.metadata.codec import StateDocument
from odradek.replication import Partition
from odradek.testing.sim.node import SimNode
from odradek.testing.sim.stored import StoredCluster
from odradek.testing.sim.trial.history import Place
from odradek.testing.sim.world import World

StatedPartition: TypeAlias = tuple[Place, tuple[BrokerId, ...], StateDocument]


class ClusterView(StoredCluster):
    """Reads a world: its store, and its nodes."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        # Looked up again and again; each by the partition of one life of a broker.
        self._places: dict[Partition, Place] = {}
        # What `states` returns, and the version of the store in which it is that.
        self._states: tuple[int, Sequence[StatedPartition]] = (-1, ())

    def states(self) -> Sequence[StatedPartition]:
        """Every partition that has a state, under deletion or not: its replicas, and the state."""
        version, found = self._states
        if version != self.version:
            found = tuple(self._read_states())
            self._states = self.version, found
        return found

    def _read_states(self) -> Iterator[StatedPartition]:
        for name, document in self.all_topics().items():
            for number, replicas in document.assignment.items():
                state = self.state(TopicPartition(name, number))
                if state is not None:
                    yield Place(name, document.topic_id, number), replicas, state

    # --- the nodes

    def living(self) -> list[SimNode]:
        """The nodes whose process lives, in the order of their ids."""
        return [node for node in self.world.nodes.values() if node.is_alive]

    def hosted(self) -> Iterator[tuple[SimNode, Partition]]:
        """Every partition of every living node that has opened its logs."""
        for node in self.living():
            if node.has_opened:
                for partition in node.core.replicas.partitions():
                    yield node, partition

    def place_of(self, partition: Partition) -> Place:
        """The name under which histories know a hosted partition."""
        place = self._places.get(partition)
        if place is None or place.topic_id != partition.topic_id:
            topic, number = partition.topic_partition
            place = self._places[partition] = Place(topic, partition.topic_id, number)
        return place

    def leaders(self) -> list[BrokerId]:
        """The brokers that the store names as leaders of something, the one of most partitions first."""
        counts: dict[BrokerId, int] = {}
        for _, _, state in self.states():
            if state.leader != NO_BROKER:
                counts[state.leader] = counts.get(state.leader, 0) + 1
        return sorted(counts, key=lambda broker_id: (-counts[broker_id], broker_id))
