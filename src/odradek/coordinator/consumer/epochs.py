"""Whether a client that commits or fetches offsets is a member, and at the epoch that it sent.

A commit may be of an earlier epoch where the member has had all its partitions since then (KIP-1251): it was
on its way while the member's epoch rose.
"""

from collections.abc import Callable
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.coordinator.assignors.model import Assignment
from odradek.coordinator.consumer.assignments import is_within
from odradek.coordinator.consumer.consumer_membership import ConsumerMembership

FIRST_WITH_EPOCHS: Final = 9
"""From this version on OffsetCommit carries member epochs; older ones carry generations."""
NO_EPOCH: Final = -1


def refuse_commit(
    group: ConsumerMembership,
    member_id: str,
    epoch: int,
    version: int,
    asked: Callable[[], Assignment],
    *,
    is_transactional: bool,
) -> ErrorCode:
    """Why a commit is refused, or NONE. A group without members takes commits of any client (epoch -1).

    `asked` makes the partitions of the commit.
    """
    if epoch < 0 and not group.members:
        return ErrorCode.NONE
    member = group.members.get(member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if member.metadata.classic is not None or is_transactional:
        # Neither has an epoch field; TxnOffsetCommit carries only a generation.
        return ErrorCode.NONE if epoch == member.share.epoch else ErrorCode.ILLEGAL_GENERATION
    if version < FIRST_WITH_EPOCHS:
        return ErrorCode.UNSUPPORTED_VERSION
    is_known = epoch == member.share.epoch or (
        epoch < member.share.epoch and is_within(asked(), member.share.held_since(epoch))
    )
    return ErrorCode.NONE if is_known else ErrorCode.STALE_MEMBER_EPOCH


def refuse_fetch(group: ConsumerMembership, member_id: str | None, epoch: int) -> ErrorCode:
    """Why a fetch of offsets is refused, or NONE. A request without a member id needs no member."""
    if member_id is None and epoch <= NO_EPOCH:
        return ErrorCode.NONE
    member = group.members.get(member_id or "")
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return ErrorCode.NONE if epoch == member.share.epoch else ErrorCode.STALE_MEMBER_EPOCH
