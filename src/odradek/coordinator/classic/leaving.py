"""LeaveGroup: members go, several at once from version 3 on, by themselves or removed by an administrator.

A static member may be named by its instance id alone: that is how administrators remove one (KIP-345).
"""

from odradek.base.error_codes import ErrorCode
from odradek.coordinator.classic.classic_membership import ClassicMembership
from odradek.coordinator.classic.effects import ClassicEffects
from odradek.coordinator.classic.rebalancing import drop
from odradek.coordinator.classic.states import GroupState
from odradek.wire.messages.leave_group import MemberIdentity


def leave(group: ClassicMembership, leaver: MemberIdentity) -> tuple[ErrorCode, ClassicEffects]:
    """Remove one member; returns its error code, and the effects."""
    if group.state is GroupState.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE, []
    member_id, instance_id = leaver.member_id, leaver.group_instance_id
    if not member_id and instance_id is not None:
        member_id = group.static_members.get(instance_id, "")
    elif member_id in group.pending_members and instance_id is None:
        del group.pending_members[member_id]
        return ErrorCode.NONE, []
    found = group.lookup(member_id, instance_id)
    if isinstance(found, ErrorCode):
        return found, []
    return ErrorCode.NONE, drop(group, found)
