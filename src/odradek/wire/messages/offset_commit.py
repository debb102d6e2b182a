"""Generated from `schemas/offset_commit.fields` by `odradek.wire.generator`: do not edit."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final
from uuid import UUID

from odradek.base.buffers import Buffer
from odradek.base.ids import NO_TOPIC_ID
from odradek.wire.decoding import (
    ElementBudget,
    new,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    read_count,
    read_nullable_string,
    read_string,
    read_uuid,
    skip_tags,
)
from odradek.wire.encoding import (
    Payloads,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
    write_count,
    write_nullable_string,
    write_string,
    write_uuid,
)
from odradek.wire.message import Decoder, Encoder, Message, Request, Structure
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
api 8 OffsetCommit

request OffsetCommitRequest 2-10 flexible 8+
    group_id: string
    generation_id_or_member_epoch: int32 = -1
    member_id: string
    retention_time_ms: int64 @0-4 = -1
    group_instance_id: string? @7+ = null
    topics: [OffsetCommitRequestTopic]
        name: string @0-9
        topic_id: uuid @10+
        partitions: [OffsetCommitRequestPartition]
            partition_index: int32
            committed_offset: int64
            committed_leader_epoch: int32 @6+ = -1
            committed_metadata: string?

response OffsetCommitResponse 2-10 flexible 8+
    throttle_time_ms: int32 @3+
    topics: [OffsetCommitResponseTopic]
        name: string @0-9
        topic_id: uuid @10+
        partitions: [OffsetCommitResponsePartition]
            partition_index: int32
            error_code: int16
"""


_unpack_i: Final = Struct(">i").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_iht: Final = Struct(">ihB").unpack_from
_unpack_iq: Final = Struct(">iq").unpack_from
_unpack_iqi: Final = Struct(">iqi").unpack_from
_unpack_q: Final = Struct(">q").unpack_from
_pack_i: Final = Struct(">i").pack
_pack_ih: Final = Struct(">ih").pack
_pack_iht: Final = Struct(">ihB").pack
_pack_iq: Final = Struct(">iq").pack
_pack_iqi: Final = Struct(">iqi").pack
_pack_q: Final = Struct(">q").pack


@dataclass(slots=True, eq=False, repr=False)
class OffsetCommitRequestPartition(Structure):
    """OffsetCommitRequest.topics[].partitions[]"""

    partition_index: int = 0
    committed_offset: int = 0
    committed_leader_epoch: int = -1  # v6+
    committed_metadata: str | None = ""


@dataclass(slots=True, eq=False, repr=False)
class OffsetCommitRequestTopic(Structure):
    """OffsetCommitRequest.topics[]"""

    name: str = ""  # up to v9
    topic_id: UUID = NO_TOPIC_ID  # v10+
    partitions: list[OffsetCommitRequestPartition] = field(default_factory=list)


def _read_offset_commit_request_partition_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OffsetCommitRequestPartition], int]:
    items = []
    for _ in range(elements):
        item = new(OffsetCommitRequestPartition)
        item.committed_leader_epoch = -1
        item.partition_index, item.committed_offset = _unpack_iq(buffer, at)
        at += 12
        item.committed_metadata, at = read_nullable_string(buffer, at)
        items.append(item)
    return items, at


def _write_offset_commit_request_partition_v2_array(
    out: bytearray, items: list[OffsetCommitRequestPartition]
) -> None:
    for item in items:
        out += _pack_iq(item.partition_index, item.committed_offset)
        write_nullable_string(out, item.committed_metadata)


def _read_offset_commit_request_partition_v6_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OffsetCommitRequestPartition], int]:
    items = []
    for _ in range(elements):
        item = new(OffsetCommitRequestPartition)
        item.partition_index, item.committed_offset, item.committed_leader_epoch = _unpack_iqi(buffer, at)
        at += 16
        item.committed_metadata, at = read_nullable_string(buffer, at)
        items.append(item)
    return items, at


def _write_offset_commit_request_partition_v6_array(
    out: bytearray, items: list[OffsetCommitRequestPartition]
) -> None:
    for item in items:
        out += _pack_iqi(item.partition_index, item.committed_offset, item.committed_leader_epoch)
        write_nullable_string(out, item.committed_metadata)


