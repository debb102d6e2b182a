"""The state of one elected controller: the image, how partitions change in it, the orders that follow.

A partition's state is written only if its version is the expected one, since leaders write their ISR there,
too (R2); if another write came first, the controller reads and decides again.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from odradek.base.execution import ITEMS_PER_STEP, Pace, stepwise
from odradek.base.ids import NO_BROKER, BrokerId, TopicPartition
from odradek.metadata import codec, paths
from odradek.metadata.controller import election
from odradek.metadata.controller.events import Effect, ElectedUncleanly, ImageChanged, SendToBroker
from odradek.metadata.controller.fenced_writes import CHANGED_BY_ANOTHER, FencedWrites
from odradek.metadata.controller.pending_orders import PendingOrders
from odradek.metadata.controller.replica_reports import ReplicaReports
from odradek.metadata.controller.replica_states import Replica
from odradek.metadata.controller.settings_of_topics import SettingsOfTopics
from odradek.metadata.controller.topic_creation import new_partition
from odradek.metadata.image import BrokerGone, Change, ClusterImage, PartitionChanged, PartitionImage
from odradek.metadata.orders import LogEnd, StopReplica, size_of
from odradek.metadata.startup import load_states
from odradek.metadata.store import (
    ATTEMPTS_MAX,
    Create,
    SetData,
    StoreRefused,
    StoreSteps,
    ensure,
)

STATES_PER_WRITE_MAX = 100
ASSIGNED_PER_STATE: Final = 40
"""How many partitions of a topic's node take the room of one state."""

Successor: TypeAlias = Callable[[TopicPartition, PartitionImage], PartitionImage | None]
"""What a partition must become, or None for no change."""


