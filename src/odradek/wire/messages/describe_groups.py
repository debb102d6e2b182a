"""Generated from `schemas/describe_groups.fields` by `odradek.wire.generator`: do not edit."""

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
    read_compact_strings,
    read_count,
    read_nullable_string,
    read_string,
    read_strings,
    skip_tags,
)
from odradek.wire.encoding import (
    Payloads,
    write_bytes,
    write_compact_bytes,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
    write_compact_strings,
    write_count,
    write_nullable_string,
    write_string,
    write_strings,
)
from odradek.wire.message import Decoder, Encoder, Message, Request, Structure
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
api 15 DescribeGroups

request DescribeGroupsRequest 0-6 flexible 5+
    groups: [string]
    include_authorized_operations: bool @3+

response DescribeGroupsResponse 0-6 flexible 5+
    throttle_time_ms: int32 @1+
    groups: [DescribedGroup]
        error_code: int16
        error_message: string? @6+ = null
        group_id: string
        group_state: string
        protocol_type: string
        protocol_data: string
        members: [DescribedGroupMember]
            member_id: string
            group_instance_id: string? @4+ = null
            client_id: string
            client_host: string
            member_metadata: bytes
            member_assignment: bytes
        authorized_operations: int32 @3+ = -2147483648
"""


_unpack_o: Final = Struct(">?").unpack_from
_unpack_ot: Final = Struct(">?B").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_it: Final = Struct(">iB").unpack_from
_pack_o: Final = Struct(">?").pack
_pack_ot: Final = Struct(">?B").pack
_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_it: Final = Struct(">iB").pack


def _read_describe_groups_request_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeGroupsRequest, int]:
    item = new(DescribeGroupsRequest)
    item.include_authorized_operations = False
    count, at = read_count(buffer, at, 2, budget)
    item.groups, at = read_strings(buffer, at, count)
    return item, at


def _write_describe_groups_request_v0(
    out: bytearray, item: DescribeGroupsRequest, payloads: Payloads
) -> None:
    write_count(out, item.groups)
    write_strings(out, item.groups)


def _read_describe_groups_request_v3(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeGroupsRequest, int]:
    item = new(DescribeGroupsRequest)
    count, at = read_count(buffer, at, 2, budget)
    item.groups, at = read_strings(buffer, at, count)
    (item.include_authorized_operations,) = _unpack_o(buffer, at)
    at += 1
    return item, at


def _write_describe_groups_request_v3(
    out: bytearray, item: DescribeGroupsRequest, payloads: Payloads
) -> None:
    write_count(out, item.groups)
    write_strings(out, item.groups)
    out += _pack_o(item.include_authorized_operations)


def _read_describe_groups_request_v5(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeGroupsRequest, int]:
    item = new(DescribeGroupsRequest)
    count, at = read_compact_count(buffer, at, 1, budget)
    item.groups, at = read_compact_strings(buffer, at, count)
    item.include_authorized_operations, tags = _unpack_ot(buffer, at)
    at += 2
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_describe_groups_request_v5(
    out: bytearray, item: DescribeGroupsRequest, payloads: Payloads
) -> None:
    write_compact_count(out, item.groups)
    write_compact_strings(out, item.groups)
    out += _pack_ot(item.include_authorized_operations, 0)


@dataclass(slots=True, eq=False, repr=False)
class DescribeGroupsRequest(Request["DescribeGroupsResponse"]):
    """Versions 0 to 6, flexible from 5."""

    API_KEY: ClassVar[int] = 15
    VERSIONS: ClassVar[Versions] = Versions(0, 6)
    FLEXIBLE_FROM: ClassVar[int] = 5
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_describe_groups_request_v0,
        1: _read_describe_groups_request_v0,
        2: _read_describe_groups_request_v0,
        3: _read_describe_groups_request_v3,
        4: _read_describe_groups_request_v3,
        5: _read_describe_groups_request_v5,
        6: _read_describe_groups_request_v5,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_describe_groups_request_v0,
        1: _write_describe_groups_request_v0,
        2: _write_describe_groups_request_v0,
        3: _write_describe_groups_request_v3,
        4: _write_describe_groups_request_v3,
        5: _write_describe_groups_request_v5,
        6: _write_describe_groups_request_v5,
    }

    groups: list[str] = field(default_factory=list)
    include_authorized_operations: bool = False  # v3+


@dataclass(slots=True, eq=False, repr=False)
class DescribedGroupMember(Structure):
    """DescribeGroupsResponse.groups[].members[]"""

    member_id: str = ""
    group_instance_id: str | None = None  # v4+
    client_id: str = ""
    client_host: str = ""
    member_metadata: bytes = b""
    member_assignment: bytes = b""


@dataclass(slots=True, eq=False, repr=False)
class DescribedGroup(Structure):
    """DescribeGroupsResponse.groups[]"""

    error_code: int = 0
    error_message: str | None = None  # v6+
    group_id: str = ""
    group_state: str = ""
    protocol_type: str = ""
    protocol_data: str = ""
    members: list[DescribedGroupMember] = field(default_factory=list)
    authorized_operations: int = -2147483648  # v3+


def _read_described_group_member_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DescribedGroupMember], int]:
    items = []
    for _ in range(elements):
        item = new(DescribedGroupMember)
        item.group_instance_id = None
        item.member_id, at = read_string(buffer, at)
        item.client_id, at = read_string(buffer, at)
        item.client_host, at = read_string(buffer, at)
        item.member_metadata, at = read_bytes(buffer, at)
        item.member_assignment, at = read_bytes(buffer, at)
        items.append(item)
    return items, at


def _write_described_group_member_v0_array(out: bytearray, items: list[DescribedGroupMember]) -> None:
    for item in items:
        write_string(out, item.member_id)
        write_string(out, item.client_id)
        write_string(out, item.client_host)
        write_bytes(out, item.member_metadata)
        write_bytes(out, item.member_assignment)


def _read_described_group_member_v4_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DescribedGroupMember], int]:
    items = []
    for _ in range(elements):
        item = new(DescribedGroupMember)
        item.member_id, at = read_string(buffer, at)
        item.group_instance_id, at = read_nullable_string(buffer, at)
        item.client_id, at = read_string(buffer, at)
        item.client_host, at = read_string(buffer, at)
        item.member_metadata, at = read_bytes(buffer, at)
        item.member_assignment, at = read_bytes(buffer, at)
        items.append(item)
    return items, at


def _write_described_group_member_v4_array(out: bytearray, items: list[DescribedGroupMember]) -> None:
    for item in items:
        write_string(out, item.member_id)
        write_nullable_string(out, item.group_instance_id)
        write_string(out, item.client_id)
        write_string(out, item.client_host)
        write_bytes(out, item.member_metadata)
        write_bytes(out, item.member_assignment)


def _read_described_group_member_v5_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DescribedGroupMember], int]:
    items = []
    for _ in range(elements):
        item = new(DescribedGroupMember)
        item.member_id, at = read_compact_string(buffer, at)
        item.group_instance_id, at = read_compact_nullable_string(buffer, at)
        item.client_id, at = read_compact_string(buffer, at)
        item.client_host, at = read_compact_string(buffer, at)
        item.member_metadata, at = read_compact_bytes(buffer, at)
        item.member_assignment, at = read_compact_bytes(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_described_group_member_v5_array(out: bytearray, items: list[DescribedGroupMember]) -> None:
    for item in items:
        write_compact_string(out, item.member_id)
        write_compact_nullable_string(out, item.group_instance_id)
        write_compact_string(out, item.client_id)
        write_compact_string(out, item.client_host)
        write_compact_bytes(out, item.member_metadata)
        write_compact_bytes(out, item.member_assignment)
        out.append(0)


def _read_described_group_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DescribedGroup], int]:
    items = []
    for _ in range(elements):
        item = new(DescribedGroup)
        item.error_message = None
        item.authorized_operations = -2147483648
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.group_id, at = read_string(buffer, at)
        item.group_state, at = read_string(buffer, at)
        item.protocol_type, at = read_string(buffer, at)
        item.protocol_data, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 14, budget)
        item.members, at = _read_described_group_member_v0_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_described_group_v0_array(out: bytearray, items: list[DescribedGroup]) -> None:
    for item in items:
        out += _pack_h(item.error_code)
        write_string(out, item.group_id)
        write_string(out, item.group_state)
        write_string(out, item.protocol_type)
        write_string(out, item.protocol_data)
        write_count(out, item.members)
        _write_described_group_member_v0_array(out, item.members)


def _read_described_group_v3_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DescribedGroup], int]:
    items = []
    for _ in range(elements):
        item = new(DescribedGroup)
        item.error_message = None
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.group_id, at = read_string(buffer, at)
        item.group_state, at = read_string(buffer, at)
        item.protocol_type, at = read_string(buffer, at)
        item.protocol_data, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 14, budget)
        item.members, at = _read_described_group_member_v0_array(buffer, at, count, budget)
        (item.authorized_operations,) = _unpack_i(buffer, at)
        at += 4
        items.append(item)
    return items, at


def _write_described_group_v3_array(out: bytearray, items: list[DescribedGroup]) -> None:
    for item in items:
        out += _pack_h(item.error_code)
        write_string(out, item.group_id)
        write_string(out, item.group_state)
        write_string(out, item.protocol_type)
        write_string(out, item.protocol_data)
        write_count(out, item.members)
        _write_described_group_member_v0_array(out, item.members)
        out += _pack_i(item.authorized_operations)


def _read_described_group_v4_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DescribedGroup], int]:
    items = []
    for _ in range(elements):
        item = new(DescribedGroup)
        item.error_message = None
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.group_id, at = read_string(buffer, at)
        item.group_state, at = read_string(buffer, at)
        item.protocol_type, at = read_string(buffer, at)
        item.protocol_data, at = read_string(buffer, at)
        count, at = read_count(buffer, at, 16, budget)
        item.members, at = _read_described_group_member_v4_array(buffer, at, count, budget)
        (item.authorized_operations,) = _unpack_i(buffer, at)
        at += 4
        items.append(item)
    return items, at


def _write_described_group_v4_array(out: bytearray, items: list[DescribedGroup]) -> None:
    for item in items:
        out += _pack_h(item.error_code)
        write_string(out, item.group_id)
        write_string(out, item.group_state)
        write_string(out, item.protocol_type)
        write_string(out, item.protocol_data)
        write_count(out, item.members)
        _write_described_group_member_v4_array(out, item.members)
        out += _pack_i(item.authorized_operations)


def _read_described_group_v5_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DescribedGroup], int]:
    items = []
    for _ in range(elements):
        item = new(DescribedGroup)
        item.error_message = None
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.group_id, at = read_compact_string(buffer, at)
        item.group_state, at = read_compact_string(buffer, at)
        item.protocol_type, at = read_compact_string(buffer, at)
        item.protocol_data, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 7, budget)
        item.members, at = _read_described_group_member_v5_array(buffer, at, count, budget)
        item.authorized_operations, tags = _unpack_it(buffer, at)
        at += 5
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_described_group_v5_array(out: bytearray, items: list[DescribedGroup]) -> None:
    for item in items:
        out += _pack_h(item.error_code)
        write_compact_string(out, item.group_id)
        write_compact_string(out, item.group_state)
        write_compact_string(out, item.protocol_type)
        write_compact_string(out, item.protocol_data)
        write_compact_count(out, item.members)
        _write_described_group_member_v5_array(out, item.members)
        out += _pack_it(item.authorized_operations, 0)


def _read_described_group_v6_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DescribedGroup], int]:
    items = []
    for _ in range(elements):
        item = new(DescribedGroup)
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.error_message, at = read_compact_nullable_string(buffer, at)
        item.group_id, at = read_compact_string(buffer, at)
        item.group_state, at = read_compact_string(buffer, at)
        item.protocol_type, at = read_compact_string(buffer, at)
        item.protocol_data, at = read_compact_string(buffer, at)
        count, at = read_compact_count(buffer, at, 7, budget)
        item.members, at = _read_described_group_member_v5_array(buffer, at, count, budget)
        item.authorized_operations, tags = _unpack_it(buffer, at)
        at += 5
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_described_group_v6_array(out: bytearray, items: list[DescribedGroup]) -> None:
    for item in items:
        out += _pack_h(item.error_code)
        write_compact_nullable_string(out, item.error_message)
        write_compact_string(out, item.group_id)
        write_compact_string(out, item.group_state)
        write_compact_string(out, item.protocol_type)
        write_compact_string(out, item.protocol_data)
        write_compact_count(out, item.members)
        _write_described_group_member_v5_array(out, item.members)
        out += _pack_it(item.authorized_operations, 0)


def _read_describe_groups_response_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeGroupsResponse, int]:
    item = new(DescribeGroupsResponse)
    item.throttle_time_ms = 0
    count, at = read_count(buffer, at, 14, budget)
    item.groups, at = _read_described_group_v0_array(buffer, at, count, budget)
    return item, at


def _write_describe_groups_response_v0(
    out: bytearray, item: DescribeGroupsResponse, payloads: Payloads
) -> None:
    write_count(out, item.groups)
    _write_described_group_v0_array(out, item.groups)


def _read_describe_groups_response_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeGroupsResponse, int]:
    item = new(DescribeGroupsResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_count(buffer, at, 14, budget)
    item.groups, at = _read_described_group_v0_array(buffer, at, count, budget)
    return item, at


def _write_describe_groups_response_v1(
    out: bytearray, item: DescribeGroupsResponse, payloads: Payloads
) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_count(out, item.groups)
    _write_described_group_v0_array(out, item.groups)


def _read_describe_groups_response_v3(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeGroupsResponse, int]:
    item = new(DescribeGroupsResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_count(buffer, at, 18, budget)
    item.groups, at = _read_described_group_v3_array(buffer, at, count, budget)
    return item, at


def _write_describe_groups_response_v3(
    out: bytearray, item: DescribeGroupsResponse, payloads: Payloads
) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_count(out, item.groups)
    _write_described_group_v3_array(out, item.groups)


def _read_describe_groups_response_v4(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeGroupsResponse, int]:
    item = new(DescribeGroupsResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_count(buffer, at, 18, budget)
    item.groups, at = _read_described_group_v4_array(buffer, at, count, budget)
    return item, at


def _write_describe_groups_response_v4(
    out: bytearray, item: DescribeGroupsResponse, payloads: Payloads
) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_count(out, item.groups)
    _write_described_group_v4_array(out, item.groups)


def _read_describe_groups_response_v5(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeGroupsResponse, int]:
    item = new(DescribeGroupsResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 12, budget)
    item.groups, at = _read_described_group_v5_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_describe_groups_response_v5(
    out: bytearray, item: DescribeGroupsResponse, payloads: Payloads
) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_compact_count(out, item.groups)
    _write_described_group_v5_array(out, item.groups)
    out.append(0)


def _read_describe_groups_response_v6(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeGroupsResponse, int]:
    item = new(DescribeGroupsResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 13, budget)
    item.groups, at = _read_described_group_v6_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_describe_groups_response_v6(
    out: bytearray, item: DescribeGroupsResponse, payloads: Payloads
) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_compact_count(out, item.groups)
    _write_described_group_v6_array(out, item.groups)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class DescribeGroupsResponse(Message):
    """Versions 0 to 6, flexible from 5."""

    API_KEY: ClassVar[int] = 15
    VERSIONS: ClassVar[Versions] = Versions(0, 6)
    FLEXIBLE_FROM: ClassVar[int] = 5
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_describe_groups_response_v0,
        1: _read_describe_groups_response_v1,
        2: _read_describe_groups_response_v1,
        3: _read_describe_groups_response_v3,
        4: _read_describe_groups_response_v4,
        5: _read_describe_groups_response_v5,
        6: _read_describe_groups_response_v6,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_describe_groups_response_v0,
        1: _write_describe_groups_response_v1,
        2: _write_describe_groups_response_v1,
        3: _write_describe_groups_response_v3,
        4: _write_describe_groups_response_v4,
        5: _write_describe_groups_response_v5,
        6: _write_describe_groups_response_v6,
    }

    throttle_time_ms: int = 0  # v1+
    groups: list[DescribedGroup] = field(default_factory=list)
