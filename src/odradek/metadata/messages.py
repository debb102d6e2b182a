"""The controller's messages to brokers: LeaderAndIsr, StopReplica, UpdateMetadata, as plain values.

On the wire they are requests (`messages_on_wire`). Every message carries the controller's id and epoch, by
which a broker refuses an outdated controller (R5a), and the epoch of the registration that it was meant for,
by which it refuses a message for an earlier registration (R16, KIP-380).
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
    # The names of all topics, in the first message to a broker that joins, which may have missed that others
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
    """A broker's answer to one message."""

    error_code: ErrorCode = ErrorCode.NONE
    """STALE_CONTROLLER_EPOCH (R5a) or STALE_BROKER_EPOCH (R16): nothing was changed."""
    partition_errors: Mapping[TopicPartition, ErrorCode] = field(default_factory=dict)
    """Each partition that was named, where LeaderAndIsr or StopReplica was not refused whole."""
    log_ends: Mapping[TopicPartition, LogEnd] = field(default_factory=dict)
    """The partitions of a LeaderAndIsr that have no leader, as far as the broker has their logs."""

    def error_of(self, named: TopicPartition) -> ErrorCode:
        """What became of one partition."""
        return self.partition_errors.get(named, self.error_code)


BrokerMessage: TypeAlias = LeaderAndIsr | StopReplica | UpdateMetadata


def changes_from(message: UpdateMetadata, image: ClusterImage) -> Iterator[Change]:
    """The changes that bring a broker's image to the state in the message; apply each as it comes."""
    yield ControllerChanged(message.controller_id, message.controller_epoch)
    live = {broker.broker_id for broker in message.live_brokers}
    for known in list(image.brokers):
        if known not in live:
            yield BrokerGone(known)
    for broker in message.live_brokers:
        if image.brokers.get(broker.broker_id) != broker:
            yield BrokerRegistered(broker)
    for name in message.gone_topics:
        yield TopicDeleted(name)
    for resource, overrides in message.settings.items():
        if overrides_of(image, resource) != overrides:
            yield change_of(resource, overrides)
    for topic in message.topics:
        before = image.topics.get(topic.name)
        if before is None or before.topic_id != topic.topic_id:
            yield TopicCreated(topic.name, topic.topic_id, topic.partitions)
        else:
            for number, state in topic.partitions.items():
                yield PartitionChanged(topic.name, number, state)


def size_of(message: BrokerMessage) -> int:
    """How many partitions, topics and resources with settings a message names."""
    if isinstance(message, UpdateMetadata):
        facts = sum(1 + len(topic.partitions) for topic in message.topics)
        return facts + len(message.gone_topics) + len(message.settings)
    return len(message.partitions)
