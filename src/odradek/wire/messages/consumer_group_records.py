"""Generated from `schemas/consumer_group_records.fields` by `odradek.wire.generator`: do not edit."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final
from uuid import UUID

from odradek.base.buffers import Buffer
from odradek.base.ids import NO_TOPIC_ID
from odradek.wire.decoding import (
    ElementBudget,
    Undecodable,
    new,
    read_compact_bytes,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    read_compact_strings,
    read_int32s,
    read_string,
    read_tag,
    read_tag_count,
    read_tagged_presence,
    read_uuid,
    skip_tags,
)
from odradek.wire.encoding import (
    Payloads,
    write_compact_bytes,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
    write_compact_strings,
    write_int32s,
    write_string,
    write_tag,
    write_uuid,
)
from odradek.wire.message import Decoder, Encoder, Message, Structure
from odradek.wire.versions import VERSION_LIMIT, Versions

FIELD_TABLE: Final = """
records ConsumerGroupRecords

record ConsumerGroupMetadataKey 3
    group_id: string

record ConsumerGroupMetadataValue 0 flexible 0+
    epoch: int32
    metadata_hash: int64 tag 0

record ConsumerGroupPartitionMetadataKey 4
    group_id: string

record ConsumerGroupPartitionMetadataValue 0 flexible 0+
    topics: [TopicMetadata]
        topic_id: uuid
        topic_name: string
        num_partitions: int32
        partition_metadata: [PartitionMetadata]
            partition: int32
            racks: [string]

record ConsumerGroupMemberMetadataKey 5
    group_id: string
    member_id: string

record ConsumerGroupMemberMetadataValue 0 flexible 0+
    instance_id: string?
    rack_id: string?
    client_id: string
    client_host: string
    subscribed_topic_names: [string]
    subscribed_topic_regex: string?
    rebalance_timeout_ms: int32 = -1
    server_assignor: string?
    classic_member_metadata: ClassicMemberMetadata? tag 0
        session_timeout_ms: int32
        supported_protocols: [ClassicProtocol]
            name: string
            metadata: bytes

record ConsumerGroupTargetAssignmentMetadataKey 6
    group_id: string

record ConsumerGroupTargetAssignmentMetadataValue 0 flexible 0+
    assignment_epoch: int32
    assignment_timestamp: int64 tag 0

record ConsumerGroupTargetAssignmentMemberKey 7
    group_id: string
    member_id: string

record ConsumerGroupTargetAssignmentMemberValue 0 flexible 0+
    topic_partitions: [TopicPartitions]
        topic_id: uuid
        partitions: [int32]

record ConsumerGroupCurrentMemberAssignmentKey 8
    group_id: string
    member_id: string

record ConsumerGroupCurrentMemberAssignmentValue 0 flexible 0+
    member_epoch: int32
    previous_member_epoch: int32
    state: int8
    assigned_partitions: [AssignedTopicPartitions]
        topic_id: uuid
        partitions: [int32]
        assignment_epochs: [int32] tag 0
    partitions_pending_revocation: [AssignedTopicPartitions]

record ConsumerGroupRegularExpressionKey 16
    group_id: string
    regular_expression: string

record ConsumerGroupRegularExpressionValue 0 flexible 0+
    topics: [string]
    version: int64
    timestamp: int64
