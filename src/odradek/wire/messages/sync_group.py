"""Generated from `schemas/sync_group.fields` by `odradek.wire.generator`: do not edit."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final

from odradek.base.buffers import Buffer
from odradek.wire.decoding import (
    ElementBudget,
    new,
    read_bytes,
    read_compact_bytes,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    read_count,
    read_nullable_string,
    read_string,
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
)
from odradek.wire.message import Decoder, Encoder, Message, Request, Structure
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
api 14 SyncGroup

request SyncGroupRequest 0-5 flexible 4+
    group_id: string
    generation_id: int32
    member_id: string
    group_instance_id: string? @3+ = null
    protocol_type: string? @5+ = null
    protocol_name: string? @5+ = null
    assignments: [SyncGroupRequestAssignment]
        member_id: string
        assignment: bytes

response SyncGroupResponse 0-5 flexible 4+
    throttle_time_ms: int32 @1+
    error_code: int16
    protocol_type: string? @5+ = null
    protocol_name: string? @5+ = null
    assignment: bytes
"""


_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_ih: Final = Struct(">ih").pack


@dataclass(slots=True, eq=False, repr=False)
class SyncGroupRequestAssignment(Structure):
    """SyncGroupRequest.assignments[]"""

    member_id: str = ""
    assignment: bytes = b""


def _read_sync_group_request_assignment_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[SyncGroupRequestAssignment], int]:
    items = []
    for _ in range(elements):
        item = new(SyncGroupRequestAssignment)
        item.member_id, at = read_string(buffer, at)
        item.assignment, at = read_bytes(buffer, at)
        items.append(item)
    return items, at


def _write_sync_group_request_assignment_v0_array(
    out: bytearray, items: list[SyncGroupRequestAssignment]
) -> None:
    for item in items:
        write_string(out, item.member_id)
        write_bytes(out, item.assignment)


