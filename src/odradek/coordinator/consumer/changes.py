"""What may change in a consumer group: each of these is one record of the log, which holds nothing else.

Plain values. Invariant: a group is the result of applying them in order, whether they were made now or are
read back. None in place of a value deletes what stood there.
"""

from typing import Final, NamedTuple, TypeAlias

from odradek.coordinator.assignors.model import Assignment
from odradek.coordinator.consumer.member import MemberMetadata, Share


class EpochChanged(NamedTuple):
    """Members, subscriptions or topics changed: a new target is needed. None: the group is deleted."""

    epoch: int | None
    topics_hash: int = 0
    """Tells the topics that the group reads apart from what they were: ids and numbers of partitions."""


class MemberChanged(NamedTuple):
    """A member joined, or sent other metadata; None: it is gone."""

    member_id: str
    metadata: MemberMetadata | None


class TargetEpochChanged(NamedTuple):
    """The target is complete as of this epoch; None: there is none any more."""

    epoch: int | None


class TargetChanged(NamedTuple):
    """A member's target assignment; None: it is gone."""

    member_id: str
    assignment: Assignment | None


class ShareChanged(NamedTuple):
    """What a member has; None: it is gone."""

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

OF_MEMBERS: Final = (MemberChanged, TargetChanged, ShareChanged)
"""The changes that concern one member."""
