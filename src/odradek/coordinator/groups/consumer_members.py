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
from odradek.base.execution import Steps, exhaust
from odradek.coordinator.classic.answers import code_answer, join_answer, refused_join, sync_answer
from odradek.coordinator.classic.member import RespondToJoin, RespondToSync
from odradek.coordinator.classic.terms import Caller
from odradek.coordinator.consumer.answers import (
    RespondToHeartbeat,
    heartbeat_answer,
    refused_heartbeat,
)
from odradek.coordinator.consumer.classic_members import heartbeat, join, leave, sync
from odradek.coordinator.consumer.consumer_membership import ConsumerMembership
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


def handle_consumer_heartbeat(
    shard: Shard, request: ConsumerGroupHeartbeatRequest, caller: Caller, respond: RespondToHeartbeat
) -> Steps[bool]:
    """Handle a valid ConsumerGroupHeartbeat, with the append and the answer in the last step.

    Returns False, having changed nothing, if the group has changed between two steps.
    """
    group_id = request.group_id
    is_joining = request.member_epoch == JOINING_EPOCH
    group = shard.groups.get(group_id)
    try:
        if group is not None and group.consumer is not None:
            return (yield from _advance(shard, group, group.consumer, request, caller, respond))
        if is_joining:
            return (yield from _upgrade(shard, shard.group(group_id), request, caller, respond))
        if group is None:
            words = f"the group {group_id} does not exist"
        else:
            words = f"the group {group_id} speaks the classic protocol"
        raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, words)
    except ApiError as refusal:
        shard.answer(heartbeat_answer(respond, refused_heartbeat(refusal.code, refusal.message)))
        return True


def _advance(
    shard: Shard,
    group: Group,
    consumer: ConsumerProtocol,
    request: ConsumerGroupHeartbeatRequest,
    caller: Caller,
    respond: RespondToHeartbeat,
) -> Steps[bool]:
    draft = consumer.draft()
    effects = yield from consumer.handle_heartbeat(draft, request, caller, respond)
    if shard.is_closed or group.consumer is not consumer or not consumer.is_current(draft):
        return False
    consumer.commit_or_refuse(draft, effects)
    return True


def _upgrade(
    shard: Shard,
    group: Group,
    request: ConsumerGroupHeartbeatRequest,
    caller: Caller,
    respond: RespondToHeartbeat,
) -> Steps[bool]:
    """Convert a classic group, usually a new or empty one, for its first member of the consumer protocol.

    A group with members is converted in one step: they may act at any time.
    """
    consumer = shard.new_consumer(ConsumerMembership(group.group_id))
    draft = consumer.draft()
    members = list(group.membership.members.values())
    if group.is_stored:
        draft.before.append(group_tombstone(group.group_id))
    try:
        draft.put_all(upgraded(group.membership, shard.surroundings))
        steps = consumer.handle_heartbeat(draft, request, caller, respond)
        effects = exhaust(steps) if members else (yield from steps)
        was_taken = group.consumer is not None or len(group.membership.members) != len(members)
        is_gone = shard.is_closed or shard.groups.get(group.group_id) is not group
        if was_taken or is_gone or not consumer.is_current(draft):
            shard.forget_if_void(group)
            return False
        group.consumer = consumer
        sessions = [StartSession(member.member_id, member.session_timeout_ms) for member in members]
        consumer.commit_or_refuse(draft, [EndClassic(), *sessions, *effects])
    except ApiError:
        if group.consumer is consumer:
            shard.end_consumer(group)
        shard.forget_if_void(group)
        raise
    return True


# --- members of the classic protocol


def handle_join(
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
    refusal = consumer.run(step)
    if refusal is not None:
        shard.forget_if_void(group)
        shard.answer(join_answer(respond, refused_join(request.member_id, refusal.code)))
    elif was_empty:
        shard.end_consumer(group)
        group.classic.join(request, caller, respond)


def handle_sync(
    shard: Shard, consumer: ConsumerProtocol, request: SyncGroupRequest, respond: RespondToSync
) -> None:
    """Pass a SyncGroup to a consumer group."""
    topics = consumer.surroundings.topics
    refusal = consumer.run(lambda draft: sync(draft.group, topics, request, respond))
    if refusal is not None:
        shard.answer(sync_answer(respond, SyncGroupResponse(error_code=refusal.code)))


def handle_classic_heartbeat(
    shard: Shard,
    consumer: ConsumerProtocol,
    request: HeartbeatRequest,
    respond: Callable[[ErrorCode], None],
) -> None:
    """Pass a Heartbeat to a consumer group."""
    refusal = consumer.run(lambda draft: heartbeat(draft.group, request, respond))
    if refusal is not None:
        shard.answer(code_answer(respond, refusal.code))


def handle_leave(
    consumer: ConsumerProtocol, leavers: Sequence[MemberIdentity]
) -> list[ErrorCode] | ErrorCode:
    """Apply a LeaveGroup to a consumer group: one code for each member, or the error of the whole request."""
    topics = consumer.surroundings.topics
    codes: list[ErrorCode] = []

    def step(draft: Draft) -> ConsumerEffects:
        codes.extend(leave(draft, topics, leavers))
        return []

    refusal = consumer.run(step)
    return codes if refusal is None else refusal.code
