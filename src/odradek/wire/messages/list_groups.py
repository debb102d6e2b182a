"""Generated from `schemas/list_groups.fields` by `odradek.wire.generator`: do not edit."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final

from odradek.base.buffers import Buffer
from odradek.wire.decoding import (
    ElementBudget,
    new,
    read_compact_count,
    read_compact_string,
    read_compact_strings,
    read_count,
    read_string,
    skip_tags,
)
from odradek.wire.encoding import (
    Payloads,
    write_compact_count,
    write_compact_string,
    write_compact_strings,
    write_count,
    write_string,
)
from odradek.wire.message import Decoder, Encoder, Message, Request, Structure
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
api 16 ListGroups

request ListGroupsRequest 0-5 flexible 3+
    states_filter: [string] @4+
    types_filter: [string] @5+

response ListGroupsResponse 0-5 flexible 3+
    throttle_time_ms: int32 @1+
    error_code: int16
    groups: [ListedGroup]
        group_id: string
        protocol_type: string
        group_state: string @4+
        group_type: string @5+
"""


_unpack_h: Final = Struct(">h").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_pack_h: Final = Struct(">h").pack
_pack_ih: Final = Struct(">ih").pack


def _read_list_groups_request_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ListGroupsRequest, int]:
    item = new(ListGroupsRequest)
    item.states_filter = []
    item.types_filter = []
    return item, at


def _write_list_groups_request_v0(out: bytearray, item: ListGroupsRequest, payloads: Payloads) -> None:
    pass


def _read_list_groups_request_v3(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ListGroupsRequest, int]:
    item = new(ListGroupsRequest)
    item.states_filter = []
    item.types_filter = []
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_list_groups_request_v3(out: bytearray, item: ListGroupsRequest, payloads: Payloads) -> None:
    out.append(0)


def _read_list_groups_request_v4(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ListGroupsRequest, int]:
    item = new(ListGroupsRequest)
    item.types_filter = []
    count, at = read_compact_count(buffer, at, 1, budget)
    item.states_filter, at = read_compact_strings(buffer, at, count)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_list_groups_request_v4(out: bytearray, item: ListGroupsRequest, payloads: Payloads) -> None:
    write_compact_count(out, item.states_filter)
    write_compact_strings(out, item.states_filter)
    out.append(0)


def _read_list_groups_request_v5(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ListGroupsRequest, int]:
    item = new(ListGroupsRequest)
    count, at = read_compact_count(buffer, at, 1, budget)
    item.states_filter, at = read_compact_strings(buffer, at, count)
    count, at = read_compact_count(buffer, at, 1, budget)
    item.types_filter, at = read_compact_strings(buffer, at, count)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_list_groups_request_v5(out: bytearray, item: ListGroupsRequest, payloads: Payloads) -> None:
    write_compact_count(out, item.states_filter)
    write_compact_strings(out, item.states_filter)
    write_compact_count(out, item.types_filter)
    write_compact_strings(out, item.types_filter)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class ListGroupsRequest(Request["ListGroupsResponse"]):
    """Versions 0 to 5, flexible from 3."""

    API_KEY: ClassVar[int] = 16
    VERSIONS: ClassVar[Versions] = Versions(0, 5)
    FLEXIBLE_FROM: ClassVar[int] = 3
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_list_groups_request_v0,
        1: _read_list_groups_request_v0,
        2: _read_list_groups_request_v0,
        3: _read_list_groups_request_v3,
        4: _read_list_groups_request_v4,
        5: _read_list_groups_request_v5,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_list_groups_request_v0,
        1: _write_list_groups_request_v0,
        2: _write_list_groups_request_v0,
        3: _write_list_groups_request_v3,
        4: _write_list_groups_request_v4,
        5: _write_list_groups_request_v5,
    }

    states_filter: list[str] = field(default_factory=list)  # v4+
    types_filter: list[str] = field(default_factory=list)  # v5+


@dataclass(slots=True, eq=False, repr=False)
class ListedGroup(Structure):
    """ListGroupsResponse.groups[]"""

    group_id: str = ""
    protocol_type: str = ""
    group_state: str = ""  # v4+
    group_type: str = ""  # v5+


def _read_listed_group_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ListedGroup], int]:
    items = []
    for _ in range(elements):
        item = new(ListedGroup)
        item.group_state = ""
        item.group_type = ""
        item.group_id, at = read_string(buffer, at)
        item.protocol_type, at = read_string(buffer, at)
        items.append(item)
    return items, at


def _write_listed_group_v0_array(out: bytearray, items: list[ListedGroup]) -> None:
    for item in items:
        write_string(out, item.group_id)
        write_string(out, item.protocol_type)


