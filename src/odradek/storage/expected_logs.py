"""The logs that a broker should have by the metadata store, to compare with those on its disks (R15)."""

from collections.abc import Collection, Mapping
from dataclasses import field
from uuid import UUID

from odradek.base.ids import NO_BROKER_EPOCH, LeaderEpoch, TopicPartition
from odradek.base.values import value


@value
class Elsewhere:
    """A partition whose replicas are all on other brokers."""

    leader_epoch: LeaderEpoch
    is_whole: bool
    """Whether all of them are in sync."""


@value
class ExpectedLogs:
    """The partitions of one broker, and its last registration in the store."""

    topic_ids: Mapping[TopicPartition, UUID]
    """The partitions assigned to this broker, those being deleted included, with their topics' ids."""
    topic_names: Mapping[UUID, str]
    """The names of those topics."""
    in_sync: Collection[TopicPartition]
    """The partitions that this broker may lead, by ISR, ELR or as the last known leader: it had the logs."""
    new: Collection[TopicPartition] = ()
    """Partitions in their first leader epoch: the broker may have stopped before it created their logs."""
    directory_ids: tuple[UUID, ...] = ()
    """The log directories of its last registration."""
    missing_directory_ids: tuple[UUID, ...] = ()
    """Earlier log directories that were missing at that registration."""
    broker_epoch: int = NO_BROKER_EPOCH
    """The epoch of that registration."""
    elsewhere: Mapping[tuple[UUID, int], Elsewhere] = field(default_factory=dict)
    """The partitions that are not assigned to this broker, by their topics' ids and their numbers."""
