"""Generated from `schemas/txn_offset_commit.fields` by `odradek.wire.generator`: do not edit."""

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
api 28 TxnOffsetCommit

request TxnOffsetCommitRequest 0-6 flexible 3+
    transactional_id: string
    group_id: string
    producer_id: int64
    producer_epoch: int16
    generation_id: int32 @3+ = -1
    member_id: string @3+
    group_instance_id: string? @3+ = null
    topics: [TxnOffsetCommitRequestTopic]
        name: string @0-5
        topic_id: uuid @6+
        partitions: [TxnOffsetCommitRequestPartition]
            partition_index: int32
            committed_offset: int64
            committed_leader_epoch: int32 @2+ = -1
            committed_metadata: string?

response TxnOffsetCommitResponse 0-6 flexible 3+
    throttle_time_ms: int32
    topics: [TxnOffsetCommitResponseTopic]
        name: string @0-5
        topic_id: uuid @6+
        partitions: [TxnOffsetCommitResponsePartition]
            partition_index: int32
            error_code: int16
"""


_unpack_i: Final = Struct(">i").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_iht: Final = Struct(">ihB").unpack_from
_unpack_iq: Final = Struct(">iq").unpack_from
_unpack_iqi: Final = Struct(">iqi").unpack_from
_unpack_qh: Final = Struct(">qh").unpack_from
_unpack_qhi: Final = Struct(">qhi").unpack_from
_pack_i: Final = Struct(">i").pack
_pack_ih: Final = Struct(">ih").pack
_pack_iht: Final = Struct(">ihB").pack
_pack_iq: Final = Struct(">iq").pack
_pack_iqi: Final = Struct(">iqi").pack
_pack_qh: Final = Struct(">qh").pack
_pack_qhi: Final = Struct(">qhi").pack


@dataclass(slots=True, eq=False, repr=False)
class TxnOffsetCommitRequestPartition(Structure):
    """TxnOffsetCommitRequest.topics[].partitions[]"""

    partition_index: int = 0
    committed_offset: int = 0
    committed_leader_epoch: int = -1  # v2+
    committed_metadata: str | None = ""


@dataclass(slots=True, eq=False, repr=False)
class TxnOffsetCommitRequestTopic(Structure):
    """TxnOffsetCommitRequest.topics[]"""

    name: str = ""  # up to v5
    topic_id: UUID = NO_TOPIC_ID  # v6+
    partitions: list[TxnOffsetCommitRequestPartition] = field(default_factory=list)


def _read_txn_offset_commit_request_partition_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[TxnOffsetCommitRequestPartition], int]:
    items = []
    for _ in range(elements):
        item = new(TxnOffsetCommitRequestPartition)
        item.committed_leader_epoch = -1
        item.partition_index, item.committed_offset = _unpack_iq(buffer, at)
        at += 12
        item.committed_metadata, at = read_nullable_string(buffer, at)
        items.append(item)
    return items, at


def _write_txn_offset_commit_request_partition_v0_array(
    out: bytearray, items: list[TxnOffsetCommitRequestPartition]
) -> None:
    for item in items:
        out += _pack_iq(item.partition_index, item.committed_offset)
        write_nullable_string(out, item.committed_metadata)


def _read_txn_offset_commit_request_partition_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[TxnOffsetCommitRequestPartition], int]:
    items = []
    for _ in range(elements):
        item = new(TxnOffsetCommitRequestPartition)
        item.partition_index, item.committed_offset, item.committed_leader_epoch = _unpack_iqi(buffer, at)
        at += 16
        item.committed_metadata, at = read_nullable_string(buffer, at)
        items.append(item)
    return items, at


def _write_txn_offset_commit_request_partition_v2_array(
    out: bytearray, items: list[TxnOffsetCommitRequestPartition]
) -> None:
    for item in items:
        out += _pack_iqi(item.partition_index, item.committed_offset, item.committed_leader_epoch)
        write_nullable_string(out, item.committed_metadata)


def _read_txn_offset_commit_request_partition_v3_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[TxnOffsetCommitRequestPartition], int]:
    items = []
    for _ in range(elements):
        item = new(TxnOffsetCommitRequestPartition)
        item.partition_index, item.committed_offset, item.committed_leader_epoch = _unpack_iqi(buffer, at)
        at += 16
        item.committed_metadata, at = read_compact_nullable_string(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_txn_offset_commit_request_partition_v3_array(
    out: bytearray, items: list[TxnOffsetCommitRequestPartition]
) -> None:
    for item in items:
        out += _pack_iqi(item.partition_index, item.committed_offset, item.committed_leader_epoch)
        write_compact_nullable_string(out, item.committed_metadata)
        out.append(0)


def _read_txn_offset_commit_request_topic_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[TxnOffsetCommitRequestTopic], int]:
    items = []
    for _ in range(elements):
        item = new(TxnOffsetCommitRequestTopic)
        item.topic_id = NO_TOPIC_ID
        item.name, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 14, budget)
        item.partitions, at = _read_txn_offset_commit_request_partition_v0_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_txn_offset_commit_request_topic_v0_array(
    out: bytearray, items: list[TxnOffsetCommitRequestTopic]
) -> None:
    for item in items:
        write_string(out, item.name)
        write_count(out, item.partitions)
        _write_txn_offset_commit_request_partition_v0_array(out, item.partitions)


def _read_txn_offset_commit_request_topic_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[TxnOffsetCommitRequestTopic], int]:
    items = []
    for _ in range(elements):
        item = new(TxnOffsetCommitRequestTopic)
        item.topic_id = NO_TOPIC_ID
        item.name, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 18, budget)
        item.partitions, at = _read_txn_offset_commit_request_partition_v2_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_txn_offset_commit_request_topic_v2_array(
    out: bytearray, items: list[TxnOffsetCommitRequestTopic]
) -> None:
    for item in items:
        write_string(out, item.name)
        write_count(out, item.partitions)
        _write_txn_offset_commit_request_partition_v2_array(out, item.partitions)


def _read_txn_offset_commit_request_topic_v3_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[TxnOffsetCommitRequestTopic], int]:
    items = []
    for _ in range(elements):
        item = new(TxnOffsetCommitRequestTopic)
        item.topic_id = NO_TOPIC_ID
        item.name, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 18, budget)
        item.partitions, at = _read_txn_offset_commit_request_partition_v3_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_txn_offset_commit_request_topic_v3_array(
    out: bytearray, items: list[TxnOffsetCommitRequestTopic]
) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_compact_count(out, item.partitions)
        _write_txn_offset_commit_request_partition_v3_array(out, item.partitions)
        out.append(0)


def _read_txn_offset_commit_request_topic_v6_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[TxnOffsetCommitRequestTopic], int]:
    items = []
    for _ in range(elements):
        item = new(TxnOffsetCommitRequestTopic)
        item.name = ""
        item.topic_id, at = read_uuid(buffer, at)
        count, at = read_compact_count(buffer, at, 18, budget)
        item.partitions, at = _read_txn_offset_commit_request_partition_v3_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_txn_offset_commit_request_topic_v6_array(
    out: bytearray, items: list[TxnOffsetCommitRequestTopic]
) -> None:
    for item in items:
        write_uuid(out, item.topic_id)
        write_compact_count(out, item.partitions)
        _write_txn_offset_commit_request_partition_v3_array(out, item.partitions)
        out.append(0)


def _read_txn_offset_commit_request_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[TxnOffsetCommitRequest, int]:
    item = new(TxnOffsetCommitRequest)
    item.generation_id = -1
    item.member_id = ""
    item.group_instance_id = None
    item.transactional_id, at = read_string(buffer, at)
    item.group_id, at = read_string(buffer, at)
    item.producer_id, item.producer_epoch = _unpack_qh(buffer, at)
    at += 10
    count, at = read_count(buffer, at, 6, budget)
    item.topics, at = _read_txn_offset_commit_request_topic_v0_array(buffer, at, count, budget)
    return item, at


def _write_txn_offset_commit_request_v0(
    out: bytearray, item: TxnOffsetCommitRequest, payloads: Payloads
) -> None:
    write_string(out, item.transactional_id)
    write_string(out, item.group_id)
    out += _pack_qh(item.producer_id, item.producer_epoch)
    write_count(out, item.topics)
    _write_txn_offset_commit_request_topic_v0_array(out, item.topics)


def _read_txn_offset_commit_request_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[TxnOffsetCommitRequest, int]:
    item = new(TxnOffsetCommitRequest)
    item.generation_id = -1
    item.member_id = ""
    item.group_instance_id = None
    item.transactional_id, at = read_string(buffer, at)
    item.group_id, at = read_string(buffer, at)
    item.producer_id, item.producer_epoch = _unpack_qh(buffer, at)
    at += 10
    count, at = read_count(buffer, at, 6, budget)
    item.topics, at = _read_txn_offset_commit_request_topic_v2_array(buffer, at, count, budget)
    return item, at


def _write_txn_offset_commit_request_v2(
    out: bytearray, item: TxnOffsetCommitRequest, payloads: Payloads
) -> None:
    write_string(out, item.transactional_id)
    write_string(out, item.group_id)
    out += _pack_qh(item.producer_id, item.producer_epoch)
    write_count(out, item.topics)
    _write_txn_offset_commit_request_topic_v2_array(out, item.topics)


def _read_txn_offset_commit_request_v3(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[TxnOffsetCommitRequest, int]:
    item = new(TxnOffsetCommitRequest)
    item.transactional_id, at = read_compact_string(buffer, at)
    item.group_id, at = read_compact_string(buffer, at)
    item.producer_id, item.producer_epoch, item.generation_id = _unpack_qhi(buffer, at)
    at += 14
    item.member_id, at = read_compact_string(buffer, at)
    item.group_instance_id, at = read_compact_nullable_string(buffer, at)
    count, at = read_compact_count(buffer, at, 3, budget)
    item.topics, at = _read_txn_offset_commit_request_topic_v3_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_txn_offset_commit_request_v3(
    out: bytearray, item: TxnOffsetCommitRequest, payloads: Payloads
) -> None:
    write_compact_string(out, item.transactional_id)
    write_compact_string(out, item.group_id)
    out += _pack_qhi(item.producer_id, item.producer_epoch, item.generation_id)
    write_compact_string(out, item.member_id)
    write_compact_nullable_string(out, item.group_instance_id)
    write_compact_count(out, item.topics)
    _write_txn_offset_commit_request_topic_v3_array(out, item.topics)
    out.append(0)


def _read_txn_offset_commit_request_v6(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[TxnOffsetCommitRequest, int]:
    item = new(TxnOffsetCommitRequest)
    item.transactional_id, at = read_compact_string(buffer, at)
    item.group_id, at = read_compact_string(buffer, at)
    item.producer_id, item.producer_epoch, item.generation_id = _unpack_qhi(buffer, at)
    at += 14
    item.member_id, at = read_compact_string(buffer, at)
    item.group_instance_id, at = read_compact_nullable_string(buffer, at)
    count, at = read_compact_count(buffer, at, 18, budget)
    item.topics, at = _read_txn_offset_commit_request_topic_v6_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_txn_offset_commit_request_v6(
    out: bytearray, item: TxnOffsetCommitRequest, payloads: Payloads
) -> None:
    write_compact_string(out, item.transactional_id)
    write_compact_string(out, item.group_id)
    out += _pack_qhi(item.producer_id, item.producer_epoch, item.generation_id)
    write_compact_string(out, item.member_id)
    write_compact_nullable_string(out, item.group_instance_id)
    write_compact_count(out, item.topics)
    _write_txn_offset_commit_request_topic_v6_array(out, item.topics)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class TxnOffsetCommitRequest(Request["TxnOffsetCommitResponse"]):
    """Versions 0 to 6, flexible from 3."""

    API_KEY: ClassVar[int] = 28
    VERSIONS: ClassVar[Versions] = Versions(0, 6)
    FLEXIBLE_FROM: ClassVar[int] = 3
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_txn_offset_commit_request_v0,
        1: _read_txn_offset_commit_request_v0,
        2: _read_txn_offset_commit_request_v2,
        3: _read_txn_offset_commit_request_v3,
        4: _read_txn_offset_commit_request_v3,
        5: _read_txn_offset_commit_request_v3,
        6: _read_txn_offset_commit_request_v6,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_txn_offset_commit_request_v0,
        1: _write_txn_offset_commit_request_v0,
        2: _write_txn_offset_commit_request_v2,
        3: _write_txn_offset_commit_request_v3,
        4: _write_txn_offset_commit_request_v3,
        5: _write_txn_offset_commit_request_v3,
        6: _write_txn_offset_commit_request_v6,
    }

    transactional_id: str = ""
    group_id: str = ""
    producer_id: int = 0
    producer_epoch: int = 0
    generation_id: int = -1  # v3+
    member_id: str = ""  # v3+
    group_instance_id: str | None = None  # v3+
    topics: list[TxnOffsetCommitRequestTopic] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class TxnOffsetCommitResponsePartition(Structure):
    """TxnOffsetCommitResponse.topics[].partitions[]"""

    partition_index: int = 0
    error_code: int = 0


@dataclass(slots=True, eq=False, repr=False)
class TxnOffsetCommitResponseTopic(Structure):
    """TxnOffsetCommitResponse.topics[]"""

    name: str = ""  # up to v5
    topic_id: UUID = NO_TOPIC_ID  # v6+
    partitions: list[TxnOffsetCommitResponsePartition] = field(default_factory=list)


def _read_txn_offset_commit_response_partition_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[TxnOffsetCommitResponsePartition], int]:
    items = []
    for _ in range(elements):
        item = new(TxnOffsetCommitResponsePartition)
        item.partition_index, item.error_code = _unpack_ih(buffer, at)
        at += 6
        items.append(item)
    return items, at


def _write_txn_offset_commit_response_partition_v0_array(
    out: bytearray, items: list[TxnOffsetCommitResponsePartition]
) -> None:
    for item in items:
        out += _pack_ih(item.partition_index, item.error_code)


def _read_txn_offset_commit_response_partition_v3_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[TxnOffsetCommitResponsePartition], int]:
    items = []
    for _ in range(elements):
        item = new(TxnOffsetCommitResponsePartition)
        item.partition_index, item.error_code, tags = _unpack_iht(buffer, at)
        at += 7
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_txn_offset_commit_response_partition_v3_array(
    out: bytearray, items: list[TxnOffsetCommitResponsePartition]
) -> None:
    for item in items:
        out += _pack_iht(item.partition_index, item.error_code, 0)


def _read_txn_offset_commit_response_topic_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[TxnOffsetCommitResponseTopic], int]:
    items = []
    for _ in range(elements):
        item = new(TxnOffsetCommitResponseTopic)
        item.topic_id = NO_TOPIC_ID
        item.name, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 6, budget)
        item.partitions, at = _read_txn_offset_commit_response_partition_v0_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_txn_offset_commit_response_topic_v0_array(
    out: bytearray, items: list[TxnOffsetCommitResponseTopic]
) -> None:
    for item in items:
        write_string(out, item.name)
        write_count(out, item.partitions)
        _write_txn_offset_commit_response_partition_v0_array(out, item.partitions)


def _read_txn_offset_commit_response_topic_v3_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[TxnOffsetCommitResponseTopic], int]:
    items = []
    for _ in range(elements):
        item = new(TxnOffsetCommitResponseTopic)
        item.topic_id = NO_TOPIC_ID
        item.name, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 7, budget)
        item.partitions, at = _read_txn_offset_commit_response_partition_v3_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_txn_offset_commit_response_topic_v3_array(
    out: bytearray, items: list[TxnOffsetCommitResponseTopic]
) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_compact_count(out, item.partitions)
        _write_txn_offset_commit_response_partition_v3_array(out, item.partitions)
        out.append(0)


def _read_txn_offset_commit_response_topic_v6_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[TxnOffsetCommitResponseTopic], int]:
    items = []
    for _ in range(elements):
        item = new(TxnOffsetCommitResponseTopic)
        item.name = ""
        item.topic_id, at = read_uuid(buffer, at)
        count, at = read_compact_count(buffer, at, 7, budget)
        item.partitions, at = _read_txn_offset_commit_response_partition_v3_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_txn_offset_commit_response_topic_v6_array(
    out: bytearray, items: list[TxnOffsetCommitResponseTopic]
) -> None:
    for item in items:
        write_uuid(out, item.topic_id)
        write_compact_count(out, item.partitions)
        _write_txn_offset_commit_response_partition_v3_array(out, item.partitions)
        out.append(0)


def _read_txn_offset_commit_response_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[TxnOffsetCommitResponse, int]:
    item = new(TxnOffsetCommitResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_count(buffer, at, 6, budget)
    item.topics, at = _read_txn_offset_commit_response_topic_v0_array(buffer, at, count, budget)
    return item, at


def _write_txn_offset_commit_response_v0(
    out: bytearray, item: TxnOffsetCommitResponse, payloads: Payloads
) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_count(out, item.topics)
    _write_txn_offset_commit_response_topic_v0_array(out, item.topics)


def _read_txn_offset_commit_response_v3(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[TxnOffsetCommitResponse, int]:
    item = new(TxnOffsetCommitResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 3, budget)
    item.topics, at = _read_txn_offset_commit_response_topic_v3_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_txn_offset_commit_response_v3(
    out: bytearray, item: TxnOffsetCommitResponse, payloads: Payloads
) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_compact_count(out, item.topics)
    _write_txn_offset_commit_response_topic_v3_array(out, item.topics)
    out.append(0)


def _read_txn_offset_commit_response_v6(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[TxnOffsetCommitResponse, int]:
    item = new(TxnOffsetCommitResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 18, budget)
    item.topics, at = _read_txn_offset_commit_response_topic_v6_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_txn_offset_commit_response_v6(
    out: bytearray, item: TxnOffsetCommitResponse, payloads: Payloads
) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_compact_count(out, item.topics)
    _write_txn_offset_commit_response_topic_v6_array(out, item.topics)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class TxnOffsetCommitResponse(Message):
    """Versions 0 to 6, flexible from 3."""

    API_KEY: ClassVar[int] = 28
    VERSIONS: ClassVar[Versions] = Versions(0, 6)
    FLEXIBLE_FROM: ClassVar[int] = 3
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_txn_offset_commit_response_v0,
        1: _read_txn_offset_commit_response_v0,
        2: _read_txn_offset_commit_response_v0,
        3: _read_txn_offset_commit_response_v3,
        4: _read_txn_offset_commit_response_v3,
        5: _read_txn_offset_commit_response_v3,
        6: _read_txn_offset_commit_response_v6,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_txn_offset_commit_response_v0,
        1: _write_txn_offset_commit_response_v0,
        2: _write_txn_offset_commit_response_v0,
        3: _write_txn_offset_commit_response_v3,
        4: _write_txn_offset_commit_response_v3,
        5: _write_txn_offset_commit_response_v3,
        6: _write_txn_offset_commit_response_v6,
    }

    throttle_time_ms: int = 0
    topics: list[TxnOffsetCommitResponseTopic] = field(default_factory=list)