def _read_listed_group_v3_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ListedGroup], int]:
    items = []
    for _ in range(elements):
        item = new(ListedGroup)
        item.group_state = ""
        item.group_type = ""
        item.group_id, at = read_compact_string(buffer, at)
        item.protocol_type, at = read_compact_string(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_listed_group_v3_array(out: bytearray, items: list[ListedGroup]) -> None:
    for item in items:
        write_compact_string(out, item.group_id)
        write_compact_string(out, item.protocol_type)
        out.append(0)


def _read_listed_group_v4_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ListedGroup], int]:
    items = []
    for _ in range(elements):
        item = new(ListedGroup)
        item.group_type = ""
        item.group_id, at = read_compact_string(buffer, at)
        item.protocol_type, at = read_compact_string(buffer, at)
        item.group_state, at = read_compact_string(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_listed_group_v4_array(out: bytearray, items: list[ListedGroup]) -> None:
    for item in items:
        write_compact_string(out, item.group_id)
        write_compact_string(out, item.protocol_type)
        write_compact_string(out, item.group_state)
        out.append(0)


def _read_listed_group_v5_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ListedGroup], int]:
    items = []
    for _ in range(elements):
        item = new(ListedGroup)
        item.group_id, at = read_compact_string(buffer, at)
        item.protocol_type, at = read_compact_string(buffer, at)
        item.group_state, at = read_compact_string(buffer, at)
        item.group_type, at = read_compact_string(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_listed_group_v5_array(out: bytearray, items: list[ListedGroup]) -> None:
    for item in items:
        write_compact_string(out, item.group_id)
        write_compact_string(out, item.protocol_type)
        write_compact_string(out, item.group_state)
        write_compact_string(out, item.group_type)
        out.append(0)


def _read_list_groups_response_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ListGroupsResponse, int]:
    item = new(ListGroupsResponse)
    item.throttle_time_ms = 0
    (item.error_code,) = _unpack_h(buffer, at)
    at += 2
    count, at = read_count(buffer, at, 4, budget)
    item.groups, at = _read_listed_group_v0_array(buffer, at, count, budget)
    return item, at


def _write_list_groups_response_v0(out: bytearray, item: ListGroupsResponse, payloads: Payloads) -> None:
    out += _pack_h(item.error_code)
    write_count(out, item.groups)
    _write_listed_group_v0_array(out, item.groups)


def _read_list_groups_response_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ListGroupsResponse, int]:
    item = new(ListGroupsResponse)
    item.throttle_time_ms, item.error_code = _unpack_ih(buffer, at)
    at += 6
    count, at = read_count(buffer, at, 4, budget)
    item.groups, at = _read_listed_group_v0_array(buffer, at, count, budget)
    return item, at


def _write_list_groups_response_v1(out: bytearray, item: ListGroupsResponse, payloads: Payloads) -> None:
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    write_count(out, item.groups)
    _write_listed_group_v0_array(out, item.groups)


def _read_list_groups_response_v3(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ListGroupsResponse, int]:
    item = new(ListGroupsResponse)
    item.throttle_time_ms, item.error_code = _unpack_ih(buffer, at)
    at += 6
    count, at = read_compact_count(buffer, at, 3, budget)
    item.groups, at = _read_listed_group_v3_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_list_groups_response_v3(out: bytearray, item: ListGroupsResponse, payloads: Payloads) -> None:
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    write_compact_count(out, item.groups)
    _write_listed_group_v3_array(out, item.groups)
    out.append(0)


def _read_list_groups_response_v4(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ListGroupsResponse, int]:
    item = new(ListGroupsResponse)
    item.throttle_time_ms, item.error_code = _unpack_ih(buffer, at)
    at += 6
    count, at = read_compact_count(buffer, at, 4, budget)
    item.groups, at = _read_listed_group_v4_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_list_groups_response_v4(out: bytearray, item: ListGroupsResponse, payloads: Payloads) -> None:
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    write_compact_count(out, item.groups)
    _write_listed_group_v4_array(out, item.groups)
    out.append(0)


def _read_list_groups_response_v5(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ListGroupsResponse, int]:
    item = new(ListGroupsResponse)
    item.throttle_time_ms, item.error_code = _unpack_ih(buffer, at)
    at += 6
    count, at = read_compact_count(buffer, at, 5, budget)
    item.groups, at = _read_listed_group_v5_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_list_groups_response_v5(out: bytearray, item: ListGroupsResponse, payloads: Payloads) -> None:
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    write_compact_count(out, item.groups)
    _write_listed_group_v5_array(out, item.groups)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class ListGroupsResponse(Message):
    """Versions 0 to 5, flexible from 3."""

    API_KEY: ClassVar[int] = 16
    VERSIONS: ClassVar[Versions] = Versions(0, 5)
    FLEXIBLE_FROM: ClassVar[int] = 3
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_list_groups_response_v0,
        1: _read_list_groups_response_v1,
        2: _read_list_groups_response_v1,
        3: _read_list_groups_response_v3,
        4: _read_list_groups_response_v4,
        5: _read_list_groups_response_v5,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_list_groups_response_v0,
        1: _write_list_groups_response_v1,
        2: _write_list_groups_response_v1,
        3: _write_list_groups_response_v3,
        4: _write_list_groups_response_v4,
        5: _write_list_groups_response_v5,
    }

    throttle_time_ms: int = 0  # v1+
    error_code: int = 0
    groups: list[ListedGroup] = field(default_factory=list)
