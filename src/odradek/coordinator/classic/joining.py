"""JoinGroup: which member may join, under which id, and whether that begins a rebalance.

    no member id, JoinGroup ≥ 4       an id is handed out with MEMBER_ID_REQUIRED, to join with (KIP-394)
    no member id, before that         a new member
    no member id, a static member's   the member comes back under a new id; the old one is fenced (KIP-345)
    an id handed out                  a new member
    a member's id                     it joins again: a rebalance, unless it is a follower with no change

A JoinGroup that takes part in a rebalance is parked in its member until the join phase ends (G1).
"""

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.coordinator.classic.answers import join_answer, refused_join
from odradek.coordinator.classic.classic_membership import ClassicMembership
from odradek.coordinator.classic.effects import (
    ClassicEffects,
    Persist,
    StartPendingSession,
    StartSession,
)
from odradek.coordinator.classic.member import Member, Protocols, RespondToJoin, new_member_id
from odradek.coordinator.classic.rebalancing import (
    dismiss,
    joined,
    members_for_leader,
    rebalance,
)
from odradek.coordinator.classic.states import GroupEvent, GroupState
from odradek.coordinator.classic.terms import Caller, Terms
from odradek.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse

NEW_MEMBER_TIMEOUT_MS: Final = 5 * 60_000
"""How long the first join of a member may take before its client counts as dead (G2)."""
NO_MEMBER_ID: Final = ""


def join(
    group: ClassicMembership, terms: Terms, request: JoinGroupRequest, caller: Caller, respond: RespondToJoin
) -> ClassicEffects:
    """Handle a JoinGroup: answer it, or let the member wait."""
    protocols = _protocols(request)
    code = _refusal(group, terms, request, protocols)
    if code is ErrorCode.NONE:
        instance_id = request.group_instance_id
        if request.member_id == NO_MEMBER_ID:
            return _join_unnamed(group, terms, request, caller, respond)
        if request.member_id in group.pending_members and instance_id is None:
            return _admit(group, request, caller, respond, request.member_id)
        found = group.lookup(request.member_id, instance_id)
        if isinstance(found, Member):
            return _join_again(group, request, found, respond)
        code = found
    return [join_answer(respond, refused_join(request.member_id, code))]


def _refusal(
    group: ClassicMembership, terms: Terms, request: JoinGroupRequest, protocols: Protocols
) -> ErrorCode:
    """Why this request is refused, or NONE."""
    if not _has_room(group, request.member_id, terms.settings.group_max_size):
        group.pending_members.pop(request.member_id, None)
        return ErrorCode.GROUP_MAX_SIZE_REACHED
    code = group.may(GroupEvent.JOINS)
    if code is not ErrorCode.NONE:
        return code
    if not group.supports(request.protocol_type, protocols):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    return ErrorCode.NONE


def _has_room(group: ClassicMembership, member_id: str, size_max: int) -> bool:
    """Whether `group.max.size` allows another; during a join phase only members that have joined count."""
    member = group.members.get(member_id)
    if group.is_rebalancing:
        return (member is not None and member.awaiting_join is not None) or group.joined_count < size_max
    return member is not None or len(group.members) < size_max


def _join_unnamed(
    group: ClassicMembership, terms: Terms, request: JoinGroupRequest, caller: Caller, respond: RespondToJoin
) -> ClassicEffects:
    instance_id = request.group_instance_id
    member_id = new_member_id(instance_id or caller.client_id, terms.chance)
    if instance_id is not None:
        known_id = group.static_members.get(instance_id)
        if known_id is not None:
            return _replace(group, request, group.members[known_id], member_id, caller, respond)
    elif caller.takes_member_id:
        group.pending_members[member_id] = None
        return [
            StartPendingSession(member_id, request.session_timeout_ms),
            join_answer(respond, refused_join(member_id, ErrorCode.MEMBER_ID_REQUIRED)),
        ]
    return _admit(group, request, caller, respond, member_id)


