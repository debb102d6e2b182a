"""Generated from `schemas/consumer_offsets.fields` by `odradek.wire.generator`: do not edit."""

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
    read_bytes,
    read_compact_bytes,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    read_count,
    read_nullable_string,
    read_string,
    read_tag,
    read_tag_count,
    read_uuid,
    skip_tags,
)
from odradek.wire.encoding import (
    Payloads,
    write_bytes,
    write_compact_bytes,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
    write_count,
    write_nullable_string,
    write_string,
    write_tag,
    write_uuid,
)
from odradek.wire.message import Decoder, Encoder, Message, Structure
from odradek.wire.versions import VERSION_LIMIT, Versions

FIELD_TABLE: Final = """
records ConsumerOffsets

record OffsetCommitKey 0-1
    group: string
    topic: string
    partition: int32

record OffsetCommitValue 0-4 flexible 4+
    offset: int64
    leader_epoch: int32 @3+ = -1
    metadata: string
    commit_timestamp: int64
    expire_timestamp: int64 @1 = -1
    topic_id: uuid @4+ tag 0

record GroupMetadataKey 2
    group: string

record GroupMetadataValue 0-4 flexible 4+
    protocol_type: string
    generation: int32
    protocol: string?
    leader: string?
    current_state_timestamp: int64 @2+ = -1
    members: [MemberMetadata]
        member_id: string
        group_instance_id: string? @3+ = null
        client_id: string
        client_host: string
        rebalance_timeout: int32 @1+
        session_timeout: int32
        subscription: bytes
        assignment: bytes
"""


_unpack_i: Final = Struct(">i").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from
_unpack_q: Final = Struct(">q").unpack_from
_unpack_qt: Final = Struct(">qB").unpack_from
_unpack_qi: Final = Struct(">qi").unpack_from
_unpack_qq: Final = Struct(">qq").unpack_from
_pack_i: Final = Struct(">i").pack
_pack_ii: Final = Struct(">ii").pack
_pack_q: Final = Struct(">q").pack
_pack_qi: Final = Struct(">qi").pack
_pack_qq: Final = Struct(">qq").pack


def _read_offset_commit_key_v0(buffer: Buffer, at: int, budget: ElementBudget) -> tuple[OffsetCommitKey, int]:
    item = new(OffsetCommitKey)
    item.group, at = read_string(buffer, at)
    item.topic, at = read_string(buffer, at)
    (item.partition,) = _unpack_i(buffer, at)
    at += 4
    return item, at


def _write_offset_commit_key_v0(out: bytearray, item: OffsetCommitKey, payloads: Payloads) -> None:
    write_string(out, item.group)
    write_string(out, item.topic)
    out += _pack_i(item.partition)


@dataclass(slots=True, eq=False, repr=False)
class OffsetCommitKey(Message):
    """Versions 0 to 1."""

    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[Versions] = Versions(0, 1)
    FLEXIBLE_FROM: ClassVar[int] = VERSION_LIMIT
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {0: _read_offset_commit_key_v0, 1: _read_offset_commit_key_v0}
    ENCODERS: ClassVar[dict[int, Encoder]] = {0: _write_offset_commit_key_v0, 1: _write_offset_commit_key_v0}

    group: str = ""
    topic: str = ""
    partition: int = 0


def _read_offset_commit_value_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[OffsetCommitValue, int]:
    item = new(OffsetCommitValue)
    item.leader_epoch = -1
    item.expire_timestamp = -1
    item.topic_id = NO_TOPIC_ID
    (item.offset,) = _unpack_q(buffer, at)
    at += 8
    item.metadata, at = read_string(buffer, at)
    (item.commit_timestamp,) = _unpack_q(buffer, at)
    at += 8
    return item, at


def _write_offset_commit_value_v0(out: bytearray, item: OffsetCommitValue, payloads: Payloads) -> None:
    out += _pack_q(item.offset)
    write_string(out, item.metadata)
    out += _pack_q(item.commit_timestamp)


def _read_offset_commit_value_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[OffsetCommitValue, int]:
    item = new(OffsetCommitValue)
    item.leader_epoch = -1
    item.topic_id = NO_TOPIC_ID
    (item.offset,) = _unpack_q(buffer, at)
    at += 8
    item.metadata, at = read_string(buffer, at)
    item.commit_timestamp, item.expire_timestamp = _unpack_qq(buffer, at)
    at += 16
    return item, at


def _write_offset_commit_value_v1(out: bytearray, item: OffsetCommitValue, payloads: Payloads) -> None:
    out += _pack_q(item.offset)
    write_string(out, item.metadata)
    out += _pack_qq(item.commit_timestamp, item.expire_timestamp)


