"""ConsumerGroupHeartbeat: a member keeps its session, sends its changes, and gets its assignment.

One draft has everything: the member, the topics of its subscription, the group's epoch, the target, the
member's share. It is made in steps; a group that reads few topics needs only one. If neither the member nor
the group has changed, a heartbeat writes nothing.

    request's epoch    0 joins; above 0 stays; -1 and -2 leave (`leaving`)
    a field is None    unchanged since the last heartbeat
    the answer         has an assignment where that changed, and for a member that joins or sends all fields
"""

from typing import Final

from odradek.base.execution import COUNTED_PER_STEP, Steps, ordered, stepwise
from odradek.coordinator.assignors.model import Assignment
from odradek.coordinator.classic.terms import Caller
from odradek.coordinator.consumer.answers import RespondToHeartbeat, heartbeat_answer
from odradek.coordinator.consumer.assignments import assignment_of, in_order_in_steps
from odradek.coordinator.consumer.changes import MemberChanged, ShareChanged
from odradek.coordinator.consumer.draft import Draft
from odradek.coordinator.consumer.effects import AwaitRevocation, ConsumerEffects, StartSession
from odradek.coordinator.consumer.member import JOINING_EPOCH, Member, MemberMetadata
from odradek.coordinator.consumer.reconciling import reconciled
from odradek.coordinator.consumer.requesting_member import check_epoch, check_room, find, take_over
from odradek.coordinator.consumer.states import MemberState
from odradek.coordinator.consumer.subscribing import (
    drop_unused_expressions,
    raise_epoch,
    refresh,
    resolve,
)
from odradek.coordinator.consumer.surroundings import GroupSurroundings
from odradek.coordinator.consumer.targeting import assign
from odradek.wire.messages.consumer_group_heartbeat import (
    Assignment as ToldAssignment,
)
from odradek.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

_UNCHANGED: Final = -1


def heartbeat(
    draft: Draft,
    surroundings: GroupSurroundings,
    request: ConsumerGroupHeartbeatRequest,
    caller: Caller,
    respond: RespondToHeartbeat,
) -> Steps[ConsumerEffects]:
    """Handle a valid heartbeat of a member that joins or stays. Raises ApiError."""
    owned = _owned(request)
    if owned and draft.pace.is_over(len(owned)):
        yield
    check_room(draft.group, request.member_id, surroundings.terms.settings.group_consumer_max_size)
    member = _member(draft, surroundings, request, owned)
    metadata = yield from _told(request, member.metadata, caller)
    effects = yield from advance(draft, surroundings, member, metadata, owned)
    after = draft.group.members[member.member_id].share
    is_joining = request.member_epoch == JOINING_EPOCH
    config = surroundings.config(draft.group.group_id)
    wants_all = is_joining or _is_full(request) or after.assigned != member.share.assigned
    if wants_all and draft.pace.is_over(len(after.assigned)):
        yield
    assignment = (yield from _assignment(after.assigned)) if wants_all else None
    response = ConsumerGroupHeartbeatResponse(
        member_id=member.member_id,
        member_epoch=after.epoch,
        heartbeat_interval_ms=config.consumer_heartbeat_interval_ms,
        assignment=assignment,
    )
    return [
        StartSession(member.member_id, config.consumer_session_timeout_ms),
        *effects,
        heartbeat_answer(respond, response),
    ]


def advance(
    draft: Draft,
    surroundings: GroupSurroundings,
    member: Member,
    metadata: MemberMetadata,
    owned: Assignment | None,
) -> Steps[ConsumerEffects]:
    """Apply what a member sent, then advance it and the group as far as possible.

    The same for members of either protocol. Raises ApiError.
    """
    member_id, topics = member.member_id, surroundings.topics
    before = member.metadata
    is_new = member_id not in draft.group.members
    if metadata.expression != before.expression:
        resolve(draft, metadata.expression, surroundings)
    if is_new or metadata != before:
        draft.put(MemberChanged(member_id, metadata))
    if draft.topics_changed:
        refresh(draft, surroundings)
    if metadata.expression != before.expression:
        drop_unused_expressions(draft)
    is_first = draft.group.epoch == 0
    has_news = (metadata.topics, metadata.expression) != (before.topics, before.expression)
    if is_first or has_news or draft.topics_changed:
        yield from raise_epoch(draft, topics, is_changed=is_first or has_news)
    yield from assign(draft, topics, surroundings.assignors)
    current = draft.group.members[member_id]
    share = yield from reconciled(draft, current, owned)
    if share == current.share:
        return []
    if draft.pace.is_over(len(share.assigned) + len(share.revoking)):
        yield
    draft.put(ShareChanged(member_id, share))
    if share.state is not MemberState.UNREVOKED_PARTITIONS:
        return []
    return [AwaitRevocation(member_id, share, metadata.rebalance_timeout_ms)]


def _member(
    draft: Draft,
    surroundings: GroupSurroundings,
    request: ConsumerGroupHeartbeatRequest,
    owned: Assignment | None,
) -> Member:
    """The member that sends this: a known one, one that replaces a static member, or a new one."""
    group = draft.group
    if request.member_epoch != JOINING_EPOCH:
        member = find(group, request.member_id, request.instance_id)
        check_epoch(member, request.member_epoch, owned)
        return member
    member_id = request.member_id or str(surroundings.terms.chance.uuid())
    if request.instance_id is not None:
        released = group.static_member(request.instance_id)
        if released is not None:
            return take_over(draft, released, member_id)
    # A member that joins again has lost its state; it keeps its place and epoch (as from Kafka 4.3 on).
    return group.members.get(member_id) or Member(member_id, MemberMetadata())


def _told(
    request: ConsumerGroupHeartbeatRequest, before: MemberMetadata, caller: Caller
) -> Steps[MemberMetadata]:
    """The member's metadata after this request."""
    names, expression = request.subscribed_topic_names, request.subscribed_topic_regex
    topics = before.topics if names is None else tuple(dict.fromkeys((yield from ordered(names))))
    timeout_ms = request.rebalance_timeout_ms
    return MemberMetadata(
        before.instance_id if request.instance_id is None else request.instance_id,
        before.rack_id if request.rack_id is None else request.rack_id,
        caller.client_id,
        caller.client_host,
        topics,
        before.expression if expression is None else expression,
        before.rebalance_timeout_ms if timeout_ms == _UNCHANGED else timeout_ms,
        before.assignor if request.server_assignor is None else request.server_assignor,
    )


def _owned(request: ConsumerGroupHeartbeatRequest) -> Assignment | None:
    told = request.topic_partitions
    return None if told is None else assignment_of((one.topic_id, one.partitions) for one in told)


def _is_full(request: ConsumerGroupHeartbeatRequest) -> bool:
    """Whether it sends all fields, as a member does whose last heartbeat may have been lost."""
    has_subscription = (
        request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
    )
    return (
        request.rebalance_timeout_ms != _UNCHANGED
        and has_subscription
        and request.topic_partitions is not None
    )


def _assignment(assigned: Assignment) -> Steps[ToldAssignment]:
    topics = yield from in_order_in_steps(assigned)
    return ToldAssignment((yield from stepwise(topics, lambda one: TopicPartitions(*one), COUNTED_PER_STEP)))
