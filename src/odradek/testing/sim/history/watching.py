"""Reads what the brokers and the metadata store of a world hold now, as values.

Invariant: nothing here changes state or draws from the seed. A broker's memory is read only while it lives
and its logs are open; what its disk has afterwards shows when it opens its logs again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from odradek.base.ids import NO_BROKER, NO_EPOCH, BrokerId, LeaderEpoch, Offset, TopicId, TopicPartition
from odradek.metadata import codec, paths
from odradek.metadata.memory import MemoryTable
from odradek.replication.partition import Partition
from odradek.server.node import stages
from odradek.server.node.core import BrokerCore
from odradek.storage import Log
from odradek.testing.sim.history.cluster_state import BrokerState, Phase, ReplicaState, Role, StoredState

if TYPE_CHECKING:
    from odradek.testing.sim.node import SimNode

_STOPPING: Final = (
    stages.HandOver,
    stages.RefuseClients,
    stages.AwaitClients,
    stages.EndCompaction,
    stages.RefuseBrokers,
    stages.AwaitWork,
    stages.CloseLogs,
)
DESCRIBED_MAX: Final = 3
"""The largest number of waiting requests of a partition that are described."""


def broker_state(node: SimNode) -> BrokerState:
    """What a broker's process does."""
    if node.is_over:
        return BrokerState()
    stage = node.stage
    if node.is_paused:
        phase = Phase.PAUSED
    elif stage is None:
        phase = Phase.SERVING
    else:
        phase = Phase.STOPPING if isinstance(stage, _STOPPING) else Phase.STARTING
    return BrokerState(phase, node.has_opened and node.core.controller.is_active)


class ReplicaWatch:
    """The replicas of one life of a broker: which of them have changed since the last call."""

    def __init__(self, node: SimNode, *, internal_topics: bool) -> None:
        self.node = node
        self._internal_topics = internal_topics
        # What a state is made from, cheap to compare, and how often the log was truncated.
        self._seen: dict[TopicPartition, tuple[Any, ...]] = {}

    def changed(self) -> Iterator[tuple[TopicPartition, ReplicaState | None, bool]]:
        """Each replica that has changed, its state (None: it is gone), and whether it was truncated."""
        core = self.node.core
        present = 0
        for log in core.logs.logs():
            name = log.topic_partition
            if name.topic.startswith("__") and not self._internal_topics:
                continue
            present += 1
            partition = core.replicas.partition(name)
            key = _key(core, log, partition)
            before = self._seen.get(name)
            if key != before:
                self._seen[name] = key
                is_truncated = before is not None and before[_TRUNCATIONS] != key[_TRUNCATIONS]
                yield name, _state(core, log, partition), is_truncated
        if present != len(self._seen):
            here = {log.topic_partition for log in core.logs.logs()}
            for name in [one for one in self._seen if one not in here]:
                del self._seen[name]
                yield name, None, False

    def missing(self, known: Iterable[tuple[BrokerId, TopicPartition]]) -> list[TopicPartition]:
        """The replicas of this broker among the known ones that are not here."""
        broker_id = self.node.broker_id
        return [name for broker, name in known if broker == broker_id and name not in self._seen]

    def waits_for(self, topic_partition: TopicPartition) -> str:
        """What the produce requests wait for that wait for this partition."""
        waiting = self.node.core.replicas.purgatories.produce.describe()
        found = [
            one.waits_for.removeprefix(f"{topic_partition}: ")
            for one in waiting
            if topic_partition in one.keys
        ]
        return "; ".join(found[:DESCRIBED_MAX])


_TRUNCATIONS: Final = 0


def _key(core: BrokerCore, log: Log, partition: Partition | None) -> tuple[Any, ...]:
    name, purgatories = log.topic_partition, core.replicas.purgatories
    followed = core.fetchers.manager.partition(name)
    role: tuple[Any, ...] = ()
    if partition is not None:
        leadership = partition.leadership
        isr = None if leadership is None else leadership.isr
        role = partition.leader_epoch, partition.leader_id, isr
    return (
        log.truncations,
        log.end_offset,
        log.high_watermark.offset,
        log.log_start_offset,
        log.latest_epoch,
        role,
        None if followed is None else followed.state,
        purgatories.produce.open_count_of(name),
        purgatories.fetch.open_count_of(name),
    )


