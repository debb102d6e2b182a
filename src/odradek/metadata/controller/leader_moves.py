"""How leaderships move by request: ElectLeaders, ControlledShutdown, and the return to preferred leaders.

Processes of the elected controller, over all partitions that a request concerns, in steps. `election` says
who leads next.
"""

from collections.abc import Sequence
from itertools import chain

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.execution import Pace
from odradek.base.ids import NO_BROKER, TopicPartition
from odradek.metadata.controller import election
from odradek.metadata.controller.controlled_cluster import ControlledCluster
from odradek.metadata.controller.replica_states import Replica
from odradek.metadata.controller.requests import (
    ControlledShutdown,
    ElectionType,
    ElectLeaders,
    PartitionOutcome,
    PartitionOutcomes,
    RebalanceLeaders,
    RebalanceProgress,
    ShutdownProgress,
)
from odradek.metadata.image import BrokerStopping, PartitionImage
from odradek.metadata.store import StoreSteps


def elect(cluster: ControlledCluster, request: ElectLeaders) -> StoreSteps[PartitionOutcomes]:
    """Elect leaders for the partitions that are named, or for all (KIP-183, KIP-460)."""
    preferred = request.election_type is ElectionType.PREFERRED
    asked: Sequence[TopicPartition] | None = request.partitions
    if asked is None:
        asked = yield from cluster.partitions()
    outcomes: dict[TopicPartition, PartitionOutcome] = {}
    candidates: list[TopicPartition] = []
    unavailable = (
        ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE if preferred else ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    )
    pace = Pace()
    for named in asked:
        if pace.is_over():
            yield None
        if named in outcomes:
            continue
        partition = cluster.image.partition(named)
        if partition is None:
            outcomes[named] = _unknown(cluster, named)
        elif _needs_no_election(cluster, partition, named, preferred=preferred):
            outcomes[named] = PartitionOutcome(named, ErrorCode.ELECTION_NOT_NEEDED)
        else:
            outcomes[named] = PartitionOutcome(named, unavailable)
            candidates.append(named)

    def elected(named: TopicPartition, partition: PartitionImage) -> PartitionImage | None:
        online, min_isr = cluster.online(named), cluster.settings.min_isr(named, partition)
        if preferred:
            return election.elect_preferred(partition, online, min_isr)
        return election.elect_offline(partition, online, min_isr, cluster.log_ends(named, partition))

    for named in (yield from cluster.rewrite(candidates, elected)):
        if pace.is_over():
            yield None
        outcomes[named] = PartitionOutcome(named)
    return PartitionOutcomes(outcomes)


def _unknown(cluster: ControlledCluster, named: TopicPartition) -> PartitionOutcome:
    if cluster.image.topic(named.topic) is None:
        message = f"there is no topic {named.topic}"
    else:
        message = f"{named.topic} has no partition {named.partition}"
    return PartitionOutcome(named, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message)


def _needs_no_election(
    cluster: ControlledCluster, partition: PartitionImage, named: TopicPartition, *, preferred: bool
) -> bool:
    if preferred:
        return partition.leader == partition.preferred_leader
    return partition.leader in cluster.online(named)


def shut_down(cluster: ControlledCluster, request: ControlledShutdown) -> StoreSteps[ShutdownProgress]:
    """Move a broker's leaderships, take it out of all ISRs, and stop its replicas (KIP-49, KIP-841).

    What it leads moves first, and brokers get their orders before the rest is decided: producers wait for it.
    What no other replica in sync can lead stays, and is in the answer. Raises ApiError for a broker that is
    not registered with this epoch.
    """
    stopping, image = request.broker_id, cluster.image
    broker = image.brokers.get(stopping)
    if broker is None:
        raise ApiError(ErrorCode.BROKER_NOT_AVAILABLE, f"broker {stopping} is not registered")
    if broker.epoch != request.broker_epoch:
        raise ApiError(ErrorCode.STALE_BROKER_EPOCH, f"broker {stopping} is registered with another epoch")
    is_first = stopping not in image.stopping
    cluster.apply(BrokerStopping(stopping))

    def without(named: TopicPartition, partition: PartitionImage) -> PartitionImage | None:
        online, min_isr = cluster.online(named), cluster.settings.min_isr(named, partition)
        if partition.leader == stopping:
            return election.elect_for_shutdown(partition, online, image.stopping, min_isr)
        return election.release(partition, online, min_isr, is_first=is_first)

    led = yield from cluster.partitions(lambda state: state.leader == stopping and len(state.replicas) > 1)
    followed = yield from cluster.partitions(
        lambda state: state.leader != stopping and stopping in state.replicas and len(state.replicas) > 1
    )
    yield from cluster.rewrite(led, without)
    yield from cluster.flush()
    yield from cluster.rewrite(followed, without)
    remaining: list[TopicPartition] = []
    pace = Pace()
    for named in chain(led, followed):
        if pace.is_over():
            yield None
        after = image.partition(named)
        if after is not None and after.leader == stopping:
            remaining.append(named)
        else:
            cluster.orders.stop(Replica(named, stopping), after, delete=False)
    return ShutdownProgress(tuple(remaining))


def rebalance(cluster: ControlledCluster, request: RebalanceLeaders) -> StoreSteps[RebalanceProgress]:
    """Give leaderships back to preferred leaders that are live and in sync."""
    able: list[TopicPartition] = []
    pace = Pace()
    for named in (yield from cluster.partitions(_has_another_leader)):
        if pace.is_over():
            yield None
        partition = cluster.image.partition(named)
        if partition is not None and partition.preferred_leader in cluster.online(named):
            able.append(named)

    def elected(named: TopicPartition, partition: PartitionImage) -> PartitionImage | None:
        if not _has_another_leader(partition):
            return None
        online, min_isr = cluster.online(named), cluster.settings.min_isr(named, partition)
        return election.elect_preferred(partition, online, min_isr)

    changed = yield from cluster.rewrite(able[: request.elections_max], elected)
    return RebalanceProgress(len(changed), has_more=bool(changed) and len(able) > request.elections_max)


def _has_another_leader(partition: PartitionImage) -> bool:
    """Whether the preferred leader is in sync, and another replica leads."""
    preferred = partition.preferred_leader
    return partition.leader not in (NO_BROKER, preferred) and preferred in partition.isr
