"""The member of a request: by id, static ones by instance id (KIP-345); and epochs that do not fit.

FENCED_MEMBER_EPOCH     its epoch is not the one that it sent: it must give up all partitions and join again
UNRELEASED_INSTANCE_ID  it joins under an instance id whose member has not left
FENCED_INSTANCE_ID      another member has taken its instance id
UNKNOWN_MEMBER_ID       there is no such member
"""

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.coordinator.assignors.model import Assignment
from odradek.coordinator.consumer.assignments import is_within
from odradek.coordinator.consumer.changes import MemberChanged, ShareChanged, TargetChanged
from odradek.coordinator.consumer.consumer_membership import ConsumerMembership
from odradek.coordinator.consumer.draft import Draft
from odradek.coordinator.consumer.member import JOINING_EPOCH, Member


def check_room(group: ConsumerMembership, member_id: str, size_max: int) -> None:
    """`group.consumer.max.size`. Raises ApiError."""
    if len(group.members) >= size_max and member_id not in group.members:
        words = f"the group is full: it has {size_max} members, as many as group.consumer.max.size allows"
        raise ApiError(ErrorCode.GROUP_MAX_SIZE_REACHED, words)


def find(group: ConsumerMembership, member_id: str, instance_id: str | None) -> Member:
    """The member that a request names. Raises ApiError."""
    if instance_id is not None:
        known = group.static_member(instance_id)
        if known is None:
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, f"no member has the instance id {instance_id}")
        if known.member_id != member_id:
            words = f"the instance id {instance_id} belongs to the member {known.member_id} now"
            raise ApiError(ErrorCode.FENCED_INSTANCE_ID, words)
        return known
    found = group.members.get(member_id)
    if found is None:
        words = f"there is no member {member_id} in the group {group.group_id}"
        raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, words)
    return found


def check_epoch(member: Member, epoch: int, owned: Assignment | None) -> None:
    """Check the epoch that a member sent. Raises ApiError.

    The previous epoch is accepted, too, if the member owns nothing beyond its share: it missed our answer.
    """
    share = member.share
    if epoch == share.epoch:
        return
    is_before = share.previous_epoch == epoch < share.epoch
    if is_before and owned is not None and is_within(owned, share.assigned):
        return
    words = (
        f"the member is at epoch {share.epoch} and not {epoch}: it has to give everything back and join again"
    )
    raise ApiError(ErrorCode.FENCED_MEMBER_EPOCH, words)


def take_over(draft: Draft, released: Member, member_id: str, *, is_classic: bool = False) -> Member:
    """Called when a static member is back under another id: it gets the old member's place and partitions.

    If both speak the consumer protocol, raises ApiError unless the old member has left. A classic member
    cannot leave for a while, so this is not checked for it or for its predecessor
    (`is_classic`).
    """
    metadata = released.metadata
    if not (released.is_away or is_classic or metadata.classic is not None):
        words = f"the instance id {metadata.instance_id} is that of {released.member_id}, which has not left"
        raise ApiError(ErrorCode.UNRELEASED_INSTANCE_ID, words)
    target = draft.group.target_of(released.member_id)
    share = released.share._replace(epoch=JOINING_EPOCH, previous_epoch=JOINING_EPOCH)
    if member_id != released.member_id:
        forget(draft, released.member_id)
        draft.put(MemberChanged(member_id, metadata))
        draft.put(TargetChanged(member_id, target))
    draft.put(ShareChanged(member_id, share))
    return draft.group.members[member_id]


def forget(draft: Draft, member_id: str) -> None:
    """Called when a member is gone: delete its records, in Kafka's order."""
    draft.put(ShareChanged(member_id, None))
    draft.put(TargetChanged(member_id, None))
    draft.put(MemberChanged(member_id, None))
