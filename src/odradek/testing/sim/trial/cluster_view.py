"""The cluster of a trial as it truly is, seen from outside: the store's content, the nodes, their disks.

No broker sees all of this. Mishaps choose their victims by it, and checkers compare with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

from odradek.base.ids import NO_BROKER, BrokerId, TopicPartition
from odradek.metadata import codec, paths
from odradek.metadata.codec import StateDocument, TopicDocument
from odradek.metadata.tree import StoredNode
from odradek.replication import Partition
from odradek.testing.sim.node import SimNode
from odradek.testing.sim.trial.history import Place
from odradek.testing.sim.world import World

T = TypeVar("T")


class ClusterView:
    """Reads a world."""

    def __init__(self, world: World) -> None:
        self.world = world
        # What was decoded last, by path, with the node that it was decoded from.
        self._decoded: dict[str, tuple[StoredNode, Any]] = {}

    def _read(self, path: str, decode: Callable[[bytes], T]) -> T | None:
        """What a node holds; decoded once as long as it does not change."""
        node = self.world.store.table.get(path)
        if node is None:
            return None
        found = self._decoded.get(path)
        if found is None or found[0] is not node:
            found = self._decoded[path] = node, decode(node.data)
        return cast(T, found[1])

    # --- the store

    def topics(self) -> dict[str, TopicDocument]:
        """Every topic in the store, those under deletion included."""
        found = {}
        for name in self.world.store.table.child_names(paths.TOPICS):
            document = self._read(paths.topic(name), codec.decode_topic)
            assert document is not None, "a child exists"
            found[name] = document
        return found

    def state(self, topic_partition: TopicPartition) -> StateDocument | None:
        """A partition's state in the store; None before its first one."""
        return self._read(paths.partition_state(*topic_partition), codec.decode_state)

    def states(self) -> Iterator[tuple[Place, tuple[BrokerId, ...], StateDocument]]:
        """Every partition that has a state: its replicas, and the state."""
        for name, document in self.topics().items():
            for number, replicas in document.assignment.items():
                state = self.state(TopicPartition(name, number))
                if state is not None:
                    yield Place(name, document.topic_id, number), replicas, state

    def registered(self) -> list[BrokerId]:
        """The brokers that are registered in the store."""
        return [int(name) for name in self.world.store.table.child_names(paths.BROKER_IDS)]

    def controller(self) -> BrokerId:
        """The broker that the store names as the controller; -1 for none."""
        found = self._read(paths.CONTROLLER, codec.decode_controller)
        return NO_BROKER if found is None else found

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

    def leaders(self) -> list[BrokerId]:
        """The brokers that the store names as leaders of something, the one of most partitions first."""
        counts: dict[BrokerId, int] = {}
        for _, _, state in self.states():
            if state.leader != NO_BROKER:
                counts[state.leader] = counts.get(state.leader, 0) + 1
        return sorted(counts, key=lambda broker_id: (-counts[broker_id], broker_id))
