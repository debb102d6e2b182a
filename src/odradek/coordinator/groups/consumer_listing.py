"""Descriptions of groups of the consumer protocol: ConsumerGroupDescribe and `/describe/groups`."""

from collections.abc import Mapping
from typing import Any, Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Steps, stepwise
from odradek.coordinator.assignors.model import Assignment
from odradek.coordinator.consumer.assignments import in_order
from odradek.coordinator.consumer.consumer_protocol import ConsumerProtocol
from odradek.coordinator.consumer.consumer_words import named, waits_for
from odradek.coordinator.consumer.member import Member
from odradek.coordinator.consumer.targeting import preferred_assignor
from odradek.coordinator.consumer.topics import Topics
from odradek.coordinator.groups.group import Group
from odradek.wire.messages.consumer_group_describe import (
    Assignment as ToldAssignment,
)
from odradek.wire.messages.consumer_group_describe import (
    DescribedGroup,
    TopicPartitions,
)
from odradek.wire.messages.consumer_group_describe import (
    Member as ToldMember,
)

MEMBERS_PER_STEP: Final = 4
"""Members, each with its current and its target assignment."""
CLASSIC_MEMBER: Final = 0
CONSUMER_MEMBER: Final = 1


def described_consumer(group_id: str, group: Group | None) -> Steps[DescribedGroup]:
    """One group with its members, as they are now; GROUP_ID_NOT_FOUND for any that is not of this protocol.

    The membership is replaced when the group changes, and so stays as it is from one step to the next.
    """
    if group is None or group.consumer is None:
        words = "does not exist" if group is None else "speaks the classic protocol"
        return DescribedGroup(
            error_code=ErrorCode.GROUP_ID_NOT_FOUND,
            error_message=f"the group {group_id} {words}",
            group_id=group_id,
        )
    consumer = group.consumer
    members, topics = consumer.membership, consumer.surroundings.topics
    answer = DescribedGroup(
        group_id=group_id,
        group_state=members.state.value,
        group_epoch=members.epoch,
        assignment_epoch=members.target_epoch,
        assignor_name=preferred_assignor(members, consumer.surroundings.assignors),
    )
    answer.members = yield from stepwise(
        members.members.values(),
        lambda member: _member(member, members.target_of(member.member_id), topics),
        MEMBERS_PER_STEP,
    )
    return answer


def _member(member: Member, target: Assignment, topics: Topics) -> ToldMember:
    metadata = member.metadata
    return ToldMember(
        member_id=member.member_id,
        instance_id=metadata.instance_id,
        rack_id=metadata.rack_id,
        member_epoch=member.share.epoch,
        client_id=metadata.client_id,
        client_host=metadata.client_host,
        subscribed_topic_names=list(metadata.topics),
        subscribed_topic_regex=metadata.expression,
        assignment=_assignment(member.share.assigned, topics),
        target_assignment=_assignment(target, topics),
        member_type=CONSUMER_MEMBER if metadata.classic is None else CLASSIC_MEMBER,
    )


def _assignment(assignment: Assignment, topics: Topics) -> ToldAssignment:
    """The assignment with topic names; deleted topics, which have none, are left out."""
    told = []
    for topic_id, partitions in in_order(assignment):
        topic = topics.by_id(topic_id)
        if topic is not None:
            told.append(TopicPartitions(topic_id, topic.name, partitions))
    return ToldAssignment(told)


def consumer_in_words(group: Group, consumer: ConsumerProtocol) -> Mapping[str, Any]:
    """A group for `/describe/groups`, the CLI and the console."""
    members, surroundings = consumer.membership, consumer.surroundings
    now_ms = surroundings.terms.clock.monotonic_ms()
    return {
        "group": group.group_id,
        "type": group.kind,
        "state": group.state,
        "protocol_type": group.protocol_type,
        "protocol": preferred_assignor(members, surroundings.assignors),
        "epoch": members.epoch,
        "assignment_epoch": members.target_epoch,
        "members": [_member_in_words(consumer, member, now_ms) for member in members.members.values()],
        "offsets": len(group.offsets),
        "open_transactions": len(group.offsets.open_producers),
        "waits_for": waits_for(consumer, surroundings.topics, now_ms),
    }


def _member_in_words(consumer: ConsumerProtocol, member: Member, now_ms: int) -> Mapping[str, Any]:
    metadata, share, topics = member.metadata, member.share, consumer.surroundings.topics
    presence = consumer.presence(member.member_id)
    return {
        "member": member.member_id,
        "instance": metadata.instance_id,
        "client": metadata.client_id,
        "host": metadata.client_host,
        "protocol": "consumer" if metadata.classic is None else "classic",
        "epoch": share.epoch,
        "state": share.state.name.lower(),
        "topics": list(metadata.topics),
        "expression": metadata.expression or None,
        "assigned": named(share.assigned, topics),
        "revoking": named(share.revoking, topics),
        "last_heartbeat_ms_ago": None if presence is None else now_ms - presence.last_heartbeat_ms,
        "rebalance_timeout_ms": metadata.rebalance_timeout_ms,
    }
