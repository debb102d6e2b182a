"""Generated from `schemas/delete_acls.fields` by `odradek.wire.generator`: do not edit."""

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
api 31 DeleteAcls

request DeleteAclsRequest 1-3 flexible 2+
    filters: [DeleteAclsFilter]
        resource_type_filter: int8
        resource_name_filter: string?
        pattern_type_filter: int8 = 3
        principal_filter: string?
        host_filter: string?
        operation: int8
        permission_type: int8

response DeleteAclsResponse 1-3 flexible 2+
    throttle_time_ms: int32
    filter_results: [DeleteAclsFilterResult]
        error_code: int16
        error_message: string?
        matching_acls: [DeleteAclsMatchingAcl]
            error_code: int16
            error_message: string?
            resource_type: int8
            resource_name: string
            pattern_type: int8 = 3
            principal: string
            host: string
            operation: int8
            permission_type: int8
"""


_unpack_b: Final = Struct(">b").unpack_from
_unpack_bb: Final = Struct(">bb").unpack_from
_unpack_bbt: Final = Struct(">bbB").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_pack_b: Final = Struct(">b").pack
_pack_bb: Final = Struct(">bb").pack
_pack_bbt: Final = Struct(">bbB").pack
_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack


@dataclass(slots=True, eq=False, repr=False)
class DeleteAclsFilter(Structure):
    """DeleteAclsRequest.filters[]"""

    resource_type_filter: int = 0
    resource_name_filter: str | None = ""
    pattern_type_filter: int = 3
    principal_filter: str | None = ""
    host_filter: str | None = ""
    operation: int = 0
    permission_type: int = 0


def _read_delete_acls_filter_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DeleteAclsFilter], int]:
    items = []
    for _ in range(elements):
        item = new(DeleteAclsFilter)
        (item.resource_type_filter,) = _unpack_b(buffer, at)
        at += 1
        item.resource_name_filter, at = read_nullable_string(buffer, at)
        (item.pattern_type_filter,) = _unpack_b(buffer, at)
        at += 1
        item.principal_filter, at = read_nullable_string(buffer, at)
        item.host_filter, at = read_nullable_string(buffer, at)
        item.operation, item.permission_type = _unpack_bb(buffer, at)
        at += 2
        items.append(item)
    return items, at


def _write_delete_acls_filter_v1_array(out: bytearray, items: list[DeleteAclsFilter]) -> None:
    for item in items:
        out += _pack_b(item.resource_type_filter)
        write_nullable_string(out, item.resource_name_filter)
        out += _pack_b(item.pattern_type_filter)
        write_nullable_string(out, item.principal_filter)
        write_nullable_string(out, item.host_filter)
        out += _pack_bb(item.operation, item.permission_type)


def _read_delete_acls_filter_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DeleteAclsFilter], int]:
    items = []
    for _ in range(elements):
        item = new(DeleteAclsFilter)
        (item.resource_type_filter,) = _unpack_b(buffer, at)
        at += 1
        item.resource_name_filter, at = read_compact_nullable_string(buffer, at)
        (item.pattern_type_filter,) = _unpack_b(buffer, at)
        at += 1
        item.principal_filter, at = read_compact_nullable_string(buffer, at)
        item.host_filter, at = read_compact_nullable_string(buffer, at)
        item.operation, item.permission_type, tags = _unpack_bbt(buffer, at)
        at += 3
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_delete_acls_filter_v2_array(out: bytearray, items: list[DeleteAclsFilter]) -> None:
    for item in items:
        out += _pack_b(item.resource_type_filter)
        write_compact_nullable_string(out, item.resource_name_filter)
        out += _pack_b(item.pattern_type_filter)
        write_compact_nullable_string(out, item.principal_filter)
        write_compact_nullable_string(out, item.host_filter)
        out += _pack_bbt(item.operation, item.permission_type, 0)


def _read_delete_acls_request_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DeleteAclsRequest, int]:
    item = new(DeleteAclsRequest)
    count, at = read_count(buffer, at, 10, budget)
    item.filters, at = _read_delete_acls_filter_v1_array(buffer, at, count, budget)
    return item, at


def _write_delete_acls_request_v1(out: bytearray, item: DeleteAclsRequest, payloads: Payloads) -> None:
    write_count(out, item.filters)
    _write_delete_acls_filter_v1_array(out, item.filters)


def _read_delete_acls_request_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DeleteAclsRequest, int]:
    item = new(DeleteAclsRequest)
    count, at = read_compact_count(buffer, at, 8, budget)
    item.filters, at = _read_delete_acls_filter_v2_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_delete_acls_request_v2(out: bytearray, item: DeleteAclsRequest, payloads: Payloads) -> None:
    write_compact_count(out, item.filters)
    _write_delete_acls_filter_v2_array(out, item.filters)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class DeleteAclsRequest(Request["DeleteAclsResponse"]):
    """Versions 1 to 3, flexible from 2."""

    API_KEY: ClassVar[int] = 31
    VERSIONS: ClassVar[Versions] = Versions(1, 3)
    FLEXIBLE_FROM: ClassVar[int] = 2
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        1: _read_delete_acls_request_v1,
        2: _read_delete_acls_request_v2,
        3: _read_delete_acls_request_v2,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        1: _write_delete_acls_request_v1,
        2: _write_delete_acls_request_v2,
        3: _write_delete_acls_request_v2,
    }

    filters: list[DeleteAclsFilter] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class DeleteAclsMatchingAcl(Structure):
    """DeleteAclsResponse.filter_results[].matching_acls[]"""

    error_code: int = 0
    error_message: str | None = ""
    resource_type: int = 0
    resource_name: str = ""
    pattern_type: int = 3
    principal: str = ""
    host: str = ""
    operation: int = 0
    permission_type: int = 0


@dataclass(slots=True, eq=False, repr=False)
class DeleteAclsFilterResult(Structure):
    """DeleteAclsResponse.filter_results[]"""

    error_code: int = 0
    error_message: str | None = ""
    matching_acls: list[DeleteAclsMatchingAcl] = field(default_factory=list)


def _read_delete_acls_matching_acl_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DeleteAclsMatchingAcl], int]:
    items = []
    for _ in range(elements):
        item = new(DeleteAclsMatchingAcl)
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.error_message, at = read_nullable_string(buffer, at)
        (item.resource_type,) = _unpack_b(buffer, at)
        at += 1
        item.resource_name, at = read_string(buffer, at)
        (item.pattern_type,) = _unpack_b(buffer, at)
        at += 1
        item.principal, at = read_string(buffer, at)
        item.host, at = read_string(buffer, at)
        item.operation, item.permission_type = _unpack_bb(buffer, at)
        at += 2
        items.append(item)
    return items, at


def _write_delete_acls_matching_acl_v1_array(out: bytearray, items: list[DeleteAclsMatchingAcl]) -> None:
    for item in items:
        out += _pack_h(item.error_code)
        write_nullable_string(out, item.error_message)
        out += _pack_b(item.resource_type)
        write_string(out, item.resource_name)
        out += _pack_b(item.pattern_type)
        write_string(out, item.principal)
        write_string(out, item.host)
        out += _pack_bb(item.operation, item.permission_type)


def _read_delete_acls_matching_acl_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DeleteAclsMatchingAcl], int]:
    items = []
    for _ in range(elements):
        item = new(DeleteAclsMatchingAcl)
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.error_message, at = read_compact_nullable_string(buffer, at)
        (item.resource_type,) = _unpack_b(buffer, at)
        at += 1
        item.resource_name, at = read_compact_string(buffer, at)
        (item.pattern_type,) = _unpack_b(buffer, at)
        at += 1
        item.principal, at = read_compact_string(buffer, at)
        item.host, at = read_compact_string(buffer, at)
        item.operation, item.permission_type, tags = _unpack_bbt(buffer, at)
        at += 3
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_delete_acls_matching_acl_v2_array(out: bytearray, items: list[DeleteAclsMatchingAcl]) -> None:
    for item in items:
        out += _pack_h(item.error_code)
        write_compact_nullable_string(out, item.error_message)
        out += _pack_b(item.resource_type)
        write_compact_string(out, item.resource_name)
        out += _pack_b(item.pattern_type)
        write_compact_string(out, item.principal)
        write_compact_string(out, item.host)
        out += _pack_bbt(item.operation, item.permission_type, 0)


def _read_delete_acls_filter_result_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DeleteAclsFilterResult], int]:
    items = []
    for _ in range(elements):
        item = new(DeleteAclsFilterResult)
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.error_message, at = read_nullable_string(buffer, at)
        count, at = read_count(buffer, at, 14, budget)
        item.matching_acls, at = _read_delete_acls_matching_acl_v1_array(buffer, at, count, budget)
        items.append(item)
    return items, at


def _write_delete_acls_filter_result_v1_array(out: bytearray, items: list[DeleteAclsFilterResult]) -> None:
    for item in items:
        out += _pack_h(item.error_code)
        write_nullable_string(out, item.error_message)
        write_count(out, item.matching_acls)
        _write_delete_acls_matching_acl_v1_array(out, item.matching_acls)


def _read_delete_acls_filter_result_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DeleteAclsFilterResult], int]:
    items = []
    for _ in range(elements):
        item = new(DeleteAclsFilterResult)
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.error_message, at = read_compact_nullable_string(buffer, at)
        count, at = read_compact_count(buffer, at, 11, budget)
        item.matching_acls, at = _read_delete_acls_matching_acl_v2_array(buffer, at, count, budget)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_delete_acls_filter_result_v2_array(out: bytearray, items: list[DeleteAclsFilterResult]) -> None:
    for item in items:
        out += _pack_h(item.error_code)
        write_compact_nullable_string(out, item.error_message)
        write_compact_count(out, item.matching_acls)
        _write_delete_acls_matching_acl_v2_array(out, item.matching_acls)
        out.append(0)


def _read_delete_acls_response_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DeleteAclsResponse, int]:
    item = new(DeleteAclsResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_count(buffer, at, 8, budget)
    item.filter_results, at = _read_delete_acls_filter_result_v1_array(buffer, at, count, budget)
    return item, at


def _write_delete_acls_response_v1(out: bytearray, item: DeleteAclsResponse, payloads: Payloads) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_count(out, item.filter_results)
    _write_delete_acls_filter_result_v1_array(out, item.filter_results)


def _read_delete_acls_response_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DeleteAclsResponse, int]:
    item = new(DeleteAclsResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 5, budget)
    item.filter_results, at = _read_delete_acls_filter_result_v2_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_delete_acls_response_v2(out: bytearray, item: DeleteAclsResponse, payloads: Payloads) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_compact_count(out, item.filter_results)
    _write_delete_acls_filter_result_v2_array(out, item.filter_results)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class DeleteAclsResponse(Message):
    """Versions 1 to 3, flexible from 2."""

    API_KEY: ClassVar[int] = 31
    VERSIONS: ClassVar[Versions] = Versions(1, 3)
    FLEXIBLE_FROM: ClassVar[int] = 2
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        1: _read_delete_acls_response_v1,
        2: _read_delete_acls_response_v2,
        3: _read_delete_acls_response_v2,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        1: _write_delete_acls_response_v1,
        2: _write_delete_acls_response_v2,
        3: _write_delete_acls_response_v2,
    }

    throttle_time_ms: int = 0
    filter_results: list[DeleteAclsFilterResult] = field(default_factory=list)