def _read_offset_commit_request_partition_v8_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OffsetCommitRequestPartition], int]:
    items = []
    for _ in range(elements):
        item = new(OffsetCommitRequestPartition)
        item.partition_index, item.committed_offset, item.committed_leader_epoch = _unpack_iqi(buffer, at)
        at += 16
        item.committed_metadata, at = read_compact_nullable_string(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_offset_commit_request_partition_v8_array(
    out: bytearray, items: list[OffsetCommitRequestPartition]
) -> None:
    for item in items:
        out += _pack_iqi(item.partition_index, item.committed_offset, item.committed_leader_epoch)
        write_compact_nullable_string(out, item.committed_metadata)
        out.append(0)


def _read_offset_commit_request_topic_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OffsetCommitRequestTopic], int]:
    items = []
    for _ in range(elements):
        item = new(OffsetCommitRequestTopic)
        item.topic_id = NO_TOPIC_ID
        item.name, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 14, budget)
        item.partitions, at = _read_offset_commit_request_partition_v2_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_offset_commit_request_topic_v2_array(
    out: bytearray, items: list[OffsetCommitRequestTopic]
) -> None:
    for item in items:
        write_string(out, item.name)
        write_count(out, item.partitions)
        _write_offset_commit_request_partition_v2_array(out, item.partitions)


def _read_offset_commit_request_topic_v6_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OffsetCommitRequestTopic], int]:
    items = []
    for _ in range(elements):
        item = new(OffsetCommitRequestTopic)
        item.topic_id = NO_TOPIC_ID
        item.name, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 18, budget)
        item.partitions, at = _read_offset_commit_request_partition_v6_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_offset_commit_request_topic_v6_array(
    out: bytearray, items: list[OffsetCommitRequestTopic]
) -> None:
    for item in items:
        write_string(out, item.name)
        write_count(out, item.partitions)
        _write_offset_commit_request_partition_v6_array(out, item.partitions)


def _read_offset_commit_request_topic_v8_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OffsetCommitRequestTopic], int]:
    items = []
    for _ in range(elements):
        item = new(OffsetCommitRequestTopic)
        item.topic_id = NO_TOPIC_ID
        item.name, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 18, budget)
        item.partitions, at = _read_offset_commit_request_partition_v8_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_offset_commit_request_topic_v8_array(
    out: bytearray, items: list[OffsetCommitRequestTopic]
) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_compact_count(out, item.partitions)
        _write_offset_commit_request_partition_v8_array(out, item.partitions)
        out.append(0)


def _read_offset_commit_request_topic_v10_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OffsetCommitRequestTopic], int]:
    items = []
    for _ in range(elements):
        item = new(OffsetCommitRequestTopic)
        item.name = ""
        item.topic_id, at = read_uuid(buffer, at)
        count, at = read_compact_count(buffer, at, 18, budget)
        item.partitions, at = _read_offset_commit_request_partition_v8_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_offset_commit_request_topic_v10_array(
    out: bytearray, items: list[OffsetCommitRequestTopic]
) -> None:
    for item in items:
        write_uuid(out, item.topic_id)
        write_compact_count(out, item.partitions)
        _write_offset_commit_request_partition_v8_array(out, item.partitions)
        out.append(0)


def _read_offset_commit_request_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[OffsetCommitRequest, int]:
    item = new(OffsetCommitRequest)
    item.group_instance_id = None
    item.group_id, at = read_string(buffer, at)
    (item.generation_id_or_member_epoch,) = _unpack_i(buffer, at)
    at += 4
    item.member_id, at = read_string(buffer, at)
    (item.retention_time_ms,) = _unpack_q(buffer, at)
    at += 8
    count, at = read_count(buffer, at, 6, budget)
    item.topics, at = _read_offset_commit_request_topic_v2_array(buffer, at, count, budget)
    return item, at


def _write_offset_commit_request_v2(out: bytearray, item: OffsetCommitRequest, payloads: Payloads) -> None:
    write_string(out, item.group_id)
    out += _pack_i(item.generation_id_or_member_epoch)
    write_string(out, item.member_id)
    out += _pack_q(item.retention_time_ms)
    write_count(out, item.topics)
    _write_offset_commit_request_topic_v2_array(out, item.topics)


