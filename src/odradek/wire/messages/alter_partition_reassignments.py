"""Generated from `schemas/alter_partition_reassignments.fields` by `odradek.wire.generator`: do not edit."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final

from odradek.base.buffers import Buffer
from odradek.wire.decoding import (
    ElementBudget,
    new,
    read_compact_count,
    read_compact_nullable_count,
    read_compact_nullable_string,
    read_compact_string,
    read_int32s,
    skip_tags,
)
from odradek.wire.encoding import (
    Payloads,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
    write_int32s,
)
from odradek.wire.message import Decoder, Encoder, Message, Request, Structure
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
api 45 AlterPartitionReassignments

request AlterPartitionReassignmentsRequest 0-1 flexible 0+
    timeout_ms: int32 = 60000
    allow_replication_factor_change: bool @1+ = true
    topics: [ReassignableTopic]
        name: string
        partitions: [ReassignablePartition]
            partition_index: int32
            replicas: [int32]? = null

response AlterPartitionReassignmentsResponse 0-1 flexible 0+
    throttle_time_ms: int32
    allow_replication_factor_change: bool @1+ = true
    error_code: int16
    error_message: string?
    responses: [ReassignableTopicResponse]
        name: string
        partitions: [ReassignablePartitionResponse]
            partition_index: int32
            error_code: int16
            error_message: string?
"""


_unpack_i: Final = Struct(">i").unpack_from
_unpack_io: Final = Struct(">i?").unpack_from
_unpack_ioh: Final = Struct(">i?h").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_pack_i: Final = Struct(">i").pack
_pack_io: Final = Struct(">i?").pack
_pack_ioh: Final = Struct(">i?h").pack
_pack_ih: Final = Struct(">ih").pack


@dataclass(slots=True, eq=False, repr=False)
class ReassignablePartition(Structure):
    """AlterPartitionReassignmentsRequest.topics[].partitions[]"""

    partition_index: int = 0
    replicas: list[int] | None = None


@dataclass(slots=True, eq=False, repr=False)
class ReassignableTopic(Structure):
    """AlterPartitionReassignmentsRequest.topics[]"""

    name: str = ""
    partitions: list[ReassignablePartition] = field(default_factory=list)


def _read_reassignable_partition_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ReassignablePartition], int]:
    items = []
    for _ in range(elements):
        item = new(ReassignablePartition)
        (item.partition_index,) = _unpack_i(buffer, at)
        at += 4
        count, at = read_compact_nullable_count(buffer, at, 4, budget)
        if count < 0:
            item.replicas = None
        else:
            item.replicas, at = read_int32s(buffer, at, count)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_reassignable_partition_v0_array(out: bytearray, items: list[ReassignablePartition]) -> None:
    for item in items:
        out += _pack_i(item.partition_index)
        if item.replicas is None:
            out.append(0)
        else:
            write_compact_count(out, item.replicas)
            write_int32s(out, item.replicas)
        out.append(0)


def _read_reassignable_topic_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ReassignableTopic], int]:
    items = []
    for _ in range(elements):
        item = new(ReassignableTopic)
        item.name, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 6, budget)
        item.partitions, at = _read_reassignable_partition_v0_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_reassignable_topic_v0_array(out: bytearray, items: list[ReassignableTopic]) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_compact_count(out, item.partitions)
        _write_reassignable_partition_v0_array(out, item.partitions)
        out.append(0)


def _read_alter_partition_reassignments_request_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[AlterPartitionReassignmentsRequest, int]:
    item = new(AlterPartitionReassignmentsRequest)
    item.allow_replication_factor_change = True
    (item.timeout_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 3, budget)
    item.topics, at = _read_reassignable_topic_v0_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_alter_partition_reassignments_request_v0(
    out: bytearray, item: AlterPartitionReassignmentsRequest, payloads: Payloads
) -> None:
    out += _pack_i(item.timeout_ms)
    write_compact_count(out, item.topics)
    _write_reassignable_topic_v0_array(out, item.topics)
    out.append(0)


