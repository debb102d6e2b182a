"""How far a group is behind."""

from dataclasses import dataclass

from odradek.base.ids import NO_BROKER, Offset, TopicPartition
from odradek.base.offset_timestamps import LATEST
from odradek.client.core.admin.groups import describe_group, list_group_offsets
from odradek.client.core.admin.leaders import leaders_of
from odradek.client.core.admin.offsets import offsets_where_led
from odradek.client.core.operation import Operation


@dataclass(frozen=True, slots=True)
class Lag:
    """How far a group's committed offset lies behind the end of a partition."""

    partition: TopicPartition
    committed: Offset | None
    """None where a member has the partition and nothing is committed yet."""
    end: Offset
    member: str | None
    """The member that the partition is assigned to, if any."""
    client: str | None

    @property
    def records(self) -> int | None:
        """The number of offsets between them; None where nothing is committed."""
        return None if self.committed is None else max(0, self.end - self.committed)


def group_lag(group: str) -> Operation[list[Lag]]:
    """The lag of each partition that the group has committed or that is assigned to a member, in order.

    Partitions without a leader, and of topics that are not there any more, are left out. Raises ApiError for
    an unknown group, ElementsRefused if a leader refuses.
    """
    described = yield from describe_group(group)
    members = {partition: member for member in described.members for partition in member.partitions}
    committed = yield from list_group_offsets(group, require_stable=False)
    wanted = sorted(committed.keys() | members.keys())
    leaders = yield from leaders_of(one.topic for one in wanted)
    led = [one for one in wanted if leaders.get(one, NO_BROKER) != NO_BROKER]
    ends = yield from offsets_where_led(led, LATEST)
    rows = []
    for partition, end in sorted(ends.items()):
        member = members.get(partition)
        name, client = (None, None) if member is None else (member.member, member.client)
        rows.append(Lag(partition, committed.get(partition), end, name, client))
    return rows