"""


_unpack_i: Final = Struct(">i").unpack_from
_unpack_it: Final = Struct(">iB").unpack_from
_unpack_iib: Final = Struct(">iib").unpack_from
_unpack_q: Final = Struct(">q").unpack_from
_unpack_qqt: Final = Struct(">qqB").unpack_from
_pack_i: Final = Struct(">i").pack
_pack_iib: Final = Struct(">iib").pack
_pack_q: Final = Struct(">q").pack
_pack_qqt: Final = Struct(">qqB").pack


def _read_consumer_group_metadata_key_v3(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ConsumerGroupMetadataKey, int]:
    item = new(ConsumerGroupMetadataKey)
    item.group_id, at = read_string(buffer, at)
    return item, at


def _write_consumer_group_metadata_key_v3(
    out: bytearray, item: ConsumerGroupMetadataKey, payloads: Payloads
) -> None:
    write_string(out, item.group_id)


@dataclass(slots=True, eq=False, repr=False)
class ConsumerGroupMetadataKey(Message):
    """Version 3."""

    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[Versions] = Versions(3, 3)
    FLEXIBLE_FROM: ClassVar[int] = VERSION_LIMIT
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {3: _read_consumer_group_metadata_key_v3}
    ENCODERS: ClassVar[dict[int, Encoder]] = {3: _write_consumer_group_metadata_key_v3}

    group_id: str = ""


def _read_consumer_group_metadata_value_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ConsumerGroupMetadataValue, int]:
    item = new(ConsumerGroupMetadataValue)
    item.metadata_hash = 0
    item.epoch, tags = _unpack_it(buffer, at)
    at += 5
    if tags:
        tags, at = read_tag_count(buffer, at - 1, budget)
        for _ in range(tags):
            tag, at, end = read_tag(buffer, at)
            if tag == 0:
                (item.metadata_hash,) = _unpack_q(buffer, at)
                at += 8
            else:
                at = end
            if at != end:
                raise Undecodable
    return item, at


def _write_consumer_group_metadata_value_v0(
    out: bytearray, item: ConsumerGroupMetadataValue, payloads: Payloads
) -> None:
    out += _pack_i(item.epoch)
    tags = item.metadata_hash != 0
    out.append(tags)
    if tags:
        if item.metadata_hash != 0:
            value = bytearray()
            value += _pack_q(item.metadata_hash)
            write_tag(out, 0, value)


@dataclass(slots=True, eq=False, repr=False)
class ConsumerGroupMetadataValue(Message):
    """Version 0, flexible."""

    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[Versions] = Versions(0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {0: _read_consumer_group_metadata_value_v0}
    ENCODERS: ClassVar[dict[int, Encoder]] = {0: _write_consumer_group_metadata_value_v0}

    epoch: int = 0
    metadata_hash: int = 0


def _read_consumer_group_partition_metadata_key_v4(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ConsumerGroupPartitionMetadataKey, int]:
    item = new(ConsumerGroupPartitionMetadataKey)
    item.group_id, at = read_string(buffer, at)
    return item, at


def _write_consumer_group_partition_metadata_key_v4(
    out: bytearray, item: ConsumerGroupPartitionMetadataKey, payloads: Payloads
) -> None:
    write_string(out, item.group_id)


@dataclass(slots=True, eq=False, repr=False)
class ConsumerGroupPartitionMetadataKey(Message):
    """Version 4."""

    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[Versions] = Versions(4, 4)
    FLEXIBLE_FROM: ClassVar[int] = VERSION_LIMIT
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {4: _read_consumer_group_partition_metadata_key_v4}
    ENCODERS: ClassVar[dict[int, Encoder]] = {4: _write_consumer_group_partition_metadata_key_v4}

    group_id: str = ""


@dataclass(slots=True, eq=False, repr=False)
class PartitionMetadata(Structure):
    """ConsumerGroupPartitionMetadataValue.topics[].partition_metadata[]"""

    partition: int = 0
    racks: list[str] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class TopicMetadata(Structure):
    """ConsumerGroupPartitionMetadataValue.topics[]"""

    topic_id: UUID = NO_TOPIC_ID
    topic_name: str = ""
    num_partitions: int = 0
    partition_metadata: list[PartitionMetadata] = field(default_factory=list)


def _read_partition_metadata_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[PartitionMetadata], int]:
    items = []
    for _ in range(elements):
        item = new(PartitionMetadata)
        (item.partition,) = _unpack_i(buffer, at)
        at += 4
        count, at = read_compact_count(buffer, at, 1, budget)
        item.racks, at = read_compact_strings(buffer, at, count)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_partition_metadata_v0_array(out: bytearray, items: list[PartitionMetadata]) -> None:
    for item in items:
        out += _pack_i(item.partition)
        write_compact_count(out, item.racks)
        write_compact_strings(out, item.racks)
        out.append(0)


def _read_topic_metadata_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[TopicMetadata], int]:
    items = []
    for _ in range(elements):
        item = new(TopicMetadata)
        item.topic_id, at = read_uuid(buffer, at)
        item.topic_name, at = read_compact_string(buffer, at)
        (item.num_partitions,) = _unpack_i(buffer, at)
        at += 4
        count, at = read_compact_count(buffer, at, 6, budget)
        item.partition_metadata, at = _read_partition_metadata_v0_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_topic_metadata_v0_array(out: bytearray, items: list[TopicMetadata]) -> None:
    for item in items:
        write_uuid(out, item.topic_id)
        write_compact_string(out, item.topic_name)
        out += _pack_i(item.num_partitions)
        write_compact_count(out, item.partition_metadata)
        _write_partition_metadata_v0_array(out, item.partition_metadata)
        out.append(0)


def _read_consumer_group_partition_metadata_value_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ConsumerGroupPartitionMetadataValue, int]:
    item = new(ConsumerGroupPartitionMetadataValue)
    count, at = read_compact_count(buffer, at, 23, budget)
    item.topics, at = _read_topic_metadata_v0_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_consumer_group_partition_metadata_value_v0(
    out: bytearray, item: ConsumerGroupPartitionMetadataValue, payloads: Payloads
) -> None:
    write_compact_count(out, item.topics)
    _write_topic_metadata_v0_array(out, item.topics)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class ConsumerGroupPartitionMetadataValue(Message):
    """Version 0, flexible."""

    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[Versions] = Versions(0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {0: _read_consumer_group_partition_metadata_value_v0}
    ENCODERS: ClassVar[dict[int, Encoder]] = {0: _write_consumer_group_partition_metadata_value_v0}

    topics: list[TopicMetadata] = field(default_factory=list)


def _read_consumer_group_member_metadata_key_v5(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ConsumerGroupMemberMetadataKey, int]:
    item = new(ConsumerGroupMemberMetadataKey)
    item.group_id, at = read_string(buffer, at)
    item.member_id, at = read_string(buffer, at)
    return item, at


def _write_consumer_group_member_metadata_key_v5(
    out: bytearray, item: ConsumerGroupMemberMetadataKey, payloads: Payloads
) -> None:
    write_string(out, item.group_id)
    write_string(out, item.member_id)


@dataclass(slots=True, eq=False, repr=False)
class ConsumerGroupMemberMetadataKey(Message):
    """Version 5."""

    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[Versions] = Versions(5, 5)
    FLEXIBLE_FROM: ClassVar[int] = VERSION_LIMIT
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {5: _read_consumer_group_member_metadata_key_v5}
    ENCODERS: ClassVar[dict[int, Encoder]] = {5: _write_consumer_group_member_metadata_key_v5}

    group_id: str = ""
    member_id: str = ""


@dataclass(slots=True, eq=False, repr=False)
class ClassicProtocol(Structure):
    """ConsumerGroupMemberMetadataValue.classic_member_metadata.supported_protocols[]"""

    name: str = ""
    metadata: bytes = b""


@dataclass(slots=True, eq=False, repr=False)
class ClassicMemberMetadata(Structure):
    """ConsumerGroupMemberMetadataValue.classic_member_metadata"""

    session_timeout_ms: int = 0
    supported_protocols: list[ClassicProtocol] = field(default_factory=list)


def _read_classic_protocol_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ClassicProtocol], int]:
    items = []
    for _ in range(elements):
        item = new(ClassicProtocol)
        item.name, at = read_compact_string(buffer, at)
        item.metadata, at = read_compact_bytes(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_classic_protocol_v0_array(out: bytearray, items: list[ClassicProtocol]) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_compact_bytes(out, item.metadata)
        out.append(0)


def _read_classic_member_metadata_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ClassicMemberMetadata, int]:
    item = new(ClassicMemberMetadata)
    (item.session_timeout_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 3, budget)
    item.supported_protocols, at = _read_classic_protocol_v0_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_classic_member_metadata_v0(out: bytearray, item: ClassicMemberMetadata) -> None:
    out += _pack_i(item.session_timeout_ms)
    write_compact_count(out, item.supported_protocols)
    _write_classic_protocol_v0_array(out, item.supported_protocols)
    out.append(0)


def _read_consumer_group_member_metadata_value_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ConsumerGroupMemberMetadataValue, int]:
    item = new(ConsumerGroupMemberMetadataValue)
    item.classic_member_metadata = None
    item.instance_id, at = read_compact_nullable_string(buffer, at)
    item.rack_id, at = read_compact_nullable_string(buffer, at)
    item.client_id, at = read_compact_string(buffer, at)
    item.client_host, at = read_compact_string(buffer, at)
    count, at = read_compact_count(buffer, at, 1, budget)
    item.subscribed_topic_names, at = read_compact_strings(buffer, at, count)
    item.subscribed_topic_regex, at = read_compact_nullable_string(buffer, at)
    (item.rebalance_timeout_ms,) = _unpack_i(buffer, at)
    at += 4
    item.server_assignor, at = read_compact_nullable_string(buffer, at)
    tags = buffer[at]
    at += 1
    if tags:
        tags, at = read_tag_count(buffer, at - 1, budget)
        for _ in range(tags):
            tag, at, end = read_tag(buffer, at)
            if tag == 0:
                present, at = read_tagged_presence(buffer, at)
                if present:
                    item.classic_member_metadata, at = _read_classic_member_metadata_v0(buffer, at, budget)
                else:
                    item.classic_member_metadata = None
            else:
                at = end
            if at != end:
                raise Undecodable
    return item, at


def _write_consumer_group_member_metadata_value_v0(
    out: bytearray, item: ConsumerGroupMemberMetadataValue, payloads: Payloads
) -> None:
    write_compact_nullable_string(out, item.instance_id)
    write_compact_nullable_string(out, item.rack_id)
    write_compact_string(out, item.client_id)
    write_compact_string(out, item.client_host)
    write_compact_count(out, item.subscribed_topic_names)
    write_compact_strings(out, item.subscribed_topic_names)
    write_compact_nullable_string(out, item.subscribed_topic_regex)
    out += _pack_i(item.rebalance_timeout_ms)
    write_compact_nullable_string(out, item.server_assignor)
    tags = 1
    out.append(tags)
    value = bytearray()
    if item.classic_member_metadata is None:
        value.append(0)
    else:
        value.append(1)
        _write_classic_member_metadata_v0(value, item.classic_member_metadata)
    write_tag(out, 0, value)


@dataclass(slots=True, eq=False, repr=False)
class ConsumerGroupMemberMetadataValue(Message):
    """Version 0, flexible."""

    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[Versions] = Versions(0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {0: _read_consumer_group_member_metadata_value_v0}
    ENCODERS: ClassVar[dict[int, Encoder]] = {0: _write_consumer_group_member_metadata_value_v0}

    instance_id: str | None = ""
    rack_id: str | None = ""
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: list[str] = field(default_factory=list)
    subscribed_topic_regex: str | None = ""
    rebalance_timeout_ms: int = -1
    server_assignor: str | None = ""
    classic_member_metadata: ClassicMemberMetadata | None = None


def _read_consumer_group_target_assignment_metadata_key_v6(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ConsumerGroupTargetAssignmentMetadataKey, int]:
    item = new(ConsumerGroupTargetAssignmentMetadataKey)
    item.group_id, at = read_string(buffer, at)
    return item, at


def _write_consumer_group_target_assignment_metadata_key_v6(
    out: bytearray, item: ConsumerGroupTargetAssignmentMetadataKey, payloads: Payloads
) -> None:
    write_string(out, item.group_id)


@dataclass(slots=True, eq=False, repr=False)
class ConsumerGroupTargetAssignmentMetadataKey(Message):
    """Version 6."""

    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[Versions] = Versions(6, 6)
    FLEXIBLE_FROM: ClassVar[int] = VERSION_LIMIT
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {6: _read_consumer_group_target_assignment_metadata_key_v6}
    ENCODERS: ClassVar[dict[int, Encoder]] = {6: _write_consumer_group_target_assignment_metadata_key_v6}

    group_id: str = ""


def _read_consumer_group_target_assignment_metadata_value_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ConsumerGroupTargetAssignmentMetadataValue, int]:
    item = new(ConsumerGroupTargetAssignmentMetadataValue)
    item.assignment_timestamp = 0
    item.assignment_epoch, tags = _unpack_it(buffer, at)
    at += 5
    if tags:
        tags, at = read_tag_count(buffer, at - 1, budget)
        for _ in range(tags):
            tag, at, end = read_tag(buffer, at)
            if tag == 0:
                (item.assignment_timestamp,) = _unpack_q(buffer, at)
                at += 8
            else:
                at = end
            if at != end:
                raise Undecodable
    return item, at


def _write_consumer_group_target_assignment_metadata_value_v0(
    out: bytearray, item: ConsumerGroupTargetAssignmentMetadataValue, payloads: Payloads
) -> None:
    out += _pack_i(item.assignment_epoch)
    tags = item.assignment_timestamp != 0
    out.append(tags)
    if tags:
        if item.assignment_timestamp != 0:
            value = bytearray()
            value += _pack_q(item.assignment_timestamp)
            write_tag(out, 0, value)


@dataclass(slots=True, eq=False, repr=False)
class ConsumerGroupTargetAssignmentMetadataValue(Message):
    """Version 0, flexible."""

    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[Versions] = Versions(0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {0: _read_consumer_group_target_assignment_metadata_value_v0}
    ENCODERS: ClassVar[dict[int, Encoder]] = {0: _write_consumer_group_target_assignment_metadata_value_v0}

    assignment_epoch: int = 0
    assignment_timestamp: int = 0


def _read_consumer_group_target_assignment_member_key_v7(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ConsumerGroupTargetAssignmentMemberKey, int]:
    item = new(ConsumerGroupTargetAssignmentMemberKey)
    item.group_id, at = read_string(buffer, at)
    item.member_id, at = read_string(buffer, at)
    return item, at


def _write_consumer_group_target_assignment_member_key_v7(
    out: bytearray, item: ConsumerGroupTargetAssignmentMemberKey, payloads: Payloads
) -> None:
    write_string(out, item.group_id)
    write_string(out, item.member_id)


@dataclass(slots=True, eq=False, repr=False)
class ConsumerGroupTargetAssignmentMemberKey(Message):
    """Version 7."""

    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[Versions] = Versions(7, 7)
    FLEXIBLE_FROM: ClassVar[int] = VERSION_LIMIT
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {7: _read_consumer_group_target_assignment_member_key_v7}
    ENCODERS: ClassVar[dict[int, Encoder]] = {7: _write_consumer_group_target_assignment_member_key_v7}

    group_id: str = ""
    member_id: str = ""


@dataclass(slots=True, eq=False, repr=False)
class TopicPartitions(Structure):
    """ConsumerGroupTargetAssignmentMemberValue.topic_partitions[]"""

    topic_id: UUID = NO_TOPIC_ID
    partitions: list[int] = field(default_factory=list)


def _read_topic_partitions_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[TopicPartitions], int]:
    items = []
    for _ in range(elements):
        item = new(TopicPartitions)
        item.topic_id, at = read_uuid(buffer, at)
        count, at = read_compact_count(buffer, at, 4, budget)
        item.partitions, at = read_int32s(buffer, at, count)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_topic_partitions_v0_array(out: bytearray, items: list[TopicPartitions]) -> None:
    for item in items:
        write_uuid(out, item.topic_id)
        write_compact_count(out, item.partitions)
        write_int32s(out, item.partitions)
        out.append(0)


def _read_consumer_group_target_assignment_member_value_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ConsumerGroupTargetAssignmentMemberValue, int]:
    item = new(ConsumerGroupTargetAssignmentMemberValue)
    count, at = read_compact_count(buffer, at, 18, budget)
    item.topic_partitions, at = _read_topic_partitions_v0_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_consumer_group_target_assignment_member_value_v0(
    out: bytearray, item: ConsumerGroupTargetAssignmentMemberValue, payloads: Payloads
) -> None:
    write_compact_count(out, item.topic_partitions)
    _write_topic_partitions_v0_array(out, item.topic_partitions)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class ConsumerGroupTargetAssignmentMemberValue(Message):
    """Version 0, flexible."""

    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[Versions] = Versions(0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {0: _read_consumer_group_target_assignment_member_value_v0}
    ENCODERS: ClassVar[dict[int, Encoder]] = {0: _write_consumer_group_target_assignment_member_value_v0}

    topic_partitions: list[TopicPartitions] = field(default_factory=list)


def _read_consumer_group_current_member_assignment_key_v8(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ConsumerGroupCurrentMemberAssignmentKey, int]:
    item = new(ConsumerGroupCurrentMemberAssignmentKey)
    item.group_id, at = read_string(buffer, at)
    item.member_id, at = read_string(buffer, at)
    return item, at


def _write_consumer_group_current_member_assignment_key_v8(
    out: bytearray, item: ConsumerGroupCurrentMemberAssignmentKey, payloads: Payloads
) -> None:
    write_string(out, item.group_id)
    write_string(out, item.member_id)


@dataclass(slots=True, eq=False, repr=False)
class ConsumerGroupCurrentMemberAssignmentKey(Message):
    """Version 8."""

    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[Versions] = Versions(8, 8)
    FLEXIBLE_FROM: ClassVar[int] = VERSION_LIMIT
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {8: _read_consumer_group_current_member_assignment_key_v8}
    ENCODERS: ClassVar[dict[int, Encoder]] = {8: _write_consumer_group_current_member_assignment_key_v8}

    group_id: str = ""
    member_id: str = ""


@dataclass(slots=True, eq=False, repr=False)
class AssignedTopicPartitions(Structure):
    """ConsumerGroupCurrentMemberAssignmentValue.assigned_partitions[]"""

    topic_id: UUID = NO_TOPIC_ID
    partitions: list[int] = field(default_factory=list)
    assignment_epochs: list[int] = field(default_factory=list)


def _read_assigned_topic_partitions_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[AssignedTopicPartitions], int]:
    items = []
    for _ in range(elements):
        item = new(AssignedTopicPartitions)
        item.assignment_epochs = []
        item.topic_id, at = read_uuid(buffer, at)
        count, at = read_compact_count(buffer, at, 4, budget)
        item.partitions, at = read_int32s(buffer, at, count)
        tags = buffer[at]
        at += 1
        if tags:
            tags, at = read_tag_count(buffer, at - 1, budget)
            for _ in range(tags):
                tag, at, end = read_tag(buffer, at)
                if tag == 0:
                    count, at = read_compact_count(buffer, at, 4, budget)
                    item.assignment_epochs, at = read_int32s(buffer, at, count)
                else:
                    at = end
                if at != end:
                    raise Undecodable
        items.append(item)
    return items, at


def _write_assigned_topic_partitions_v0_array(out: bytearray, items: list[AssignedTopicPartitions]) -> None:
    for item in items:
        write_uuid(out, item.topic_id)
        write_compact_count(out, item.partitions)
        write_int32s(out, item.partitions)
        tags = len(item.assignment_epochs) > 0
        out.append(tags)
        if tags:
            if len(item.assignment_epochs) > 0:
                value = bytearray()
                write_compact_count(value, item.assignment_epochs)
                write_int32s(value, item.assignment_epochs)
                write_tag(out, 0, value)


def _read_consumer_group_current_member_assignment_value_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ConsumerGroupCurrentMemberAssignmentValue, int]:
    item = new(ConsumerGroupCurrentMemberAssignmentValue)
    item.member_epoch, item.previous_member_epoch, item.state = _unpack_iib(buffer, at)
    at += 9
    count, at = read_compact_count(buffer, at, 18, budget)
    item.assigned_partitions, at = _read_assigned_topic_partitions_v0_array(buffer, at, count, budget)
    count, at = read_compact_count(buffer, at, 18, budget)
    item.partitions_pending_revocation, at = _read_assigned_topic_partitions_v0_array(
        buffer, at, count, budget
    )
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_consumer_group_current_member_assignment_value_v0(
    out: bytearray, item: ConsumerGroupCurrentMemberAssignmentValue, payloads: Payloads
) -> None:
    out += _pack_iib(item.member_epoch, item.previous_member_epoch, item.state)
    write_compact_count(out, item.assigned_partitions)
    _write_assigned_topic_partitions_v0_array(out, item.assigned_partitions)
    write_compact_count(out, item.partitions_pending_revocation)
    _write_assigned_topic_partitions_v0_array(out, item.partitions_pending_revocation)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class ConsumerGroupCurrentMemberAssignmentValue(Message):
    """Version 0, flexible."""

    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[Versions] = Versions(0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {0: _read_consumer_group_current_member_assignment_value_v0}
    ENCODERS: ClassVar[dict[int, Encoder]] = {0: _write_consumer_group_current_member_assignment_value_v0}

    member_epoch: int = 0
    previous_member_epoch: int = 0
    state: int = 0
    assigned_partitions: list[AssignedTopicPartitions] = field(default_factory=list)
    partitions_pending_revocation: list[AssignedTopicPartitions] = field(default_factory=list)


def _read_consumer_group_regular_expression_key_v16(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ConsumerGroupRegularExpressionKey, int]:
    item = new(ConsumerGroupRegularExpressionKey)
    item.group_id, at = read_string(buffer, at)
    item.regular_expression, at = read_string(buffer, at)
    return item, at


def _write_consumer_group_regular_expression_key_v16(
    out: bytearray, item: ConsumerGroupRegularExpressionKey, payloads: Payloads
) -> None:
    write_string(out, item.group_id)
    write_string(out, item.regular_expression)


@dataclass(slots=True, eq=False, repr=False)
class ConsumerGroupRegularExpressionKey(Message):
    """Version 16."""

    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[Versions] = Versions(16, 16)
    FLEXIBLE_FROM: ClassVar[int] = VERSION_LIMIT
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {16: _read_consumer_group_regular_expression_key_v16}
    ENCODERS: ClassVar[dict[int, Encoder]] = {16: _write_consumer_group_regular_expression_key_v16}

    group_id: str = ""
    regular_expression: str = ""


def _read_consumer_group_regular_expression_value_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ConsumerGroupRegularExpressionValue, int]:
    item = new(ConsumerGroupRegularExpressionValue)
    count, at = read_compact_count(buffer, at, 1, budget)
    item.topics, at = read_compact_strings(buffer, at, count)
    item.version, item.timestamp, tags = _unpack_qqt(buffer, at)
    at += 17
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_consumer_group_regular_expression_value_v0(
    out: bytearray, item: ConsumerGroupRegularExpressionValue, payloads: Payloads
) -> None:
    write_compact_count(out, item.topics)
    write_compact_strings(out, item.topics)
    out += _pack_qqt(item.version, item.timestamp, 0)


@dataclass(slots=True, eq=False, repr=False)
class ConsumerGroupRegularExpressionValue(Message):
    """Version 0, flexible."""

    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[Versions] = Versions(0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {0: _read_consumer_group_regular_expression_value_v0}
    ENCODERS: ClassVar[dict[int, Encoder]] = {0: _write_consumer_group_regular_expression_value_v0}

    topics: list[str] = field(default_factory=list)
    version: int = 0
    timestamp: int = 0
