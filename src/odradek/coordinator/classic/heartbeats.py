"""Heartbeats and sessions: a member that sends no request within its session timeout is removed (G2).

A commit counts as a heartbeat. A member that waits for the answer to a JoinGroup or SyncGroup sends none.
"""

from odradek.base.error_codes import ErrorCode
from odradek.coordinator.classic.classic_membership import ClassicMembership
from odradek.coordinator.classic.effects import ClassicEffects, StartSession
from odradek.coordinator.classic.member import Member
from odradek.coordinator.classic.rebalancing import drop
from odradek.coordinator.classic.states import GroupEvent, GroupState


def handle_heartbeat(
    group: ClassicMembership, event: GroupEvent, member_id: str, instance_id: str | None, generation: int
) -> tuple[ErrorCode, ClassicEffects]:
    """Handle HEARTBEAT or COMMITS; returns the code to answer with, and the session that begins."""
    if group.state is GroupState.DEAD:
        return group.may(event), []
    found = group.lookup(member_id, instance_id)
    if isinstance(found, ErrorCode):
        return found, []
    if generation != group.generation:
        return ErrorCode.ILLEGAL_GENERATION, []
    return group.may(event), [StartSession(member_id, found.session_timeout_ms)]


def is_session_kept(group: ClassicMembership, member_id: str, session: int) -> bool:
    """G2: whether a delayed heartbeat is obsolete: a newer one exists, or the member waits for an answer."""
    member = group.members.get(member_id)
    if member is None or member.session != session:
        return True
    return member.is_waiting and not member.is_new


def end_session(group: ClassicMembership, member_id: str) -> ClassicEffects:
    """Expire a session, or a member id that was not used in time."""
    if member_id in group.pending_members:
        del group.pending_members[member_id]
        return []
    member: Member | None = group.members.get(member_id)
    return [] if member is None else drop(group, member)