def _read_offset_commit_value_v3(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[OffsetCommitValue, int]:
    item = new(OffsetCommitValue)
    item.expire_timestamp = -1
    item.topic_id = NO_TOPIC_ID
    item.offset, item.leader_epoch = _unpack_qi(buffer, at)
    at += 12
    item.metadata, at = read_string(buffer, at)
    (item.commit_timestamp,) = _unpack_q(buffer, at)
    at += 8
    return item, at


def _write_offset_commit_value_v3(out: bytearray, item: OffsetCommitValue, payloads: Payloads) -> None:
    out += _pack_qi(item.offset, item.leader_epoch)
    write_string(out, item.metadata)
    out += _pack_q(item.commit_timestamp)


def _read_offset_commit_value_v4(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[OffsetCommitValue, int]:
    item = new(OffsetCommitValue)
    item.expire_timestamp = -1
    item.topic_id = NO_TOPIC_ID
    item.offset, item.leader_epoch = _unpack_qi(buffer, at)
    at += 12
    item.metadata, at = read_compact_string(buffer, at)
    item.commit_timestamp, tags = _unpack_qt(buffer, at)
    at += 9
    if tags:
        tags, at = read_tag_count(buffer, at - 1, budget)
        for _ in range(tags):
            tag, at, end = read_tag(buffer, at)
            if tag == 0:
                item.topic_id, at = read_uuid(buffer, at)
            else:
                at = end
            if at != end:
                raise Undecodable
    return item, at


def _write_offset_commit_value_v4(out: bytearray, item: OffsetCommitValue, payloads: Payloads) -> None:
    out += _pack_qi(item.offset, item.leader_epoch)
    write_compact_string(out, item.metadata)
    out += _pack_q(item.commit_timestamp)
    tags = item.topic_id.int != 0
    out.append(tags)
    if tags:
        if item.topic_id.int != 0:
            value = bytearray()
            write_uuid(value, item.topic_id)
            write_tag(out, 0, value)


@dataclass(slots=True, eq=False, repr=False)
class OffsetCommitValue(Message):
    """Versions 0 to 4, flexible from 4."""

    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[Versions] = Versions(0, 4)
    FLEXIBLE_FROM: ClassVar[int] = 4
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_offset_commit_value_v0,
        1: _read_offset_commit_value_v1,
        2: _read_offset_commit_value_v0,
        3: _read_offset_commit_value_v3,
        4: _read_offset_commit_value_v4,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_offset_commit_value_v0,
        1: _write_offset_commit_value_v1,
        2: _write_offset_commit_value_v0,
        3: _write_offset_commit_value_v3,
        4: _write_offset_commit_value_v4,
    }

    offset: int = 0
    leader_epoch: int = -1  # v3+
    metadata: str = ""
    commit_timestamp: int = 0
    expire_timestamp: int = -1  # v1
    topic_id: UUID = NO_TOPIC_ID  # v4+


def _read_group_metadata_key_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[GroupMetadataKey, int]:
    item = new(GroupMetadataKey)
    item.group, at = read_string(buffer, at)
    return item, at


def _write_group_metadata_key_v2(out: bytearray, item: GroupMetadataKey, payloads: Payloads) -> None:
    write_string(out, item.group)


@dataclass(slots=True, eq=False, repr=False)
class GroupMetadataKey(Message):
    """Version 2."""

    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[Versions] = Versions(2, 2)
    FLEXIBLE_FROM: ClassVar[int] = VERSION_LIMIT
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {2: _read_group_metadata_key_v2}
    ENCODERS: ClassVar[dict[int, Encoder]] = {2: _write_group_metadata_key_v2}

    group: str = ""


@dataclass(slots=True, eq=False, repr=False)
class MemberMetadata(Structure):
    """GroupMetadataValue.members[]"""

    member_id: str = ""
    group_instance_id: str | None = None  # v3+
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout: int = 0  # v1+
    session_timeout: int = 0
    subscription: bytes = b""
    assignment: bytes = b""


def _read_member_metadata_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[MemberMetadata], int]:
    items = []
    for _ in range(elements):
        item = new(MemberMetadata)
        item.group_instance_id = None
        item.rebalance_timeout = 0
        item.member_id, at = read_string(buffer, at)
        item.client_id, at = read_string(buffer, at)
        item.client_host, at = read_string(buffer, at)
        (item.session_timeout,) = _unpack_i(buffer, at)
        at += 4
        item.subscription, at = read_bytes(buffer, at)
        item.assignment, at = read_bytes(buffer, at)
        items.append(item)
    return items, at


