"""What `__consumer_offsets` holds, in Kafka's own formats, so that Kafka's tools read it.

    key                                     value
    0, 1  group, topic, partition           its offset: version 3, or 1 where it says when it expires
    2     group                             its members: version 3
    3..   the consumer protocol's           see `consumer_records`

A key without a value is a tombstone. Encodes and decodes values, nothing else.
"""

from typing import Final, TypeAlias

from odradek.base.errors import MalformedRequest
from odradek.base.ids import NO_OFFSET, Offset, TopicPartition
from odradek.coordinator.classic.classic_membership import GroupSnapshot, MemberSnapshot
from odradek.coordinator.groups.offsets import NO_EXPIRY, CommittedOffset, TransactionalProducer
from odradek.records.builder import BatchBuilder
from odradek.wire.messages.consumer_offsets import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
)
from odradek.wire.versioned import decode_versioned, encode_versioned

OFFSET_KEY_VERSION: Final = 1
GROUP_KEY_VERSION: Final = 2
OFFSET_VALUE_VERSION: Final = 3
EXPIRING_OFFSET_VALUE_VERSION: Final = 1
GROUP_VALUE_VERSION: Final = 3

KeyValue: TypeAlias = tuple[bytes, bytes | None]


def offset_record(group_id: str, topic_partition: TopicPartition, offset: CommittedOffset) -> KeyValue:
    """The record of a committed offset."""
    expires = offset.expire_ms != NO_EXPIRY
    value = OffsetCommitValue(
        offset=offset.offset,
        leader_epoch=offset.leader_epoch,
        metadata=offset.metadata,
        commit_timestamp=offset.commit_ms,
        expire_timestamp=offset.expire_ms,
    )
    version = EXPIRING_OFFSET_VALUE_VERSION if expires else OFFSET_VALUE_VERSION
    return _offset_key(group_id, topic_partition), encode_versioned(value, version)


def offset_tombstone(group_id: str, topic_partition: TopicPartition) -> KeyValue:
    """The record that takes an offset back."""
    return _offset_key(group_id, topic_partition), None


def group_record(group_id: str, snapshot: GroupSnapshot) -> KeyValue:
    """The record of a group's members."""
    value = GroupMetadataValue(
        protocol_type=snapshot.protocol_type,
        generation=snapshot.generation,
        protocol=snapshot.protocol_name,
        leader=snapshot.leader_id,
        current_state_timestamp=snapshot.state_since_ms,
        members=[
            MemberMetadata(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout=member.rebalance_timeout_ms,
                session_timeout=member.session_timeout_ms,
                subscription=member.subscription,
                assignment=member.assignment,
            )
            for member in snapshot.members
        ],
    )
    return _group_key(group_id), encode_versioned(value, GROUP_VALUE_VERSION)


def group_tombstone(group_id: str) -> KeyValue:
    """The record that takes a group back."""
    return _group_key(group_id), None


def build_batch(
    records: list[KeyValue], now_ms: int, producer: TransactionalProducer | None = None
) -> bytearray:
    """One batch of these records, part of the producer's transaction where there is one."""
    batch = batch_builder(producer)
    for key, value in records:
        batch.append(now_ms, key, value)
    return batch.build()


def batch_builder(producer: TransactionalProducer | None = None) -> BatchBuilder:
    """Builds a batch in the producer's transaction where there is one."""
    if producer is None:
        return BatchBuilder()
    producer_id, epoch = producer
    return BatchBuilder(producer_id=producer_id, producer_epoch=epoch, is_transactional=True)


def read_offset_key(key: bytes) -> tuple[str, TopicPartition]:
    """Group and partition of a key of version 0 or 1. Raises MalformedRequest."""
    read = decode_versioned(OffsetCommitKey, key)
    return read.group, TopicPartition(read.topic, read.partition)


def read_offset(value: bytes, log_offset: Offset = NO_OFFSET) -> CommittedOffset:
    """A committed offset in any version. Raises MalformedRequest."""
    read = decode_versioned(OffsetCommitValue, value)
    return CommittedOffset(
        read.offset,
        read.leader_epoch,
        read.metadata,
        read.commit_timestamp,
        read.expire_timestamp,
        log_offset,
    )


def read_group_key(key: bytes) -> str:
    """The group of a key of version 2. Raises MalformedRequest."""
    return decode_versioned(GroupMetadataKey, key).group


def read_group(value: bytes) -> GroupSnapshot:
    """A group's members in any version. Raises MalformedRequest."""
    read = decode_versioned(GroupMetadataValue, value)
    if any(member.session_timeout < 0 for member in read.members):
        raise MalformedRequest("a member with a session timeout below zero")
    return GroupSnapshot(
        read.protocol_type,
        read.protocol,
        read.generation,
        read.leader,
        read.current_state_timestamp,
        tuple(_member(member) for member in read.members),
    )


def _member(read: MemberMetadata) -> MemberSnapshot:
    # Version 0 knows but one timeout.
    rebalance_timeout_ms = read.rebalance_timeout or read.session_timeout
    return MemberSnapshot(
        read.member_id,
        read.group_instance_id,
        read.client_id,
        read.client_host,
        read.session_timeout,
        rebalance_timeout_ms,
        read.subscription,
        read.assignment,
    )


def _offset_key(group_id: str, topic_partition: TopicPartition) -> bytes:
    topic, partition = topic_partition
    return encode_versioned(OffsetCommitKey(group_id, topic, partition), OFFSET_KEY_VERSION)


def _group_key(group_id: str) -> bytes:
    return encode_versioned(GroupMetadataKey(group_id), GROUP_KEY_VERSION)
