"""Generated from `schemas/create_acls.fields` by `odradek.wire.generator`: do not edit."""

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
api 30 CreateAcls

request CreateAclsRequest 1-3 flexible 2+
    creations: [AclCreation]
        resource_type: int8
        resource_name: string
        resource_pattern_type: int8 = 3
        principal: string
        host: string
        operation: int8
        permission_type: int8

response CreateAclsResponse 1-3 flexible 2+
    throttle_time_ms: int32
    results: [AclCreationResult]
        error_code: int16
        error_message: string?
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
class AclCreation(Structure):
    """CreateAclsRequest.creations[]"""

    resource_type: int = 0
    resource_name: str = ""
    resource_pattern_type: int = 3
    principal: str = ""
    host: str = ""
    operation: int = 0
    permission_type: int = 0


def _read_acl_creation_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[AclCreation], int]:
    items = []
    for _ in range(elements):
        item = new(AclCreation)
        (item.resource_type,) = _unpack_b(buffer, at)
        at += 1
        item.resource_name, at = read_string(buffer, at)
        (item.resource_pattern_type,) = _unpack_b(buffer, at)
        at += 1
        item.principal, at = read_string(buffer, at)
        item.host, at = read_string(buffer, at)
        item.operation, item.permission_type = _unpack_bb(buffer, at)
        at += 2
        items.append(item)
    return items, at


def _write_acl_creation_v1_array(out: bytearray, items: list[AclCreation]) -> None:
    for item in items:
        out += _pack_b(item.resource_type)
        write_string(out, item.resource_name)
        out += _pack_b(item.resource_pattern_type)
        write_string(out, item.principal)
        write_string(out, item.host)
        out += _pack_bb(item.operation, item.permission_type)


def _read_acl_creation_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[AclCreation], int]:
    items = []
    for _ in range(elements):
        item = new(AclCreation)
        (item.resource_type,) = _unpack_b(buffer, at)
        at += 1
        item.resource_name, at = read_compact_string(buffer, at)
        (item.resource_pattern_type,) = _unpack_b(buffer, at)
        at += 1
        item.principal, at = read_compact_string(buffer, at)
        item.host, at = read_compact_string(buffer, at)
        item.operation, item.permission_type, tags = _unpack_bbt(buffer, at)
        at += 3
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_acl_creation_v2_array(out: bytearray, items: list[AclCreation]) -> None:
    for item in items:
        out += _pack_b(item.resource_type)
        write_compact_string(out, item.resource_name)
        out += _pack_b(item.resource_pattern_type)
        write_compact_string(out, item.principal)
        write_compact_string(out, item.host)
        out += _pack_bbt(item.operation, item.permission_type, 0)


def _read_create_acls_request_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[CreateAclsRequest, int]:
    item = new(CreateAclsRequest)
    count, at = read_count(buffer, at, 10, budget)
    item.creations, at = _read_acl_creation_v1_array(buffer, at, count, budget)
    return item, at


def _write_create_acls_request_v1(out: bytearray, item: CreateAclsRequest, payloads: Payloads) -> None:
    write_count(out, item.creations)
    _write_acl_creation_v1_array(out, item.creations)


def _read_create_acls_request_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[CreateAclsRequest, int]:
    item = new(CreateAclsRequest)
    count, at = read_compact_count(buffer, at, 8, budget)
    item.creations, at = _read_acl_creation_v2_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_create_acls_request_v2(out: bytearray, item: CreateAclsRequest, payloads: Payloads) -> None:
    write_compact_count(out, item.creations)
    _write_acl_creation_v2_array(out, item.creations)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class CreateAclsRequest(Request["CreateAclsResponse"]):
    """Versions 1 to 3, flexible from 2."""

    API_KEY: ClassVar[int] = 30
    VERSIONS: ClassVar[Versions] = Versions(1, 3)
    FLEXIBLE_FROM: ClassVar[int] = 2
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        1: _read_create_acls_request_v1,
        2: _read_create_acls_request_v2,
        3: _read_create_acls_request_v2,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        1: _write_create_acls_request_v1,
        2: _write_create_acls_request_v2,
        3: _write_create_acls_request_v2,
    }

    creations: list[AclCreation] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class AclCreationResult(Structure):
    """CreateAclsResponse.results[]"""

    error_code: int = 0
    error_message: str | None = ""


def _read_acl_creation_result_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[AclCreationResult], int]:
    items = []
    for _ in range(elements):
        item = new(AclCreationResult)
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.error_message, at = read_nullable_string(buffer, at)
        items.append(item)
    return items, at


def _write_acl_creation_result_v1_array(out: bytearray, items: list[AclCreationResult]) -> None:
    for item in items:
        out += _pack_h(item.error_code)
        write_nullable_string(out, item.error_message)


def _read_acl_creation_result_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[AclCreationResult], int]:
    items = []
    for _ in range(elements):
        item = new(AclCreationResult)
        (item.error_code,) = _unpack_h(buffer, at)
        at += 2
        item.error_message, at = read_compact_nullable_string(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_acl_creation_result_v2_array(out: bytearray, items: list[AclCreationResult]) -> None:
    for item in items:
        out += _pack_h(item.error_code)
        write_compact_nullable_string(out, item.error_message)
        out.append(0)


def _read_create_acls_response_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[CreateAclsResponse, int]:
    item = new(CreateAclsResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_count(buffer, at, 4, budget)
    item.results, at = _read_acl_creation_result_v1_array(buffer, at, count, budget)
    return item, at


def _write_create_acls_response_v1(out: bytearray, item: CreateAclsResponse, payloads: Payloads) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_count(out, item.results)
    _write_acl_creation_result_v1_array(out, item.results)


def _read_create_acls_response_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[CreateAclsResponse, int]:
    item = new(CreateAclsResponse)
    (item.throttle_time_ms,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 4, budget)
    item.results, at = _read_acl_creation_result_v2_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_create_acls_response_v2(out: bytearray, item: CreateAclsResponse, payloads: Payloads) -> None:
    out += _pack_i(item.throttle_time_ms)
    write_compact_count(out, item.results)
    _write_acl_creation_result_v2_array(out, item.results)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class CreateAclsResponse(Message):
    """Versions 1 to 3, flexible from 2."""

    API_KEY: ClassVar[int] = 30
    VERSIONS: ClassVar[Versions] = Versions(1, 3)
    FLEXIBLE_FROM: ClassVar[int] = 2
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        1: _read_create_acls_response_v1,
        2: _read_create_acls_response_v2,
        3: _read_create_acls_response_v2,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        1: _write_create_acls_response_v1,
        2: _write_create_acls_response_v2,
        3: _write_create_acls_response_v2,
    }

    throttle_time_ms: int = 0
    results: list[AclCreationResult] = field(default_factory=list)
