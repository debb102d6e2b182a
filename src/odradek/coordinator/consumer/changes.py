"""The changes of a consumer group. Each change is one record of the log; a group's log has no other records.

Plain values. Invariant: a group is the result of applying its changes in order, whether new or read from the
log. None as a value deletes the earlier value.
"""

from typing import Final, NamedTuple, TypeAlias

from odradek.coordinator.assignors.model import Assignment
from odradek.coordinator.consumer.member import MemberMetadata, Share


class EpochChanged(NamedTuple):
    """Members, subscriptions or topics changed: a new target is needed. None: the group is deleted."""

    epoch: int | None
    topics_hash: int = 0
    """A hash of the topics that the group reads (ids and numbers of partitions), to detect changes."""


class MemberChanged(NamedTuple):
    """A member joined, or sent other metadata; None: it is gone."""

    member_id: str
    metadata: MemberMetadata | None


class TargetEpochChanged(NamedTuple):
    """The target is complete as of this epoch; None: the group has no target any more."""

    epoch: int | None


class TargetChanged(NamedTuple):
    """A member's target assignment; None: it is gone."""

    member_id: str
    assignment: Assignment | None


class ShareChanged(NamedTuple):
    """The share of a member; None: the member is gone."""

    member_id: str
    share: Share | None


class ResolvedExpression(NamedTuple):
    """The topics that a regular expression matched, and when that was looked up."""

    topics: frozenset[str]
    version: int
    """Grows with every change of the cluster's topics since this broker started."""
    resolved_ms: int
    """Wall clock."""


class ExpressionChanged(NamedTuple):
    """An expression was resolved; None: no member subscribes with it any more."""

    expression: str
    resolved: ResolvedExpression | None


GroupChange: TypeAlias = (
    EpochChanged | MemberChanged | TargetEpochChanged | TargetChanged | ShareChanged | ExpressionChanged
)


def topics_in(change: GroupChange) -> int:
    """How many topics a change names: what it costs to apply and to encode it grows with them; at least 1."""
    match change:
        case TargetChanged(_, assignment) if assignment:
            return len(assignment)
        case ShareChanged(_, share) if share is not None:
            return 1 + len(share.assigned) + len(share.revoking)
        case MemberChanged(_, metadata) if metadata is not None:
            return 1 + len(metadata.topics)
    return 1


OF_MEMBERS: Final = (MemberChanged, TargetChanged, ShareChanged)
"""The changes that concern one member."""