def _read_sync_group_request_assignment_v4_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[SyncGroupRequestAssignment], int]:
    items = []
    for _ in range(elements):
        item = new(SyncGroupRequestAssignment)
        item.member_id, at = read_compact_string(buffer, at)
        item.assignment, at = read_compact_bytes(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_sync_group_request_assignment_v4_array(
    out: bytearray, items: list[SyncGroupRequestAssignment]
) -> None:
    for item in items:
        write_compact_string(out, item.member_id)
        write_compact_bytes(out, item.assignment)
        out.append(0)


def _read_sync_group_request_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[SyncGroupRequest, int]:
    item = new(SyncGroupRequest)
    item.group_instance_id = None
    item.protocol_type = None
    item.protocol_name = None
    item.group_id, at = read_string(buffer, at)
    (item.generation_id,) = _unpack_i(buffer, at)
    at += 4
    item.member_id, at = read_string(buffer, at)
    count, at = read_count(buffer, at, 6, budget)
    item.assignments, at = _read_sync_group_request_assignment_v0_array(buffer, at, count, budget)
    return item, at


def _write_sync_group_request_v0(out: bytearray, item: SyncGroupRequest, payloads: Payloads) -> None:
    write_string(out, item.group_id)
    out += _pack_i(item.generation_id)
    write_string(out, item.member_id)
    write_count(out, item.assignments)
    _write_sync_group_request_assignment_v0_array(out, item.assignments)


def _read_sync_group_request_v3(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[SyncGroupRequest, int]:
    item = new(SyncGroupRequest)
    item.protocol_type = None
    item.protocol_name = None
    item.group_id, at = read_string(buffer, at)
    (item.generation_id,) = _unpack_i(buffer, at)
    at += 4
    item.member_id, at = read_string(buffer, at)
    item.group_instance_id, at = read_nullable_string(buffer, at)
    count, at = read_count(buffer, at, 6, budget)
    item.assignments, at = _read_sync_group_request_assignment_v0_array(buffer, at, count, budget)
    return item, at


def _write_sync_group_request_v3(out: bytearray, item: SyncGroupRequest, payloads: Payloads) -> None:
    write_string(out, item.group_id)
    out += _pack_i(item.generation_id)
    write_string(out, item.member_id)
    write_nullable_string(out, item.group_instance_id)
    write_count(out, item.assignments)
    _write_sync_group_request_assignment_v0_array(out, item.assignments)


def _read_sync_group_request_v4(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[SyncGroupRequest, int]:
    item = new(SyncGroupRequest)
    item.protocol_type = None
    item.protocol_name = None
    item.group_id, at = read_compact_string(buffer, at)
    (item.generation_id,) = _unpack_i(buffer, at)
    at += 4
    item.member_id, at = read_compact_string(buffer, at)
    item.group_instance_id, at = read_compact_nullable_string(buffer, at)
    count, at = read_compact_count(buffer, at, 3, budget)
    item.assignments, at = _read_sync_group_request_assignment_v4_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_sync_group_request_v4(out: bytearray, item: SyncGroupRequest, payloads: Payloads) -> None:
    write_compact_string(out, item.group_id)
    out += _pack_i(item.generation_id)
    write_compact_string(out, item.member_id)
    write_compact_nullable_string(out, item.group_instance_id)
    write_compact_count(out, item.assignments)
    _write_sync_group_request_assignment_v4_array(out, item.assignments)
    out.append(0)


def _read_sync_group_request_v5(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[SyncGroupRequest, int]:
    item = new(SyncGroupRequest)
    item.group_id, at = read_compact_string(buffer, at)
    (item.generation_id,) = _unpack_i(buffer, at)
    at += 4
    item.member_id, at = read_compact_string(buffer, at)
    item.group_instance_id, at = read_compact_nullable_string(buffer, at)
    item.protocol_type, at = read_compact_nullable_string(buffer, at)
    item.protocol_name, at = read_compact_nullable_string(buffer, at)
    count, at = read_compact_count(buffer, at, 3, budget)
    item.assignments, at = _read_sync_group_request_assignment_v4_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_sync_group_request_v5(out: bytearray, item: SyncGroupRequest, payloads: Payloads) -> None:
    write_compact_string(out, item.group_id)
    out += _pack_i(item.generation_id)
    write_compact_string(out, item.member_id)
    write_compact_nullable_string(out, item.group_instance_id)
    write_compact_nullable_string(out, item.protocol_type)
    write_compact_nullable_string(out, item.protocol_name)
    write_compact_count(out, item.assignments)
    _write_sync_group_request_assignment_v4_array(out, item.assignments)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class SyncGroupRequest(Request["SyncGroupResponse"]):
    """Versions 0 to 5, flexible from 4."""

    API_KEY: ClassVar[int] = 14
    VERSIONS: ClassVar[Versions] = Versions(0, 5)
    FLEXIBLE_FROM: ClassVar[int] = 4
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_sync_group_request_v0,
        1: _read_sync_group_request_v0,
        2: _read_sync_group_request_v0,
        3: _read_sync_group_request_v3,
        4: _read_sync_group_request_v4,
        5: _read_sync_group_request_v5,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_sync_group_request_v0,
        1: _write_sync_group_request_v0,
        2: _write_sync_group_request_v0,
        3: _write_sync_group_request_v3,
        4: _write_sync_group_request_v4,
        5: _write_sync_group_request_v5,
    }

    group_id: str = ""
    generation_id: int = 0
    member_id: str = ""
    group_instance_id: str | None = None  # v3+
    protocol_type: str | None = None  # v5+
    protocol_name: str | None = None  # v5+
    assignments: list[SyncGroupRequestAssignment] = field(default_factory=list)


def _read_sync_group_response_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[SyncGroupResponse, int]:
    item = new(SyncGroupResponse)
    item.throttle_time_ms = 0
    item.protocol_type = None
    item.protocol_name = None
    (item.error_code,) = _unpack_h(buffer, at)
    at += 2
    item.assignment, at = read_bytes(buffer, at)
    return item, at


def _write_sync_group_response_v0(out: bytearray, item: SyncGroupResponse, payloads: Payloads) -> None:
    out += _pack_h(item.error_code)
    write_bytes(out, item.assignment)


def _read_sync_group_response_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[SyncGroupResponse, int]:
    item = new(SyncGroupResponse)
    item.protocol_type = None
    item.protocol_name = None
    item.throttle_time_ms, item.error_code = _unpack_ih(buffer, at)
    at += 6
    item.assignment, at = read_bytes(buffer, at)
    return item, at


def _write_sync_group_response_v1(out: bytearray, item: SyncGroupResponse, payloads: Payloads) -> None:
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    write_bytes(out, item.assignment)


def _read_sync_group_response_v4(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[SyncGroupResponse, int]:
    item = new(SyncGroupResponse)
    item.protocol_type = None
    item.protocol_name = None
    item.throttle_time_ms, item.error_code = _unpack_ih(buffer, at)
    at += 6
    item.assignment, at = read_compact_bytes(buffer, at)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_sync_group_response_v4(out: bytearray, item: SyncGroupResponse, payloads: Payloads) -> None:
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    write_compact_bytes(out, item.assignment)
    out.append(0)


def _read_sync_group_response_v5(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[SyncGroupResponse, int]:
    item = new(SyncGroupResponse)
    item.throttle_time_ms, item.error_code = _unpack_ih(buffer, at)
    at += 6
    item.protocol_type, at = read_compact_nullable_string(buffer, at)
    item.protocol_name, at = read_compact_nullable_string(buffer, at)
    item.assignment, at = read_compact_bytes(buffer, at)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_sync_group_response_v5(out: bytearray, item: SyncGroupResponse, payloads: Payloads) -> None:
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    write_compact_nullable_string(out, item.protocol_type)
    write_compact_nullable_string(out, item.protocol_name)
    write_compact_bytes(out, item.assignment)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class SyncGroupResponse(Message):
    """Versions 0 to 5, flexible from 4."""

    API_KEY: ClassVar[int] = 14
    VERSIONS: ClassVar[Versions] = Versions(0, 5)
    FLEXIBLE_FROM: ClassVar[int] = 4
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_sync_group_response_v0,
        1: _read_sync_group_response_v1,
        2: _read_sync_group_response_v1,
        3: _read_sync_group_response_v1,
        4: _read_sync_group_response_v4,
        5: _read_sync_group_response_v5,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_sync_group_response_v0,
        1: _write_sync_group_response_v1,
        2: _write_sync_group_response_v1,
        3: _write_sync_group_response_v1,
        4: _write_sync_group_response_v4,
        5: _write_sync_group_response_v5,
    }

    throttle_time_ms: int = 0  # v1+
    error_code: int = 0
    protocol_type: str | None = None  # v5+
    protocol_name: str | None = None  # v5+
    assignment: bytes = b""
