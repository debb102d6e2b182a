"""Groups that change their protocol while members are in them (KIP-848): from classic to consumer, and back.

    a member of the consumer protocol joins a classic group   its members go on as classic members of a
                                                              consumer group, with what they have
    the last such member leaves                               the others are a classic group again
    a group has no members                                    it is of whichever protocol the next one speaks

`group.consumer.migration.policy` says which of the first two may be. Invariant: what a change of protocol
writes is one batch, so that a group is of one protocol at every point of the log.
"""

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, MalformedRequest
from odradek.coordinator.classic.classic_membership import (
    CONSUMER_PROTOCOL_TYPE,
    ClassicMembership,
    GroupSnapshot,
    MemberSnapshot,
)
from odradek.coordinator.classic.member import Member as ClassicMember
from odradek.coordinator.consumer.changes import (
    EpochChanged,
    GroupChange,
    MemberChanged,
    ShareChanged,
    TargetChanged,
    TargetEpochChanged,
)
from odradek.coordinator.consumer.classic_subscriptions import (
    by_id,
    read_assignment,
    read_subscription,
    write_assignment,
)
from odradek.coordinator.consumer.consumer_membership import ConsumerMembership
from odradek.coordinator.consumer.member import ClassicTerms, Member, MemberMetadata, Share
from odradek.coordinator.consumer.surroundings import GroupSurroundings
from odradek.coordinator.consumer.topics import Topics

UPGRADES: Final = frozenset({"bidirectional", "upgrade"})
DOWNGRADES: Final = frozenset({"bidirectional", "downgrade"})


def upgraded(group: ClassicMembership, surroundings: GroupSurroundings) -> list[GroupChange]:
    """A classic group as a consumer group: its generation is its epoch, and each member keeps its partitions.

    Raises ApiError when it may not or cannot be one.
    """
    if not group.members:
        return []
    settings = surroundings.terms.settings
    if settings.group_consumer_migration_policy not in UPGRADES:
        raise _refused(group, "group.consumer.migration.policy forbids it")
    if group.protocol_type != CONSUMER_PROTOCOL_TYPE:
        raise _refused(group, f"its members are no consumers but of the type {group.protocol_type}")
    if len(group.members) > settings.group_consumer_max_size:
        raise _refused(group, "it has more members than group.consumer.max.size allows")
    try:
        told = [_upgraded(group, member, surroundings.topics) for member in group.members.values()]
    except MalformedRequest:
        raise _refused(group, "what a member said of its subscription cannot be read") from None
    changes: list[GroupChange] = [MemberChanged(one.member_id, one.metadata) for one in told]
    changes.append(EpochChanged(group.generation))
    changes += [TargetChanged(one.member_id, one.share.assigned) for one in told]
    changes.append(TargetEpochChanged(group.generation))
    changes += [ShareChanged(one.member_id, one.share) for one in told]
    return changes


def may_downgrade(group: ConsumerMembership, surroundings: GroupSurroundings) -> bool:
    """Whether a group may become one of the classic protocol: no member speaks the other any more."""
    settings = surroundings.terms.settings
    return (
        bool(group.members)
        and all(member.metadata.classic is not None for member in group.members.values())
        and settings.group_consumer_migration_policy in DOWNGRADES
        and len(group.members) <= settings.group_max_size
    )


def downgraded(group: ConsumerMembership, generation: int, surroundings: GroupSurroundings) -> GroupSnapshot:
    """A group of classic members as a classic group.

    Its generation is the epoch before the last other member went: members at that one get
    REBALANCE_IN_PROGRESS, not ILLEGAL_GENERATION.
    """
    terms = {
        member_id: member.metadata.classic
        for member_id, member in group.members.items()
        if member.metadata.classic is not None
    }
    protocol = _common_protocol(terms)
    return GroupSnapshot(
        CONSUMER_PROTOCOL_TYPE,
        protocol,
        generation,
        next(iter(terms)),
        surroundings.terms.clock.wall_ms(),
        tuple(
            _downgraded(group.members[member_id], classic, protocol, surroundings.topics)
            for member_id, classic in terms.items()
        ),
    )


def _upgraded(group: ClassicMembership, member: ClassicMember, topics: Topics) -> Member:
    """Raises MalformedRequest, ApiError."""
    protocol = group.protocol_name or member.protocols[0][0]
    subscription = read_subscription(member.metadata(protocol))
    assignment = read_assignment(member.assignment)
    if assignment.user_data:
        raise _refused(group, "its assignor keeps data of its own with the members, which would be lost")
    metadata = MemberMetadata(
        member.instance_id,
        subscription.rack_id,
        member.client_id,
        member.client_host,
        tuple(sorted(set(subscription.topics))),
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        classic=ClassicTerms(member.session_timeout_ms, member.protocols),
    )
    assigned = by_id(assignment.assigned_partitions, topics)
    share = Share(group.generation, group.generation, assigned=assigned)
    return Member(member.member_id, metadata, share)


def _downgraded(member: Member, classic: ClassicTerms, protocol: str, topics: Topics) -> MemberSnapshot:
    metadata = member.metadata
    subscription = dict(classic.protocols).get(protocol, b"")
    return MemberSnapshot(
        member.member_id,
        metadata.instance_id,
        metadata.client_id,
        metadata.client_host,
        classic.session_timeout_ms,
        metadata.rebalance_timeout_ms,
        subscription,
        write_assignment(member.share.assigned, topics, subscription),
    )


def _common_protocol(terms: dict[str, ClassicTerms]) -> str:
    """A protocol that all offer; joining is refused to those with whom there would be none."""
    first, *others = terms.values()
    names = [frozenset(name for name, _ in one.protocols) for one in others]
    shared = (name for name, _ in first.protocols if all(name in known for known in names))
    return next(shared, first.protocols[0][0])


def _refused(group: ClassicMembership, why: str) -> ApiError:
    words = f"the classic group {group.group_id} cannot take members of the consumer protocol: {why}"
    return ApiError(ErrorCode.GROUP_ID_NOT_FOUND, words)
