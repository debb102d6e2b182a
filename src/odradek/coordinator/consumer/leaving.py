"""How members leave: by request, for ever or for a while, or because their session ended.

epoch -1            gone: its partitions are free for others
epoch -2            a static member that will be back: everything stays as it is, for a session timeout
no heartbeat        as epoch -1, after the member's session timeout
nothing revoked     as epoch -1, after the member's rebalance timeout
"""

from collections.abc import Iterable, Sequence

from odradek.base.execution import Steps
from odradek.coordinator.consumer.answers import RespondToHeartbeat, heartbeat_answer
from odradek.coordinator.consumer.changes import EpochChanged, ShareChanged
from odradek.coordinator.consumer.consumer_membership import ConsumerMembership
from odradek.coordinator.consumer.draft import Draft
from odradek.coordinator.consumer.effects import ConsumerEffects
from odradek.coordinator.consumer.member import AWAY_EPOCH, Share
from odradek.coordinator.consumer.requesting_member import find, forget
from odradek.coordinator.consumer.subscribing import drop_unused_expressions, topics_hash
from odradek.coordinator.consumer.topics import Topics
from odradek.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)


def leave(
    draft: Draft, topics: Topics, request: ConsumerGroupHeartbeatRequest, respond: RespondToHeartbeat
) -> Steps[ConsumerEffects]:
    """Handle a valid heartbeat of a member that leaves. Raises ApiError."""
    member = find(draft.group, request.member_id, request.instance_id)
    if request.member_epoch == AWAY_EPOCH:
        share = member.share
        # While away it reads nothing, and so has no partitions to revoke.
        away = Share(AWAY_EPOCH, share.previous_epoch, assigned=share.assigned)
        draft.put(ShareChanged(member.member_id, away))
    else:
        yield from remove(draft, topics, [member.member_id])
    response = ConsumerGroupHeartbeatResponse(member_id=request.member_id, member_epoch=request.member_epoch)
    return [heartbeat_answer(respond, response)]


def remove(draft: Draft, topics: Topics, member_ids: Sequence[str]) -> Steps[None]:
    """Remove members that are gone; the others share their partitions.

    The hash of the topics is not computed again where the others read all that the members have read.
    """
    read = _read_by(draft.group, member_ids)
    for member_id in member_ids:
        forget(draft, member_id)
    drop_unused_expressions(draft)
    current = draft.group.topics_hash
    if not (draft.is_hash_current and read <= draft.group.subscribed_topics()):
        current = yield from topics_hash(draft, topics)
    draft.put(EpochChanged(draft.group.epoch + 1, current))


def _read_by(group: ConsumerMembership, member_ids: Iterable[str]) -> set[str]:
    """The names of all topics that these members read."""
    names: set[str] = set()
    for member_id in member_ids:
        metadata = group.members[member_id].metadata
        names.update(metadata.topics)
        resolved = group.expressions.get(metadata.expression)
        if resolved is not None:
            names.update(resolved.topics)
    return names
