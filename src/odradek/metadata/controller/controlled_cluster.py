"""The state of one elected controller: the image, its fenced writes, and the messages that follow.

Every write is one atomic batch that begins with a check of the controller epoch: a controller that was
deposed without noticing changes nothing (Deposed). A partition's state is written only if its version is the
expected one, since leaders write their ISR there, too (R2); if another write came first, the controller reads
and decides again.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from odradek.base.errors import OdradekError
from odradek.base.ids import NO_BROKER, BrokerId, TopicPartition
from odradek.base.settings import TOPIC_SETTINGS
from odradek.metadata import codec, paths
from odradek.metadata.controller import election
from odradek.metadata.controller.broker_messages import BrokerMessages
from odradek.metadata.controller.decision import DecidedWrite, Put
from odradek.metadata.controller.events import Effect, ImageChanged, SendToBroker
from odradek.metadata.controller.pace import Pace
from odradek.metadata.controller.partition_states import assert_move, state_of
from odradek.metadata.controller.replica_states import Replica
from odradek.metadata.controller.topic_creation import new_partition
from odradek.metadata.image import BrokerGone, Change, ClusterImage, PartitionChanged, PartitionImage
from odradek.metadata.messages import StopReplica, size_of
from odradek.metadata.startup import load_states
from odradek.metadata.store import (
    Check,
    Create,
    Existence,
    Exists,
    Failed,
    Fault,
    Multi,
    SetData,
    StoreLimits,
    StoreRefused,
    StoreSteps,
    WriteOperation,
    ensure,
)

STATES_PER_WRITE_MAX = 100
STATE_BYTES_MAX = 2_048
"""More than a partition's state and its path take: a topic's name and 100 replicas."""
ATTEMPTS_MAX = 10

Successor: TypeAlias = Callable[[TopicPartition, PartitionImage], PartitionImage | None]
"""What a partition must become, or None for no change."""

_OUTCOME_UNKNOWN = (Fault.CONNECTION_LOSS, Fault.SESSION_EXPIRED, Fault.STORE_FAILED)

UNCLEAN_ELECTION: Final = "unclean.leader.election.enable"


class Deposed(OdradekError):
    """Another controller has raised the epoch: nothing was written."""


class ControlledCluster:
    """What all processes of one elected controller share."""

    def __init__(
        self,
        image: ClusterImage,
        epoch_version: int,
        effects: list[Effect],
        message_ids: Iterator[int],
        *,
        limits: StoreLimits,
        broker_id: BrokerId,
        unclean_by_default: bool,
    ) -> None:
        # The cluster as the store has it, but for what a process is just writing.
        self.image = image
        # The version of /controller_epoch that this controller wrote: the fence of all its writes.
        self._epoch_version = epoch_version
        self._limits = limits
        # Where effects go; the core takes them from there.
        self._effects = effects
        # Numbers for messages, never used twice in the life of the broker.
        self._message_ids = message_ids
        # The broker that this controller is part of: its settings hold for the whole cluster.
        self._broker_id = broker_id
        # Whether unclean elections are allowed where the store does not say.
        self._unclean_by_default = unclean_by_default
        # The messages to send to brokers at the end of this process; empty between processes.
        self.messages = BrokerMessages()
        # Live brokers that asked to stop: they are given no leadership. A subset of the image's brokers.
        self.stopping: dict[BrokerId, None] = {}
        # Replicas whose brokers are live and reported a failed disk.
        self.failed: dict[Replica, None] = {}
        # The replicas that a StopReplica not answered yet deletes, by message; each of one broker.
        self.deleting_messages: dict[int, tuple[Replica, ...]] = {}

    def online(self, named: TopicPartition) -> dict[BrokerId, None]:
        """The brokers whose replica of a partition may lead it, or leads it until it stops."""
        partition = self.image.partition(named)
        leader = NO_BROKER if partition is None else partition.leader
        return {
            broker_id: None
            for broker_id in self.image.brokers
            if (broker_id not in self.stopping or broker_id == leader)
            and Replica(named, broker_id) not in self.failed
        }

    def partitions(self) -> dict[TopicPartition, PartitionImage]:
        """All partitions of topics that are not being deleted; O(partitions)."""
        return {
            TopicPartition(topic.name, number): state
            for topic in self.image.live_topics()
            for number, state in topic.partitions.items()
        }

    def settle_all(self) -> StoreSteps[None]:
        """Give every partition the leader and ISR that the live brokers allow."""
        yield from self.rewrite(self.partitions(), self.settled)

    def settle_leaderless(self) -> StoreSteps[None]:
        """Give the partitions without a leader one, where it may be any replica that serves now."""
        leaderless = [named for named, state in self.partitions().items() if state.leader == NO_BROKER]
        yield from self.rewrite(leaderless, self.settled)

    def settled(self, named: TopicPartition, partition: PartitionImage) -> PartitionImage | None:
        """The `Successor` that `settle_all` writes."""
        online = self.online(named)
        return election.settle(partition, online, unclean=self.unclean_allowed(named.topic))

    def unclean_allowed(self, topic: str) -> bool:
        """Whether a replica out of sync may lead when no other is left."""
        image = self.image
        layers = (
            image.topic_config(topic),
            image.broker_config(self._broker_id),
            image.default_broker_config,
        )
        for overrides in layers:
            text = overrides.get(UNCLEAN_ELECTION)
            if text is not None:
                return bool(TOPIC_SETTINGS[UNCLEAN_ELECTION].parse(text))
        return self._unclean_by_default

    def rewrite(
        self, candidates: Iterable[TopicPartition], successor: Successor
    ) -> StoreSteps[list[TopicPartition]]:
        """Write what `successor` makes of each partition; returns those that changed.

        Where a leader's ISR write came first, the states are read and decided again, at most ATTEMPTS_MAX
        times; what still loses then stays as its leader wrote it.
        """
        changed: list[TopicPartition] = []
        pending = list(candidates)
        pace = Pace()
        for _ in range(ATTEMPTS_MAX):
            successors: list[tuple[TopicPartition, PartitionImage]] = []
            for named in pending:
                if pace.is_over():
                    yield None
                partition = self.image.partition(named)
                if partition is None or partition.state_version < 0:
                    continue
                after = successor(named, partition)
                if after is not None:
                    online = self.online(named)
                    assert_move(state_of(partition, online), state_of(after, online))
                    epoch = self.image.controller_epoch
                    successors.append((named, replace(after, controller_epoch=epoch)))
            pending = []
            states_max = min(STATES_PER_WRITE_MAX, self._limits.multi_operations_max - 1)
            states_max = min(states_max, self._limits.multi_bytes_max // STATE_BYTES_MAX)
            for begin in range(0, len(successors), states_max):
                chunk = successors[begin : begin + states_max]
                if (yield from self._write_states(chunk)):
                    changed.extend(named for named, _ in chunk)
                else:
                    pending.extend(named for named, _ in chunk)
            if not pending:
                break
            yield from self.refresh(pending)
        return changed

    def _write_states(self, states: Sequence[tuple[TopicPartition, PartitionImage]]) -> StoreSteps[bool]:
        """Write states all or none; False when a leader has written one of them meanwhile."""
        writes = tuple(
            SetData(
                paths.partition_state(*named),
                codec.encode_state(state, state.controller_epoch),
                state.state_version - 1,
            )
            for named, state in states
        )
        failed = yield from self.commit(writes)
        if failed is not None:
            if failed.fault not in (Fault.BAD_VERSION, Fault.NO_NODE):
                raise StoreRefused(failed)
            return False
        self.apply(*(PartitionChanged(*named, state) for named, state in states))
        for named, _ in states:
            self.messages.partition_changed(self.image, named)
        return True

    def refresh(self, partitions: Iterable[TopicPartition]) -> StoreSteps[None]:
        """Take the states of these partitions from the store, as far as they are known here."""
        known = {named: state for named in partitions if (state := self.image.partition(named)) is not None}
        found = yield from load_states(known)
        self.apply(
            *(PartitionChanged(*named, state) for named, state in found.items() if state != known[named])
        )

    def start_new_partitions(self) -> StoreSteps[None]:
        """Give a first state to partitions that are assigned and have none (new -> online)."""
        pace = Pace()
        for named, partition in self.partitions().items():
            if pace.is_over():
                yield None
            if partition.state_version >= 0 or not any(map(self.image.is_live, partition.replicas)):
                continue
            fresh = new_partition(self.image, partition.replicas)
            yield from ensure(paths.partitions(named.topic))
            yield from ensure(paths.partition(*named))
            state = Create(
                paths.partition_state(*named), codec.encode_state(fresh, self.image.controller_epoch)
            )
            if (yield from self.commit((state,))) is None:
                self.apply(PartitionChanged(*named, fresh))
                self.messages.partition_changed(self.image, named, is_new=True)

    def commit(
        self, writes: Sequence[DecidedWrite], *, expect_new: bool = False
    ) -> StoreSteps[Failed | None]:
        """Write all or nothing under the epoch's fence; the failure's index is that of the write.

        `expect_new` makes the nodes that are likely new without a look; it fails when one is there.

        Raises Deposed, and StoreRefused when it is unknown whether it was written.
        """
        resolved: list[WriteOperation] = [Check(paths.CONTROLLER_EPOCH, self._epoch_version)]
        for write in writes:
            if isinstance(write, Put) and expect_new and write.is_likely_new:
                write = Create(write.path, write.data)
            elif isinstance(write, Put):
                write = yield from _resolved(write)
            resolved.append(write)
        result = yield Multi(tuple(resolved))
        if not isinstance(result, Failed):
            return None
        if result.fault in _OUTCOME_UNKNOWN:
            raise StoreRefused(result)
        if result.path == paths.CONTROLLER_EPOCH:
            raise Deposed(f"the controller epoch is above {self.image.controller_epoch}")
        return replace(result, index=result.index - 1)

    def apply(self, *changes: Change) -> None:
        """Apply changes to the image, and add the effect ImageChanged."""
        if changes:
            self.image.apply_all(changes)
            self._effects.append(ImageChanged(changes))

    def tell_everything(self, broker_id: BrokerId) -> StoreSteps[None]:
        """Note the whole state for the new broker, and the new broker for all others."""
        self.messages.broker_joins(broker_id)
        pace = Pace()
        for topic in list(self.image.live_topics()):
            for number in topic.partitions:
                self.messages.broker_came(self.image, broker_id, TopicPartition(topic.name, number))
                if pace.is_over():
                    yield None
        self.messages.brokers_changed()

    def flush(self) -> StoreSteps[None]:
        """End a process: send the messages to brokers."""
        pace = Pace()
        for broker_id, message in self.messages.take(self.image):
            message_id = next(self._message_ids)
            if isinstance(message, StopReplica):
                deleting = tuple(
                    Replica(stopped.topic_partition, broker_id)
                    for stopped in message.partitions
                    if stopped.delete
                )
                if deleting:
                    self.deleting_messages[message_id] = deleting
            self._effects.append(SendToBroker(broker_id, message_id, message))
            if pace.is_over(size_of(message)):
                yield None

    def forget_broker(self, broker_id: BrokerId) -> None:
        """A broker is gone: with it what it was asked, and what is known of its disks."""
        self.apply(BrokerGone(broker_id))
        self.stopping.pop(broker_id, None)
        for replica in [replica for replica in self.failed if replica.broker_id == broker_id]:
            del self.failed[replica]
        for message_id, replicas in list(self.deleting_messages.items()):
            if replicas[0].broker_id == broker_id:
                del self.deleting_messages[message_id]


def _resolved(put: Put) -> StoreSteps[WriteOperation]:
    existence = yield Exists(put.path)
    if isinstance(existence, Failed):
        raise StoreRefused(existence)
    assert isinstance(existence, Existence), existence
    return Create(put.path, put.data) if existence.stat is None else SetData(put.path, put.data)
