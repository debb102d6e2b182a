"""The requests to the controller and its answers. Values only, in the terms of Kafka's APIs.

A request names *subjects* (topics, resources, partitions); the answer has one outcome per subject, in the
order of the request. `Refused` answers a request as a whole.
"""

from collections.abc import Mapping
from dataclasses import field
from enum import IntEnum
from typing import TypeAlias

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import NO_TOPIC_ID, BrokerId, ProducerId, TopicId, TopicPartition
from odradek.base.values import value
from odradek.metadata.image import PartitionImage

USE_DEFAULT = -1


class ConfigOperation(IntEnum):
    """What IncrementalAlterConfigs does to a setting (KIP-339); the numbers are the protocol's."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class ElectionType(IntEnum):
    """What ElectLeaders asks for (KIP-460); the numbers are the protocol's."""

    PREFERRED = 0
    UNCLEAN = 1


@value
class NewTopic:
    """One topic of CreateTopics: counts, or an assignment by hand, never both."""

    name: str
    partition_count: int = USE_DEFAULT
    replication_factor: int = USE_DEFAULT
    # (partition, replicas) as they came from the wire; empty for an assignment by the controller.
    assignments: tuple[tuple[int, tuple[BrokerId, ...]], ...] = ()
    # (name, value) as they came from the wire.
    configs: tuple[tuple[str, str | None], ...] = ()


@value
class CreateTopics:
    """Make topics; `validate_only` decides and writes nothing."""

    topics: tuple[NewTopic, ...]
    validate_only: bool = False


@value
class TopicToDelete:
    """One topic of DeleteTopics, by name or by id (v6)."""

    name: str | None = None
    topic_id: TopicId = NO_TOPIC_ID


@value
class DeleteTopics:
    """Delete topics with all their records."""

    topics: tuple[TopicToDelete, ...]


@value
class MorePartitions:
    """One topic of CreatePartitions: its new total, and the replicas of each added partition or None."""

    name: str
    count: int
    assignments: tuple[tuple[BrokerId, ...], ...] | None = None


@value
class CreatePartitions:
    """Add partitions to topics; `validate_only` decides and writes nothing."""

    topics: tuple[MorePartitions, ...]
    validate_only: bool = False


@value
class ConfigReplacement:
    """One resource of AlterConfigs: these overrides and no others. A broker's name is its id or empty."""

    resource_type: int
    name: str
    configs: tuple[tuple[str, str | None], ...]


@value
class ConfigAmendment:
    """One resource of IncrementalAlterConfigs: (name, operation, value) as they came from the wire."""

    resource_type: int
    name: str
    configs: tuple[tuple[str, int, str | None], ...]


@value
class AlterConfigs:
    """Replace or amend the overrides of resources; `validate_only` decides and writes nothing."""

    resources: tuple[ConfigReplacement | ConfigAmendment, ...]
    validate_only: bool = False
    # The broker that a client asked: the only one whose own settings this request may change; None for any.
    asked_of: BrokerId | None = None


@value
class AllocateProducerIds:
    """Give a broker a block of producer ids that no broker ever had (KIP-730).

    Refused with BROKER_ID_NOT_REGISTERED, or STALE_BROKER_EPOCH: it comes from an earlier registration.
    """

    broker_id: BrokerId
    broker_epoch: int


@value
class ElectLeaders:
    """Elect leaders for these partitions, or for all (None)."""

    election_type: ElectionType
    partitions: tuple[TopicPartition, ...] | None = None


@value
class AlterReassignments:
    """Give partitions other replicas, or (None) those that they had before (KIP-455)."""

    # In the request's order; of two entries for one partition the later one counts.
    targets: tuple[tuple[TopicPartition, tuple[BrokerId, ...] | None], ...]
    # Whether a partition may get more or fewer replicas than it had (KIP-860).
    allow_factor_change: bool = True


@value
class ListReassignments:
    """Say which of these partitions, or of all (None), are being reassigned."""

    partitions: tuple[TopicPartition, ...] | None = None


@value
class ControlledShutdown:
    """A broker is about to stop: move its leaderships away first (KIP-49)."""

    broker_id: BrokerId
    broker_epoch: int


@value
class RebalanceLeaders:
    """Give leaderships back to preferred leaders (`auto.leader.rebalance.enable`)."""

    # How many at most; the rest is for another request.
    elections_max: int


ControllerRequest: TypeAlias = (
    CreateTopics
    | DeleteTopics
    | CreatePartitions
    | AlterConfigs
    | AllocateProducerIds
    | ElectLeaders
    | AlterReassignments
    | ListReassignments
    | ControlledShutdown
    | RebalanceLeaders
)


# --- answers


@value
class TopicOutcome:
    """What became of one topic of CreateTopics, DeleteTopics or CreatePartitions."""

    name: str | None
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    # The fields below are for created (or validated) topics and stay empty elsewhere.
    topic_id: TopicId = NO_TOPIC_ID
    partition_count: int = -1
    replication_factor: int = -1
    overrides: Mapping[str, str] = field(default_factory=dict)


@value
class ResourceOutcome:
    """What became of one resource of AlterConfigs."""

    resource_type: int
    name: str
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None


@value
class PartitionOutcome:
    """What became of one partition of ElectLeaders or AlterReassignments."""

    topic_partition: TopicPartition
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None


@value
class TopicOutcomes:
    """The answer to CreateTopics, DeleteTopics and CreatePartitions."""

    topics: tuple[TopicOutcome, ...]


@value
class ResourceOutcomes:
    """The answer to AlterConfigs and IncrementalAlterConfigs."""

    resources: tuple[ResourceOutcome, ...]


@value
class PartitionOutcomes:
    """The answer to ElectLeaders and AlterReassignments.

    What became of each partition that was named, or else of all.
    """

    partitions: Mapping[TopicPartition, PartitionOutcome]


@value
class Reassignments:
    """The answer to ListReassignments: the partitions under way, those of a topic together."""

    partitions: Mapping[TopicPartition, PartitionImage]


@value
class ProducerIdBlock:
    """Producer ids [first, first + count), this broker's alone."""

    broker_id: BrokerId
    first: ProducerId
    count: int


@value
class ShutdownProgress:
    """The answer to ControlledShutdown: what the broker still leads; empty when it may stop."""

    remaining: tuple[TopicPartition, ...]


@value
class RebalanceProgress:
    """The answer to RebalanceLeaders."""

    elected: int
    # Whether more leaderships can be given back.
    has_more: bool


@value
class Refused:
    """The request was not taken at all, for all its subjects alike."""

    error: ErrorCode
    message: str


Answer: TypeAlias = (
    TopicOutcomes
    | ResourceOutcomes
    | PartitionOutcomes
    | Reassignments
    | ProducerIdBlock
    | ShutdownProgress
    | RebalanceProgress
    | Refused
)
