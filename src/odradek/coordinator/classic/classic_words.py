"""What a group waits for, in words: the same in purgatories, `/describe/groups`, the console and tests.

2 of 3 members rejoined; waiting up to 41 s for member c-2, last heartbeat 12 s ago
"""

from collections.abc import Sequence
from typing import Final

from odradek.coordinator.classic.classic_membership import ClassicMembership
from odradek.coordinator.classic.states import GroupState

NAMED_MAX: Final = 5
"""How many members are named one by one."""


def waits_for(group: ClassicMembership) -> str:
    """What the group waits for, and until when; "nothing" if no rebalance is under way."""
    now_ms = group.clock.monotonic_ms()
    if group.state is GroupState.PREPARING_REBALANCE:
        late = [member_id for member_id, member in group.members.items() if member.awaiting_join is None]
        late += group.pending_members
        joined = f"{group.joined_count} of {len(group.members) + len(group.pending_members)} members rejoined"
        whom = _named(group, late) if late else "more of them"
        return f"{joined}; waiting up to {_seconds(group.joins_until_ms - now_ms)} for {whom}"
    if group.state is GroupState.COMPLETING_REBALANCE:
        synced = f"{len(group.members) - len(group.unsynced)} of {len(group.members)} members synced"
        leader_id = group.leader_id or ""
        if leader_id in group.unsynced:
            whom = f"the assignment of leader {_named(group, [leader_id])}"
            return f"{synced}; waiting up to {_seconds(group.syncs_until_ms - now_ms)} for {whom}"
        return f"{synced}; waiting for the assignment to be written"
    if group.state is GroupState.STABLE and group.unsynced:
        whom = _named(group, list(group.unsynced))
        left = _seconds(group.syncs_until_ms - now_ms)
        return f"{len(group.unsynced)} members have not synced; waiting up to {left} for {whom}"
    return "nothing"


def _named(group: ClassicMembership, member_ids: Sequence[str]) -> str:
    """Members by id, each with the time of its last request."""
    now_ms = group.clock.monotonic_ms()
    named = []
    for member_id in member_ids[:NAMED_MAX]:
        member = group.members.get(member_id)
        if member is None:
            named.append(f"{member_id}, which has not joined yet")
        else:
            named.append(f"{member_id}, last heartbeat {_seconds(now_ms - member.last_heartbeat_ms)} ago")
    more = len(member_ids) - NAMED_MAX
    if more > 0:
        named.append(f"{more} more")
    return ("member " if len(member_ids) == 1 else "members ") + "; ".join(named)


def _seconds(duration_ms: int) -> str:
    """Whole seconds, rounded up, so that no wait exceeds the number shown."""
    return f"{max(0, -(-duration_ms // 1000))} s"