def _read_offset_commit_request_v5(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[OffsetCommitRequest, int]:
    item = new(OffsetCommitRequest)
    item.retention_time_ms = -1
    item.group_instance_id = None
    item.group_id, at = read_string(buffer, at)
    (item.generation_id_or_member_epoch,) = _unpack_i(buffer, at)
    at += 4
    item.member_id, at = read_string(buffer, at)
    count, at = read_count(buffer, at, 6, budget)
    item.topics, at = _read_offset_commit_request_topic_v2_array(buffer, at, count, budget)
    return item, at


def _write_offset_commit_request_v5(out: bytearray, item: OffsetCommitRequest, payloads: Payloads) -> None:
    write_string(out, item.group_id)
    out += _pack_i(item.generation_id_or_member_epoch)
    write_string(out, item.member_id)
    write_count(out, item.topics)
    _write_offset_commit_request_topic_v2_array(out, item.topics)


def _read_offset_commit_request_v6(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[OffsetCommitRequest, int]:
    item = new(OffsetCommitRequest)
    item.retention_time_ms = -1
    item.group_instance_id = None
    item.group_id, at = read_string(buffer, at)
    (item.generation_id_or_member_epoch,) = _unpack_i(buffer, at)
    at += 4
    item.member_id, at = read_string(buffer, at)
    count, at = read_count(buffer, at, 6, budget)
    item.topics, at = _read_offset_commit_request_topic_v6_array(buffer, at, count, budget)
    return item, at


def _write_offset_commit_request_v6(out: bytearray, item: OffsetCommitRequest, payloads: Payloads) -> None:
    write_string(out, item.group_id)
    out += _pack_i(item.generation_id_or_member_epoch)
    write_string(out, item.member_id)
    write_count(out, item.topics)
    _write_offset_commit_request_topic_v6_array(out, item.topics)


def _read_offset_commit_request_v7(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[OffsetCommitRequest, int]:
    item = new(OffsetCommitRequest)
    item.retention_time_ms = -1
    item.group_id, at = read_string(buffer, at)
    (item.generation_id_or_member_epoch,) = _unpack_i(buffer, at)
    at += 4
    item.member_id, at = read_string(buffer, at)
    item.group_instance_id, at = read_nullable_string(buffer, at)
    count, at = read_count(buffer, at, 6, budget)
    item.topics, at = _read_offset_commit_request_topic_v6_array(buffer, at, count, budget)
    return item, at


def _write_offset_commit_request_v7(out: bytearray, item: OffsetCommitRequest, payloads: Payloads) -> None:
    write_string(out, item.group_id)
    out += _pack_i(item.generation_id_or_member_epoch)
    write_string(out, item.member_id)
    write_nullable_string(out, item.group_instance_id)
    write_count(out, item.topics)
    _write_offset_commit_request_topic_v6_array(out, item.topics)


def _read_offset_commit_request_v8(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[OffsetCommitRequest, int]:
    item = new(OffsetCommitRequest)
    item.retention_time_ms = -1
    item.group_id, at = read_compact_string(buffer, at)
    (item.generation_id_or_member_epoch,) = _unpack_i(buffer, at)
    at += 4
    item.member_id, at = read_compact_string(buffer, at)
    item.group_instance_id, at = read_compact_nullable_string(buffer, at)
    count, at = read_compact_count(buffer, at, 3, budget)
    item.topics, at = _read_offset_commit_request_topic_v8_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_offset_commit_request_v8(out: bytearray, item: OffsetCommitRequest, payloads: Payloads) -> None:
    write_compact_string(out, item.group_id)
    out += _pack_i(item.generation_id_or_member_epoch)
    write_compact_string(out, item.member_id)
    write_compact_nullable_string(out, item.group_instance_id)
    write_compact_count(out, item.topics)
    _write_offset_commit_request_topic_v8_array(out, item.topics)
    out.append(0)


def _read_offset_commit_request_v10(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[OffsetCommitRequest, int]:
    item = new(OffsetCommitRequest)
    item.retention_time_ms = -1
    item.group_id, at = read_compact_string(buffer, at)
    (item.generation_id_or_member_epoch,) = _unpack_i(buffer, at)
    at += 4
    item.member_id, at = read_compact_string(buffer, at)
    item.group_instance_id, at = read_compact_nullable_string(buffer, at)
    count, at = read_compact_count(buffer, at, 18, budget)
    item.topics, at = _read_offset_commit_request_topic_v10_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_offset_commit_request_v10(out: bytearray, item: OffsetCommitRequest, payloads: Payloads) -> None:
    write_compact_string(out, item.group_id)
    out += _pack_i(item.generation_id_or_member_epoch)
    write_compact_string(out, item.member_id)
    write_compact_nullable_string(out, item.group_instance_id)
    write_compact_count(out, item.topics)
    _write_offset_commit_request_topic_v10_array(out, item.topics)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class OffsetCommitRequest(Request["OffsetCommitResponse"]):
    """Versions 2 to 10, flexible from 8."""

    API_KEY: ClassVar[int] = 8
    VERSIONS: ClassVar[Versions] = Versions(2, 10)
    FLEXIBLE_FROM: ClassVar[int] = 8
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        2: _read_offset_commit_request_v2,
        3: _read_offset_commit_request_v2,
        4: _read_offset_commit_request_v2,
        5: _read_offset_commit_request_v5,
        6: _read_offset_commit_request_v6,
        7: _read_offset_commit_request_v7,
        8: _read_offset_commit_request_v8,
        9: _read_offset_commit_request_v8,
        10: _read_offset_commit_request_v10,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        2: _write_offset_commit_request_v2,
        3: _write_offset_commit_request_v2,
        4: _write_offset_commit_request_v2,
        5: _write_offset_commit_request_v5,
        6: _write_offset_commit_request_v6,
        7: _write_offset_commit_request_v7,
        8: _write_offset_commit_request_v8,
        9: _write_offset_commit_request_v8,
        10: _write_offset_commit_request_v10,
    }

    group_id: str = ""
    generation_id_or_member_epoch: int = -1
    member_id: str = ""
    retention_time_ms: int = -1  # up to v4
    group_instance_id: str | None = None  # v7+
    topics: list[OffsetCommitRequestTopic] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class OffsetCommitResponsePartition(Structure):
    """OffsetCommitResponse.topics[].partitions[]"""

    partition_index: int = 0
    error_code: int = 0


@dataclass(slots=True, eq=False, repr=False)
class OffsetCommitResponseTopic(Structure):
    """OffsetCommitResponse.topics[]"""

    name: str = ""  # up to v9
    topic_id: UUID = NO_TOPIC_ID  # v10+
    partitions: list[OffsetCommitResponsePartition] = field(default_factory=list)


def _read_offset_commit_response_partition_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OffsetCommitResponsePartition], int]:
    items = []
    for _ in range(elements):
        item = new(OffsetCommitResponsePartition)
        item.partition_index, item.error_code = _unpack_ih(buffer, at)
        at += 6
        items.append(item)
    return items, at


def _write_offset_commit_response_partition_v2_array(
    out: bytearray, items: list[OffsetCommitResponsePartition]
) -> None:
    for item in items:
        out += _pack_ih(item.partition_index, item.error_code)


def _read_offset_commit_response_partition_v8_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OffsetCommitResponsePartition], int]:
    items = []
    for _ in range(elements):
        item = new(OffsetCommitResponsePartition)
        item.partition_index, item.error_code, tags = _unpack_iht(buffer, at)
        at += 7
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_offset_commit_response_partition_v8_array(
    out: bytearray, items: list[OffsetCommitResponsePartition]
) -> None:
    for item in items:
        out += _pack_iht(item.partition_index, item.error_code, 0)


