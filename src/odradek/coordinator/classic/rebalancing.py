"""A rebalance from its begin to the next generation: members join, or are late (G1).

rebalance            Stable, two members      → Preparing; members that wait to sync must join again
join, join           both have joined         → the join phase ends
end_join_phase       generation 4             → Completing; each learns its generation, the leader all of them
end_sync_phase       one never synced (G4)    → it is removed, and the next rebalance begins
"""

from odradek.base.error_codes import ErrorCode
from odradek.coordinator.classic.answers import join_answer, refused_join, sync_answer
from odradek.coordinator.classic.classic_membership import ClassicMembership
from odradek.coordinator.classic.effects import (
    AwaitJoins,
    AwaitSyncs,
    ClassicEffects,
    Persist,
    StartSession,
)
from odradek.coordinator.classic.member import Member
from odradek.coordinator.classic.states import GroupEvent, GroupState
from odradek.wire.messages.join_group import JoinGroupResponse, JoinGroupResponseMember
from odradek.wire.messages.sync_group import SyncGroupResponse


def rebalance(group: ClassicMembership, event: GroupEvent) -> ClassicEffects:
    """Apply `event`, and begin a join phase unless one is under way."""
    before = group.state
    group.apply(event)
    assert group.is_rebalancing, f"{event} leads to {group.state}"
    if before is GroupState.PREPARING_REBALANCE:
        return []
    group.unsynced.clear()
    effects: ClassicEffects = []
    if before is GroupState.COMPLETING_REBALANCE:
        for member in group.members.values():
            member.assignment = b""
        effects += answer_syncs(group, ErrorCode.REBALANCE_IN_PROGRESS)
    effects.append(AwaitJoins(is_first=before is GroupState.EMPTY))
    return effects


def end_join_phase(group: ClassicMembership) -> ClassicEffects:
    """Called when all have joined, or at the deadline: continue with the members that have joined.

    A dynamic member that is late is removed; a static one keeps its place, and the phase goes on if only
    such members are left.
    """
    if not group.is_rebalancing:
        return []
    effects: ClassicEffects = []
    late = [member for member in group.members.values() if member.awaiting_join is None]
    for member in late:
        if not member.is_static:
            effects += remove(group, member)
    if group.members and not group.elect_joined_leader():
        effects.append(AwaitJoins(is_first=False))
        return effects
    group.begin_generation()
    if not group.members:
        # Kafka, too, continues when this write fails: the earlier record has more members, not fewer.
        effects.append(Persist(group.snapshot(), lambda error: []))
        return effects
    for member in group.members.values():
        effects += answer_join(group, member)
        effects.append(StartSession(member.member_id, member.session_timeout_ms))
        member.is_new = False
        group.unsynced[member.member_id] = None
    effects.append(AwaitSyncs(group.generation, group.rebalance_timeout_ms))
    return effects


def end_sync_phase(group: ClassicMembership, generation: int) -> ClassicEffects:
    """G4: called at the deadline of that generation: remove the members that have not synced."""
    if generation != group.generation or not group.unsynced:
        return []
    late = [group.members[member_id] for member_id in group.unsynced]
    effects: ClassicEffects = []
    for member in late:
        effects += remove(group, member)
    effects += rebalance(group, GroupEvent.MEMBER_GONE)
    return effects


def drop(group: ClassicMembership, member: Member) -> ClassicEffects:
    """A member left or expired: remove it, and assign its partitions to others."""
    return remove(group, member) + rebalance(group, GroupEvent.MEMBER_GONE)


def remove(group: ClassicMembership, member: Member) -> ClassicEffects:
    """Remove a member, and answer its parked requests."""
    effects = dismiss(group, member, ErrorCode.UNKNOWN_MEMBER_ID)
    group.remove(member)
    return effects


def dismiss(group: ClassicMembership, member: Member, code: ErrorCode) -> ClassicEffects:
    """Answer a member's parked requests with an error."""
    effects: ClassicEffects = []
    if member.awaiting_join is not None:
        effects.append(join_answer(member.awaiting_join, refused_join(member.member_id, code)))
        member.awaiting_join = None
        group.joined_count -= 1
    if member.awaiting_sync is not None:
        effects.append(sync_answer(member.awaiting_sync, SyncGroupResponse(error_code=code)))
        member.awaiting_sync = None
    return effects


def answer_join(group: ClassicMembership, member: Member) -> ClassicEffects:
    """Answer a member's parked JoinGroup with its generation; no effect without one."""
    respond = member.awaiting_join
    if respond is None:
        return []
    member.awaiting_join = None
    group.joined_count -= 1
    return [join_answer(respond, joined(group, member))]


def answer_syncs(group: ClassicMembership, code: ErrorCode) -> ClassicEffects:
    """Answer every parked SyncGroup, and begin those members' sessions."""
    effects: ClassicEffects = []
    for member in group.members.values():
        if member.awaiting_sync is not None:
            effects.append(sync_answer(member.awaiting_sync, synced(group, member, code)))
            effects.append(StartSession(member.member_id, member.session_timeout_ms))
            member.awaiting_sync = None
    return effects


def joined(group: ClassicMembership, member: Member) -> JoinGroupResponse:
    """The JoinGroup answer for the current generation; the leader's lists all members."""
    is_leader = member.member_id == group.leader_id
    return JoinGroupResponse(
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=group.leader_id or "",
        member_id=member.member_id,
        members=members_for_leader(group) if is_leader else [],
    )


def members_for_leader(group: ClassicMembership) -> list[JoinGroupResponseMember]:
    """All that the leader needs to assign."""
    protocol = group.protocol_name or ""
    return [
        JoinGroupResponseMember(member.member_id, member.instance_id, member.metadata(protocol))
        for member in group.members.values()
    ]


def synced(group: ClassicMembership, member: Member, code: ErrorCode = ErrorCode.NONE) -> SyncGroupResponse:
    """A member's assignment, or why there is none."""
    if code is not ErrorCode.NONE:
        return SyncGroupResponse(error_code=code)
    return SyncGroupResponse(
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        assignment=member.assignment,
    )
