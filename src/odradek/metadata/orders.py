"""The controller's orders to brokers: LeaderAndIsr, StopReplica, UpdateMetadata, as plain values.

On the wire they are requests (`orders_on_wire`). Every order carries the controller's id and epoch, by
which a broker refuses an outdated controller (R5a), and the epoch of the registration that it was meant for,
by which it refuses an order for an earlier registration (R16, KIP-380).
"""

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import NamedTuple, TypeAlias

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import BrokerId, LeaderEpoch, Offset, TopicId, TopicPartition
from odradek.base.values import value
from odradek.metadata.image import (
    BrokerGone,
    BrokerImage,
    BrokerRegistered,
    Change,
    ClusterImage,
    ControllerChanged,
    PartitionChanged,
    PartitionImage,
    TopicCreated,
    TopicDeleted,
)
from odradek.metadata.resources import Resource, change_of, overrides_of


@value
class LeaderAndIsrPartition:
    """One partition that the receiver holds a replica of."""

    topic_partition: TopicPartition
    topic_id: TopicId
    state: PartitionImage
    # Whether the partition has just been made, so that an empty log is no loss.
    is_new: bool


class LiveLeader(NamedTuple):
    """Where brokers reach a leader."""

    broker_id: BrokerId
    host: str
    port: int


@value
class LeaderAndIsr:
    """Lead or follow these partitions from now on (R5a-R5c)."""

    controller_id: BrokerId
    controller_epoch: int
    broker_epoch: int
    partitions: tuple[LeaderAndIsrPartition, ...]
    # The brokers that lead the partitions above.
    live_leaders: tuple[LiveLeader, ...]


@value
class StopReplicaPartition:
    """One replica to stop; `delete` also removes its log."""

    topic_partition: TopicPartition
    leader_epoch: LeaderEpoch
    delete: bool


@value
class StopReplica:
    """Hold these replicas no longer (R5d)."""

    controller_id: BrokerId
    controller_epoch: int
    broker_epoch: int
    partitions: tuple[StopReplicaPartition, ...]


@value
class TopicStates:
    """The partitions of one topic that changed."""

    name: str
    topic_id: TopicId
    partitions: Mapping[int, PartitionImage]


@value
class UpdateMetadata:
    """The cluster's facts that changed, and all its live brokers."""

    controller_id: BrokerId
    controller_epoch: int
    broker_epoch: int
    live_brokers: tuple[BrokerImage, ...]
    topics: tuple[TopicStates, ...]
    # Topics that brokers are to forget (on Kafka's wire: partitions whose leader is -2).
    gone_topics: tuple[str, ...] = ()
    # The names of all topics, in the first order to a broker that joins, which may have missed that others
    # were deleted; else None.
    all_topics: tuple[str, ...] | None = None
    # The complete overrides of the resources whose settings changed (R18); empty overrides end earlier ones.
    settings: Mapping[Resource, Mapping[str, str]] = field(default_factory=dict)
    # All resources with overrides, together with `all_topics`: no other resource has any.
    all_configured: tuple[Resource, ...] = ()


class LogEnd(NamedTuple):
    """Where a replica's log ends while its partition has no leader (R15e): nothing is appended to it then."""

    leader_epoch: LeaderEpoch
    """The leader epoch, one without a leader, that the replica has obeyed."""
    last_epoch: LeaderEpoch
    """The epoch of its last record; NO_EPOCH for an empty log."""
    end_offset: Offset
    """LEO."""


@value
class OrderOutcome:
    """A broker's answer to one order."""

    error_code: ErrorCode = ErrorCode.NONE
    """STALE_CONTROLLER_EPOCH (R5a) or STALE_BROKER_EPOCH (R16): nothing was changed."""
    partition_errors: Mapping[TopicPartition, ErrorCode] = field(default_factory=dict)
    """Each partition that was named, where LeaderAndIsr or StopReplica was not refused whole."""
    log_ends: Mapping[TopicPartition, LogEnd] = field(default_factory=dict)
    """The partitions of a LeaderAndIsr that have no leader, as far as the broker has their logs."""

    def error_of(self, named: TopicPartition) -> ErrorCode:
        """What became of one partition."""
        return self.partition_errors.get(named, self.error_code)


Order: TypeAlias = LeaderAndIsr | StopReplica | UpdateMetadata


def changes_from(order: UpdateMetadata, image: ClusterImage) -> Iterator[Change]:
    """The changes that bring a broker's image to the state in the order; apply each as it comes."""
    yield ControllerChanged(order.controller_id, order.controller_epoch)
    live = {broker.broker_id for broker in order.live_brokers}
    for known in list(image.brokers):
        if known not in live:
            yield BrokerGone(known)
    for broker in order.live_brokers:
        if image.brokers.get(broker.broker_id) != broker:
            yield BrokerRegistered(broker)
    for name in order.gone_topics:
        yield TopicDeleted(name)
    for resource, overrides in order.settings.items():
        if overrides_of(image, resource) != overrides:
            yield change_of(resource, overrides)
    for topic in order.topics:
        before = image.topics.get(topic.name)
        if before is None or before.topic_id != topic.topic_id:
            yield TopicCreated(topic.name, topic.topic_id, topic.partitions)
        else:
            for number, state in topic.partitions.items():
                yield PartitionChanged(topic.name, number, state)


def size_of(order: Order) -> int:
    """How many partitions, topics and resources with settings an order names."""
    if isinstance(order, UpdateMetadata):
        facts = sum(1 + len(topic.partitions) for topic in order.topics)
        return facts + len(order.gone_topics) + len(order.settings)
    return len(order.partitions)