def _read_offset_commit_response_topic_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OffsetCommitResponseTopic], int]:
    items = []
    for _ in range(elements):
        item = new(OffsetCommitResponseTopic)
        item.topic_id = NO_TOPIC_ID
        item.name, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 6, budget)
        item.partitions, at = _read_offset_commit_response_partition_v2_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_offset_commit_response_topic_v2_array(
    out: bytearray, items: list[OffsetCommitResponseTopic]
) -> None:
    for item in items:
        write_string(out, item.name)
        write_count(out, item.partitions)
        _write_offset_commit_response_partition_v2_array(out, item.partitions)


def _read_offset_commit_response_topic_v8_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OffsetCommitResponseTopic], int]:
    items = []
    for _ in range(elements):
        item = new(OffsetCommitResponseTopic)
        item.topic_id = NO_TOPIC_ID
        item.name, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 7, budget)
        item.partitions, at = _read_offset_commit_response_partition_v8_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_offset_commit_response_topic_v8_array(
    out: bytearray, items: list[OffsetCommitResponseTopic]
) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_compact_count(out, item.partitions)
        _write_offset_commit_response_partition_v8_array(out, item.partitions)
        out.append(0)


def _read_offset_commit_response_topic_v10_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[OffsetCommitResponseTopic], int]:
    items = []
    for _ in range(elements):
        item = new(OffsetCommitResponseTopic)
        item.name = ""
        item.topic_id, at = read_uuid(buffer, at)
        count, at = read_compact_count(buffer, at, 7, budget)
        item.partitions, at = _read_offset_commit_response_partition_v8_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_offset_commit_response_topic_v10_array(
    out: bytearray, items: list[OffsetCommitResponseTopic]
) -> None:
    for item in items:
        write_uuid(out, item.topic_id)
        write_compact_count(out, item.partitions)
        _write_offset_commit_response_partition_v8_array(out, item.partitions)
        out.append(0)


