"""Generated from `schemas/list_config_resources.fields` by `odradek.wire.generator`: do not edit."""

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
    read_int8s,
    skip_tags,
)
from odradek.wire.encoding import Payloads, write_compact_count, write_compact_string, write_int8s
from odradek.wire.message import Decoder, Encoder, Message, Request, Structure
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
api 74 ListConfigResources

request ListConfigResourcesRequest 0-1 flexible 0+
    resource_types: [int8] @1+

response ListConfigResourcesResponse 0-1 flexible 0+
    throttle_time_ms: int32
    error_code: int16
    config_resources: [ConfigResource]
        resource_name: string
        resource_type: int8 @1+ = 16
"""


_unpack_bt: Final = Struct(">bB").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_pack_bt: Final = Struct(">bB").pack
_pack_ih: Final = Struct(">ih").pack


def _read_list_config_resources_request_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ListConfigResourcesRequest, int]:
    item = new(ListConfigResourcesRequest)
    item.resource_types = []
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_list_config_resources_request_v0(
    out: bytearray, item: ListConfigResourcesRequest, payloads: Payloads
) -> None:
    out.append(0)


def _read_list_config_resources_request_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ListConfigResourcesRequest, int]:
    item = new(ListConfigResourcesRequest)
    count, at = read_compact_count(buffer, at, 1, budget)
    item.resource_types, at = read_int8s(buffer, at, count)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_list_config_resources_request_v1(
    out: bytearray, item: ListConfigResourcesRequest, payloads: Payloads
) -> None:
    write_compact_count(out, item.resource_types)
    write_int8s(out, item.resource_types)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class ListConfigResourcesRequest(Request["ListConfigResourcesResponse"]):
    """Versions 0 to 1, flexible."""

    API_KEY: ClassVar[int] = 74
    VERSIONS: ClassVar[Versions] = Versions(0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 0
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_list_config_resources_request_v0,
        1: _read_list_config_resources_request_v1,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_list_config_resources_request_v0,
        1: _write_list_config_resources_request_v1,
    }

    resource_types: list[int] = field(default_factory=list)  # v1+


@dataclass(slots=True, eq=False, repr=False)
class ConfigResource(Structure):
    """ListConfigResourcesResponse.config_resources[]"""

    resource_name: str = ""
    resource_type: int = 16  # v1+


def _read_config_resource_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ConfigResource], int]:
    items = []
    for _ in range(elements):
        item = new(ConfigResource)
        item.resource_type = 16
        item.resource_name, at = read_compact_string(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_config_resource_v0_array(out: bytearray, items: list[ConfigResource]) -> None:
    for item in items:
        write_compact_string(out, item.resource_name)
        out.append(0)


def _read_config_resource_v1_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[ConfigResource], int]:
    items = []
    for _ in range(elements):
        item = new(ConfigResource)
        item.resource_name, at = read_compact_string(buffer, at)
        item.resource_type, tags = _unpack_bt(buffer, at)
        at += 2
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_config_resource_v1_array(out: bytearray, items: list[ConfigResource]) -> None:
    for item in items:
        write_compact_string(out, item.resource_name)
        out += _pack_bt(item.resource_type, 0)


def _read_list_config_resources_response_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ListConfigResourcesResponse, int]:
    item = new(ListConfigResourcesResponse)
    item.throttle_time_ms, item.error_code = _unpack_ih(buffer, at)
    at += 6
    count, at = read_compact_count(buffer, at, 2, budget)
    item.config_resources, at = _read_config_resource_v0_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_list_config_resources_response_v0(
    out: bytearray, item: ListConfigResourcesResponse, payloads: Payloads
) -> None:
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    write_compact_count(out, item.config_resources)
    _write_config_resource_v0_array(out, item.config_resources)
    out.append(0)


def _read_list_config_resources_response_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[ListConfigResourcesResponse, int]:
    item = new(ListConfigResourcesResponse)
    item.throttle_time_ms, item.error_code = _unpack_ih(buffer, at)
    at += 6
    count, at = read_compact_count(buffer, at, 3, budget)
    item.config_resources, at = _read_config_resource_v1_array(buffer, at, count, budget)
    tags = buffer[at]
    at += 1
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_list_config_resources_response_v1(
    out: bytearray, item: ListConfigResourcesResponse, payloads: Payloads
) -> None:
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    write_compact_count(out, item.config_resources)
    _write_config_resource_v1_array(out, item.config_resources)
    out.append(0)


@dataclass(slots=True, eq=False, repr=False)
class ListConfigResourcesResponse(Message):
    """Versions 0 to 1, flexible."""

    API_KEY: ClassVar[int] = 74
    VERSIONS: ClassVar[Versions] = Versions(0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 0
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_list_config_resources_response_v0,
        1: _read_list_config_resources_response_v1,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_list_config_resources_response_v0,
        1: _write_list_config_resources_response_v1,
    }

    throttle_time_ms: int = 0
    error_code: int = 0
    config_resources: list[ConfigResource] = field(default_factory=list)
