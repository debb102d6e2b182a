"""Members of the classic protocol in a consumer group: JoinGroup, SyncGroup, Heartbeat and LeaveGroup.

They are assigned like all others, but learn of it differently. A member's generation is its epoch.

    heartbeat   REBALANCE_IN_PROGRESS when its epoch is behind, it must revoke, or more is free for it
    join        carries what it owns and subscribes to; answered at once, with no leader: the broker assigns
    sync        its assignment

A member that is asked to join again must do so within its rebalance timeout, and sync within that again.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, MalformedRequest
from odradek.base.execution import exhaust
from odradek.coordinator.classic.answers import code_answer, join_answer, sync_answer
from odradek.coordinator.classic.classic_membership import CONSUMER_PROTOCOL_TYPE
from odradek.coordinator.classic.member import Protocols, RespondToJoin, RespondToSync, new_member_id
from odradek.coordinator.classic.terms import Caller
from odradek.coordinator.consumer.classic_subscriptions import by_id, read_subscription, write_assignment
from odradek.coordinator.consumer.consumer_membership import ConsumerMembership
from odradek.coordinator.consumer.draft import Draft
from odradek.coordinator.consumer.effects import (
    AwaitRejoin,
    AwaitRevocation,
    AwaitSync,
    ConsumerEffects,
    Rejoined,
    StartSession,
    Synced,
)
from odradek.coordinator.consumer.heartbeats import advance
from odradek.coordinator.consumer.leaving import remove
from odradek.coordinator.consumer.member import ClassicTerms, Member, MemberMetadata
from odradek.coordinator.consumer.reconciling import waits_on_others
from odradek.coordinator.consumer.requesting_member import check_room, find, take_over
from odradek.coordinator.consumer.states import MemberState
from odradek.coordinator.consumer.surroundings import GroupSurroundings
from odradek.coordinator.consumer.topics import Topics
from odradek.wire.messages.consumer_protocol import ConsumerProtocolSubscription
from odradek.wire.messages.heartbeat import HeartbeatRequest
from odradek.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from odradek.wire.messages.leave_group import MemberIdentity
from odradek.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

RespondWithCode: TypeAlias = Callable[[ErrorCode], None]


def join(
    draft: Draft,
    surroundings: GroupSurroundings,
    request: JoinGroupRequest,
    caller: Caller,
    respond: RespondToJoin,
) -> ConsumerEffects:
    """Handle a JoinGroup. Raises ApiError."""
    check_room(draft.group, request.member_id, surroundings.terms.settings.group_consumer_max_size)
    protocols = tuple((offered.name, bytes(offered.metadata)) for offered in request.protocols)
    if not _supports(draft.group, request.member_id, request.protocol_type, protocols):
        words = "none of the member's protocols is one that all other members have"
        raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, words)
    subscription = _subscription(protocols[0][1])
    if not request.member_id and request.group_instance_id is None and caller.takes_member_id:
        member_id = new_member_id(caller.client_id, surroundings.terms.chance)
        required = JoinGroupResponse(error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id=member_id)
        return [join_answer(respond, required)]
    member = _joining(draft, surroundings, request, caller)
    rebalance_timeout_ms = request.rebalance_timeout_ms
    if rebalance_timeout_ms < 0:
        rebalance_timeout_ms = request.session_timeout_ms
    metadata = MemberMetadata(
        request.group_instance_id,
        subscription.rack_id,
        caller.client_id,
        caller.client_host,
        tuple(sorted(set(subscription.topics))),
        rebalance_timeout_ms=rebalance_timeout_ms,
        classic=ClassicTerms(request.session_timeout_ms, protocols),
    )
    owned = by_id(subscription.owned_partitions, surroundings.topics)
    effects = exhaust(advance(draft, surroundings, member, metadata, owned))
    response = JoinGroupResponse(
        generation_id=draft.group.members[member.member_id].share.epoch,
        protocol_type=CONSUMER_PROTOCOL_TYPE,
        protocol_name=protocols[0][0],
        member_id=member.member_id,
    )
    return [
        StartSession(member.member_id, request.session_timeout_ms),
        # The rejoin and the sync have deadlines; the revocation needs no third one.
        *(effect for effect in effects if not isinstance(effect, AwaitRevocation)),
        Rejoined(member.member_id),
        AwaitSync(member.member_id, rebalance_timeout_ms),
        join_answer(respond, response),
    ]


def sync(
    group: ConsumerMembership, topics: Topics, request: SyncGroupRequest, respond: RespondToSync
) -> ConsumerEffects:
    """Handle a SyncGroup. Raises ApiError."""
    member, terms = _find(group, request.member_id, request.group_instance_id)
    _check_generation(member, request.generation_id)
    name, metadata = terms.protocols[0]
    is_other_type = request.protocol_type not in (None, CONSUMER_PROTOCOL_TYPE)
    if is_other_type or request.protocol_name not in (None, name):
        raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if group.epoch > member.share.epoch and member.share.state is not MemberState.UNREVOKED_PARTITIONS:
        again = SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS)
        return [_rejoin(member), sync_answer(respond, again)]
    response = SyncGroupResponse(
        protocol_type=CONSUMER_PROTOCOL_TYPE,
        protocol_name=name,
        assignment=write_assignment(member.share.assigned, topics, metadata),
    )
    session = StartSession(member.member_id, terms.session_timeout_ms)
    return [Synced(member.member_id), session, sync_answer(respond, response)]


def heartbeat(
    group: ConsumerMembership, request: HeartbeatRequest, respond: RespondWithCode
) -> ConsumerEffects:
    """Handle a Heartbeat. Raises ApiError."""
    member, terms = _find(group, request.member_id, request.group_instance_id)
    _check_generation(member, request.generation_id)
    session = StartSession(member.member_id, terms.session_timeout_ms)
    if must_rejoin(group, member):
        return [session, _rejoin(member), code_answer(respond, ErrorCode.REBALANCE_IN_PROGRESS)]
    return [session, code_answer(respond, ErrorCode.NONE)]


def leave(
    draft: Draft,
    topics: Topics,
    leavers: Sequence[MemberIdentity],
) -> list[ErrorCode]:
    """Handle a LeaveGroup; returns one code for each member.

    Administrators name static members by instance id alone. A member that is named twice
    leaves once and is answered twice, as in Kafka's groups of this protocol.
    """
    codes, gone = [], []
    for leaver in leavers:
        member_id, instance_id = leaver.member_id, leaver.group_instance_id
        known = None if instance_id is None else draft.group.static_member(instance_id)
        if known is not None and not member_id:
            member_id = known.member_id
        try:
            member = find(draft.group, member_id, instance_id)
        except ApiError as error:
            codes.append(error.code)
            continue
        codes.append(ErrorCode.NONE)
        if member.member_id not in gone:
            gone.append(member.member_id)
    if gone:
        exhaust(remove(draft, topics, gone))
    return codes


def must_rejoin(group: ConsumerMembership, member: Member) -> bool:
    """Whether a member of the classic protocol must join again: for a new assignment, or to revoke."""
    state = member.share.state
    is_free = state is MemberState.UNRELEASED_PARTITIONS and not waits_on_others(group, member)
    return group.epoch > member.share.epoch or state is MemberState.UNREVOKED_PARTITIONS or is_free


def _rejoin(member: Member) -> AwaitRejoin:
    return AwaitRejoin(member.member_id, member.metadata.rebalance_timeout_ms)


def _joining(
    draft: Draft, surroundings: GroupSurroundings, request: JoinGroupRequest, caller: Caller
) -> Member:
    """The member that joins: a known one, one that replaces a static member, or a new one."""
    group, member_id, instance_id = draft.group, request.member_id, request.group_instance_id
    if member_id and instance_id is not None:
        return find(group, member_id, instance_id)
    if not member_id:
        member_id = new_member_id(instance_id or caller.client_id, surroundings.terms.chance)
    released = None if instance_id is None else group.static_member(instance_id)
    if released is not None:
        return take_over(draft, released, member_id, is_classic=True)
    return group.members.get(member_id) or Member(member_id, MemberMetadata())


def _supports(group: ConsumerMembership, member_id: str, protocol_type: str, protocols: Protocols) -> bool:
    """Whether one of these protocols is offered by all other members of the classic protocol."""
    if protocol_type != CONSUMER_PROTOCOL_TYPE or not protocols:
        return False
    others = [
        frozenset(name for name, _ in member.metadata.classic.protocols)
        for member in group.members.values()
        if member.metadata.classic is not None and member.member_id != member_id
    ]
    return any(all(name in offered for offered in others) for name, _ in protocols)


def _subscription(metadata: bytes) -> ConsumerProtocolSubscription:
    try:
        return read_subscription(metadata)
    except MalformedRequest as error:
        raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, str(error)) from None


def _find(group: ConsumerMembership, member_id: str, instance_id: str | None) -> tuple[Member, ClassicTerms]:
    member = find(group, member_id, instance_id)
    if member.metadata.classic is None:
        words = f"the member {member_id} speaks the consumer protocol"
        raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, words)
    return member, member.metadata.classic


def _check_generation(member: Member, generation: int) -> None:
    if generation != member.share.epoch:
        raise ApiError(ErrorCode.ILLEGAL_GENERATION)
