"""The records of consumer groups (KIP-848) in `__consumer_offsets`, in Apache Kafka 4.1's own formats.

    key                        value, version 0                                    change
    3   group                  its epoch, a hash of its topics                     EpochChanged
    4   group                  its topics, until 4.0; ignored, also as tombstone   none
    5   group, member          what the member sent about itself                   MemberChanged
    6   group                  the epoch of the target                             TargetEpochChanged
    7   group, member          the member's target assignment                      TargetChanged
    8   group, member          its partitions, and those that it has to revoke     ShareChanged
    16  group, expression      the topics that a regular expression matched        ExpressionChanged

A key without a value is a tombstone: a change to None. Encodes and decodes changes, nothing else. Fields
with tags that this version does not know are passed over; a value of a version above 0 is refused.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

from odradek.base.errors import MalformedRequest
from odradek.base.execution import COUNTED_PER_STEP, Steps, stepwise
from odradek.base.ids import TopicId
from odradek.coordinator.assignors.model import Assignment
from odradek.coordinator.consumer.assignments import assignment_of, in_order, in_order_in_steps
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
from odradek.coordinator.consumer.member import ClassicTerms, MemberMetadata, Share
from odradek.coordinator.consumer.states import MemberState
from odradek.coordinator.groups.log_records import KeyValue
from odradek.wire.message import Message
from odradek.wire.messages.consumer_group_records import (
    AssignedTopicPartitions,
    ClassicMemberMetadata,
    ClassicProtocol,
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
    TopicPartitions,
)
from odradek.wire.versioned import (
    decode_versioned,
    encode_versioned,
    encode_versioned_in_steps,
    version_of,
)

R = TypeVar("R")

VALUE_VERSION: Final = 0


class ConsumerRecord(NamedTuple):
    """A decoded record; `change` is None for the topics record, which only Kafka up to 4.0 wrote."""

    group_id: str
    change: GroupChange | None


def record_of(group_id: str, change: GroupChange) -> KeyValue:
    """The record that stores a change."""
    match change:
        case EpochChanged(epoch, topics_hash):
            key: Message = ConsumerGroupMetadataKey(group_id)
            value = None if epoch is None else _epoch(epoch, topics_hash)
        case MemberChanged(member_id, metadata):
            key = ConsumerGroupMemberMetadataKey(group_id, member_id)
            value = None if metadata is None else _encode(_metadata(metadata))
        case TargetEpochChanged(epoch):
            key = ConsumerGroupTargetAssignmentMetadataKey(group_id)
            value = None if epoch is None else _target_epoch(epoch)
        case TargetChanged(member_id, assignment):
            key = ConsumerGroupTargetAssignmentMemberKey(group_id, member_id)
            value = None if assignment is None else _target(assignment)
        case ShareChanged(member_id, share):
            key = ConsumerGroupCurrentMemberAssignmentKey(group_id, member_id)
            value = None if share is None else _share(share)
        case ExpressionChanged(expression, resolved):
            key = ConsumerGroupRegularExpressionKey(group_id, expression)
            value = None if resolved is None else _resolved(resolved)
    return encode_versioned(key, key.VERSIONS.highest), value


def record_of_in_steps(group_id: str, change: GroupChange) -> Steps[KeyValue]:
    """`record_of` for a change that may name very many topics."""
    match change:
        case MemberChanged(member_id, MemberMetadata() as metadata) if metadata.classic is None:
            key: Message = ConsumerGroupMemberMetadataKey(group_id, member_id)
            value: Message = _metadata(metadata)
        case TargetChanged(member_id, assignment) if assignment:
            key = ConsumerGroupTargetAssignmentMemberKey(group_id, member_id)
            value = ConsumerGroupTargetAssignmentMemberValue(
                topic_partitions=(yield from _listed_in_steps(assignment, TopicPartitions))
            )
        case ShareChanged(member_id, share) if share is not None:
            key = ConsumerGroupCurrentMemberAssignmentKey(group_id, member_id)
            row = _row_of(share)
            value = _share_with(
                share,
                (yield from _listed_in_steps(share.assigned, row)),
                (yield from _listed_in_steps(share.revoking, row)),
            )
        case _:
            return record_of(group_id, change)
    encoded = yield from encode_versioned_in_steps(value, VALUE_VERSION)
    return encode_versioned(key, key.VERSIONS.highest), encoded


def read_record(key: bytes, value: bytes | None) -> ConsumerRecord:
    """The change that a record stores. Raises MalformedRequest, also for an unknown version."""
    version = version_of(key)
    if version not in _READERS:
        raise MalformedRequest(f"a key of version {version} is not of a consumer group")
    return _READERS[version](key, value)


# --- writing


def _epoch(epoch: int, topics_hash: int) -> bytes:
    return _encode(ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=topics_hash))


def _metadata(metadata: MemberMetadata) -> Message:
    classic = None
    if metadata.classic is not None:
        classic = ClassicMemberMetadata(
            session_timeout_ms=metadata.classic.session_timeout_ms,
            supported_protocols=[ClassicProtocol(name, told) for name, told in metadata.classic.protocols],
        )
    return ConsumerGroupMemberMetadataValue(
        instance_id=metadata.instance_id,
        rack_id=metadata.rack_id,
        client_id=metadata.client_id,
        client_host=metadata.client_host,
        subscribed_topic_names=list(metadata.topics),
        subscribed_topic_regex=metadata.expression,
        rebalance_timeout_ms=metadata.rebalance_timeout_ms,
        server_assignor=metadata.assignor,
        classic_member_metadata=classic,
    )


def _target_epoch(epoch: int) -> bytes:
    return _encode(ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=epoch))


def _target(assignment: Assignment) -> bytes:
    return _encode(ConsumerGroupTargetAssignmentMemberValue(topic_partitions=_listed(assignment)))


def _share(share: Share) -> bytes:
    return _encode(
        _share_with(share, _listed_share(share.assigned, share), _listed_share(share.revoking, share))
    )


def _share_with(
    share: Share, assigned: list[AssignedTopicPartitions], revoking: list[AssignedTopicPartitions]
) -> Message:
    return ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=share.epoch,
        previous_member_epoch=share.previous_epoch,
        state=share.state,
        assigned_partitions=assigned,
        partitions_pending_revocation=revoking,
    )


def _resolved(resolved: ResolvedExpression) -> bytes:
    value = ConsumerGroupRegularExpressionValue(
        topics=sorted(resolved.topics), version=resolved.version, timestamp=resolved.resolved_ms
    )
    return _encode(value)


def _encode(value: Message) -> bytes:
    return encode_versioned(value, VALUE_VERSION)


def _listed(assignment: Assignment) -> list[TopicPartitions]:
    return [TopicPartitions(topic, partitions) for topic, partitions in in_order(assignment)]


def _listed_share(assignment: Assignment, share: Share) -> list[AssignedTopicPartitions]:
    row = _row_of(share)
    return [row(topic, partitions) for topic, partitions in in_order(assignment)]


def _row_of(share: Share) -> Callable[[TopicId, list[int]], AssignedTopicPartitions]:
    """Partitions that the member has not had since an earlier epoch stand without one, as before 4.3.

    Where one of a topic has been the member's for longer, all of that topic have their epochs (KIP-1251).
    """
    epochs = {
        (topic, number): since
        for since, parts in share.earlier
        for topic, numbers in parts.items()
        for number in numbers
    }

    def row(topic: TopicId, partitions: list[int]) -> AssignedTopicPartitions:
        if not epochs:
            return AssignedTopicPartitions(topic, partitions)
        told = [epochs.get((topic, number), share.epoch) for number in partitions]
        is_needed = any(since != share.epoch for since in told)
        return AssignedTopicPartitions(topic, partitions, told if is_needed else [])

    return row


def _listed_in_steps(assignment: Assignment, row: Callable[[TopicId, list[int]], R]) -> Steps[list[R]]:
    topics = yield from in_order_in_steps(assignment)
    return (yield from stepwise(topics, lambda one: row(*one), COUNTED_PER_STEP))


# --- reading


def _read_epoch(key: bytes, value: bytes | None) -> ConsumerRecord:
    group_id = decode_versioned(ConsumerGroupMetadataKey, key).group_id
    if value is None:
        return ConsumerRecord(group_id, EpochChanged(None))
    read = decode_versioned(ConsumerGroupMetadataValue, value)
    return ConsumerRecord(group_id, EpochChanged(read.epoch, read.metadata_hash))


def _read_topics(key: bytes, value: bytes | None) -> ConsumerRecord:
    if value is not None:
        decode_versioned(ConsumerGroupPartitionMetadataValue, value)
    return ConsumerRecord(decode_versioned(ConsumerGroupPartitionMetadataKey, key).group_id, None)


def _read_member(key: bytes, value: bytes | None) -> ConsumerRecord:
    group_id, member_id = _group_and_member(decode_versioned(ConsumerGroupMemberMetadataKey, key))
    if value is None:
        return ConsumerRecord(group_id, MemberChanged(member_id, None))
    read = decode_versioned(ConsumerGroupMemberMetadataValue, value)
    metadata = MemberMetadata(
        instance_id=read.instance_id,
        rack_id=read.rack_id,
        client_id=read.client_id,
        client_host=read.client_host,
        topics=tuple(sorted(read.subscribed_topic_names)),
        expression=read.subscribed_topic_regex or "",
        rebalance_timeout_ms=read.rebalance_timeout_ms,
        assignor=read.server_assignor,
        classic=_read_classic(read.classic_member_metadata),
    )
    return ConsumerRecord(group_id, MemberChanged(member_id, metadata))


def _read_classic(read: ClassicMemberMetadata | None) -> ClassicTerms | None:
    if read is None:
        return None
    if read.session_timeout_ms < 0 or not read.supported_protocols:
        raise MalformedRequest("a classic member without protocols, or with a session timeout below zero")
    return ClassicTerms(
        read.session_timeout_ms, tuple((one.name, one.metadata) for one in read.supported_protocols)
    )


def _read_target_epoch(key: bytes, value: bytes | None) -> ConsumerRecord:
    group_id = decode_versioned(ConsumerGroupTargetAssignmentMetadataKey, key).group_id
    if value is None:
        return ConsumerRecord(group_id, TargetEpochChanged(None))
    read = decode_versioned(ConsumerGroupTargetAssignmentMetadataValue, value)
    return ConsumerRecord(group_id, TargetEpochChanged(read.assignment_epoch))


def _read_target(key: bytes, value: bytes | None) -> ConsumerRecord:
    group_id, member_id = _group_and_member(decode_versioned(ConsumerGroupTargetAssignmentMemberKey, key))
    if value is None:
        return ConsumerRecord(group_id, TargetChanged(member_id, None))
    read = decode_versioned(ConsumerGroupTargetAssignmentMemberValue, value)
    return ConsumerRecord(group_id, TargetChanged(member_id, _read_assignment(read.topic_partitions)))


def _read_share(key: bytes, value: bytes | None) -> ConsumerRecord:
    group_id, member_id = _group_and_member(decode_versioned(ConsumerGroupCurrentMemberAssignmentKey, key))
    if value is None:
        return ConsumerRecord(group_id, ShareChanged(member_id, None))
    read = decode_versioned(ConsumerGroupCurrentMemberAssignmentValue, value)
    if read.state not in _MEMBER_STATES:
        raise MalformedRequest(f"member {member_id} of group {group_id} in state {read.state}")
    share = Share(
        epoch=read.member_epoch,
        previous_epoch=read.previous_member_epoch,
        state=MemberState(read.state),
        assigned=_read_assignment(read.assigned_partitions),
        revoking=_read_assignment(read.partitions_pending_revocation),
        earlier=_read_earlier(read),
    )
    return ConsumerRecord(group_id, ShareChanged(member_id, share))


def _read_expression(key: bytes, value: bytes | None) -> ConsumerRecord:
    read_key = decode_versioned(ConsumerGroupRegularExpressionKey, key)
    resolved = None
    if value is not None:
        read = decode_versioned(ConsumerGroupRegularExpressionValue, value)
        resolved = ResolvedExpression(frozenset(read.topics), read.version, read.timestamp)
    return ConsumerRecord(read_key.group_id, ExpressionChanged(read_key.regular_expression, resolved))


def _read_assignment(listed: Sequence[TopicPartitions | AssignedTopicPartitions]) -> Assignment:
    return assignment_of((one.topic_id, one.partitions) for one in listed)


def _read_earlier(read: ConsumerGroupCurrentMemberAssignmentValue) -> tuple[tuple[int, Assignment], ...]:
    """See `Share.earlier`; what stands without epochs the member has had since its epoch."""
    since: dict[int, list[tuple[TopicId, list[int]]]] = {}
    for listed in read.assigned_partitions:
        for number, epoch in zip(listed.partitions, listed.assignment_epochs, strict=False):
            if epoch < read.member_epoch:
                since.setdefault(epoch, []).append((listed.topic_id, [number]))
    return tuple((epoch, assignment_of(since[epoch])) for epoch in sorted(since))


def _group_and_member(
    key: ConsumerGroupMemberMetadataKey
    | ConsumerGroupTargetAssignmentMemberKey
    | ConsumerGroupCurrentMemberAssignmentKey,
) -> tuple[str, str]:
    return key.group_id, key.member_id


_MEMBER_STATES: Final = frozenset(MemberState)
_READERS: Final[Mapping[int, Callable[[bytes, bytes | None], ConsumerRecord]]] = {
    3: _read_epoch,
    4: _read_topics,
    5: _read_member,
    6: _read_target_epoch,
    7: _read_target,
    8: _read_share,
    16: _read_expression,
}
CONSUMER_KEY_VERSIONS: Final = frozenset(_READERS)
"""The versions of keys that `read_record` knows."""