def _write_member_metadata_v0_array(out: bytearray, items: list[MemberMetadata]) -> None:
    for item in items:
        write_string(out, item.member_id)
        write_string(out, item.client_id)
        write_string(out, item.client_host)
        out += _pack_i(item.session_timeout)
        write_bytes(out, item.subscription)
        write_bytes(out, item.assignment)


def _read_member_metadata_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[MemberMetadata], int]:
    items = []
    for _ in range(elements):
        item = new(MemberMetadata)
        item.group_instance_id = None
        item.member_id, at = read_string(buffer, at)
        item.client_id, at = read_string(buffer, at)
        item.client_host, at = read_string(buffer, at)
        item.rebalance_timeout, item.session_timeout = _unpack_ii(buffer, at)
        at += 8
        item.subscription, at = read_bytes(buffer, at)
        item.assignment, at = read_bytes(buffer, at)
        items.append(item)
    return items, at


def _write_member_metadata_v1_array(out: bytearray, items: list[MemberMetadata]) -> None:
    for item in items:
        write_string(out, item.member_id)
        write_string(out, item.client_id)
        write_string(out, item.client_host)
        out += _pack_ii(item.rebalance_timeout, item.session_timeout)
        write_bytes(out, item.subscription)
        write_bytes(out, item.assignment)


def _read_member_metadata_v3_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[MemberMetadata], int]:
    items = []
    for _ in range(elements):
        item = new(MemberMetadata)
        item.member_id, at = read_string(buffer, at)
        item.group_instance_id, at = read_nullable_string(buffer, at)
        item.client_id, at = read_string(buffer, at)
        item.client_host, at = read_string(buffer, at)
        item.rebalance_timeout, item.session_timeout = _unpack_ii(buffer, at)
        at += 8
        item.subscription, at = read_bytes(buffer, at)
        item.assignment, at = read_bytes(buffer, at)
        items.append(item)
    return items, at


def _write_member_metadata_v3_array(out: bytearray, items: list[MemberMetadata]) -> None:
    for item in items:
        write_string(out, item.member_id)
        write_nullable_string(out, item.group_instance_id)
        write_string(out, item.client_id)
        write_string(out, item.client_host)
        out += _pack_ii(item.rebalance_timeout, item.session_timeout)
        write_bytes(out, item.subscription)
        write_bytes(out, item.assignment)


