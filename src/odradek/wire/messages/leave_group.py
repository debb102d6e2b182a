"""Generated from `schemas/leave_group.fields` by `odradek.wire.generator`: do not edit."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final

from odradek.base.buffers import Buffer
from odradek.wire.decoding import (
    ElementBudget,
    new,
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
api 13 LeaveGroup

request LeaveGroupRequest 0-5 flexible 4+
    group_id: string
    member_id: string @0-2
    members: [MemberIdentity] @3+
        member_id: string
        group_instance_id: string? = null
        reason: string? @5+ = null

response LeaveGroupResponse 0-5 flexible 4+
    throttle_time_ms: int32 @1+
    error_code: int16
    members: [MemberResponse] @3+
        member_id: string
        group_instance_id: string?
        error_code: int16
"""


_unpack_h: Final = Struct(">h").unpack_from
_unpack_ht: Final = Struct(">hB").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_pack_h: Final = Struct(">h").pack
_pack_ht: Final = Struct(">hB").pack
_pack_ih: Final = Struct(">ih").pack


@dataclass(slots=True, eq=False, repr=False)
class MemberIdentity(Structure):
    """LeaveGroupRequest.members[]"""

    member_id: str = ""
    group_instance_id: str | None = None
    reason: str | None = None  # v5+


def _read_member_identity_v3_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[MemberIdentity], int]:
    items = []
    for _ in range(elements):
        item = new(MemberIdentity)
        item.reason = None
        item.member_id, at = read_string(buffer, at)
        item.group_instance_id, at = read_nullable_string(buffer, at)
        items.append(item)
    return items, at


def _write_member_identity_v3_array(out: bytearray, items: list[MemberIdentity]) -> None:
    for item in items:
        write_string(out, item.member_id)
        write_nullable_string(out, item.group_instance_id)


