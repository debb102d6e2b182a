"""All groups that this broker coordinates, whatever protocol their members speak.

group_coordinator      the entry point: finds a group, or the error why this broker does not have it
shard, group, offsets  one partition of `__consumer_offsets`, one group, one group's offsets
committing, expiring   commits, deletion and expiry of offsets
listing                the answers that list and describe groups
log_records, loading   the log: Kafka's own record formats, and loading groups from them
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
