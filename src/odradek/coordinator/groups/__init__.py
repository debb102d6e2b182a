"""All groups that this broker coordinates, whatever protocol their members speak.

group_coordinator      the entry point: finds a group, or the error why this broker does not have it
shard, group, offsets  one partition of `__consumer_offsets`, one group, one group's offsets
consumer_members, consumer_heartbeats
                       requests of consumer groups' members: which group takes one, and heartbeats in steps
offset_writes          requests that write offsets
gathering              the commits of one turn of the loop as one batch
committing, expiring   commits, deletion and expiry of offsets
departing, deleting    LeaveGroup and DeleteGroups
migrating              the change of a group from one protocol to the other
room                   the bounds on groups and members
listing, consumer_listing
                       the answers that list and describe groups
log_records, consumer_records, loading
                       the log: Kafka's own record formats, and loading groups from them
"""

from typing import TYPE_CHECKING

from odradek.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from odradek.coordinator.groups.group_coordinator import GroupCoordinator
    from odradek.coordinator.groups.listing import FetchedOffset
    from odradek.coordinator.groups.offsets import CommittedOffset, TransactionalProducer

__all__ = [
    "CommittedOffset",
    "FetchedOffset",
    "GroupCoordinator",
    "TransactionalProducer",
]

__getattr__ = lazy_names(
    __name__,
    {
        "CommittedOffset": "odradek.coordinator.groups.offsets",
        "FetchedOffset": "odradek.coordinator.groups.listing",
        "GroupCoordinator": "odradek.coordinator.groups.group_coordinator",
        "TransactionalProducer": "odradek.coordinator.groups.offsets",
    },
)
