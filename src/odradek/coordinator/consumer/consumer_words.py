"""What a consumer group waits for, in words: for purgatories, `/describe/groups`, the console and tests.

member c-2 has not revoked flights-3; waiting up to 41 s
"""

from typing import Final

from odradek.base.some_names import some_of
from odradek.coordinator.assignors.model import Assignment
from odradek.coordinator.consumer.assignments import in_order, without
from odradek.coordinator.consumer.consumer_protocol import ConsumerProtocol
from odradek.coordinator.consumer.member import Member
from odradek.coordinator.consumer.states import GroupState, MemberState
from odradek.coordinator.consumer.topics import Topics

NAMED_MAX: Final = 5
"""How many members, and how many partitions of each, are named one by one."""


def waits_for(consumer: ConsumerProtocol, topics: Topics, now_ms: int) -> str:
    """What has to happen next, and until when; "nothing" where the group is at rest."""
    group = consumer.membership
    if group.state is GroupState.ASSIGNING:
        return "the next heartbeat of any member, which computes the assignment"
    late = [member for member in group.members.values() if not member.has_reached(group.target_epoch)]
    if not late:
        return "nothing"
    said = [_waits_for(consumer, member, topics, now_ms) for member in late[:NAMED_MAX]]
    if len(late) > NAMED_MAX:
        said.append(f"{len(late) - NAMED_MAX} more members")
    return "; ".join(said)


def _waits_for(consumer: ConsumerProtocol, member: Member, topics: Topics, now_ms: int) -> str:
    group, share, presence = consumer.membership, member.share, consumer.presence(member.member_id)
    who = f"member {member.member_id}"
    if member.is_away:
        return f"{who} is away"
    if share.state is MemberState.UNREVOKED_PARTITIONS:
        left = _seconds((now_ms if presence is None else presence.revokes_until_ms) - now_ms)
        return f"{who} has not revoked {named(share.revoking, topics)}; waiting up to {left}"
    heard = (
        "" if presence is None else f", last heartbeat {_seconds(now_ms - presence.last_heartbeat_ms)} ago"
    )
    if share.epoch == group.target_epoch:
        lacks = without(group.target_of(member.member_id), share.assigned)
        return f"{who} waits for {named(lacks, topics)} until others have let go{heard}"
    return f"{who} is at epoch {share.epoch} of {group.target_epoch}{heard}"


def named(assignment: Assignment, topics: Topics) -> str:
    """Partitions by their names, as many as a person may want to read."""
    names = []
    for topic_id, partitions in in_order(assignment):
        topic = topics.by_id(topic_id)
        name = str(topic_id) if topic is None else topic.name
        names += [f"{name}-{partition}" for partition in partitions]
    return some_of(names, NAMED_MAX)


def _seconds(duration_ms: int) -> str:
    """Whole seconds, rounded up: no wait is longer than is said."""
    return f"{max(0, -(-duration_ms // 1000))} s"
