"""The state of one consumer group, and how changes apply to it.

Pure state. Invariant: only `apply` changes it; a step works on a fork. The owner of a partition is derived
from the members' shares, so the two never disagree.

    apply(MemberChanged("a", …)), apply(ShareChanged("a", t: 0, 1))     owners t: {0: a, 1: a}
    apply(ShareChanged("a", t: 0, revoking t: 1))                       owners as before: a still reads t-1
    apply(ShareChanged("a", t: 0))                                      owners t: {0: a}
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final

from odradek.base.ids import TopicId
from odradek.coordinator.assignors.model import Assignment
from odradek.coordinator.consumer.assignments import NOTHING, together
from odradek.coordinator.consumer.changes import (
    EpochChanged,
    ExpressionChanged,
    GroupChange,
    MemberChanged,
    ResolvedExpression,
    ShareChanged,
    TargetChanged,
    TargetEpochChanged,
)
from odradek.coordinator.consumer.member import NO_SHARE, Member, MemberMetadata, Share
from odradek.coordinator.consumer.states import GroupState

_UNTOLD: Final = MemberMetadata()
"""Placeholder for a member whose share was read before its metadata: compaction may reverse their order."""


@dataclass(slots=True)
class ConsumerMembership:
    """A group of the consumer protocol."""

    group_id: str
    epoch: int = 0
    """Raised by every change of members, subscriptions and topics; never falls."""
    topics_hash: int = 0
    """Of the topics that the group reads, as of `epoch`."""
    target_epoch: int = 0
    """The epoch that `target` was computed for; never above `epoch`."""
    members: dict[str, Member] = field(default_factory=dict)
    """By member id, in the order in which they came."""
    static_members: dict[str, str] = field(default_factory=dict)
    """Member ids by instance id; exactly the static ones of `members`."""
    target: dict[str, Assignment] = field(default_factory=dict)
    """What each member is to have; no partition twice."""
    owners: dict[TopicId, Mapping[int, str]] = field(default_factory=dict)
    """The owner of each partition, also while it must still revoke it; derived from `members`."""
    expressions: dict[str, ResolvedExpression] = field(default_factory=dict)
    """The regular expressions that members subscribe with."""
    is_stored: bool = False
    """Whether the log holds records of it, for which a deletion writes tombstones."""

    def fork(self) -> "ConsumerMembership":
        """Returns a copy that can change without this one; O(members)."""
        return replace(
            self,
            members=dict(self.members),
            static_members=dict(self.static_members),
            target=dict(self.target),
            owners=dict(self.owners),
            expressions=dict(self.expressions),
        )

    # --- lookups

    @property
    def state(self) -> GroupState:
        """The group's state."""
        if not self.members:
            return GroupState.EMPTY
        if self.epoch > self.target_epoch:
            return GroupState.ASSIGNING
        if all(member.has_reached(self.target_epoch) for member in self.members.values()):
            return GroupState.STABLE
        return GroupState.RECONCILING

    def target_of(self, member_id: str) -> Assignment:
        """The target assignment of a member."""
        return self.target.get(member_id, NOTHING)

    def owner(self, topic: TopicId, partition: int) -> str | None:
        """The owner of a partition, also while it must still revoke it."""
        return self.owners.get(topic, {}).get(partition)

    def static_member(self, instance_id: str) -> Member | None:
        """The member with that instance id."""
        member_id = self.static_members.get(instance_id)
        return None if member_id is None else self.members[member_id]

    def subscribed_topics(self) -> frozenset[str]:
        """The names of all topics that members read, whether there are such topics or not."""
        names: set[str] = set()
        for topics in {member.metadata.topics for member in self.members.values()}:
            names.update(topics)
        for resolved in self.expressions.values():
            names.update(resolved.topics)
        return frozenset(names)

    def topics_read(self) -> Iterator[str]:
        """The same in an order of no meaning, some of them several times."""
        yield from chain.from_iterable(
            dict.fromkeys(member.metadata.topics for member in self.members.values())
        )
        for resolved in self.expressions.values():
            yield from resolved.topics

    def topics_of(self, metadata: MemberMetadata) -> frozenset[str]:
        """The names of the topics that a member reads."""
        resolved = self.expressions.get(metadata.expression)
        return frozenset(metadata.topics) | (frozenset() if resolved is None else resolved.topics)

    # --- changes

    def apply(self, change: GroupChange) -> None:
        """Apply a change."""
        match change:
            case EpochChanged(epoch, topics_hash):
                self.epoch, self.topics_hash = epoch or 0, topics_hash
                self.is_stored = epoch is not None
            case MemberChanged(member_id, metadata):
                self._change_member(member_id, metadata)
            case TargetEpochChanged(epoch):
                self.target_epoch = epoch or 0
            case TargetChanged(member_id, None):
                self.target.pop(member_id, None)
            case TargetChanged(member_id, assignment):
                self.target[member_id] = assignment or NOTHING
            case ShareChanged(member_id, share):
                self._change_share(member_id, share)
            case ExpressionChanged(expression, None):
                self.expressions.pop(expression, None)
            case ExpressionChanged(expression, ResolvedExpression() as resolved):
                self.expressions[expression] = resolved

    def end_replay(self) -> None:
        """End a replay: drop what compaction left of members that are gone."""
        for member_id, member in list(self.members.items()):
            if member.metadata is _UNTOLD:
                self._change_share(member_id, None)
                del self.members[member_id]
        self.target = {key: value for key, value in self.target.items() if key in self.members}
        self.owners = {}
        for member in self.members.values():
            self._own(member)

    def _change_member(self, member_id: str, metadata: MemberMetadata | None) -> None:
        known = self.members.get(member_id)
        instance_id = None if known is None else known.metadata.instance_id
        if instance_id is not None and self.static_members.get(instance_id) == member_id:
            del self.static_members[instance_id]
        if metadata is None:
            self._change_share(member_id, None)
            self.members.pop(member_id, None)
            return
        self.members[member_id] = Member(member_id, metadata, NO_SHARE if known is None else known.share)
        if metadata.instance_id is not None:
            self.static_members[metadata.instance_id] = member_id

    def _change_share(self, member_id: str, share: Share | None) -> None:
        known = self.members.get(member_id)
        if known is not None:
            self._disown(known)
        elif share is None:
            return
        metadata = _UNTOLD if known is None else known.metadata
        changed = self.members[member_id] = Member(member_id, metadata, share or NO_SHARE)
        self._own(changed)

    def _own(self, member: Member) -> None:
        # The inner tables may be those of the group that this one was forked from: never changed in place.
        for topic, parts in together(member.share.assigned, member.share.revoking).items():
            self.owners[topic] = dict(self.owners.get(topic, {})) | dict.fromkeys(parts, member.member_id)

    def _disown(self, member: Member) -> None:
        for topic, parts in together(member.share.assigned, member.share.revoking).items():
            owners = dict(self.owners.get(topic, {}))
            for part in parts:
                if owners.get(part) == member.member_id:
                    del owners[part]
            if owners:
                self.owners[topic] = owners
            else:
                self.owners.pop(topic, None)

    def tombstones(self) -> Iterator[GroupChange]:
        """The tombstones that delete the group, in Kafka's order: members first, the group last."""
        for member_id in self.members:
            yield ShareChanged(member_id, None)
        for member_id in self.target:
            yield TargetChanged(member_id, None)
        yield TargetEpochChanged(None)
        for member_id in self.members:
            yield MemberChanged(member_id, None)
        for expression in self.expressions:
            yield ExpressionChanged(expression, None)
        yield EpochChanged(None)
