"""What a world holds, seen from outside: the cluster as its metadata store describes it, and the logs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from odradek.base.ids import NO_BROKER, BrokerId, Offset, TopicPartition
from odradek.metadata import codec, paths
from odradek.metadata.codec import StateDocument, TopicDocument
from odradek.metadata.tree import StoredNode
from odradek.records.header import iter_headers
from odradek.replication import ReplicatedLog

if TYPE_CHECKING:
    from odradek.testing.sim.node import SimNode
    from odradek.testing.sim.world import World

T = TypeVar("T")

READ_BYTES: Final = 1 << 20


class StoredCluster:
    """Reads a world's metadata store; a document is decoded once as long as it does not change."""

    def __init__(self, world: World) -> None:
        self.world = world
        # What was decoded last, by path, with the node that it was decoded from.
        self._decoded: dict[str, tuple[StoredNode, Any]] = {}
        # All topics, and the version of the store in which they are these.
        self._topics: tuple[int, dict[str, TopicDocument]] = (-1, {})

    @property
    def version(self) -> int:
        """Changes whenever the store does."""
        return self.world.store.table.last_transaction

    def controller(self) -> BrokerId:
        """The broker that is the controller; -1 for none."""
        found = self._read(paths.CONTROLLER, codec.decode_controller)
        return NO_BROKER if found is None else found

    def registered(self) -> list[BrokerId]:
        """The brokers that are registered, in the order of their ids."""
        return sorted(map(int, self.world.store.table.child_names(paths.BROKER_IDS)))

    def all_topics(self) -> dict[str, TopicDocument]:
        """Every topic by name, those under deletion included; to be read only."""
        version, found = self._topics
        if version == self.version:
            return found
        found = {}
        for name in self.world.store.table.child_names(paths.TOPICS):
            document = self._read(paths.topic(name), codec.decode_topic)
            assert document is not None, "a child exists"
            found[name] = document
        self._topics = self.version, found
        return found

    def under_deletion(self) -> tuple[str, ...]:
        """The topics whose deletion has begun and not ended."""
        return self.world.store.table.child_names(paths.DELETE_TOPICS)

    def topics(self) -> dict[str, TopicDocument]:
        """The topics that are not under deletion, by name."""
        deleted = self.under_deletion()
        return {name: document for name, document in self.all_topics().items() if name not in deleted}

    def partitions(self) -> dict[TopicPartition, tuple[BrokerId, ...]]:
        """The brokers to which each partition of `topics` is assigned, preferred leader first."""
        return {
            TopicPartition(name, number): document.assignment[number]
            for name, document in self.topics().items()
            for number in sorted(document.assignment)
        }

    def state(self, partition: TopicPartition) -> StateDocument | None:
        """Leader, epoch and ISR of a partition; None before the controller has written them."""
        return self._read(paths.partition_state(*partition), codec.decode_state)

    def leader(self, partition: TopicPartition) -> SimNode | None:
        """The broker that leads a partition, if it serves and knows that it leads."""
        state = self.state(partition)
        node = None if state is None or state.leader == NO_BROKER else self.world.nodes.get(state.leader)
        if state is None or node is None or not node.is_serving:
            return None
        hosted = node.core.replicas.partition(partition)
        leads = hosted is not None and hosted.leadership is not None
        return node if leads and hosted is not None and hosted.leader_epoch == state.leader_epoch else None

    def _read(self, path: str, decode: Callable[[bytes], T]) -> T | None:
        """What a node of the store holds."""
        node = self.world.store.table.get(path)
        if node is None:
            return None
        found = self._decoded.get(path)
        if found is None or found[0] is not node:
            found = self._decoded[path] = node, decode(node.data)
        return cast(T, found[1])


def content_of(log: ReplicatedLog, below: Offset) -> bytes:
    """The bytes of a log below an offset, which is the end of a batch."""
    return b"".join(batches(log, log.log_start_offset, below))


def batches(log: ReplicatedLog, start: Offset, below: Offset) -> Iterator[bytes]:
    """The batches of a log from the one that holds `start`, below an offset, which is the end of a batch."""
    bound = log.position_of(below)
    position = start
    while position < below:
        data = log.read(position, READ_BYTES, bound, at_least_one=True).held_records
        if not len(data) and "compact" in log.config.cleanup_policy:
            return  # what was last is cleaned away
        assert len(data), f"a log with the end {below} has nothing at {position}"
        for begin, header in iter_headers(data):
            yield bytes(data[begin : begin + header.size_bytes])
            position = header.next_offset