def _read_alter_partition_reassignments_request_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[AlterPartitionReassignmentsRequest, int]:
    item = new(AlterPartitionReassignmentsRequest)
    item.timeout_ms, item.allow_replication_factor_change = _unpack_io(buffer, at)
    at += 5
    count, at = read_compact_count(buffer, at, 3, budget)
    item.topics, at = _read_reassignable_topic_v0_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_alter_partition_reassignments_request_v1(
    out: bytearray, item: AlterPartitionReassignmentsRequest, payloads: Payloads
) -> None:
    out += _pack_io(item.timeout_ms, item.allow_replication_factor_change)
    write_compact_count(out, item.topics)
    _write_reassignable_topic_v0_array(out, item.topics)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class AlterPartitionReassignmentsRequest(Request["AlterPartitionReassignmentsResponse"]):
    """Versions 0 to 1, flexible."""

    API_KEY: ClassVar[int] = 45
    VERSIONS: ClassVar[Versions] = Versions(0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 0
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_alter_partition_reassignments_request_v0,
        1: _read_alter_partition_reassignments_request_v1,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_alter_partition_reassignments_request_v0,
        1: _write_alter_partition_reassignments_request_v1,
    }

    timeout_ms: int = 60000
    allow_replication_factor_change: bool = True  # v1+
    topics: list[ReassignableTopic] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class ReassignablePartitionResponse(Structure):
    """AlterPartitionReassignmentsResponse.responses[].partitions[]"""

    partition_index: int = 0
    error_code: int = 0
    error_message: str | None = ""


@dataclass(slots=True, eq=False, repr=False)
class ReassignableTopicResponse(Structure):
    """AlterPartitionReassignmentsResponse.responses[]"""

    name: str = ""
    partitions: list[ReassignablePartitionResponse] = field(default_factory=list)


def _read_reassignable_partition_response_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ReassignablePartitionResponse], int]:
    items = []
    for _ in range(elements):
        item = new(ReassignablePartitionResponse)
        item.partition_index, item.error_code = _unpack_ih(buffer, at)
        at += 6
        item.error_message, at = read_compact_nullable_string(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_reassignable_partition_response_v0_array(
    out: bytearray, items: list[ReassignablePartitionResponse]
) -> None:
    for item in items:
        out += _pack_ih(item.partition_index, item.error_code)
        write_compact_nullable_string(out, item.error_message)
        out.append(0)


def _read_reassignable_topic_response_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ReassignableTopicResponse], int]:
    items = []
    for _ in range(elements):
        item = new(ReassignableTopicResponse)
        item.name, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 8, budget)
        item.partitions, at = _read_reassignable_partition_response_v0_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_reassignable_topic_response_v0_array(
    out: bytearray, items: list[ReassignableTopicResponse]
) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_compact_count(out, item.partitions)
        _write_reassignable_partition_response_v0_array(out, item.partitions)
        out.append(0)


def _read_alter_partition_reassignments_response_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[AlterPartitionReassignmentsResponse, int]:
    item = new(AlterPartitionReassignmentsResponse)
    item.allow_replication_factor_change = True
    item.throttle_time_ms, item.error_code = _unpack_ih(buffer, at)
    at += 6
    item.error_message, at = read_compact_nullable_string(buffer, at)
    count, at = read_compact_count(buffer, at, 3, budget)
    item.responses, at = _read_reassignable_topic_response_v0_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_alter_partition_reassignments_response_v0(
    out: bytearray, item: AlterPartitionReassignmentsResponse, payloads: Payloads
) -> None:
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    write_compact_nullable_string(out, item.error_message)
    write_compact_count(out, item.responses)
    _write_reassignable_topic_response_v0_array(out, item.responses)
    out.append(0)


def _read_alter_partition_reassignments_response_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[AlterPartitionReassignmentsResponse, int]:
    item = new(AlterPartitionReassignmentsResponse)
    item.throttle_time_ms, item.allow_replication_factor_change, item.error_code = _unpack_ioh(buffer, at)
    at += 7
    item.error_message, at = read_compact_nullable_string(buffer, at)
    count, at = read_compact_count(buffer, at, 3, budget)
    item.responses, at = _read_reassignable_topic_response_v0_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_alter_partition_reassignments_response_v1(
    out: bytearray, item: AlterPartitionReassignmentsResponse, payloads: Payloads
) -> None:
    out += _pack_ioh(item.throttle_time_ms, item.allow_replication_factor_change, item.error_code)
    write_compact_nullable_string(out, item.error_message)
    write_compact_count(out, item.responses)
    _write_reassignable_topic_response_v0_array(out, item.responses)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class AlterPartitionReassignmentsResponse(Message):
    """Versions 0 to 1, flexible."""

    API_KEY: ClassVar[int] = 45
    VERSIONS: ClassVar[Versions] = Versions(0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 0
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_alter_partition_reassignments_response_v0,
        1: _read_alter_partition_reassignments_response_v1,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_alter_partition_reassignments_response_v0,
        1: _write_alter_partition_reassignments_response_v1,
    }

    throttle_time_ms: int = 0
    allow_replication_factor_change: bool = True  # v1+
    error_code: int = 0
    error_message: str | None = ""
    responses: list[ReassignableTopicResponse] = field(default_factory=list)