def _read_member_metadata_v4_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[MemberMetadata], int]:
    items = []
    for _ in range(elements):
        item = new(MemberMetadata)
        item.member_id, at = read_compact_string(buffer, at)
        item.group_instance_id, at = read_compact_nullable_string(buffer, at)
        item.client_id, at = read_compact_string(buffer, at)
        item.client_host, at = read_compact_string(buffer, at)
        item.rebalance_timeout, item.session_timeout = _unpack_ii(buffer, at)
        at += 8
        item.subscription, at = read_compact_bytes(buffer, at)
        item.assignment, at = read_compact_bytes(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_member_metadata_v4_array(out: bytearray, items: list[MemberMetadata]) -> None:
    for item in items:
        write_compact_string(out, item.member_id)
        write_compact_nullable_string(out, item.group_instance_id)
        write_compact_string(out, item.client_id)
        write_compact_string(out, item.client_host)
        out += _pack_ii(item.rebalance_timeout, item.session_timeout)
        write_compact_bytes(out, item.subscription)
        write_compact_bytes(out, item.assignment)
        out.append(0)


def _read_group_metadata_value_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[GroupMetadataValue, int]:
    item = new(GroupMetadataValue)
    item.current_state_timestamp = -1
    item.protocol_type, at = read_string(buffer, at)
    (item.generation,) = _unpack_i(buffer, at)
    at += 4
    item.protocol, at = read_nullable_string(buffer, at)
    item.leader, at = read_nullable_string(buffer, at)
    count, at = read_count(buffer, at, 18, budget)
    item.members, at = _read_member_metadata_v0_array(buffer, at, count, budget)
    return item, at


def _write_group_metadata_value_v0(out: bytearray, item: GroupMetadataValue, payloads: Payloads) -> None:
    write_string(out, item.protocol_type)
    out += _pack_i(item.generation)
    write_nullable_string(out, item.protocol)
    write_nullable_string(out, item.leader)
    write_count(out, item.members)
    _write_member_metadata_v0_array(out, item.members)


def _read_group_metadata_value_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[GroupMetadataValue, int]:
    item = new(GroupMetadataValue)
    item.current_state_timestamp = -1
    item.protocol_type, at = read_string(buffer, at)
    (item.generation,) = _unpack_i(buffer, at)
    at += 4
    item.protocol, at = read_nullable_string(buffer, at)
    item.leader, at = read_nullable_string(buffer, at)
    count, at = read_count(buffer, at, 22, budget)
    item.members, at = _read_member_metadata_v1_array(buffer, at, count, budget)
    return item, at


def _write_group_metadata_value_v1(out: bytearray, item: GroupMetadataValue, payloads: Payloads) -> None:
    write_string(out, item.protocol_type)
    out += _pack_i(item.generation)
    write_nullable_string(out, item.protocol)
    write_nullable_string(out, item.leader)
    write_count(out, item.members)
    _write_member_metadata_v1_array(out, item.members)


def _read_group_metadata_value_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[GroupMetadataValue, int]:
    item = new(GroupMetadataValue)
    item.protocol_type, at = read_string(buffer, at)
    (item.generation,) = _unpack_i(buffer, at)
    at += 4
    item.protocol, at = read_nullable_string(buffer, at)
    item.leader, at = read_nullable_string(buffer, at)
    (item.current_state_timestamp,) = _unpack_q(buffer, at)
    at += 8
    count, at = read_count(buffer, at, 22, budget)
    item.members, at = _read_member_metadata_v1_array(buffer, at, count, budget)
    return item, at


def _write_group_metadata_value_v2(out: bytearray, item: GroupMetadataValue, payloads: Payloads) -> None:
    write_string(out, item.protocol_type)
    out += _pack_i(item.generation)
    write_nullable_string(out, item.protocol)
    write_nullable_string(out, item.leader)
    out += _pack_q(item.current_state_timestamp)
    write_count(out, item.members)
    _write_member_metadata_v1_array(out, item.members)


def _read_group_metadata_value_v3(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[GroupMetadataValue, int]:
    item = new(GroupMetadataValue)
    item.protocol_type, at = read_string(buffer, at)
    (item.generation,) = _unpack_i(buffer, at)
    at += 4
    item.protocol, at = read_nullable_string(buffer, at)
    item.leader, at = read_nullable_string(buffer, at)
    (item.current_state_timestamp,) = _unpack_q(buffer, at)
    at += 8
    count, at = read_count(buffer, at, 24, budget)
    item.members, at = _read_member_metadata_v3_array(buffer, at, count, budget)
    return item, at


def _write_group_metadata_value_v3(out: bytearray, item: GroupMetadataValue, payloads: Payloads) -> None:
    write_string(out, item.protocol_type)
    out += _pack_i(item.generation)
    write_nullable_string(out, item.protocol)
    write_nullable_string(out, item.leader)
    out += _pack_q(item.current_state_timestamp)
    write_count(out, item.members)
    _write_member_metadata_v3_array(out, item.members)


def _read_group_metadata_value_v4(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[GroupMetadataValue, int]:
    item = new(GroupMetadataValue)
    item.protocol_type, at = read_compact_string(buffer, at)
    (item.generation,) = _unpack_i(buffer, at)
    at += 4
    item.protocol, at = read_compact_nullable_string(buffer, at)
    item.leader, at = read_compact_nullable_string(buffer, at)
    (item.current_state_timestamp,) = _unpack_q(buffer, at)
    at += 8
    count, at = read_compact_count(buffer, at, 15, budget)
    item.members, at = _read_member_metadata_v4_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_group_metadata_value_v4(out: bytearray, item: GroupMetadataValue, payloads: Payloads) -> None:
    write_compact_string(out, item.protocol_type)
    out += _pack_i(item.generation)
    write_compact_nullable_string(out, item.protocol)
    write_compact_nullable_string(out, item.leader)
    out += _pack_q(item.current_state_timestamp)
    write_compact_count(out, item.members)
    _write_member_metadata_v4_array(out, item.members)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class GroupMetadataValue(Message):
    """Versions 0 to 4, flexible from 4."""

    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[Versions] = Versions(0, 4)
    FLEXIBLE_FROM: ClassVar[int] = 4
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_group_metadata_value_v0,
        1: _read_group_metadata_value_v1,
        2: _read_group_metadata_value_v2,
        3: _read_group_metadata_value_v3,
        4: _read_group_metadata_value_v4,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_group_metadata_value_v0,
        1: _write_group_metadata_value_v1,
        2: _write_group_metadata_value_v2,
        3: _write_group_metadata_value_v3,
        4: _write_group_metadata_value_v4,
    }

    protocol_type: str = ""
    generation: int = 0
    protocol: str | None = ""
    leader: str | None = ""
    current_state_timestamp: int = -1  # v2+
    members: list[MemberMetadata] = field(default_factory=list)
