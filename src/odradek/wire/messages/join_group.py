"""Generated from `schemas/join_group.fields` by `odradek.wire.generator`: do not edit."""

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
api 11 JoinGroup

request JoinGroupRequest 0-9 flexible 6+
    group_id: string
    session_timeout_ms: int32
    rebalance_timeout_ms: int32 @1+ = -1
    member_id: string
    group_instance_id: string? @5+ = null
    protocol_type: string
    protocols: [JoinGroupRequestProtocol]
        name: string
        metadata: bytes
    reason: string? @8+ = null

response JoinGroupResponse 0-9 flexible 6+
    throttle_time_ms: int32 @2+
    error_code: int16
    generation_id: int32 = -1
    protocol_type: string? @7+ = null
    protocol_name: string?7+
    leader: string
    skip_assignment: bool @9+
    member_id: string
    members: [JoinGroupResponseMember]
        member_id: string
        group_instance_id: string? @5+ = null
        metadata: bytes
"""


_unpack_o: Final = Struct(">?").unpack_from
_unpack_hi: Final = Struct(">hi").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ihi: Final = Struct(">ihi").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from
_pack_o: Final = Struct(">?").pack
_pack_hi: Final = Struct(">hi").pack
_pack_i: Final = Struct(">i").pack
_pack_ihi: Final = Struct(">ihi").pack
_pack_ii: Final = Struct(">ii").pack


@dataclass(slots=True, eq=False, repr=False)
class JoinGroupRequestProtocol(Structure):
    """JoinGroupRequest.protocols[]"""

    name: str = ""
    metadata: bytes = b""


def _read_join_group_request_protocol_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[JoinGroupRequestProtocol], int]:
    items = []
    for _ in range(elements):
        item = new(JoinGroupRequestProtocol)
        item.name, at = read_string(buffer, at)
        item.metadata, at = read_bytes(buffer, at)
        items.append(item)
    return items, at


def _write_join_group_request_protocol_v0_array(
    out: bytearray, items: list[JoinGroupRequestProtocol]
) -> None:
    for item in items:
        write_string(out, item.name)
        write_bytes(out, item.metadata)


def _read_join_group_request_protocol_v6_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[JoinGroupRequestProtocol], int]:
    items = []
    for _ in range(elements):
        item = new(JoinGroupRequestProtocol)
        item.name, at = read_compact_string(buffer, at)
        item.metadata, at = read_compact_bytes(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_join_group_request_protocol_v6_array(
    out: bytearray, items: list[JoinGroupRequestProtocol]
) -> None:
    for item in items:
        write_compact_string(out, item.name)
        write_compact_bytes(out, item.metadata)
        out.append(0)


def _read_join_group_request_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[JoinGroupRequest, int]:
    item = new(JoinGroupRequest)
    item.rebalance_timeout_ms = -1
    item.group_instance_id = None
    item.reason = None
    item.group_id, at = read_string(buffer, at)
    (item.session_timeout_ms,) = _unpack_i(buffer, at)
    at += 4
    item.member_id, at = read_string(buffer, at)
    item.protocol_type, at = read_string(buffer, at)
    count, at = read_count(buffer, at, 6, budget)
    item.protocols, at = _read_join_group_request_protocol_v0_array(buffer, at, count, budget)
    return item, at


def _write_join_group_request_v0(out: bytearray, item: JoinGroupRequest, payloads: Payloads) -> None:
    write_string(out, item.group_id)
    out += _pack_i(item.session_timeout_ms)
    write_string(out, item.member_id)
    write_string(out, item.protocol_type)
    write_count(out, item.protocols)
    _write_join_group_request_protocol_v0_array(out, item.protocols)


def _read_join_group_request_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[JoinGroupRequest, int]:
    item = new(JoinGroupRequest)
    item.group_instance_id = None
    item.reason = None
    item.group_id, at = read_string(buffer, at)
    item.session_timeout_ms, item.rebalance_timeout_ms = _unpack_ii(buffer, at)
    at += 8
    item.member_id, at = read_string(buffer, at)
    item.protocol_type, at = read_string(buffer, at)
    count, at = read_count(buffer, at, 6, budget)
    item.protocols, at = _read_join_group_request_protocol_v0_array(buffer, at, count, budget)
    return item, at


def _write_join_group_request_v1(out: bytearray, item: JoinGroupRequest, payloads: Payloads) -> None:
    write_string(out, item.group_id)
    out += _pack_ii(item.session_timeout_ms, item.rebalance_timeout_ms)
    write_string(out, item.member_id)
    write_string(out, item.protocol_type)
    write_count(out, item.protocols)
    _write_join_group_request_protocol_v0_array(out, item.protocols)


def _read_join_group_request_v5(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[JoinGroupRequest, int]:
    item = new(JoinGroupRequest)
    item.reason = None
    item.group_id, at = read_string(buffer, at)
    item.session_timeout_ms, item.rebalance_timeout_ms = _unpack_ii(buffer, at)
    at += 8
    item.member_id, at = read_string(buffer, at)
    item.group_instance_id, at = read_nullable_string(buffer, at)
    item.protocol_type, at = read_string(buffer, at)
    count, at = read_count(buffer, at, 6, budget)
    item.protocols, at = _read_join_group_request_protocol_v0_array(buffer, at, count, budget)
    return item, at


def _write_join_group_request_v5(out: bytearray, item: JoinGroupRequest, payloads: Payloads) -> None:
    write_string(out, item.group_id)
    out += _pack_ii(item.session_timeout_ms, item.rebalance_timeout_ms)
    write_string(out, item.member_id)
    write_nullable_string(out, item.group_instance_id)
    write_string(out, item.protocol_type)
    write_count(out, item.protocols)
    _write_join_group_request_protocol_v0_array(out, item.protocols)


def _read_join_group_request_v6(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[JoinGroupRequest, int]:
    item = new(JoinGroupRequest)
    item.reason = None
    item.group_id, at = read_compact_string(buffer, at)
    item.session_timeout_ms, item.rebalance_timeout_ms = _unpack_ii(buffer, at)
    at += 8
    item.member_id, at = read_compact_string(buffer, at)
    item.group_instance_id, at = read_compact_nullable_string(buffer, at)
    item.protocol_type, at = read_compact_string(buffer, at)
    count, at = read_compact_count(buffer, at, 3, budget)
    item.protocols, at = _read_join_group_request_protocol_v6_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_join_group_request_v6(out: bytearray, item: JoinGroupRequest, payloads: Payloads) -> None:
    write_compact_string(out, item.group_id)
    out += _pack_ii(item.session_timeout_ms, item.rebalance_timeout_ms)
    write_compact_string(out, item.member_id)
    write_compact_nullable_string(out, item.group_instance_id)
    write_compact_string(out, item.protocol_type)
    write_compact_count(out, item.protocols)
    _write_join_group_request_protocol_v6_array(out, item.protocols)
    out.append(0)


def _read_join_group_request_v8(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[JoinGroupRequest, int]:
    item = new(JoinGroupRequest)
    item.group_id, at = read_compact_string(buffer, at)
    item.session_timeout_ms, item.rebalance_timeout_ms = _unpack_ii(buffer, at)
    at += 8
    item.member_id, at = read_compact_string(buffer, at)
    item.group_instance_id, at = read_compact_nullable_string(buffer, at)
    item.protocol_type, at = read_compact_string(buffer, at)
    count, at = read_compact_count(buffer, at, 3, budget)
    item.protocols, at = _read_join_group_request_protocol_v6_array(buffer, at, count, budget)
    item.reason, at = read_compact_nullable_string(buffer, at)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_join_group_request_v8(out: bytearray, item: JoinGroupRequest, payloads: Payloads) -> None:
    write_compact_string(out, item.group_id)
    out += _pack_ii(item.session_timeout_ms, item.rebalance_timeout_ms)
    write_compact_string(out, item.member_id)
    write_compact_nullable_string(out, item.group_instance_id)
    write_compact_string(out, item.protocol_type)
    write_compact_count(out, item.protocols)
    _write_join_group_request_protocol_v6_array(out, item.protocols)
    write_compact_nullable_string(out, item.reason)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class JoinGroupRequest(Request["JoinGroupResponse"]):
    """Versions 0 to 9, flexible from 6."""

    API_KEY: ClassVar[int] = 11
    VERSIONS: ClassVar[Versions] = Versions(0, 9)
    FLEXIBLE_FROM: ClassVar[int] = 6
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_join_group_request_v0,
        1: _read_join_group_request_v1,
        2: _read_join_group_request_v1,
        3: _read_join_group_request_v1,
        4: _read_join_group_request_v1,
        5: _read_join_group_request_v5,
        6: _read_join_group_request_v6,
        7: _read_join_group_request_v6,
        8: _read_join_group_request_v8,
        9: _read_join_group_request_v8,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_join_group_request_v0,
        1: _write_join_group_request_v1,
        2: _write_join_group_request_v1,
        3: _write_join_group_request_v1,
        4: _write_join_group_request_v1,
        5: _write_join_group_request_v5,
        6: _write_join_group_request_v6,
        7: _write_join_group_request_v6,
        8: _write_join_group_request_v8,
        9: _write_join_group_request_v8,
    }

    group_id: str = ""
    session_timeout_ms: int = 0
    rebalance_timeout_ms: int = -1  # v1+
    member_id: str = ""
    group_instance_id: str | None = None  # v5+
    protocol_type: str = ""
    protocols: list[JoinGroupRequestProtocol] = field(default_factory=list)
    reason: str | None = None  # v8+


@dataclass(slots=True, eq=False, repr=False)
class JoinGroupResponseMember(Structure):
    """JoinGroupResponse.members[]"""

    member_id: str = ""
    group_instance_id: str | None = None  # v5+
    metadata: bytes = b""


def _read_join_group_response_member_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[JoinGroupResponseMember], int]:
    items = []
    for _ in range(elements):
        item = new(JoinGroupResponseMember)
        item.group_instance_id = None
        item.member_id, at = read_string(buffer, at)
        item.metadata, at = read_bytes(buffer, at)
        items.append(item)
    return items, at


def _write_join_group_response_member_v0_array(out: bytearray, items: list[JoinGroupResponseMember]) -> None:
    for item in items:
        write_string(out, item.member_id)
        write_bytes(out, item.metadata)


def _read_join_group_response_member_v5_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[JoinGroupResponseMember], int]:
    items = []
    for _ in range(elements):
        item = new(JoinGroupResponseMember)
        item.member_id, at = read_string(buffer, at)
        item.group_instance_id, at = read_nullable_string(buffer, at)
        item.metadata, at = read_bytes(buffer, at)
        items.append(item)
    return items, at


def _write_join_group_response_member_v5_array(out: bytearray, items: list[JoinGroupResponseMember]) -> None:
    for item in items:
        write_string(out, item.member_id)
        write_nullable_string(out, item.group_instance_id)
        write_bytes(out, item.metadata)


def _read_join_group_response_member_v6_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[JoinGroupResponseMember], int]:
    items = []
    for _ in range(elements):
        item = new(JoinGroupResponseMember)
        item.member_id, at = read_compact_string(buffer, at)
        item.group_instance_id, at = read_compact_nullable_string(buffer, at)
        item.metadata, at = read_compact_bytes(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_join_group_response_member_v6_array(out: bytearray, items: list[JoinGroupResponseMember]) -> None:
    for item in items:
        write_compact_string(out, item.member_id)
        write_compact_nullable_string(out, item.group_instance_id)
        write_compact_bytes(out, item.metadata)
        out.append(0)


def _read_join_group_response_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[JoinGroupResponse, int]:
    item = new(JoinGroupResponse)
    item.throttle_time_ms = 0
    item.protocol_type = None
    item.skip_assignment = False
    item.error_code, item.generation_id = _unpack_hi(buffer, at)
    at += 6
    item.protocol_name, at = read_string(buffer, at)
    item.leader, at = read_string(buffer, at)
    item.member_id, at = read_string(buffer, at)
    count, at = read_count(buffer, at, 6, budget)
    item.members, at = _read_join_group_response_member_v0_array(buffer, at, count, budget)
    return item, at


def _write_join_group_response_v0(out: bytearray, item: JoinGroupResponse, payloads: Payloads) -> None:
    out += _pack_hi(item.error_code, item.generation_id)
    assert item.protocol_name is not None
    write_string(out, item.protocol_name)
    write_string(out, item.leader)
    write_string(out, item.member_id)
    write_count(out, item.members)
    _write_join_group_response_member_v0_array(out, item.members)


def _read_join_group_response_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[JoinGroupResponse, int]:
    item = new(JoinGroupResponse)
    item.protocol_type = None
    item.skip_assignment = False
    item.throttle_time_ms, item.error_code, item.generation_id = _unpack_ihi(buffer, at)
    at += 10
    item.protocol_name, at = read_string(buffer, at)
    item.leader, at = read_string(buffer, at)
    item.member_id, at = read_string(buffer, at)
    count, at = read_count(buffer, at, 6, budget)
    item.members, at = _read_join_group_response_member_v0_array(buffer, at, count, budget)
    return item, at


def _write_join_group_response_v2(out: bytearray, item: JoinGroupResponse, payloads: Payloads) -> None:
    out += _pack_ihi(item.throttle_time_ms, item.error_code, item.generation_id)
    assert item.protocol_name is not None
    write_string(out, item.protocol_name)
    write_string(out, item.leader)
    write_string(out, item.member_id)
    write_count(out, item.members)
    _write_join_group_response_member_v0_array(out, item.members)


def _read_join_group_response_v5(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[JoinGroupResponse, int]:
    item = new(JoinGroupResponse)
    item.protocol_type = None
    item.skip_assignment = False
    item.throttle_time_ms, item.error_code, item.generation_id = _unpack_ihi(buffer, at)
    at += 10
    item.protocol_name, at = read_string(buffer, at)
    item.leader, at = read_string(buffer, at)
    item.member_id, at = read_string(buffer, at)
    count, at = read_count(buffer, at, 8, budget)
    item.members, at = _read_join_group_response_member_v5_array(buffer, at, count, budget)
    return item, at


def _write_join_group_response_v5(out: bytearray, item: JoinGroupResponse, payloads: Payloads) -> None:
    out += _pack_ihi(item.throttle_time_ms, item.error_code, item.generation_id)
    assert item.protocol_name is not None
    write_string(out, item.protocol_name)
    write_string(out, item.leader)
    write_string(out, item.member_id)
    write_count(out, item.members)
    _write_join_group_response_member_v5_array(out, item.members)


def _read_join_group_response_v6(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[JoinGroupResponse, int]:
    item = new(JoinGroupResponse)
    item.protocol_type = None
    item.skip_assignment = False
    item.throttle_time_ms, item.error_code, item.generation_id = _unpack_ihi(buffer, at)
    at += 10
    item.protocol_name, at = read_compact_string(buffer, at)
    item.leader, at = read_compact_string(buffer, at)
    item.member_id, at = read_compact_string(buffer, at)
    count, at = read_compact_count(buffer, at, 4, budget)
    item.members, at = _read_join_group_response_member_v6_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_join_group_response_v6(out: bytearray, item: JoinGroupResponse, payloads: Payloads) -> None:
    out += _pack_ihi(item.throttle_time_ms, item.error_code, item.generation_id)
    assert item.protocol_name is not None
    write_compact_string(out, item.protocol_name)
    write_compact_string(out, item.leader)
    write_compact_string(out, item.member_id)
    write_compact_count(out, item.members)
    _write_join_group_response_member_v6_array(out, item.members)
    out.append(0)


def _read_join_group_response_v7(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[JoinGroupResponse, int]:
    item = new(JoinGroupResponse)
    item.skip_assignment = False
    item.throttle_time_ms, item.error_code, item.generation_id = _unpack_ihi(buffer, at)
    at += 10
    item.protocol_type, at = read_compact_nullable_string(buffer, at)
    item.protocol_name, at = read_compact_nullable_string(buffer, at)
    item.leader, at = read_compact_string(buffer, at)
    item.member_id, at = read_compact_string(buffer, at)
    count, at = read_compact_count(buffer, at, 4, budget)
    item.members, at = _read_join_group_response_member_v6_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_join_group_response_v7(out: bytearray, item: JoinGroupResponse, payloads: Payloads) -> None:
    out += _pack_ihi(item.throttle_time_ms, item.error_code, item.generation_id)
    write_compact_nullable_string(out, item.protocol_type)
    write_compact_nullable_string(out, item.protocol_name)
    write_compact_string(out, item.leader)
    write_compact_string(out, item.member_id)
    write_compact_count(out, item.members)
    _write_join_group_response_member_v6_array(out, item.members)
    out.append(0)


def _read_join_group_response_v9(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[JoinGroupResponse, int]:
    item = new(JoinGroupResponse)
    item.throttle_time_ms, item.error_code, item.generation_id = _unpack_ihi(buffer, at)
    at += 10
    item.protocol_type, at = read_compact_nullable_string(buffer, at)
    item.protocol_name, at = read_compact_nullable_string(buffer, at)
    item.leader, at = read_compact_string(buffer, at)
    (item.skip_assignment,) = _unpack_o(buffer, at)
    at += 1
    item.member_id, at = read_compact_string(buffer, at)
    count, at = read_compact_count(buffer, at, 4, budget)
    item.members, at = _read_join_group_response_member_v6_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_join_group_response_v9(out: bytearray, item: JoinGroupResponse, payloads: Payloads) -> None:
    out += _pack_ihi(item.throttle_time_ms, item.error_code, item.generation_id)
    write_compact_nullable_string(out, item.protocol_type)
    write_compact_nullable_string(out, item.protocol_name)
    write_compact_string(out, item.leader)
    out += _pack_o(item.skip_assignment)
    write_compact_string(out, item.member_id)
    write_compact_count(out, item.members)
    _write_join_group_response_member_v6_array(out, item.members)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class JoinGroupResponse(Message):
    """Versions 0 to 9, flexible from 6."""

    API_KEY: ClassVar[int] = 11
    VERSIONS: ClassVar[Versions] = Versions(0, 9)
    FLEXIBLE_FROM: ClassVar[int] = 6
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_join_group_response_v0,
        1: _read_join_group_response_v0,
        2: _read_join_group_response_v2,
        3: _read_join_group_response_v2,
        4: _read_join_group_response_v2,
        5: _read_join_group_response_v5,
        6: _read_join_group_response_v6,
        7: _read_join_group_response_v7,
        8: _read_join_group_response_v7,
        9: _read_join_group_response_v9,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_join_group_response_v0,
        1: _write_join_group_response_v0,
        2: _write_join_group_response_v2,
        3: _write_join_group_response_v2,
        4: _write_join_group_response_v2,
        5: _write_join_group_response_v5,
        6: _write_join_group_response_v6,
        7: _write_join_group_response_v7,
        8: _write_join_group_response_v7,
        9: _write_join_group_response_v9,
    }

    throttle_time_ms: int = 0  # v2+
    error_code: int = 0
    generation_id: int = -1
    protocol_type: str | None = None  # v7+
    protocol_name: str | None = ""
    leader: str = ""
    skip_assignment: bool = False  # v9+
    member_id: str = ""
    members: list[JoinGroupResponseMember] = field(default_factory=list)