def _admit(
    group: ClassicMembership,
    request: JoinGroupRequest,
    caller: Caller,
    respond: RespondToJoin,
    member_id: str,
) -> ClassicEffects:
    """Add a new member, which begins a rebalance."""
    if group.is_rebalancing and group.generation == 0:
        group.has_newcomers = True
    member = Member(
        member_id,
        request.group_instance_id,
        caller.client_id,
        caller.client_host,
        request.session_timeout_ms,
        _rebalance_timeout_ms(request),
        _protocols(request),
        is_new=True,
    )
    group.add(member, request.protocol_type)
    return [
        *_park(group, member, respond),
        StartSession(member_id, NEW_MEMBER_TIMEOUT_MS),
        *rebalance(group, GroupEvent.JOINS),
    ]


def _join_again(
    group: ClassicMembership, request: JoinGroupRequest, member: Member, respond: RespondToJoin
) -> ClassicEffects:
    """A known member joins: it takes part in a rebalance, begins one, or gets the current generation."""
    has_news = member.protocols != _protocols(request)
    # A leader that joins a stable group wants to assign again: it has seen a topic change.
    assigns_anew = member.member_id == group.leader_id and group.state is GroupState.STABLE
    event = GroupEvent.JOINS if has_news or assigns_anew else GroupEvent.JOINS_AGAIN
    code = group.may(event)
    if code is not ErrorCode.NONE:
        return [join_answer(respond, refused_join(member.member_id, code))]
    if event is GroupEvent.JOINS or group.is_rebalancing:
        _update(group, member, request)
        return _park(group, member, respond) + rebalance(group, event)
    return [join_answer(respond, joined(group, member))]


def _replace(
    group: ClassicMembership,
    request: JoinGroupRequest,
    member: Member,
    new_id: str,
    caller: Caller,
    respond: RespondToJoin,
) -> ClassicEffects:
    """KIP-345: a static member is back under a new id; in a stable group that need not begin a rebalance."""
    leader_before, old_id = group.leader_id or "", member.member_id
    effects = dismiss(group, member, ErrorCode.FENCED_INSTANCE_ID)
    group.rename(member, new_id)
    member.client_id, member.client_host = caller.client_id, caller.client_host
    protocols_before = member.protocols
    _update(group, member, request)
    effects.append(StartSession(new_id, member.session_timeout_ms))
    if group.state is not GroupState.STABLE or group.choose_protocol() != group.protocol_name:
        return effects + _park(group, member, respond) + rebalance(group, GroupEvent.JOINS)

    def appended(code: ErrorCode) -> ClassicEffects:
        if code is ErrorCode.NONE:
            return [join_answer(respond, _resumed(group, member, leader_before, caller))]
        group.rename(member, old_id)
        group.offer(member, protocols_before)
        return [join_answer(respond, refused_join(new_id, code))]

    effects.append(Persist(group.snapshot(), appended))
    return effects


def _resumed(
    group: ClassicMembership, member: Member, leader_before: str, caller: Caller
) -> JoinGroupResponse:
    """The answer to a static member that has resumed: it must not assign; JoinGroup 9 says so (KIP-814)."""
    response = joined(group, member)
    if caller.can_skip_assignment:
        response.skip_assignment = member.member_id == group.leader_id
        response.members = members_for_leader(group) if response.skip_assignment else []
    else:
        response.leader, response.members = leader_before, []
    return response


def _park(group: ClassicMembership, member: Member, respond: RespondToJoin) -> ClassicEffects:
    """Park a JoinGroup; an earlier one of the member is answered, though its client no longer reads that."""
    effects = dismiss(group, member, ErrorCode.REBALANCE_IN_PROGRESS)
    member.awaiting_join = respond
    group.joined_count += 1
    return effects


def _update(group: ClassicMembership, member: Member, request: JoinGroupRequest) -> None:
    group.offer(member, _protocols(request))
    member.session_timeout_ms = request.session_timeout_ms
    member.rebalance_timeout_ms = _rebalance_timeout_ms(request)


def _protocols(request: JoinGroupRequest) -> Protocols:
    return tuple((offered.name, bytes(offered.metadata)) for offered in request.protocols)


def _rebalance_timeout_ms(request: JoinGroupRequest) -> int:
    """The request's rebalance timeout; version 0 has only the session timeout."""
    return request.session_timeout_ms if request.rebalance_timeout_ms < 0 else request.rebalance_timeout_ms