def _read_offset_commit_response_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[OffsetCommitResponse, int]:
    item = new(OffsetCommitResponse)
    item.throttle_time_ms = 0
    count, at = read_count(buffer, at, 6, budget)
    item.topics, at = _read_offset_commit_response_topic_v2_array(buffer, at, count, budget)
    return item, at


def _write_offset_commit_response_v2(out: bytearray, item: OffsetCommitResponse, payloads: Payloads) -> None:
    write_count(out, item.topics)
    _write_offset_commit_response_topic_v2_array(out, item.topics)


def _read_offset_commit_response_v3(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[OffsetCommitResponse, int]:
    item = new(OffsetCommitResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_count(buffer, at, 6, budget)
    item.topics, at = _read_offset_commit_response_topic_v2_array(buffer, at, count, budget)
    return item, at


def _write_offset_commit_response_v3(out: bytearray, item: OffsetCommitResponse, payloads: Payloads) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_count(out, item.topics)
    _write_offset_commit_response_topic_v2_array(out, item.topics)


def _read_offset_commit_response_v8(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[OffsetCommitResponse, int]:
    item = new(OffsetCommitResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 3, budget)
    item.topics, at = _read_offset_commit_response_topic_v8_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_offset_commit_response_v8(out: bytearray, item: OffsetCommitResponse, payloads: Payloads) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_compact_count(out, item.topics)
    _write_offset_commit_response_topic_v8_array(out, item.topics)
    out.append(0)


def _read_offset_commit_response_v10(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[OffsetCommitResponse, int]:
    item = new(OffsetCommitResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 18, budget)
    item.topics, at = _read_offset_commit_response_topic_v10_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_offset_commit_response_v10(out: bytearray, item: OffsetCommitResponse, payloads: Payloads) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_compact_count(out, item.topics)
    _write_offset_commit_response_topic_v10_array(out, item.topics)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class OffsetCommitResponse(Message):
    """Versions 2 to 10, flexible from 8."""

    API_KEY: ClassVar[int] = 8
    VERSIONS: ClassVar[Versions] = Versions(2, 10)
    FLEXIBLE_FROM: ClassVar[int] = 8
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        2: _read_offset_commit_response_v2,
        3: _read_offset_commit_response_v3,
        4: _read_offset_commit_response_v3,
        5: _read_offset_commit_response_v3,
        6: _read_offset_commit_response_v3,
        7: _read_offset_commit_response_v3,
        8: _read_offset_commit_response_v8,
        9: _read_offset_commit_response_v8,
        10: _read_offset_commit_response_v10,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        2: _write_offset_commit_response_v2,
        3: _write_offset_commit_response_v3,
        4: _write_offset_commit_response_v3,
        5: _write_offset_commit_response_v3,
        6: _write_offset_commit_response_v3,
        7: _write_offset_commit_response_v3,
        8: _write_offset_commit_response_v8,
        9: _write_offset_commit_response_v8,
        10: _write_offset_commit_response_v10,
    }

    throttle_time_ms: int = 0  # v3+
    topics: list[OffsetCommitResponseTopic] = field(default_factory=list)
