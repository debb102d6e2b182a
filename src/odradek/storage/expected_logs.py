"""The logs that a broker should have by the metadata store, to compare with those on its disks (R15)."""

from collections.abc import Collection, Mapping
from uuid import UUID

from odradek.base.ids import TopicPartition
from odradek.base.values import value

NO_BROKER_EPOCH = -1


@value
class ExpectedLogs:
    """The partitions of one broker, and its last registration in the store."""

    topic_ids: Mapping[TopicPartition, UUID]
    """The partitions assigned to this broker, those being deleted included, with their topics' ids."""
    topic_names: Mapping[UUID, str]
    """The names of those topics."""
    in_sync: Collection[TopicPartition]
    """Those of which it is believed to have every acknowledged record."""
    new: Collection[TopicPartition] = ()
    """Those still in their first leader epoch: the broker may have stopped before it made their logs."""
    directory_ids: tuple[UUID, ...] = ()
    """The log directories that it registered last."""
    missing_directory_ids: tuple[UUID, ...] = ()
    """Those that it had before and that were missing at that time."""
    broker_epoch: int = NO_BROKER_EPOCH
    """The epoch of that registration."""