def _state(core: BrokerCore, log: Log, partition: Partition | None) -> ReplicaState:
    name, purgatories = log.topic_partition, core.replicas.purgatories
    followed = core.fetchers.manager.partition(name)
    if partition is None or partition.leader_epoch == NO_EPOCH:
        role = Role.NONE
    else:
        role = Role.FOLLOWER if partition.leadership is None else Role.LEADER
    return ReplicaState(
        role=role,
        leader=NO_BROKER if partition is None else partition.leader_id,
        epoch=NO_EPOCH if partition is None else partition.leader_epoch,
        isr=() if partition is None or partition.leadership is None else partition.leadership.isr,
        fetcher="" if followed is None else followed.state.value,
        log_start=log.log_start_offset,
        high_watermark=log.high_watermark.offset,
        end=log.end_offset,
        epochs=tuple(_epochs(log)),
        produces=purgatories.produce.open_count_of(name),
        fetches=purgatories.fetch.open_count_of(name),
    )


def _epochs(log: Log) -> Iterator[tuple[LeaderEpoch, Offset]]:
    """The leader epochs of the log's records, each with its first offset."""
    offset = log.log_start_offset
    while offset < log.end_offset:
        epoch = log.epoch_of(offset)
        yield epoch, offset
        end = log.end_offset_for_epoch(epoch)
        if end.end_offset <= offset:
            return
        offset = end.end_offset


class StoreWatch:
    """The metadata store: what has changed since the last call."""

    def __init__(self, table: MemoryTable) -> None:
        self.names: dict[TopicId, str] = {}
        """The names of all topics that ever were, by their ids."""
        self._table = table
        self._writes = -1
        # The data of each partition's state.
        self._states: dict[TopicPartition, bytes] = {}
        self._topics: dict[str, bytes] = {}

    def has_changed(self) -> bool:
        """Whether anything was written since the last call."""
        before, self._writes = self._writes, self._table.writes
        return before != self._writes

    def controller(self) -> tuple[BrokerId, int]:
        """The controller, or -1, and the controller epoch."""
        holder, epoch = self._table.get(paths.CONTROLLER), self._table.get(paths.CONTROLLER_EPOCH)
        return (
            NO_BROKER if holder is None else codec.decode_controller(holder.data),
            NO_EPOCH if epoch is None else codec.decode_controller_epoch(epoch.data),
        )

    def registered(self) -> dict[BrokerId, int]:
        """The brokers that are registered, with their epochs."""
        found = {}
        for name in self._table.child_names(paths.BROKER_IDS):
            node = self._table.get(f"{paths.BROKER_IDS}/{name}")
            assert node is not None
            found[int(name)] = node.stat.created_at
        return found

    def changed_states(self) -> Iterator[tuple[TopicPartition, StoredState | None]]:
        """The partitions whose state was written or deleted."""
        present: dict[TopicPartition, None] = {}
        for topic in self._table.child_names(paths.TOPICS):
            self._learn_name(topic)
            for number in self._table.child_names(paths.partitions(topic)):
                name = TopicPartition(topic, int(number))
                node = self._table.get(paths.partition_state(*name))
                if node is None:
                    continue
                present[name] = None
                if self._states.get(name) != node.data:
                    self._states[name] = node.data
                    state = codec.decode_state(node.data)
                    yield (
                        name,
                        StoredState(state.leader, state.leader_epoch, state.isr, state.controller_epoch),
                    )
        for name in [one for one in self._states if one not in present]:
            del self._states[name]
            yield name, None

    def _learn_name(self, topic: str) -> None:
        node = self._table.get(paths.topic(topic))
        if node is not None and self._topics.get(topic) != node.data:
            self._topics[topic] = node.data
            self.names[codec.decode_topic(node.data).topic_id] = topic
