"""The logs that a broker should have by the metadata store, to compare with those on its disks (R15)."""

from collections.abc import Collection, Mapping
from uuid import UUID

from odradek.base.ids import NO_BROKER_EPOCH, TopicPartition
from odradek.base.values import value


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
