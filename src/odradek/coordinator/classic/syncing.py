"""SyncGroup: the leader sends the assignment, it is written, and every member gets its share.

follower syncs     Completing    waits
leader syncs       → Stable      the assignment is appended; both are answered when it is replicated
another syncs      Stable        answered when the assignment is replicated
"""

from odradek.base.error_codes import ErrorCode
from odradek.coordinator.classic.answers import sync_answer
from odradek.coordinator.classic.classic_membership import ClassicMembership
from odradek.coordinator.classic.effects import ClassicEffects, Persist, StartSession
from odradek.coordinator.classic.member import Member, RespondToSync
from odradek.coordinator.classic.rebalancing import answer_syncs, rebalance, synced
from odradek.coordinator.classic.states import GroupEvent, GroupState
from odradek.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse


def sync(group: ClassicMembership, request: SyncGroupRequest, respond: RespondToSync) -> ClassicEffects:
    """Handle a SyncGroup: answer it, or let the member wait for the leader's assignment."""
    found = _syncing_member(group, request)
    if isinstance(found, ErrorCode):
        return [sync_answer(respond, SyncGroupResponse(error_code=found))]
    group.apply(GroupEvent.SYNCS)
    group.unsynced.pop(found.member_id, None)
    if group.state is GroupState.STABLE:
        return [
            sync_answer(respond, synced(group, found)),
            StartSession(found.member_id, found.session_timeout_ms),
        ]
    effects: ClassicEffects = []
    if found.awaiting_sync is not None:
        again = SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS)
        effects.append(sync_answer(found.awaiting_sync, again))
    found.awaiting_sync = respond
    if found.member_id == group.leader_id:
        effects.append(_assign(group, request))
    return effects


def _syncing_member(group: ClassicMembership, request: SyncGroupRequest) -> Member | ErrorCode:
    """The member that syncs, or its error, in Kafka's order of checks."""
    if group.state is GroupState.DEAD:
        return group.may(GroupEvent.SYNCS)
    found = group.lookup(request.member_id, request.group_instance_id)
    if isinstance(found, ErrorCode):
        return found
    if request.generation_id != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    if request.protocol_type is not None and request.protocol_type != group.protocol_type:
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if request.protocol_name is not None and request.protocol_name != group.protocol_name:
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    code = group.may(GroupEvent.SYNCS)
    return found if code is ErrorCode.NONE else code


def _assign(group: ClassicMembership, request: SyncGroupRequest) -> Persist:
    """Append the assignment; a member that the leader left out gets an empty one, others are passed over."""
    assignments = {
        given.member_id: bytes(given.assignment)
        for given in request.assignments
        if given.member_id in group.members
    }

    def appended(code: ErrorCode) -> ClassicEffects:
        if code is not ErrorCode.NONE:
            effects = answer_syncs(group, code)
            return effects + rebalance(group, GroupEvent.ASSIGNMENT_LOST)
        for member in group.members.values():
            member.assignment = assignments.get(member.member_id, b"")
        group.apply(GroupEvent.ASSIGNED)
        return answer_syncs(group, ErrorCode.NONE)

    return Persist(group.snapshot(assignments), appended)