def _read_member_identity_v4_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[MemberIdentity], int]:
    items = []
    for _ in range(elements):
        item = new(MemberIdentity)
        item.reason = None
        item.member_id, at = read_compact_string(buffer, at)
        item.group_instance_id, at = read_compact_nullable_string(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_member_identity_v4_array(out: bytearray, items: list[MemberIdentity]) -> None:
    for item in items:
        write_compact_string(out, item.member_id)
        write_compact_nullable_string(out, item.group_instance_id)
        out.append(0)


def _read_member_identity_v5_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[MemberIdentity], int]:
    items = []
    for _ in range(elements):
        item = new(MemberIdentity)
        item.member_id, at = read_compact_string(buffer, at)
        item.group_instance_id, at = read_compact_nullable_string(buffer, at)
        item.reason, at = read_compact_nullable_string(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_member_identity_v5_array(out: bytearray, items: list[MemberIdentity]) -> None:
    for item in items:
        write_compact_string(out, item.member_id)
        write_compact_nullable_string(out, item.group_instance_id)
        write_compact_nullable_string(out, item.reason)
        out.append(0)


def _read_leave_group_request_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[LeaveGroupRequest, int]:
    item = new(LeaveGroupRequest)
    item.members = []
    item.group_id, at = read_string(buffer, at)
    item.member_id, at = read_string(buffer, at)
    return item, at


def _write_leave_group_request_v0(out: bytearray, item: LeaveGroupRequest, payloads: Payloads) -> None:
    write_string(out, item.group_id)
    write_string(out, item.member_id)


def _read_leave_group_request_v3(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[LeaveGroupRequest, int]:
    item = new(LeaveGroupRequest)
    item.member_id = ""
    item.group_id, at = read_string(buffer, at)
    count, at = read_count(buffer, at, 4, budget)
    item.members, at = _read_member_identity_v3_array(buffer, at, count, budget)
    return item, at


def _write_leave_group_request_v3(out: bytearray, item: LeaveGroupRequest, payloads: Payloads) -> None:
    write_string(out, item.group_id)
    write_count(out, item.members)
    _write_member_identity_v3_array(out, item.members)


def _read_leave_group_request_v4(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[LeaveGroupRequest, int]:
    item = new(LeaveGroupRequest)
    item.member_id = ""
    item.group_id, at = read_compact_string(buffer, at)
    count, at = read_compact_count(buffer, at, 3, budget)
    item.members, at = _read_member_identity_v4_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_leave_group_request_v4(out: bytearray, item: LeaveGroupRequest, payloads: Payloads) -> None:
    write_compact_string(out, item.group_id)
    write_compact_count(out, item.members)
    _write_member_identity_v4_array(out, item.members)
    out.append(0)


def _read_leave_group_request_v5(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[LeaveGroupRequest, int]:
    item = new(LeaveGroupRequest)
    item.member_id = ""
    item.group_id, at = read_compact_string(buffer, at)
    count, at = read_compact_count(buffer, at, 4, budget)
    item.members, at = _read_member_identity_v5_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_leave_group_request_v5(out: bytearray, item: LeaveGroupRequest, payloads: Payloads) -> None:
    write_compact_string(out, item.group_id)
    write_compact_count(out, item.members)
    _write_member_identity_v5_array(out, item.members)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class LeaveGroupRequest(Request["LeaveGroupResponse"]):
    """Versions 0 to 5, flexible from 4."""

    API_KEY: ClassVar[int] = 13
    VERSIONS: ClassVar[Versions] = Versions(0, 5)
    FLEXIBLE_FROM: ClassVar[int] = 4
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_leave_group_request_v0,
        1: _read_leave_group_request_v0,
        2: _read_leave_group_request_v0,
        3: _read_leave_group_request_v3,
        4: _read_leave_group_request_v4,
        5: _read_leave_group_request_v5,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_leave_group_request_v0,
        1: _write_leave_group_request_v0,
        2: _write_leave_group_request_v0,
        3: _write_leave_group_request_v3,
        4: _write_leave_group_request_v4,
        5: _write_leave_group_request_v5,
    }

    group_id: str = ""
    member_id: str = ""  # up to v2
    members: list[MemberIdentity] = field(default_factory=list)  # v3+


@dataclass(slots=True, eq=False, repr=False)
class MemberResponse(Structure):
    """LeaveGroupResponse.members[]"""

    member_id: str = ""
    group_instance_id: str | None = ""
    error_code: int = 0


def _read_member_response_v3_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[MemberResponse], int]:
    items = []
    for _ in range(elements):
        item = new(MemberResponse)
        item.member_id, at = read_string(buffer, at)
        item.group_instance_id, at = read_nullable_string(buffer, at)
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        items.append(item)
    return items, at


def _write_member_response_v3_array(out: bytearray, items: list[MemberResponse]) -> None:
    for item in items:
        write_string(out, item.member_id)
        write_nullable_string(out, item.group_instance_id)
        out += _pack_h(item.error_code)


def _read_member_response_v4_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[MemberResponse], int]:
    items = []
    for _ in range(elements):
        item = new(MemberResponse)
        item.member_id, at = read_compact_string(buffer, at)
        item.group_instance_id, at = read_compact_nullable_string(buffer, at)
        item.error_code, tags = _unpack_ht(buffer, at)
        at += 3
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_member_response_v4_array(out: bytearray, items: list[MemberResponse]) -> None:
    for item in items:
        write_compact_string(out, item.member_id)
        write_compact_nullable_string(out, item.group_instance_id)
        out += _pack_ht(item.error_code, 0)


def _read_leave_group_response_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[LeaveGroupResponse, int]:
    item = new(LeaveGroupResponse)
    item.throttle_time_ms = 0
    item.members = []
    (item.error_code,) = _unpack_h(buffer, at)
    at += 2
    return item, at


def _write_leave_group_response_v0(out: bytearray, item: LeaveGroupResponse, payloads: Payloads) -> None:
    out += _pack_h(item.error_code)


def _read_leave_group_response_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[LeaveGroupResponse, int]:
    item = new(LeaveGroupResponse)
    item.members = []
    item.throttle_time_ms, item.error_code = _unpack_ih(buffer, at)
    at += 6
    return item, at


def _write_leave_group_response_v1(out: bytearray, item: LeaveGroupResponse, payloads: Payloads) -> None:
    out += _pack_ih(item.throttle_time_ms, item.error_code)


def _read_leave_group_response_v3(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[LeaveGroupResponse, int]:
    item = new(LeaveGroupResponse)
    item.throttle_time_ms, item.error_code = _unpack_ih(buffer, at)
    at += 6
    count, at = read_count(buffer, at, 6, budget)
    item.members, at = _read_member_response_v3_array(buffer, at, count, budget)
    return item, at


def _write_leave_group_response_v3(out: bytearray, item: LeaveGroupResponse, payloads: Payloads) -> None:
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    write_count(out, item.members)
    _write_member_response_v3_array(out, item.members)


def _read_leave_group_response_v4(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[LeaveGroupResponse, int]:
    item = new(LeaveGroupResponse)
    item.throttle_time_ms, item.error_code = _unpack_ih(buffer, at)
    at += 6
    count, at = read_compact_count(buffer, at, 5, budget)
    item.members, at = _read_member_response_v4_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_leave_group_response_v4(out: bytearray, item: LeaveGroupResponse, payloads: Payloads) -> None:
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    write_compact_count(out, item.members)
    _write_member_response_v4_array(out, item.members)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class LeaveGroupResponse(Message):
    """Versions 0 to 5, flexible from 4."""

    API_KEY: ClassVar[int] = 13
    VERSIONS: ClassVar[Versions] = Versions(0, 5)
    FLEXIBLE_FROM: ClassVar[int] = 4
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_leave_group_response_v0,
        1: _read_leave_group_response_v1,
        2: _read_leave_group_response_v1,
        3: _read_leave_group_response_v3,
        4: _read_leave_group_response_v4,
        5: _read_leave_group_response_v4,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_leave_group_response_v0,
        1: _write_leave_group_response_v1,
        2: _write_leave_group_response_v1,
        3: _write_leave_group_response_v3,
        4: _write_leave_group_response_v4,
        5: _write_leave_group_response_v4,
    }

    throttle_time_ms: int = 0  # v1+
    error_code: int = 0
    members: list[MemberResponse] = field(default_factory=list)  # v3+
