"""Carries reassignments out: AlterPartitionReassignments, and what follows until the last replica has moved.

Processes of the elected controller. `reassignment` says what a partition becomes. The store has everything
that a reassignment needs, as Kafka's does: the topic's node says which replicas are on their way, the
partition's state says which are in sync. So the next controller goes on where this one ended.

    AlterPartitionReassignments    topic's node and state, as one    the added replicas begin to copy
    a leader writes its ISR        the state's watch fires           the state is read again
    all targets are in the ISR     topic's node and state, as one    the removed replicas are deleted

Errors of a partition, as Kafka has them, the first fault counts:

    no such topic or partition                                       UNKNOWN_TOPIC_OR_PARTITION
    a cancellation, and nothing is under way                         NO_REASSIGNMENT_IN_PROGRESS
    no replica, one twice, a number below 0, a new one not live      INVALID_REPLICA_ASSIGNMENT
    another number of replicas, where that is not allowed            INVALID_REPLICATION_FACTOR
    what was added is given up, and nothing else could lead          INVALID_REPLICA_ASSIGNMENT
"""

from collections.abc import Iterable, Sequence

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.execution import Pace
from odradek.base.ids import BrokerId, TopicPartition
from odradek.metadata.controller import reassignment
from odradek.metadata.controller.controlled_cluster import ControlledCluster
from odradek.metadata.controller.requests import (
    AlterReassignments,
    ListReassignments,
    PartitionOutcome,
    PartitionOutcomes,
    Reassignments,
)
from odradek.metadata.image import ClusterImage, PartitionImage
from odradek.metadata.store import StoreSteps

_NO_ONE_LEADS = "no other replica could lead it: those that were added alone have its records"
_OVERTAKEN = "its leader changed the ISR again and again meanwhile; try again"


