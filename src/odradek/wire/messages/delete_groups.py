"""Generated from `schemas/delete_groups.fields` by `odradek.wire.generator`: do not edit."""

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
    read_compact_strings,
    read_count,
    read_string,
    read_strings,
    skip_tags,
)
from odradek.wire.encoding import (
    Payloads,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
    write_compact_strings,
    write_count,
    write_string,
    write_strings,
)
from odradek.wire.message import Decoder, Encoder, Message, Request, Structure
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
api 42 DeleteGroups

request DeleteGroupsRequest 0-3 flexible 2+
    groups_names: [string]

response DeleteGroupsResponse 0-3 flexible 2+
    throttle_time_ms: int32
    results: [DeletableGroupResult]
        group_id: string
        error_code: int16
        error_message: string? @3+ = null
"""


_unpack_h: Final = Struct(">h").unpack_from
_unpack_ht: Final = Struct(">hB").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_pack_h: Final = Struct(">h").pack
_pack_ht: Final = Struct(">hB").pack
_pack_i: Final = Struct(">i").pack


def _read_delete_groups_request_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DeleteGroupsRequest, int]:
    item = new(DeleteGroupsRequest)
    count, at = read_count(buffer, at, 2, budget)
    item.groups_names, at = read_strings(buffer, at, count)
    return item, at


def _write_delete_groups_request_v0(out: bytearray, item: DeleteGroupsRequest, payloads: Payloads) -> None:
    write_count(out, item.groups_names)
    write_strings(out, item.groups_names)


def _read_delete_groups_request_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DeleteGroupsRequest, int]:
    item = new(DeleteGroupsRequest)
    count, at = read_compact_count(buffer, at, 1, budget)
    item.groups_names, at = read_compact_strings(buffer, at, count)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_delete_groups_request_v2(out: bytearray, item: DeleteGroupsRequest, payloads: Payloads) -> None:
    write_compact_count(out, item.groups_names)
    write_compact_strings(out, item.groups_names)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class DeleteGroupsRequest(Request["DeleteGroupsResponse"]):
    """Versions 0 to 3, flexible from 2."""

    API_KEY: ClassVar[int] = 42
    VERSIONS: ClassVar[Versions] = Versions(0, 3)
    FLEXIBLE_FROM: ClassVar[int] = 2
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_delete_groups_request_v0,
        1: _read_delete_groups_request_v0,
        2: _read_delete_groups_request_v2,
        3: _read_delete_groups_request_v2,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_delete_groups_request_v0,
        1: _write_delete_groups_request_v0,
        2: _write_delete_groups_request_v2,
        3: _write_delete_groups_request_v2,
    }

    groups_names: list[str] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class DeletableGroupResult(Structure):
    """DeleteGroupsResponse.results[]"""

    group_id: str = ""
    error_code: int = 0
    error_message: str | None = None  # v3+


def _read_deletable_group_result_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DeletableGroupResult], int]:
    items = []
    for _ in range(elements):
        item = new(DeletableGroupResult)
        item.error_message = None
        item.group_id, at = read_string(buffer, at)
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        items.append(item)
    return items, at


def _write_deletable_group_result_v0_array(out: bytearray, items: list[DeletableGroupResult]) -> None:
    for item in items:
        write_string(out, item.group_id)
        out += _pack_h(item.error_code)


def _read_deletable_group_result_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DeletableGroupResult], int]:
    items = []
    for _ in range(elements):
        item = new(DeletableGroupResult)
        item.error_message = None
        item.group_id, at = read_compact_string(buffer, at)
        item.error_code, tags = _unpack_ht(buffer, at)
        at += 3
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_deletable_group_result_v2_array(out: bytearray, items: list[DeletableGroupResult]) -> None:
    for item in items:
        write_compact_string(out, item.group_id)
        out += _pack_ht(item.error_code, 0)


def _read_deletable_group_result_v3_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DeletableGroupResult], int]:
    items = []
    for _ in range(elements):
        item = new(DeletableGroupResult)
        item.group_id, at = read_compact_string(buffer, at)
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.error_message, at = read_compact_nullable_string(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_deletable_group_result_v3_array(out: bytearray, items: list[DeletableGroupResult]) -> None:
    for item in items:
        write_compact_string(out, item.group_id)
        out += _pack_h(item.error_code)
        write_compact_nullable_string(out, item.error_message)
        out.append(0)


def _read_delete_groups_response_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DeleteGroupsResponse, int]:
    item = new(DeleteGroupsResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_count(buffer, at, 4, budget)
    item.results, at = _read_deletable_group_result_v0_array(buffer, at, count, budget)
    return item, at


def _write_delete_groups_response_v0(out: bytearray, item: DeleteGroupsResponse, payloads: Payloads) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_count(out, item.results)
    _write_deletable_group_result_v0_array(out, item.results)


def _read_delete_groups_response_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DeleteGroupsResponse, int]:
    item = new(DeleteGroupsResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 4, budget)
    item.results, at = _read_deletable_group_result_v2_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_delete_groups_response_v2(out: bytearray, item: DeleteGroupsResponse, payloads: Payloads) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_compact_count(out, item.results)
    _write_deletable_group_result_v2_array(out, item.results)
    out.append(0)


def _read_delete_groups_response_v3(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DeleteGroupsResponse, int]:
    item = new(DeleteGroupsResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 5, budget)
    item.results, at = _read_deletable_group_result_v3_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_delete_groups_response_v3(out: bytearray, item: DeleteGroupsResponse, payloads: Payloads) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_compact_count(out, item.results)
    _write_deletable_group_result_v3_array(out, item.results)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class DeleteGroupsResponse(Message):
    """Versions 0 to 3, flexible from 2."""

    API_KEY: ClassVar[int] = 42
    VERSIONS: ClassVar[Versions] = Versions(0, 3)
    FLEXIBLE_FROM: ClassVar[int] = 2
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_delete_groups_response_v0,
        1: _read_delete_groups_response_v0,
        2: _read_delete_groups_response_v2,
        3: _read_delete_groups_response_v3,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_delete_groups_response_v0,
        1: _write_delete_groups_response_v0,
        2: _write_delete_groups_response_v2,
        3: _write_delete_groups_response_v3,
    }

    throttle_time_ms: int = 0
    results: list[DeletableGroupResult] = field(default_factory=list)
