"""All groups that this broker coordinates, whatever protocol their members speak.

group_coordinator      the front door: finds a group, or says why it is not here
shard, group, offsets  one partition of `__consumer_offsets`, one group, one group's offsets
committing, expiring   how offsets come and go
listing                what groups look like from outside
log_records, loading   the log: Kafka's own records, and how they become groups again
"""

from odradek.coordinator.groups.group_coordinator import GroupCoordinator
from odradek.coordinator.groups.listing import FetchedOffset
from odradek.coordinator.groups.offsets import CommittedOffset, TransactionalProducer

__all__ = [
    "CommittedOffset",
    "FetchedOffset",
    "GroupCoordinator",
    "TransactionalProducer",
]