class ReplicaMoves:
    """The reassignments under way."""

    def __init__(self, cluster: ControlledCluster) -> None:
        self._cluster = cluster
        # The partitions that are being reassigned, and perhaps some that were (the values mean nothing). The
        # states of all of them are watched.
        self._under_way: dict[TopicPartition, None] = {}

    def resume(self) -> StoreSteps[None]:
        """Find what is under way, after an election or where watches may have fired unheard; continue it."""
        found = yield from self._cluster.partitions(reassignment.is_under_way)
        self._under_way = dict.fromkeys(found)
        yield from self._cluster.refresh(found, watch=True)
        yield from self.proceed()

    def state_changed(self, named: TopicPartition) -> StoreSteps[None]:
        """The state of a partition was written, by its leader or by this controller."""
        if named in self._under_way:
            yield from self._cluster.refresh((named,), watch=True)
            yield from self._finish((named,))

    def proceed(self) -> StoreSteps[None]:
        """End the reassignments that can end, as far as the image knows; called when brokers came or went."""
        yield from self._finish(list(self._under_way))

    def alter(self, request: AlterReassignments) -> StoreSteps[PartitionOutcomes]:
        """Begin, replace or cancel the reassignments of partitions."""
        targets: dict[TopicPartition, reassignment.Replicas | None] = {}
        pace = Pace()
        for named, target in request.targets:
            targets[named] = target
            if pace.is_over():
                yield None
        outcomes: dict[TopicPartition, PartitionOutcome] = {}
        accepted: list[TopicPartition] = []
        for named, target in targets.items():
            if pace.is_over():
                yield None
            try:
                _check(self._cluster.image, named, target, allow_factor_change=request.allow_factor_change)
            except ApiError as refusal:
                outcomes[named] = PartitionOutcome(named, refusal.code, refusal.message)
                continue
            outcomes[named] = PartitionOutcome(named)
            accepted.append(named)

        def successor(named: TopicPartition, partition: PartitionImage) -> PartitionImage | None:
            after = self._reassigned(named, partition, targets[named])
            if after is None:
                fault = ErrorCode.INVALID_REPLICA_ASSIGNMENT
                outcomes[named] = PartitionOutcome(named, fault, _NO_ONE_LEADS)
            return None if after is partition else after

        changed = yield from self._cluster.rewrite(accepted, successor)
        for named in accepted:
            if pace.is_over():
                yield None
            state = self._cluster.image.partition(named)
            if state is not None and outcomes[named].error is ErrorCode.NONE:
                shape = reassignment.shape_for(state, targets[named])
                if shape != state:
                    outcomes[named] = PartitionOutcome(named, ErrorCode.REQUEST_TIMED_OUT, _OVERTAKEN)
        yield from self._watch(changed)
        return PartitionOutcomes(outcomes)

    def list(self, request: ListReassignments) -> StoreSteps[Reassignments]:
        """The partitions of the request, or of all topics, that are being reassigned."""
        asked: Iterable[TopicPartition] | None = request.partitions
        if asked is None:
            asked = yield from self._cluster.partitions(reassignment.is_under_way)
        return Reassignments((yield from self._moving(asked)))

    def _reassigned(
        self, named: TopicPartition, partition: PartitionImage, target: reassignment.Replicas | None
    ) -> PartitionImage | None:
        online = self._cluster.online(named)
        return reassignment.reassigned(
            partition, target, online, lambda shaped: self._cluster.settings.min_isr(named, shaped)
        )

    def _completed(self, named: TopicPartition, partition: PartitionImage) -> PartitionImage | None:
        online = self._cluster.online(named)
        return reassignment.completed(
            partition, online, lambda shaped: self._cluster.settings.min_isr(named, shaped)
        )

    def _watch(self, changed: Sequence[TopicPartition]) -> StoreSteps[None]:
        """Follow the reassignments that have begun; the states are read, as a leader may have been quick."""
        begun = yield from self._moving(changed)
        self._under_way |= dict.fromkeys(begun)
        yield from self._cluster.refresh(begun, watch=True)
        yield from self._finish(begun)

    def _finish(self, candidates: Iterable[TopicPartition]) -> StoreSteps[None]:
        """End those of the reassignments that can end, and forget those that are over."""
        moving = yield from self._moving(candidates)
        for named in (yield from self._cluster.rewrite(moving, self._completed)):
            self._under_way.pop(named, None)

    def _moving(
        self, candidates: Iterable[TopicPartition]
    ) -> StoreSteps[dict[TopicPartition, PartitionImage]]:
        """Those of the partitions that are being reassigned; the others are forgotten."""
        found: dict[TopicPartition, PartitionImage] = {}
        pace = Pace()
        for named in candidates:
            if pace.is_over():
                yield None
            state = self._cluster.image.partition(named)
            if state is not None and reassignment.is_under_way(state):
                found[named] = state
            else:
                self._under_way.pop(named, None)
        return found


def _check(
    image: ClusterImage,
    named: TopicPartition,
    target: tuple[BrokerId, ...] | None,
    *,
    allow_factor_change: bool,
) -> None:
    """Raises ApiError if the partition cannot have these replicas; see the module's head."""
    partition = image.partition(named)
    if partition is None:
        has_topic = image.topic(named.topic) is not None
        fault = f"{named.topic} has no partition {named.partition}" if has_topic else None
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, fault or f"there is no topic {named.topic}")
    if target is None:
        if not reassignment.is_under_way(partition):
            raise ApiError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, f"{named} is not being reassigned")
        return
    fault = _fault_in(image, partition, target)
    if fault is not None:
        raise ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"{named} cannot have {fault}")
    factor = len(reassignment.origin_of(partition))
    if len(target) != factor and not allow_factor_change:
        raise ApiError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"{named} has {factor} replicas, and the request names {len(target)} and allows no other number",
        )


def _fault_in(image: ClusterImage, partition: PartitionImage, target: tuple[BrokerId, ...]) -> str | None:
    """What is wrong with these replicas, or None. A replica that it has already may be on a dead broker."""
    if not target:
        return "no replicas"
    if len(set(target)) != len(target):
        return f"two replicas on one broker: {list(target)}"
    for replica in target:
        if replica < 0:
            return f"a replica on broker {replica}"
        if not image.is_live(replica) and replica not in partition.replicas:
            return f"a new replica on broker {replica}, which is not live"
    if partition.state_version < 0:
        return "other replicas before one of its brokers is live: it has no records yet"
    return None
