"""Routes requests of consumer groups' members: to the group that takes one, or to the error if none does.

heartbeat, no such group, epoch 0     a group begins to exist
heartbeat, a classic group, epoch 0   the group changes its protocol, if it may (`migrating`)
heartbeat, either, else               GROUP_ID_NOT_FOUND
join, a group without members         it is a classic group from now on
join, sync, leave, classic heartbeat  its classic members' (`consumer.classic_members`)
"""

from collections.abc import Callable, Sequence

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.coordinator.classic.answers import code_answer, join_answer, refused_join, sync_answer
from odradek.coordinator.classic.member import RespondToJoin, RespondToSync
from odradek.coordinator.classic.terms import Caller
from odradek.coordinator.consumer.answers import (
    RespondToHeartbeat,
    heartbeat_answer,
    refused_heartbeat,
)
from odradek.coordinator.consumer.classic_members import beat, join, leave, sync
from odradek.coordinator.consumer.consumer_protocol import ConsumerProtocol
from odradek.coordinator.consumer.draft import Draft
from odradek.coordinator.consumer.effects import ConsumerEffects, EndClassic, StartSession
from odradek.coordinator.consumer.member import JOINING_EPOCH
from odradek.coordinator.groups.group import Group
from odradek.coordinator.groups.log_records import group_tombstone
from odradek.coordinator.groups.migrating import upgraded
from odradek.coordinator.groups.shard import Shard
from odradek.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from odradek.wire.messages.heartbeat import HeartbeatRequest
from odradek.wire.messages.join_group import JoinGroupRequest
from odradek.wire.messages.leave_group import MemberIdentity
from odradek.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse


def hear(
    shard: Shard, request: ConsumerGroupHeartbeatRequest, caller: Caller, respond: RespondToHeartbeat
) -> None:
    """Pass a valid ConsumerGroupHeartbeat to its group."""
    group_id = request.group_id
    is_joining = request.member_epoch == JOINING_EPOCH
    group = shard.groups.get(group_id)
    refusal: ApiError | None = None
    if group is None and not is_joining:
        refusal = ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"the group {group_id} does not exist")
    elif group is None or group.consumer is None:
        if is_joining:
            refusal = _upgrade(shard, shard.group(group_id), request, caller, respond)
        else:
            words = f"the group {group_id} speaks the classic protocol"
            refusal = ApiError(ErrorCode.GROUP_ID_NOT_FOUND, words)
    else:
        consumer = group.consumer
        refusal = consumer.take(lambda draft: consumer.heard(draft, request, caller, respond))
    if refusal is not None:
        shard.answer(heartbeat_answer(respond, refused_heartbeat(refusal.code, refusal.message)))


def _upgrade(
    shard: Shard,
    group: Group,
    request: ConsumerGroupHeartbeatRequest,
    caller: Caller,
    respond: RespondToHeartbeat,
) -> ApiError | None:
    """Convert a classic group, usually a new or empty one, for its first member of the consumer protocol."""
    try:
        changes = upgraded(group.membership, shard.surroundings)
    except ApiError as error:
        shard.forget_if_void(group)
        return error
    consumer = shard.make_consumer(group)
    members = list(group.membership.members.values())

    def step(draft: Draft) -> ConsumerEffects:
        if group.is_stored:
            draft.before.append(group_tombstone(group.group_id))
        draft.put_all(changes)
        effects = consumer.heard(draft, request, caller, respond)
        sessions = [StartSession(member.member_id, member.session_timeout_ms) for member in members]
        return [EndClassic(), *sessions, *effects]

    refusal = consumer.take(step)
    if refusal is not None:
        shard.end_consumer(group)
        shard.forget_if_void(group)
    return refusal


# --- members of the classic protocol


def take_join(
    shard: Shard, group: Group, request: JoinGroupRequest, caller: Caller, respond: RespondToJoin
) -> None:
    """Pass a JoinGroup to its group; a group without members becomes a classic one."""
    consumer = group.consumer
    if consumer is None:
        group.classic.join(request, caller, respond)
        return

    def step(draft: Draft) -> ConsumerEffects:
        if draft.group.members:
            return join(draft, consumer.surroundings, request, caller, respond)
        if draft.group.is_stored:
            draft.put_all(draft.group.tombstones())
        return []

    was_empty = not consumer.membership.members
    refusal = consumer.take(step)
    if refusal is not None:
        shard.forget_if_void(group)
        shard.answer(join_answer(respond, refused_join(request.member_id, refusal.code)))
    elif was_empty:
        shard.end_consumer(group)
        group.classic.join(request, caller, respond)


def take_sync(
    shard: Shard, consumer: ConsumerProtocol, request: SyncGroupRequest, respond: RespondToSync
) -> None:
    """Pass a SyncGroup to a consumer group."""
    topics = consumer.surroundings.topics
    refusal = consumer.take(lambda draft: sync(draft.group, topics, request, respond))
    if refusal is not None:
        shard.answer(sync_answer(respond, SyncGroupResponse(error_code=refusal.code)))


def take_beat(
    shard: Shard,
    consumer: ConsumerProtocol,
    request: HeartbeatRequest,
    respond: Callable[[ErrorCode], None],
) -> None:
    """Pass a Heartbeat to a consumer group."""
    refusal = consumer.take(lambda draft: beat(draft.group, request, respond))
    if refusal is not None:
        shard.answer(code_answer(respond, refusal.code))


def take_leave(consumer: ConsumerProtocol, leavers: Sequence[MemberIdentity]) -> list[ErrorCode] | ErrorCode:
    """Apply a LeaveGroup to a consumer group: one code for each member, or the error of the whole request."""
    topics = consumer.surroundings.topics
    codes: list[ErrorCode] = []

    def step(draft: Draft) -> ConsumerEffects:
        codes.extend(leave(draft, topics, leavers))
        return []

    refusal = consumer.take(step)
    return codes if refusal is None else refusal.code
