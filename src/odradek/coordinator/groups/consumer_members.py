"""Members of consumer groups at the front door: which group takes a request, or why none does.

heartbeat, no such group, epoch 0     a group begins to exist
heartbeat, a classic group, epoch 0   the group changes its protocol, if it may (`migrating`)
heartbeat, either, else               GROUP_ID_NOT_FOUND
join, a group without members         it is a classic group from now on
join, sync, leave, classic heartbeat  its classic members' (`consumer.classic_members`)
"""

from collections.abc import Callable
from typing import TypeAlias

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.coordinator.classic.member import RespondToJoin, RespondToSync
from odradek.coordinator.classic.rebalancing import refused_join
from odradek.coordinator.classic.terms import Caller
from odradek.coordinator.consumer.classic_members import beat, join, leave, sync
from odradek.coordinator.consumer.coordinator import ConsumerCoordinator
from odradek.coordinator.consumer.draft import Draft
from odradek.coordinator.consumer.effects import Answer, Effects, StartSession
from odradek.coordinator.consumer.heartbeats import RespondToHeartbeat
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

Refused: TypeAlias = Callable[[ErrorCode, str], None]


def hear(
    shard: Shard,
    request: ConsumerGroupHeartbeatRequest,
    caller: Caller,
    respond: RespondToHeartbeat,
    refused: Refused,
) -> None:
    """Give a valid ConsumerGroupHeartbeat to its group."""
    group_id = request.group_id
    is_joining = request.member_epoch == JOINING_EPOCH
    group = shard.groups.get(group_id)
    if group is None and not is_joining:
        refused(ErrorCode.GROUP_ID_NOT_FOUND, f"the group {group_id} does not exist")
        return
    if group is None:
        group = shard.group(group_id)
    consumer = group.consumer
    if consumer is not None:
        consumer.take(lambda draft: consumer.heard(draft, request, caller, respond), refused)
    elif is_joining:
        _upgrade(shard, group, request, caller, respond, refused)
    else:
        refused(ErrorCode.GROUP_ID_NOT_FOUND, f"the group {group_id} speaks the classic protocol")


def _upgrade(
    shard: Shard,
    group: Group,
    request: ConsumerGroupHeartbeatRequest,
    caller: Caller,
    respond: RespondToHeartbeat,
    refused: Refused,
) -> None:
    """A classic group, mostly one without members or one that only now begins, gets its first such member."""
    try:
        changes = upgraded(group.membership, shard.surroundings)
    except ApiError as error:
        shard.forget_if_void(group)
        refused(error.code, error.message)
        return
    consumer = shard.make_consumer(group)
    members = list(group.membership.members.values())

    def step(draft: Draft) -> Effects:
        if group.is_stored:
            draft.before.append(group_tombstone(group.group_id))
        draft.put_all(changes)
        effects = consumer.heard(draft, request, caller, respond)
        sessions = [StartSession(member.member_id, member.session_timeout_ms) for member in members]
        return [Answer(shard.end_classic, group), *sessions, *effects]

    def stays_classic(code: ErrorCode, words: str) -> None:
        shard.end_consumer(group)
        shard.forget_if_void(group)
        refused(code, words)

    consumer.take(step, stays_classic)


# --- members of the classic protocol


def take_join(
    shard: Shard, group: Group, request: JoinGroupRequest, caller: Caller, respond: RespondToJoin
) -> None:
    """Give a JoinGroup to its group, which is a classic one afterwards if it had no members."""
    consumer = group.consumer

    def refused(code: ErrorCode, words: str) -> None:
        shard.forget_if_void(group)
        respond(refused_join(request.member_id, code))

    if consumer is None:
        group.classic.join(request, caller, respond)
        return

    def begin_again(_: None) -> None:
        shard.end_consumer(group)
        group.classic.join(request, caller, respond)

    def step(draft: Draft) -> Effects:
        if draft.group.members:
            return join(draft, consumer.surroundings, request, caller, respond)
        if draft.group.is_stored:
            draft.put_all(draft.group.tombstones())
        return [Answer(begin_again, None)]

    consumer.take(step, refused)


def take_sync(consumer: ConsumerCoordinator, request: SyncGroupRequest, respond: RespondToSync) -> None:
    """Give a SyncGroup to a consumer group."""
    topics = consumer.surroundings.topics
    consumer.take(
        lambda draft: sync(draft.group, topics, request, respond),
        lambda code, words: respond(SyncGroupResponse(error_code=code)),
    )


def take_beat(
    consumer: ConsumerCoordinator, request: HeartbeatRequest, respond: Callable[[ErrorCode], None]
) -> None:
    """Give a Heartbeat to a consumer group."""
    consumer.take(lambda draft: beat(draft.group, request, respond), lambda code, words: respond(code))


def take_leave(
    consumer: ConsumerCoordinator,
    leavers: list[MemberIdentity],
    respond: Callable[[ErrorCode, list[ErrorCode]], None],
) -> None:
    """Give a LeaveGroup to a consumer group."""
    topics = consumer.surroundings.topics

    def left(codes: list[ErrorCode]) -> None:
        respond(ErrorCode.NONE, codes)

    consumer.take(lambda draft: leave(draft, topics, leavers, left), lambda code, words: respond(code, []))