class ControlledCluster:
    """What all processes of one elected controller share."""

    def __init__(
        self,
        image: ClusterImage,
        writes: FencedWrites,
        settings: SettingsOfTopics,
        effects: list[Effect],
        order_ids: Iterator[int],
    ) -> None:
        # The cluster as the store has it, but for what a process is just writing.
        self.image = image
        self.writes = writes
        self.settings = settings
        # Where effects go; the core takes them from there.
        self._effects = effects
        # Numbers for orders, never used twice in the life of the broker.
        self._order_ids = order_ids
        # The orders to send to brokers at the end of this process; empty between processes.
        self.orders = PendingOrders()
        # What brokers have said of their replicas.
        self.reports = ReplicaReports()

    def online(self, named: TopicPartition) -> dict[BrokerId, None]:
        """The brokers whose replica of a partition may lead it, or leads it until it stops."""
        stopping, reports = self.image.stopping, self.reports
        if not stopping and not reports.have_failures:
            return dict.fromkeys(self.image.brokers)
        partition = self.image.partition(named)
        leader = NO_BROKER if partition is None else partition.leader
        return {
            broker_id: None
            for broker_id in self.image.brokers
            if (broker_id not in stopping or broker_id == leader)
            and not (reports.have_failures and reports.has_failed(Replica(named, broker_id)))
        }

    def partitions(
        self, is_wanted: Callable[[PartitionImage], bool] = lambda state: True
    ) -> StoreSteps[list[TopicPartition]]:
        """The partitions of topics that are not being deleted, those with a state that is wanted."""
        found: list[TopicPartition] = []
        pace = Pace()
        for name in self.image.live_names():
            for number, state in self.image.topics[name].partitions.items():
                if is_wanted(state):
                    found.append(TopicPartition(name, number))
                if pace.is_over():
                    yield None
        return found

    def settle_all(self) -> StoreSteps[None]:
        """Give every partition the leader and ISR that the live brokers allow."""
        yield from self.rewrite((yield from self.partitions()), self.settled)

    def settle_abandoned(self) -> StoreSteps[None]:
        """Give the partitions that brokers led which are gone the leader that the live brokers allow."""
        abandoned = yield from self.partitions(lambda state: not self._is_led(state))
        yield from self.rewrite(abandoned, self.settled)

    def _is_led(self, state: PartitionImage) -> bool:
        return state.leader == NO_BROKER or state.leader in self.image.brokers

    def settle_leaderless(self) -> StoreSteps[None]:
        """Give the partitions without a leader one, where it may be any replica that serves now."""
        leaderless = yield from self.partitions(lambda state: state.leader == NO_BROKER)
        yield from self.rewrite(leaderless, self.settled)

    def settled(self, named: TopicPartition, partition: PartitionImage) -> PartitionImage | None:
        """The `Successor` that `settle_all` writes."""
        ends = self.log_ends(named, partition) if self.settings.allows_unclean(named.topic) else None
        return election.settle(partition, self.online(named), self.settings.min_isr(named, partition), ends)

    def distrusted(self, broker_id: BrokerId) -> Successor:
        """The `Successor` of partitions of which a broker has no log that can be used (R15)."""

        def successor(named: TopicPartition, partition: PartitionImage) -> PartitionImage | None:
            after = election.distrust(partition, broker_id) or partition
            after = self.settled(named, after) or after
            if after is partition:
                return None
            return replace(after, state_version=partition.state_version + 1)

        return successor

    def note_log_ends(
        self, broker_id: BrokerId, ends: Mapping[TopicPartition, LogEnd]
    ) -> list[TopicPartition]:
        """Take what a live broker says of its logs; returns the partitions that have no leader still."""
        leaderless: list[TopicPartition] = []
        for named, end in ends.items():
            partition = self.image.partition(named)
            if partition is None or partition.leader != NO_BROKER:
                continue
            if end.leader_epoch == partition.leader_epoch:
                self.reports.note_log_end(Replica(named, broker_id), end)
                leaderless.append(named)
        return leaderless

    def log_ends(self, named: TopicPartition, partition: PartitionImage) -> dict[BrokerId, LogEnd]:
        """Where the replicas' logs end, as far as it was said under the partition's leader epoch."""
        found = {replica: self.reports.log_end(Replica(named, replica)) for replica in partition.replicas}
        return {
            replica: end
            for replica, end in found.items()
            if end is not None and end.leader_epoch == partition.leader_epoch
        }

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
                    _check_succession(named, partition, after)
                    epoch = self.image.controller_epoch
                    successors.append((named, replace(after, controller_epoch=epoch)))
            pending = []
            for chunk in self._fitting(successors):
                if (yield from self._write_states(chunk)):
                    changed.extend(named for named, _ in chunk)
                else:
                    pending.extend(named for named, _ in chunk)
            if not pending:
                break
            yield from self.refresh(pending)
        return changed

    def _fitting(
        self, successors: Iterable[tuple[TopicPartition, PartitionImage]]
    ) -> Iterator[list[tuple[TopicPartition, PartitionImage]]]:
        """The successors in chunks that fit into a write each, with the nodes of the topics they reassign."""
        most = min(STATES_PER_WRITE_MAX, self.writes.most)
        chunk: list[tuple[TopicPartition, PartitionImage]] = []
        reassigned: set[str] = set()
        size = 0
        for named, state in successors:
            cost = 1
            if named.topic not in reassigned and self._is_reassigned(named, state):
                cost += 1 + len(self.image.topics[named.topic].partitions) // ASSIGNED_PER_STATE
            if chunk and size + cost > most:
                yield chunk
                chunk, size = [], 0
                reassigned.clear()
            if cost > 1:
                reassigned.add(named.topic)
            chunk.append((named, state))
            size += cost
        if chunk:
            yield chunk

    def _is_reassigned(self, named: TopicPartition, after: PartitionImage) -> bool:
        """Whether a partition's successor has other replicas, which its topic's node holds."""
        before = self.image.partition(named)
        assert before is not None, f"{named} is not known"
        return _assignment(before) != _assignment(after)

    def _topic_writes(self, states: Iterable[tuple[TopicPartition, PartitionImage]]) -> Iterator[SetData]:
        """The nodes of the topics that get other assignments."""
        reassigned: dict[str, dict[int, PartitionImage]] = {}
        for named, state in states:
            if self._is_reassigned(named, state):
                reassigned.setdefault(named.topic, {})[named.partition] = state
        for name, changed in reassigned.items():
            topic = self.image.topics[name]
            document = codec.encode_topic(topic.topic_id, {**topic.partitions, **changed})
            yield SetData(paths.topic(name), document)

    def _write_states(self, states: Sequence[tuple[TopicPartition, PartitionImage]]) -> StoreSteps[bool]:
        """Write states all or none; False when a leader has written one of them meanwhile."""
        writes = [*self._topic_writes(states), *(yield from stepwise(states, _state_write))]
        failed = yield from self.writes.commit(writes)
        if failed is not None:
            if failed.fault not in CHANGED_BY_ANOTHER:
                raise StoreRefused(failed)
            return False
        for named, state in states:
            self._note_election(named, state)
        for begin in range(0, len(states), ITEMS_PER_STEP):
            some = states[begin : begin + ITEMS_PER_STEP]
            before = [self.image.partition(named) for named, _ in some]
            self.apply(*(PartitionChanged(*named, state) for named, state in some))
            for (named, state), earlier in zip(some, before, strict=True):
                self._note_replicas(named, earlier, state)
            yield None
        return True

    def _note_replicas(
        self, named: TopicPartition, before: PartitionImage | None, after: PartitionImage
    ) -> None:
        """Note the orders for a written state; replicas that have left the partition are deleted."""
        assert before is not None, f"{named} is not known"
        added = [replica for replica in after.replicas if replica not in before.replicas]
        self.orders.partition_changed(self.image, named, added=added)
        for broker_id in before.replicas:
            if broker_id not in after.replicas:
                left = Replica(named, broker_id)
                self.reports.forget_replica(left)
                self.orders.stop(left, after, delete=True)

    def _note_election(self, named: TopicPartition, after: PartitionImage) -> None:
        """Report an unclean election that was written, before the image has it."""
        before = self.image.partition(named)
        assert before is not None, f"{named} is not known"
        if after.unclean_epoch != before.unclean_epoch:
            may_lead = (*before.isr, *before.elr, before.last_known_leader)
            ends = {} if after.leader in may_lead else self.log_ends(named, before)
            self._effects.append(ElectedUncleanly(named, before, after, ends))
        if after.leader != NO_BROKER:
            for replica in after.replicas:
                self.reports.forget_log_end(Replica(named, replica))

    def refresh(self, partitions: Iterable[TopicPartition], *, watch: bool = False) -> StoreSteps[None]:
        """Take the states of these partitions from the store, as far as they are known here."""
        known = {named: state for named in partitions if (state := self.image.partition(named)) is not None}
        found = yield from load_states(known, watch=watch)
        changes = [PartitionChanged(*named, state) for named, state in found.items() if state != known[named]]
        for begin in range(0, len(changes), ITEMS_PER_STEP):
            self.apply(*changes[begin : begin + ITEMS_PER_STEP])
            yield None

    def start_new_partitions(self) -> StoreSteps[None]:
        """Give a first state to partitions that are assigned and have none (new -> online)."""
        new = yield from self.partitions(
            lambda state: state.state_version < 0 and any(map(self.image.is_live, state.replicas))
        )
        for named in new:
            partition = self.image.partition(named)
            assert partition is not None, f"{named} vanished within one event"
            fresh = replace(
                new_partition(self.image, partition.replicas),
                adding_replicas=partition.adding_replicas,
                removing_replicas=partition.removing_replicas,
            )
            yield from ensure(paths.partitions(named.topic))
            yield from ensure(paths.partition(*named))
            state = Create(
                paths.partition_state(*named), codec.encode_state(fresh, self.image.controller_epoch)
            )
            if (yield from self.writes.commit((state,))) is None:
                self.apply(PartitionChanged(*named, fresh))
                self.orders.partition_changed(self.image, named, is_new=True)

    def apply(self, *changes: Change) -> None:
        """Apply changes to the image, and add the effect ImageChanged."""
        if changes:
            self.image.apply_all(changes)
            self._effects.append(ImageChanged(changes))

    def tell_everything(self, broker_id: BrokerId) -> StoreSteps[None]:
        """Note the whole state for the new broker, and the new broker for all others."""
        self.orders.broker_joins(broker_id)
        pace = Pace()
        for name in self.image.live_names():
            for number in self.image.topics[name].partitions:
                self.orders.broker_came(self.image, broker_id, TopicPartition(name, number))
                if pace.is_over():
                    yield None
        self.orders.brokers_changed()

    def order_again(self, broker_id: BrokerId) -> StoreSteps[None]:
        """Note the present roles of a live broker for it, also those that it has."""
        for named in (yield from self.partitions(lambda state: broker_id in state.replicas)):
            partition = self.image.partition(named)
            if partition is not None and partition.state_version >= 0:
                self.orders.role_again(broker_id, named)

    def order_followers_again(self, broker_id: BrokerId, partitions: Iterable[TopicPartition]) -> None:
        """Note the present roles of a broker in those partitions that do without its replica."""
        for named in partitions:
            partition = self.image.partition(named)
            if (
                partition is not None
                and broker_id in partition.replicas
                and partition.does_without(broker_id)
            ):
                self.orders.role_again(broker_id, named)

    def flush(self) -> StoreSteps[None]:
        """End a process: send the orders to brokers."""
        pace = Pace()
        for broker_id, order in self.orders.take(self.image):
            order_id = next(self._order_ids)
            if isinstance(order, StopReplica):
                deleting = tuple(
                    Replica(stopped.topic_partition, broker_id)
                    for stopped in order.partitions
                    if stopped.delete
                )
                if deleting:
                    self.reports.note_deleting(order_id, deleting)
            self._effects.append(SendToBroker(broker_id, order_id, order))
            if pace.is_over(size_of(order)):
                yield None

    def forget_broker(self, broker_id: BrokerId) -> None:
        """A broker is gone: with it what it was asked, and what is known of its disks."""
        self.apply(BrokerGone(broker_id))
        self.reports.forget_broker(broker_id)


def _check_succession(named: TopicPartition, before: PartitionImage, after: PartitionImage) -> None:
    """One write replaces one state (R2), and its epoch lets brokers tell it from the one before (R5a)."""
    assert after.state_version == before.state_version + 1, f"{named}: {before} is not followed by {after}"
    assert after.leader_epoch > before.leader_epoch, f"{named}: {after} is in the epoch of {before}"


def _assignment(partition: PartitionImage) -> tuple[tuple[BrokerId, ...], ...]:
    """What the node of the topic says about a partition."""
    return partition.replicas, partition.adding_replicas, partition.removing_replicas


def _state_write(changed: tuple[TopicPartition, PartitionImage]) -> SetData:
    named, state = changed
    data = codec.encode_state(state, state.controller_epoch)
    return SetData(paths.partition_state(*named), data, state.state_version - 1)
